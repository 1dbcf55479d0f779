"""A report sums a QA session up, to be handed over: as a page without scripts, as CSV with all pages, and as JSON."""

from __future__ import annotations

import base64
import io
from collections.abc import Iterator
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Final

from PIL import Image
from sqlalchemy import func, select

from admin.csv_text import csv_lines
from admin.models.operation import OutputModel
from admin.models.qa_tables import QaPage, QaPageState
from admin.models.transaction import Right, Transaction
from admin.qa import sessions
from admin.qa.judging.findings import LEAST_POINTS, VERSION, DamageSeverity
from admin.qa.picture_files import page_folder
from admin.qa.reviewing.review import ruling_counts
from admin.qa.sessions import QaPageView, QaSessionDetails
from admin.units import counted
from archive.dates import Micros, iso_date
from archive.settings.load import Settings

if TYPE_CHECKING:
    from jinja2 import Template

_MOST_PAGES: Final = 1_000
_MOST_PICTURES: Final = 12
_PICTURE_WIDTH, _PICTURE_HEIGHT = 480, 400
_MOST_PIXELS: Final = 40_000_000
_BATCH: Final = 500
_COLUMNS: Final = (
    *("url", "host", "title", "captured", "state", "score", "severity", "kinds", "findings", "why", "ruling"),
    *("is_earlier", "note", "assigned_to", "decided_by", "decided"),
    *("repair", "score_after"),
)


class QaReport(OutputModel):
    """The report of a QA session."""

    session: QaSessionDetails
    rulings: dict[str, int]
    """How many pages have each ruling; `open` counts those without one."""
    severe_score: int
    """A page with a lower score is severely damaged."""
    noticeable_score: int
    """A page with a lower score is noticeably damaged."""
    version: int
    """The version of the measures. Scores of two versions can't be compared."""
    made: Micros
    pages: list[QaPageView]
    """The damaged pages and those that could not be judged, the worst first, at most 1,000. The CSV has all pages."""
    left_out: int
    """Damaged pages that are not in `pages`."""


def show_report(transaction: Transaction, session: int) -> QaReport:
    """Return the report of a session. Raises NotFound."""
    transaction.require(Right.READ)
    row = sessions.find(transaction, session)
    damaged = (*sessions.page_conditions(row), QaPage.severity != DamageSeverity.GOOD)
    query = select(QaPage).where(*damaged).order_by(QaPage.score, QaPage.id).limit(_MOST_PAGES)
    rows = transaction.session.scalars(query).all()
    total = transaction.session.scalar(select(func.count()).where(*damaged)) or 0
    chosen = transaction.settings.qa
    return QaReport(
        session=sessions.show(transaction, session),
        rulings=ruling_counts(transaction, session),
        severe_score=chosen.severe_score,
        noticeable_score=chosen.noticeable_score,
        version=VERSION,
        made=transaction.now,
        pages=sessions.with_decisions(transaction, row.collection, rows),
        left_out=total - len(rows),
    )


def report_page(transaction: Transaction, session: int) -> bytes:
    """Return the report as one HTML file, which needs no script and no other file. Raises NotFound."""
    report = show_report(transaction, session)
    pictures = {
        page.id: picture
        for page in report.pages[:_MOST_PICTURES]
        if (picture := _small_picture(transaction.settings, report.session.collection, page))
    }
    points = {kind.value: points for kind, points in LEAST_POINTS.items()}
    text = _template().render(report=report, session=report.session, pictures=pictures, points=points)
    return text.encode("utf-8", "replace")


def report_csv(transaction: Transaction, session: int) -> bytes:
    """Return all pages of a session as CSV, the worst first. Raises NotFound."""
    pieces, after = [], None
    while True:
        piece, after = csv_piece(transaction, session, after)
        pieces.append(piece)
        if after is None:
            return b"".join(pieces)


def csv_piece(transaction: Transaction, session: int, after: str | None) -> tuple[bytes, str | None]:
    """Return a part of the CSV, and where the next part begins; None at the end. Raises NotFound.

    `after` is None for the first part, which has the head.
    """
    found = sessions.list_pages(transaction, session, after=after, limit=_BATCH)
    head = csv_lines([_COLUMNS]) if after is None else b""
    return head + csv_lines(map(_cells, found.items)), found.next


def _cells(page: QaPageView) -> list[object]:
    kinds = dict.fromkeys(str(each.get("kind", "")) for each in page.reasons)
    made = page.decision
    return [
        page.url,
        page.host,
        page.title,
        iso_date(page.captured) if page.captured else "",
        page.state,
        page.score if page.state is QaPageState.JUDGED else "",
        page.severity,
        " ".join(kinds),
        "; ".join(_finding_texts(page)),
        page.why,
        made.ruling if made else "",
        ("yes" if made.is_earlier else "no") if made else "",
        made.note if made else "",
        made.assigned_to if made else "",
        made.decided_by if made else "",
        iso_date(made.decided) if made else "",
        page.repair.words if page.repair else "",
        page.repair.score_after if page.repair and page.repair.score_after >= 0 else "",
    ]


def _finding_texts(page: QaPageView) -> Iterator[str]:
    for each in page.reasons:
        url = f" {each['url']}" if each.get("url") else ""
        asked = f", asked for by {each['initiator']}" if each.get("initiator") else ""
        yield f"{each.get('words', '')}{url}{asked} (-{each.get('points', 0)})"


def _small_picture(settings: Settings, collection: str, page: QaPageView) -> str:
    """Return the window in replay as a small picture in a data URL; empty when there is none."""
    if "view.png" not in page.pictures:
        return ""
    path = page_folder(settings, collection, page.session_id, page.id) / "view.png"
    try:
        with Image.open(path, formats=("PNG",)) as picture:
            if picture.width * picture.height > _MOST_PIXELS:
                return ""
            drawn = picture.convert("RGB")
        drawn.thumbnail((_PICTURE_WIDTH, _PICTURE_HEIGHT))
        out = io.BytesIO()
        drawn.save(out, "JPEG", quality=75)
    except (OSError, ValueError, SyntaxError, Image.DecompressionBombError):
        return ""
    return f"data:image/jpeg;base64,{base64.b64encode(out.getvalue()).decode()}"


def _moment(moment: Micros | None) -> str:
    """Return a moment in UTC, such as 2026-11-26 16:30."""
    return "–" if moment is None else f"{datetime.fromtimestamp(moment // 1_000_000, UTC):%Y-%m-%d %H:%M}"


@cache
def _template() -> Template:
    from jinja2 import Environment, FileSystemLoader

    loader = FileSystemLoader(Path(__file__).parent)
    environment = Environment(loader=loader, autoescape=True, trim_blocks=True, lstrip_blocks=True)
    environment.filters.update(moment=_moment, counted=counted)
    return environment.get_template("report.html")
