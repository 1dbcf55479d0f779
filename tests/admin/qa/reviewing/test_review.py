"""admin/qa/reviewing/review.py and report.py: the order of pages, filters, what is repaired, and reports."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator

import pytest
from support.admin.qa_rows import add_files, add_page, add_session, finding

from admin.models.database import Database
from admin.models.errors import InvalidInput, NotFound
from admin.models.qa_tables import QaPageState, Ruling
from admin.models.transaction import COMMAND_LINE, Transaction
from admin.qa.picture_files import session_folder
from admin.qa.reviewing.decisions import PageRuling, decide
from admin.qa.reviewing.repairs import NewRepair, start
from admin.qa.reviewing.report import report_csv, report_page, show_report
from admin.qa.reviewing.review import (
    PageFilter,
    captured_pictures,
    first_page,
    neighbours,
    page_texts,
    pages_to_repair,
    replay_picture,
    ruling_counts,
)
from admin.qa.sessions import delete, list_pages

IMAGE, STYLE = "http://example.org/a.png", "http://example.org/a.css"


@pytest.fixture
def transaction(database: Database) -> Iterator[Transaction]:
    with database.transaction(COMMAND_LINE) as opened:
        yield opened


def test_pages_come_worst_first_and_each_once_however_they_are_paged(transaction: Transaction) -> None:
    session = add_session(transaction)
    scores = [50, 10, 100, 50, -1, 50, 89, -1]
    ids = [add_page(transaction, session, f"http://example.org/{at}", score).id for at, score in enumerate(scores)]
    add_page(transaction, session, "http://example.org/waits", 0, state=QaPageState.WAITING)
    expected = [number for _, number in sorted(zip(scores, ids, strict=True))]
    paged, after = [], None
    while True:
        found = list_pages(transaction, session.id, after=after, limit=3)
        paged += [each.id for each in found.items]
        if (after := found.next) is None:
            break
    assert paged == expected
    assert first_page(transaction, session.id, PageFilter()) == expected[0]
    for at, number in enumerate(expected):
        previous, following = neighbours(transaction, session.id, number, PageFilter())
        assert previous == (expected[at - 1] if at else None)
        assert (following.id if following else None) == (expected[at + 1] if at + 1 < len(expected) else None)
    with pytest.raises(InvalidInput, match="is no place in this list"):
        list_pages(transaction, session.id, after="x.y")


def test_filters_and_neighbours_keep_to_what_was_chosen(transaction: Transaction) -> None:
    session = add_session(transaction)
    first = add_page(transaction, session, "http://a.org/1", 10, [finding("missing-image", url=IMAGE)])
    add_page(transaction, session, "http://b.org/2", 20, [finding("missing-image-map")])
    third = add_page(transaction, session, "http://a.org/3", 70, [finding("text"), finding("missing-image")])
    for number in (first.id, third.id):
        decide(transaction, session.id, number, PageRuling(ruling=Ruling.REPAIR))

    def ids(**chosen: str) -> list[int]:
        return [each.id for each in list_pages(transaction, session.id, **chosen).items]

    assert ids(kind="missing-image") == [first.id, third.id]
    assert ids(kind="%") == []
    assert ids(host="a.org", severity="noticeable") == [third.id]
    assert ids(ruling="repair", reviewer="command line") == [first.id, third.id]
    assert len(ids(ruling="open")) == 1
    _, following = neighbours(transaction, session.id, first.id, PageFilter(kind="missing-image"))
    assert following is not None
    assert following.id == third.id
    assert ruling_counts(transaction, session.id) == {"open": 1, "repair": 2}
    assert pages_to_repair(transaction, session.id) == [first.id, third.id]


def test_a_repair_asks_for_what_is_missing_or_for_the_whole_page(transaction: Transaction) -> None:
    session = add_session(transaction)
    lacking = [finding("missing-image", url=IMAGE), finding("missing-stylesheet", url=STYLE)]
    one = add_page(transaction, session, "http://example.org/1", 40, lacking)
    blank = add_page(transaction, session, "http://example.org/2", 10, [*lacking, finding("blank", 80)])
    add_page(transaction, session, "http://example.org/3", 100)

    def asked(**given: object) -> list[list[str]]:
        return [part.resources for part in start(transaction, session.id, NewRepair.model_validate(given)).parts]

    assert asked() == [[IMAGE, STYLE], []]
    assert asked(kind="missing-image") == [[IMAGE], []]
    assert asked(pages=[one.id]) == [[IMAGE, STYLE]]
    assert asked(pages=[one.id, blank.id], whole=True) == [[], []]
    with pytest.raises(InvalidInput, match="no judged page"):
        asked(pages=[one.id, 10_000])


def test_files_of_the_replay_are_found_by_their_names_only(transaction: Transaction) -> None:
    session = add_session(transaction)
    page = add_page(transaction, session)
    add_files(transaction, session, page, "now this")
    assert replay_picture(transaction, session.id, page.id, "view.png").is_file()
    for name in ("../view.png", "text.txt", "view.png/", "", "full-page-difference.pngx"):
        with pytest.raises(NotFound):
            replay_picture(transaction, session.id, page.id, name)
    texts = page_texts(transaction, session.id, page.id)
    assert (texts.captured, texts.replayed) == (None, "now this")
    assert captured_pictures(transaction, session.id, page.id) == frozenset()


def test_a_deleted_session_takes_its_pictures_along_and_leaves_the_decisions(transaction: Transaction) -> None:
    session, other = add_session(transaction), add_session(transaction)
    for each in (session, other):
        add_files(transaction, each, add_page(transaction, each), "now this")
    decide(transaction, session.id, session.rows[0].id, PageRuling(ruling=Ruling.ACCEPTED))
    folders = [session_folder(transaction.settings, "news", each.id) for each in (session, other)]
    delete(transaction, session.id)
    assert [folder.exists() for folder in folders] == [False, True]
    shown = list_pages(transaction, other.id).items[0].decision
    assert shown is not None
    assert shown.ruling is Ruling.ACCEPTED


def test_a_report_has_damaged_pages_with_their_decisions_and_the_csv_has_all(transaction: Transaction) -> None:
    session = add_session(transaction)
    bad = add_page(transaction, session, "http://example.org/1", 40, [finding("missing-image", url=IMAGE)])
    add_files(transaction, session, bad)
    add_page(transaction, session, "http://example.org/2", 100)
    decide(transaction, session.id, bad.id, PageRuling(ruling=Ruling.REJECTED, note="<b>lost</b>"))
    report = show_report(transaction, session.id)
    assert ([each.id for each in report.pages], report.left_out) == ([bad.id], 0)
    text = report_page(transaction, session.id).decode()
    assert "&lt;b&gt;lost" in text
    assert 'src="data:image/jpeg;base64,' in text
    assert "<script" not in text
    rows = list(csv.DictReader(io.StringIO(report_csv(transaction, session.id).decode(), newline="")))
    assert [(row["url"][-1], row["score"], row["ruling"], row["note"]) for row in rows] == [
        ("1", "40", "rejected", "<b>lost</b>"),
        ("2", "100", "", ""),
    ]
    assert rows[0]["findings"] == f"an image is missing {IMAGE} (-20)"
