"""These pages show analysed logs: time lines, hosts, indicators and alerts of a crawl, and a search in its lines."""

from __future__ import annotations

from typing import Any, Final

from flask import Blueprint, request
from werkzeug.wrappers import Response

from admin.log_analysis import questions
from admin.log_analysis.columns.engine import is_installed
from admin.log_analysis.host_table import HostOrder
from admin.log_analysis.named_logs import job_number
from admin.log_analysis.timeline import Timeline
from admin.models.errors import InvalidInput, Problem
from admin.models.moments import moment_of
from admin.models.transaction import Right
from admin.web import formats
from admin.web.charts import Series, TimeChart
from admin.web.forms.form import Form
from admin.web.page import done, needs, page, reading, site, visitor

BLUEPRINT: Final = Blueprint("logs", __name__, url_prefix="/logs")
_SEARCH: Final = ("host", "status", "since", "until", "text")


@BLUEPRINT.get("", endpoint="index")
@needs(Right.READ)
def index() -> Response:
    """List the logs from elsewhere, and those of running crawls."""
    with reading() as opened:
        logs = questions.list_analysed(opened).items
    return page("logs/index.html", logs=logs, is_installed=is_installed())


@BLUEPRINT.get("/<name>", endpoint="show")
@needs(Right.READ)
def show(name: str) -> Response:
    """Show the analysis of a log."""
    order, reference = request.args.get("order", ""), request.args.get("reference", "").strip()[:200]
    with reading() as opened:
        found = questions.show_overview(
            opened, name, order=HostOrder(order) if order in HostOrder else HostOrder.ERRORS, reference=reference
        )
    charts = log_charts(found.timeline) if found.timeline is not None else []
    return page(
        "logs/show.html",
        found=found,
        log=found.view,
        job=job_number(found.view.name),
        charts=charts,
        order=order if order in HostOrder else HostOrder.ERRORS,
        orders=list(HostOrder),
        reference=reference,
        form=Form(dict.fromkeys(_SEARCH, "")),
        is_installed=is_installed(),
    )


@BLUEPRINT.get("/<name>/hosts", endpoint="hosts")
@needs(Right.READ)
def hosts(name: str) -> Response:
    """List hosts, the worst first."""
    given = {key: request.args.get(key, "").strip() for key in ("text", "domain", "after")}
    order = request.args.get("order", "")
    chosen = HostOrder(order) if order in HostOrder else HostOrder.ERRORS
    with reading() as opened:
        found = questions.list_hosts(
            opened, name, order=chosen, text=given["text"], domain=given["domain"], after=given["after"]
        )
    return page(
        "logs/hosts.html",
        name=name,
        found=found,
        order=chosen,
        orders=list(HostOrder),
        form=Form({**given, "order": chosen}),
    )


@BLUEPRINT.get("/<name>/lines", endpoint="lines")
@needs(Right.READ)
def lines(name: str) -> Response:
    """Search the lines of a log; those of one host come with its statuses, media types and delays."""
    sent = {key: request.args.get(key, "").strip() for key in _SEARCH}
    form = Form(sent)
    found = shares = None
    with reading() as opened:
        try:
            found = questions.search_lines(opened, name, after=request.args.get("after", ""), **_query(sent))
            if sent["host"]:
                shares = questions.show_shares(opened, name, host=sent["host"].lower())
        except InvalidInput as error:
            form.take(error)
    status = 422 if form.has_problems else 200
    return page("logs/lines.html", status, name=name, found=found, shares=shares, form=form)


@BLUEPRINT.post("/<name>/analyse", endpoint="analyse")
@needs(Right.OPERATE)
def analyse(name: str) -> Response:
    """Read new lines of the log for a while."""
    found = questions.analyse_in_parts(site().database, visitor().actor, name)
    rest = "" if found.is_complete else " There is more; go on."
    return done(f"{found.lines:,} lines were read.{rest}", "logs.show", name=name)


def log_charts(timeline: Timeline) -> list[TimeChart]:
    """Return the charts of a time line; none for fewer than two steps."""
    points = timeline.points
    if len(points) < 2:
        return []
    times = [each.at for each in points]
    zone = visitor().zone
    ends = formats.date_text(times[0], zone), formats.date_text(times[-1], zone)
    kinds = sorted({kind for each in points for kind in each.errors})
    step = formats.duration_text(timeline.seconds)
    hosts = (
        Series("New hosts", [each.new_hosts for each in points]),
        Series("Finished hosts", [each.finished_hosts for each in points]),
    )
    charts = [
        TimeChart(f"URLs in each {step}", times, ends, (Series("URLs", [each.urls for each in points]),)),
        TimeChart(f"Bytes in each {step}", times, ends, (Series("Bytes", [each.bytes for each in points]),), "bytes"),
        TimeChart(f"Hosts in each {step}", times, ends, hosts),
    ]
    errors = [Series(kind, [each.errors.get(kind, 0) for each in points]) for kind in kinds]
    return [*charts, TimeChart(f"Errors in each {step}", times, ends, errors)] if errors else charts


def _query(sent: dict[str, str]) -> dict[str, Any]:
    """Return what the use case takes, of the texts of the form. Raises InvalidInput."""
    given: dict[str, Any] = {key: sent[key] for key in ("host", "status", "text")}
    for key in ("since", "until"):
        if sent[key]:
            try:
                given[key] = moment_of(sent[key])
            except ValueError as error:
                raise InvalidInput(Problem(key, f"{sent[key][:60]!r}: {error}")) from error
    return given
