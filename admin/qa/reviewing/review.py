"""A reviewer looks at one page of a QA session at a time: its pictures, its texts, and the pages beside it."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from enum import StrEnum
from pathlib import Path
from typing import Any, Final

from sqlalchemy import func, select

from admin.collections.browsing.index import OpenIndex, index_if_any
from admin.collections.browsing.pictures import RedrawnPicture, safe_picture
from admin.collections.browsing.records import RecordTrouble, read_block
from admin.models.errors import IllegalState, NotFound, UseCaseError
from admin.models.people_tables import User
from admin.models.qa_tables import PageDecision, QaPage, QaPageState, QaSession, Ruling
from admin.models.transaction import Right, Transaction
from admin.qa.judging.captured_page import picture_record
from admin.qa.listing import newest_record
from admin.qa.picture_files import NAMES, TEXT_NAME, page_folder
from admin.qa.sessions import QaPageView, counting_decision, find, find_page, page_conditions, with_decisions
from archive.capture import Capture

OPEN: Final = "open"
"""The filter of pages without a ruling."""
_MOST_TEXT: Final = 1_000_000
"""Bytes of a text that are compared."""
_MOST_REPAIRED: Final = 10_000
_MOST_USERS: Final = 500


class CapturedPicture(StrEnum):
    """A ghost kept these pictures of a page."""

    VIEW = "view"
    """The window."""
    FULL_PAGE = "fullPage"
    """The whole page."""


@dataclass(frozen=True, slots=True)
class PageFilter:
    """The pages of a session that a reviewer goes through; an empty text is no condition."""

    kind: str = ""
    host: str = ""
    severity: str = ""
    ruling: str = ""
    """A ruling, or `open` for pages without one."""
    reviewer: str = ""

    def given(self) -> dict[str, Any]:
        """Return the conditions that are set, by their names."""
        values = {each.name: str(getattr(self, each.name)) for each in fields(self)}
        return {name: value for name, value in values.items() if value}


@dataclass(frozen=True, slots=True)
class PageTexts:
    """The text of a page at its capture and in replay; None for one that was not kept."""

    captured: str | None
    replayed: str | None


def neighbours(
    transaction: Transaction, session: int, page: int, chosen: PageFilter
) -> tuple[int | None, QaPageView | None]:
    """Return the number of the page before this one, and the page behind it, in the list of the filter.

    The page itself need not fulfil the filter: a decision may have taken it out of the list. In a list of open pages,
    the page before may have a decision: a reviewer goes back to look at it again. Raises NotFound.
    """
    transaction.require(Right.READ)
    row, here = find(transaction, session), find_page(transaction, session, page)
    conditions = page_conditions(row, **chosen.given())
    all_before = page_conditions(row, **replace(chosen, ruling="").given()) if chosen.ruling == OPEN else conditions
    before = (QaPage.score < here.score) | ((QaPage.score == here.score) & (QaPage.id < here.id))
    behind = (QaPage.score > here.score) | ((QaPage.score == here.score) & (QaPage.id > here.id))
    previous = transaction.session.scalar(
        select(QaPage.id).where(*all_before, before).order_by(QaPage.score.desc(), QaPage.id.desc()).limit(1)
    )
    following = transaction.session.scalars(
        select(QaPage).where(*conditions, behind).order_by(QaPage.score, QaPage.id).limit(1)
    ).all()
    found = with_decisions(transaction, row.collection, following)
    return previous, (found[0] if found else None)


def first_page(transaction: Transaction, session: int, chosen: PageFilter) -> int | None:
    """Return the number of the worst page of the filter; None without a page. Raises NotFound."""
    transaction.require(Right.READ)
    conditions = page_conditions(find(transaction, session), **chosen.given())
    query = select(QaPage.id).where(*conditions).order_by(QaPage.score, QaPage.id).limit(1)
    return transaction.session.scalar(query)


def ruling_counts(transaction: Transaction, session: int) -> dict[str, int]:
    """Return how many pages of a session have each ruling; `open` counts those without one. Raises NotFound."""
    transaction.require(Right.READ)
    row = find(transaction, session)
    query = (
        select(PageDecision.ruling, func.count())
        .join(QaPage, PageDecision.id == counting_decision(row.collection))
        .where(*page_conditions(row), PageDecision.ruling.not_in((Ruling.NOTHING, Ruling.NOTE)))
        .group_by(PageDecision.ruling)
    )
    counts = {str(ruling): number for ruling, number in transaction.session.execute(query)}
    total = transaction.session.scalar(select(func.count()).where(*page_conditions(row))) or 0
    return {OPEN: total - sum(counts.values()), **counts}


def pages_to_repair(transaction: Transaction, session: int) -> list[int]:
    """Return the judged pages that reviewers sent to repair, at most 10,000, by their numbers. Raises NotFound."""
    transaction.require(Right.READ)
    conditions = page_conditions(find(transaction, session), ruling=Ruling.REPAIR)
    query = select(QaPage.id).where(*conditions, QaPage.state == QaPageState.JUDGED).order_by(QaPage.id)
    return list(transaction.session.scalars(query.limit(_MOST_REPAIRED)))


def reviewers(transaction: Transaction) -> list[str]:
    """Return the names of the users to whom a page can be assigned, at most 500."""
    transaction.require(Right.READ)
    query = select(User.name).where(User.is_active).order_by(User.name).limit(_MOST_USERS)
    return list(transaction.session.scalars(query))


def captured_pictures(transaction: Transaction, session: int, page: int) -> frozenset[CapturedPicture]:
    """Return the pictures of the page's capture that the archive has; none while the index can't be read."""
    transaction.require(Right.READ)
    row, found = find(transaction, session), find_page(transaction, session, page)
    try:
        with index_if_any(transaction.settings) as index:
            kinds = CapturedPicture if index is not None else ()
            return frozenset(kind for kind in kinds if _record(index, row, found, kind) is not None)
    except UseCaseError:
        return frozenset()


def captured_picture(transaction: Transaction, session: int, page: int, kind: CapturedPicture) -> RedrawnPicture:
    """Return a picture of the page's capture, drawn anew. Raises NotFound and IllegalState."""
    transaction.require(Right.READ)
    row, found = find(transaction, session), find_page(transaction, session, page)
    with index_if_any(transaction.settings) as index:
        record = _record(index, row, found, kind)
    if record is None:
        raise NotFound("picture of the capture", kind)
    try:
        return safe_picture(transaction.settings, record)
    except RecordTrouble as error:
        raise IllegalState(str(error)) from error


