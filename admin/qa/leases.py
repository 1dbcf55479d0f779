"""Processes take QA sessions, and workers take pages of them, for a time. A killed one loses them, and nothing else."""

from __future__ import annotations

import os
import socket
import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from sqlalchemy import and_, func, or_, select, update

from admin.models.capture_tables import CaptureSession, CaptureState
from admin.models.database import Database
from admin.models.people_tables import Role
from admin.models.qa_tables import OVER, QA_STEPS, QaPage, QaPageState, QaRepair, QaSession, QaState
from admin.models.transaction import Actor, Door, Transaction
from admin.qa.done_message import notify_done
from admin.qa.listing import FoundPage
from archive.dates import Micros

QA: Final = Actor("qa", Role.ADMINISTRATOR, Door.SCHEDULER)
"""The QA process acts by itself."""
SILENT_SECONDS: Final = 30
"""A session or a repair is taken over when its process has said nothing for so long."""
_MICROS: Final = 1_000_000
_BATCH: Final = 500

type Work = QaSession | QaRepair
type WorkKind = type[QaSession] | type[QaRepair]


@dataclass(frozen=True, slots=True)
class TakenPage:
    """A worker judges this page."""

    id: int
    url: str
    page_id: str
    captured: Micros
    is_rendered: bool
    tries: int


def new_owner() -> str:
    """Return a name of this process that no other process has."""
    return f"{socket.gethostname()}:{os.getpid()}:{uuid.uuid4().hex[:8]}"


def step(work: Work, state: QaState) -> None:
    """Change the state. Raises ValueError for a step that `QA_STEPS` does not have."""
    if state not in QA_STEPS[work.state]:
        raise ValueError(f"{work.state} can't become {state}")
    work.state = state


def take_work[W: (QaSession, QaRepair)](
    database: Database, kind: type[W], owner: str, only: int | None = None
) -> W | None:
    """Return the oldest waiting session or repair, which this process now owns; None when there is none.

    Work that a killed process left behind is taken over. With `only`, the work of this number alone is taken. A repair
    by hand is taken when its capture session has ended.
    """
    with database.transaction(QA) as transaction:
        silent = transaction.now - SILENT_SECONDS * _MICROS
        left = and_(kind.state.in_((QaState.RUNNING, QaState.STOPPING)), kind.heard < silent)
        query = select(kind).where(or_(kind.state == QaState.WAITING, left)).order_by(kind.id).limit(1)
        if only is not None:
            query = query.where(kind.id == only)
        if kind is QaRepair:
            ended = select(CaptureSession.id).where(CaptureSession.state == CaptureState.ENDED)
            by_hand = QaRepair.capture_session_id
            query = query.where(or_(by_hand.is_(None), by_hand.in_(ended)))
        found = transaction.session.scalars(query.with_for_update(skip_locked=True)).first()
        if found is None:
            return None
        if found.state is QaState.WAITING:
            step(found, QaState.RUNNING)
        found.owner, found.heard, found.error = owner, transaction.now, ""
        found.started = found.started or transaction.now
        found.ended = None
        return found


def hear(database: Database, kind: WorkKind, number: int, owner: str) -> QaState | None:
    """Note that the process works, and return the present state; None when another process owns the work now."""
    with database.transaction(QA) as transaction:
        found = _find(transaction, kind, number)
        if found is None or found.owner != owner:
            return None
        found.heard = transaction.now
        return found.state


def present_state(database: Database, kind: WorkKind, number: int, owner: str) -> QaState | None:
    """Return the present state of the work; None when another process owns it now."""
    with database.reading(QA) as reading:
        found = _find(reading, kind, number)
        return found.state if found is not None and found.owner == owner else None


def end_work(database: Database, kind: WorkKind, number: int, owner: str, state: QaState, error: str = "") -> None:
    """Note how the work ended, unless another process owns it now.

    Work that waits for the next process has not ended. A person who asked for its end in the meantime gets that.
    """
    with database.transaction(QA) as transaction:
        found = _find(transaction, kind, number)
        if found is None or found.owner != owner or found.state in OVER:
            return
        if state is QaState.WAITING and found.state is QaState.STOPPING:
            state = QaState.STOPPED
        step(found, state)
        found.error, found.owner = error, ""
        found.ended = transaction.now if state in OVER else None
        if isinstance(found, QaSession) and state is QaState.DONE:
            notify_done(transaction, found)


