"""These pages hand the report of a QA session out: as a page without scripts, as CSV and as JSON."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from werkzeug.wrappers import Response

from admin.models.transaction import Right
from admin.qa import sessions
from admin.qa.reviewing import report
from admin.web.page import needs, read, reading, site, visitor
from admin.web.pages.qa.session import BLUEPRINT

_POLICY: Final = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; sandbox"
"""The report has its styles and pictures in itself, and nothing that is active."""


@BLUEPRINT.get("/<int:number>/report", endpoint="report")
@needs(Right.READ)
def show(number: int) -> Response:
    """Return the report as one file, which can be printed, saved and handed over."""
    text = read(report.report_page, number)
    headers = {
        "Content-Security-Policy": _POLICY,
        "Content-Disposition": f'inline; filename="qa-{number}.html"',
        "X-Content-Type-Options": "nosniff",
    }
    return Response(text, content_type="text/html; charset=utf-8", headers=headers)


@BLUEPRINT.get("/<int:number>/report.csv", endpoint="report_csv")
@needs(Right.READ)
def show_csv(number: int) -> Response:
    """Return all pages of the session as CSV, a part at a time."""
    database, actor = site().database, visitor().actor
    read(sessions.find, number)

    def pieces() -> Iterator[bytes]:
        after: str | None = None
        while True:
            with database.reading(actor) as opened:
                piece, after = report.csv_piece(opened, number, after)
            yield piece
            if after is None:
                return

    headers = {"Content-Disposition": f'attachment; filename="qa-{number}.csv"'}
    return Response(pieces(), content_type="text/csv; charset=utf-8", headers=headers)


@BLUEPRINT.get("/<int:number>/report.json", endpoint="report_json")
@needs(Right.READ)
def show_json(number: int) -> Response:
    """Return the report as JSON."""
    with reading() as opened:
        text = report.show_report(opened, number).model_dump_json()
    headers = {"Content-Disposition": f'attachment; filename="qa-{number}.json"'}
    return Response(text, content_type="application/json", headers=headers)