def replay_picture(transaction: Transaction, session: int, page: int, name: str) -> Path:
    """Return the file of a picture of the replay, such as `view-difference.png`. Raises NotFound."""
    transaction.require(Right.READ)
    row, found = find(transaction, session), find_page(transaction, session, page)
    path = page_folder(transaction.settings, row.collection, row.id, found.id) / name
    if not NAMES.fullmatch(name) or name not in found.pictures or not path.is_file():
        raise NotFound("picture of the replay", name[:100])
    return path


def page_texts(transaction: Transaction, session: int, page: int) -> PageTexts:
    """Return the texts of the page, at most the first million bytes of each. Raises NotFound."""
    transaction.require(Right.READ)
    row, found = find(transaction, session), find_page(transaction, session, page)
    captured = None
    with index_if_any(transaction.settings) as index:
        record = newest_record(index, row.collection, f"urn:text:{found.url}", found.page_id) if index else None
    if record is not None:
        try:
            captured = read_block(transaction.settings, record, _MOST_TEXT)[0].decode("utf-8", "replace")
        except RecordTrouble as error:
            raise IllegalState(str(error)) from error
    path = page_folder(transaction.settings, row.collection, row.id, found.id) / TEXT_NAME
    replayed = None
    if path.is_file():
        with path.open("rb") as file:
            replayed = file.read(_MOST_TEXT).decode("utf-8", "replace")
    return PageTexts(captured, replayed)


def _record(index: OpenIndex | None, row: QaSession, page: QaPage, kind: CapturedPicture) -> Capture | None:
    return picture_record(index, row.collection, kind, page.url, page.page_id) if index is not None else None