def _find(transaction: Transaction, kind: WorkKind, number: int) -> Work | None:
    if kind is QaSession:
        return transaction.session.get(QaSession, number)
    return transaction.session.get(QaRepair, number)


def add_pages(transaction: Transaction, session: QaSession, pages: Sequence[FoundPage]) -> int:
    """Add pages to a session, and return how many are new or have a newer capture than before."""
    added = 0
    for start in range(0, len(pages), _BATCH):
        batch = pages[start : start + _BATCH]
        known = {
            row.url_hash: row
            for row in transaction.session.scalars(
                select(QaPage).where(
                    QaPage.session_id == session.id, QaPage.url_hash.in_([page.url_hash for page in batch])
                )
            )
        }
        for page in batch:
            row = known.get(page.url_hash)
            if row is None:
                row = QaPage(session_id=session.id, url=page.url, url_hash=page.url_hash, host=page.host)
                transaction.session.add(row)
            elif row.captured >= page.captured:
                continue
            else:
                row.state, row.score, row.tries = QaPageState.WAITING, -1, 0
                row.taken_by, row.taken_until = "", None
            row.page_id, row.captured, row.is_rendered = page.page_id, page.captured, page.is_rendered
            if page.why:
                row.state, row.why, row.judged = QaPageState.UNJUDGED, page.why, transaction.now
            added += 1
        transaction.session.flush()
    return added


def count_pages(transaction: Transaction, session: QaSession) -> None:
    """Write the numbers of pages by state into the session."""
    rows = transaction.session.execute(
        select(QaPage.state, func.count()).where(QaPage.session_id == session.id).group_by(QaPage.state)
    )
    counts = {row[0]: row[1] for row in rows}
    session.pages = sum(counts.values())
    session.judged = counts.get(QaPageState.JUDGED, 0)
    session.unjudged = counts.get(QaPageState.UNJUDGED, 0)


def take_page(database: Database, session_id: int, owner: str, seconds: float) -> TakenPage | None:
    """Return the next page, which belongs to this worker for so many seconds; None when no page waits."""
    with database.transaction(QA) as transaction:
        now = transaction.now
        waits = or_(
            QaPage.state == QaPageState.WAITING, and_(QaPage.state == QaPageState.TAKEN, QaPage.taken_until < now)
        )
        query = select(QaPage).where(QaPage.session_id == session_id, waits).order_by(QaPage.id).limit(1)
        row = transaction.session.scalars(query.with_for_update(skip_locked=True)).first()
        if row is None:
            return None
        row.state, row.taken_by, row.taken_until = QaPageState.TAKEN, owner, now + int(seconds * _MICROS)
        row.tries += 1
        return TakenPage(row.id, row.url, row.page_id, row.captured, row.is_rendered, row.tries)


def taken_row(transaction: Transaction, page: TakenPage, owner: str) -> QaPage | None:
    """Return the locked row of a page; None when this process lost the page, or the row has a newer capture now."""
    row = transaction.session.get(QaPage, page.id, with_for_update=True)
    return row if row is not None and (row.taken_by, row.captured) == (owner, page.captured) else None


def give_back(database: Database, session_id: int, owner: str) -> None:
    """Let all pages that this process has taken wait again. The try does not count."""
    with database.transaction(QA) as transaction:
        mine = (QaPage.session_id == session_id, QaPage.state == QaPageState.TAKEN, QaPage.taken_by == owner)
        transaction.session.execute(
            update(QaPage)
            .where(*mine)
            .values(state=QaPageState.WAITING, taken_by="", taken_until=None, tries=QaPage.tries - 1)
        )


def waiting_pages(transaction: Transaction, session_id: int) -> int:
    """Return the number of pages that are not judged yet."""
    query = select(func.count()).where(
        QaPage.session_id == session_id, QaPage.state.in_((QaPageState.WAITING, QaPageState.TAKEN))
    )
    return transaction.session.scalar(query) or 0
