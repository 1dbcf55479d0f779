"""The sources of the in-tray that quality assurance has: pages to review, assigned pages, and pages to repair."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final
from urllib.parse import quote, urlencode

from sqlalchemy import ColumnElement, func, select
from sqlalchemy.orm import aliased

from admin.curation.tray.entries import MOST_OF_SOURCE, TrayEntry, TrayKind
from admin.models.qa_tables import PageDecision, QaPage, QaRepair, QaSession, QaState, RepairPart, Ruling
from admin.models.transaction import Transaction
from admin.qa.sessions import page_conditions

_SESSIONS: Final = 20
_WORST: Final = 200
"""Pages of a session that are looked at, the worst first: the tray is counted often."""
_DECISIONS: Final = 2_000
_DAY: Final = 86_400_000_000
_DAMAGED: Final = ("severe", "noticeable")


def damaged_pages(transaction: Transaction) -> Iterator[TrayEntry]:
    """Yield QA sessions of the last days that have damaged pages about which nobody has decided."""
    since = transaction.now - transaction.settings.curation.tray_days * _DAY
    query = (
        select(QaSession)
        .where(QaSession.state == QaState.DONE, QaSession.ended > since, QaSession.repair_id.is_(None))
        .order_by(QaSession.id.desc())
        .limit(_SESSIONS)
    )
    told: set[tuple[str, str | None]] = set()
    for session in transaction.session.scalars(query).all():
        target = (session.collection, session.job)
        if target in told:
            continue  # a newer session has judged the same pages
        told.add(target)
        worst = (
            select(QaPage.id)
            .where(QaPage.session_id == session.id, QaPage.severity.in_(_DAMAGED))
            .order_by(QaPage.score, QaPage.id)
            .limit(_WORST)
        )
        undecided = page_conditions(session, ruling="open")
        waiting = transaction.session.scalar(select(func.count()).where(QaPage.id.in_(worst), *undecided)) or 0
        if waiting:
            pages = "1 damaged page waits" if waiting == 1 else f"{waiting} damaged pages wait"
            yield TrayEntry(
                f"qa-review:{session.id}",
                TrayKind.TO_REVIEW,
                session.job or session.collection,
                f"{pages} for a decision",
                f"/qa/{session.id}/pages?ruling=open",
                session.ended or session.created,
            )


def assigned_pages(transaction: Transaction) -> Iterator[TrayEntry]:
    """Yield for each person the pages that a reviewer assigned to the person, and that nobody has decided about."""
    conditions = (PageDecision.assigned_to != "", PageDecision.ruling == Ruling.NOTE)
    query = (
        select(PageDecision.assigned_to, PageDecision.session_id, PageDecision.collection, func.count(), _since())
        .where(*conditions, _is_newest(PageDecision), PageDecision.session_id.is_not(None))
        .group_by(PageDecision.assigned_to, PageDecision.session_id, PageDecision.collection)
        .order_by(_since())
        .limit(MOST_OF_SOURCE)
    )
    for person, session, collection, pages, since in transaction.session.execute(query):
        link = f"/qa/{session}/pages?{urlencode({'reviewer': person})}"
        why = f"1 page is assigned to {person}" if pages == 1 else f"{pages} pages are assigned to {person}"
        key = f"qa-assigned:{session}:{person}"
        yield TrayEntry(key, TrayKind.TO_REVIEW, collection, why, link, since, person)


def pages_to_repair(transaction: Transaction) -> Iterator[TrayEntry]:
    """Yield collections with pages that reviewers sent to repair, and that no repair has taken since."""
    newest = (
        select(PageDecision.id).where(PageDecision.ruling == Ruling.REPAIR).order_by(PageDecision.id.desc())
    ).limit(_DECISIONS)
    taken = (
        select(RepairPart.id)
        .join(QaRepair, QaRepair.id == RepairPart.repair_id)
        .where(
            QaRepair.collection == PageDecision.collection,
            QaRepair.created >= PageDecision.decided,
            RepairPart.url == PageDecision.url,
        )
        .exists()
    )
    query = (
        select(PageDecision.collection, PageDecision.session_id, func.count(), _since())
        .where(PageDecision.id.in_(newest), _is_newest(PageDecision), ~taken)
        .group_by(PageDecision.collection, PageDecision.session_id)
        .order_by(_since())
        .limit(MOST_OF_SOURCE)
    )
    for collection, session, pages, since in transaction.session.execute(query):
        link = f"/qa?{urlencode({'collection': collection})}" if session is None else f"/qa/{quote(str(session))}"
        why = "1 page waits for a repair" if pages == 1 else f"{pages} pages wait for a repair"
        yield TrayEntry(f"qa-repair:{collection}:{session or 0}", TrayKind.TO_REPAIR, collection, why, link, since)


def _since() -> ColumnElement[int]:
    return func.min(PageDecision.decided)


def _is_newest(decision: type[PageDecision]) -> ColumnElement[bool]:
    """Return the condition that the decision is the newest about its capture, and that none about a newer one stands.

    A note about a newer capture decides nothing, and neither does a decision that was undone.
    """
    other = aliased(PageDecision)
    is_decided = other.ruling.not_in((Ruling.NOTHING, Ruling.NOTE)) & _is_newest_of_capture(other)
    of_newer = select(other.id).where(*_of_same_page(other, decision), other.captured > decision.captured, is_decided)
    return _is_newest_of_capture(decision) & ~of_newer.exists()


def _is_newest_of_capture(decision: type[PageDecision]) -> ColumnElement[bool]:
    """Return the condition that no later decision about the page's capture was made."""
    later = aliased(PageDecision)
    of_capture = (*_of_same_page(later, decision), later.captured == decision.captured)
    return ~select(later.id).where(*of_capture, later.id > decision.id).exists()


def _of_same_page(other: type[PageDecision], decision: type[PageDecision]) -> tuple[ColumnElement[bool], ...]:
    return other.collection == decision.collection, other.url_hash == decision.url_hash
