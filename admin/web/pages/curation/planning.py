"""These pages show the load to come, and sum up harvests and months."""

from __future__ import annotations

from typing import Final

from flask import Blueprint, Response, request
from werkzeug.wrappers import Response as AnyResponse

from admin.curation.planning import harvest_report, load_calendar
from admin.models.errors import InvalidInput, Problem
from admin.models.transaction import Right
from admin.web.charts import Bar, BarChart
from admin.web.forms.form import Form
from admin.web.page import needs, page, reading

CALENDAR: Final = Blueprint("load_calendar", __name__, url_prefix="/calendar")
REPORTS: Final = Blueprint("reports", __name__, url_prefix="/reports")
_CHARTED: Final = 60


@CALENDAR.get("", endpoint="show")
@needs(Right.READ)
def show_calendar() -> AnyResponse:
    """Show the days to come with their expected load."""
    form, found = Form({"days": request.args.get("days", "60")}), None
    try:
        with reading() as opened:
            found = load_calendar.show_calendar(opened, days=_days(str(form.value("days"))))
    except InvalidInput as error:
        form.take(error)
    charts = []
    if found is not None and len(found.days) > 1:
        days = found.days[:_CHARTED]
        for title, unit, values in (
            ("Expected objects of each day", "count", [each.objects for each in days]),
            ("Expected bytes of each day", "bytes", [each.bytes for each in days]),
        ):
            bars = [
                Bar(f"{each.day:%d.%m.}", "", f"{each.day}", (value,)) for each, value in zip(days, values, strict=True)
            ]
            charts.append(BarChart(title, bars, unit="bytes" if unit == "bytes" else "count"))
    status = 422 if form.has_problems else 200
    return page("curation/calendar.html", status, calendar=found, charts=charts, form=form)


@REPORTS.get("", endpoint="show")
@needs(Right.READ)
def show_report() -> AnyResponse:
    """Show what was harvested in some months."""
    given = _months()
    form, found = Form(dict(given)), None
    try:
        with reading() as opened:
            found = harvest_report.show_report(opened, **given)
    except InvalidInput as error:
        form.take(error)
    return page("curation/report.html", 422 if form.has_problems else 200, report=found, form=form, given=given)


@REPORTS.get("/report.csv", endpoint="csv")
@needs(Right.READ)
def report_csv() -> AnyResponse:
    """Return the report as CSV."""
    with reading() as opened:
        text = harvest_report.report_csv(opened, **_months())
    return _download(text, "text/csv; charset=utf-8", "harvest-report.csv")


@REPORTS.get("/report.pdf", endpoint="pdf")
@needs(Right.READ)
def report_pdf() -> AnyResponse:
    """Return the report as PDF."""
    with reading() as opened:
        raw = harvest_report.report_pdf(opened, **_months())
    return _download(raw, "application/pdf", "harvest-report.pdf")


def _download(content: bytes, kind: str, name: str) -> Response:
    return Response(content, content_type=kind, headers={"Content-Disposition": f'attachment; filename="{name}"'})


def _months() -> dict[str, str]:
    return {name: request.args.get(name, "").strip()[:300] for name in ("since", "until", "harvest")}


def _days(text: str) -> int:
    if not (text.isascii() and text.isdecimal() and len(text) < 5):
        raise InvalidInput(Problem("days", f"{text[:20]!r} is no number of days; write 1 to {load_calendar.MOST_DAYS}"))
    return int(text)
