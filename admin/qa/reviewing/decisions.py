"""Reviewers decide about captured pages: accept, reject, send to repair, write a note, assign, and undo.

A decision is about one capture of a page. It stays when a QA session is deleted, and when the page is captured again.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from pydantic import Field
from sqlalchemy import select

from admin.models.errors import IllegalState, InvalidInput, Problem
from admin.models.operation import InputModel, Page
from admin.models.people_tables import User
from admin.models.qa_tables import PageDecision, QaPage, Ruling
from admin.models.transaction import Right, Transaction
from admin.qa.sessions import Decision, QaPageView, find, find_page, show_page

_MOST_SHOWN: Final = 100


class PageRuling(InputModel):
    """A reviewer's decision about a page."""

    ruling: Ruling
    """accepted, rejected, repair or note."""
    note: str = Field(default="", max_length=10_000)
    assigned_to: str = Field(default="", max_length=255)
    """The name of the user to whom the page is assigned."""


def decide(transaction: Transaction, session: int, page: int, given: PageRuling) -> QaPageView:
    """Decide about a page of a QA session. Raises NotFound and InvalidInput."""
    transaction.require(Right.OPERATE)
    row, target = find(transaction, session), find_page(transaction, session, page)
    if given.ruling is Ruling.NOTHING:
        raise InvalidInput(Problem("ruling", "nothing can't be decided; use `qa undo` to take a decision back"))
    if given.ruling is Ruling.NOTE and not (given.note.strip() or given.assigned_to.strip()):
        raise InvalidInput(Problem("note", "is empty; write a note, or name a user in assigned_to"))
    _check_user(transaction, given.assigned_to)
    before = _newest(transaction, row.collection, target)
    note, assigned_to = given.note.strip(), given.assigned_to.strip()
    ruling = given.ruling
    if before is not None:
        # A note keeps the decision that it is written about; a decision keeps the note and the person.
        ruling = before.ruling if ruling is Ruling.NOTE and before.ruling is not Ruling.NOTHING else ruling
        note, assigned_to = note or before.note, assigned_to or before.assigned_to
    _add(transaction, row.collection, target, session, ruling, note, assigned_to)
    new = {"ruling": ruling, "note": note, "assigned_to": assigned_to}
    transaction.audit("qa.decide", "page", target.id, target.url, new=new)
    return show_page(transaction, session, page)


def undo(transaction: Transaction, session: int, page: int) -> QaPageView:
    """Take the newest decision about a page back: the decision before it counts again. Raises IllegalState.

    A row with the ruling NOTHING says that a decision was undone. A copy of the decision before it follows.
    """
    transaction.require(Right.OPERATE)
    row, target = find(transaction, session), find_page(transaction, session, page)
    made = transaction.session.scalars(
        select(PageDecision)
        .where(
            PageDecision.collection == row.collection,
            PageDecision.url_hash == target.url_hash,
            PageDecision.captured == target.captured,
        )
        .order_by(PageDecision.id)
    )
    standing = _standing(made)
    if not standing:
        raise IllegalState("there is no decision about this capture that can be undone")
    undone = standing.pop()
    _add(transaction, row.collection, target, session, Ruling.NOTHING, "", "")
    if standing:
        before = standing[-1]
        _add(transaction, row.collection, target, session, before.ruling, before.note, before.assigned_to)
    transaction.audit("qa.undo", "page", target.id, target.url, old={"ruling": undone.ruling})
    return show_page(transaction, session, page)


def list_decisions(transaction: Transaction, session: int, page: int) -> Page[Decision]:
    """Return the decisions about all captures of a page, the newest first. Raises NotFound."""
    transaction.require(Right.READ)
    row, target = find(transaction, session), find_page(transaction, session, page)
    query = (
        select(PageDecision)
        .where(PageDecision.collection == row.collection, PageDecision.url_hash == target.url_hash)
        .order_by(PageDecision.id.desc())
        .limit(_MOST_SHOWN)
    )
    items = [
        Decision.model_validate(each).model_copy(update={"is_earlier": each.captured < target.captured})
        for each in transaction.session.scalars(query)
    ]
    return Page(items=items)


def _standing(made: Iterable[PageDecision]) -> list[PageDecision]:
    """Return the decisions that were not undone, of all about a capture from the oldest to the newest.

    A decision that says the same as the one before it is no further one. So is the copy that `undo` makes.
    """
    standing: list[PageDecision] = []
    for each in made:
        if each.ruling is Ruling.NOTHING:
            del standing[-1:]
        elif not standing or _content(each) != _content(standing[-1]):
            standing.append(each)
    return standing


def _content(decision: PageDecision) -> tuple[Ruling, str, str]:
    """Return what the decision says: a note alone may have been added to a ruling, and is undone alone."""
    return decision.ruling, decision.note, decision.assigned_to


def _add(
    transaction: Transaction, collection: str, page: QaPage, session: int, ruling: Ruling, note: str, assigned_to: str
) -> None:
    transaction.session.add(
        PageDecision(
            collection=collection,
            url=page.url,
            url_hash=page.url_hash,
            captured=page.captured,
            ruling=ruling,
            note=note,
            assigned_to=assigned_to,
            decided=transaction.now,
            decided_by=transaction.actor.name,
            session_id=session,
        )
    )
    transaction.session.flush()


def _newest(transaction: Transaction, collection: str, page: QaPage) -> PageDecision | None:
    """Return the newest decision about the page's capture."""
    query = select(PageDecision).where(
        PageDecision.collection == collection,
        PageDecision.url_hash == page.url_hash,
        PageDecision.captured == page.captured,
    )
    return transaction.session.scalars(query.order_by(PageDecision.id.desc()).limit(1)).first()


def _check_user(transaction: Transaction, name: str) -> None:
    """Raise InvalidInput unless the name is empty or that of a user."""
    if name.strip() and transaction.session.scalar(select(User.id).where(User.name == name.strip())) is None:
        raise InvalidInput(Problem("assigned_to", f"{name[:100]!r} is no user; `ghostfleet user list` shows the users"))
