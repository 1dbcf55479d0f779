"""A person captures by hand pages that QA found bad. A capture session remembers which pages it mends."""

from __future__ import annotations

from typing import Final

from sqlalchemy import select

from admin.capture_sessions import sessions
from admin.capture_sessions.sessions import NewCaptureSession
from admin.models.capture_tables import CaptureDoor, CaptureSession, CaptureState
from admin.models.errors import Forbidden, IllegalState, InvalidInput, Problem
from admin.models.operation import InputModel, OutputModel
from admin.models.qa_tables import QaPageState, QaRepair, QaState, RepairPart
from admin.models.transaction import Right, Transaction
from admin.qa.page_repairs import PageRepair, newest_repairs
from admin.qa.sessions import find as find_qa_session
from admin.qa.sessions import find_page as find_qa_page

_MOST_SHOWN: Final = 200


class HandCapture(InputModel):
    """The input says in which capture session a page is captured by hand."""

    capture_session: int | None = None
    """The open capture session; left out, an open one of yours into the collection, or else a new one."""
    screen: bool = True
    """The session has a browser on the server; without, it is for a browser of your own."""


class HandCaptureView(OutputModel):
    """The output says where to capture the page by hand."""

    capture_session: int
    door: CaptureDoor
    repair: int
    """The repair that judges the page again when the capture session has ended."""
    url: str


class MendedPage(OutputModel):
    """The output is a page of a QA session that is captured again by hand."""

    url: str
    qa_session: int | None
    """The QA session that found the page bad; None for one that was deleted."""
    qa_page: int | None
    repair: PageRepair | None


def capture_by_hand(transaction: Transaction, session: int, page: int, given: HandCapture) -> HandCaptureView:
    """Let a page of a QA session be captured by hand. Raises NotFound, InvalidInput, IllegalState and Forbidden."""
    transaction.require(Right.OPERATE)
    judged, target = find_qa_session(transaction, session), find_qa_page(transaction, session, page)
    if target.state not in (QaPageState.JUDGED, QaPageState.UNJUDGED):
        raise IllegalState(f"page {page} of QA session {session} is not judged yet")
    row = _capture_session(transaction, judged.collection, session, given)
    repair = _repair(transaction, row, session)
    if all(part.page_id != page for part in repair.parts):
        repair.parts.append(
            RepairPart(page_id=page, url=target.url, captured=target.captured, score_before=target.score)
        )
        transaction.session.flush()
        new = {"capture_session": row.id, "repair": repair.id}
        transaction.audit("qa.capture-by-hand", "page", page, target.url, new=new)
    return HandCaptureView(capture_session=row.id, door=row.door, repair=repair.id, url=target.url)


def mended_pages(transaction: Transaction, session: int) -> list[MendedPage]:
    """Return the pages of QA sessions that a capture session mends, the newest first, at most 200."""
    transaction.require(Right.READ)
    query = select(RepairPart, QaRepair.session_id).join(QaRepair, QaRepair.id == RepairPart.repair_id)
    query = query.where(QaRepair.capture_session_id == session).order_by(RepairPart.id.desc()).limit(_MOST_SHOWN)
    rows = list(transaction.session.execute(query))
    repairs = newest_repairs(transaction, [part.page_id for part, _ in rows if part.page_id is not None])
    return [
        MendedPage(
            url=part.url,
            qa_session=found_by,
            qa_page=part.page_id,
            repair=repairs.get(part.page_id) if part.page_id is not None else None,
        )
        for part, found_by in rows
    ]


def _capture_session(transaction: Transaction, collection: str, session: int, given: HandCapture) -> CaptureSession:
    """Return the open capture session that a person chose, or one of the person, or a new one."""
    if given.capture_session is not None:
        row = sessions.find(transaction, given.capture_session)
        if not sessions.may_steer(transaction, row):
            raise Forbidden(f"capture session {row.id} belongs to {row.owner}")
        if row.collection != collection:
            why = f"session {row.id} records into {row.collection}, and the page belongs to {collection}"
            raise InvalidInput(Problem("capture_session", why))
        if row.state not in (CaptureState.OPEN, CaptureState.PAUSED):
            raise IllegalState(f"capture session {row.id} is {row.state}; resume it first, or let a new one be made")
        return row
    door = CaptureDoor.SCREEN if given.screen else CaptureDoor.OWN_BROWSER
    query = select(CaptureSession).where(
        CaptureSession.collection == collection,
        CaptureSession.state == CaptureState.OPEN,
        CaptureSession.door == door,
        CaptureSession.owner == transaction.actor.name,
    )
    found = transaction.session.scalar(query.order_by(CaptureSession.id.desc()).limit(1))
    if found is not None:
        return found
    new = NewCaptureSession(collection=collection, title=f"Pages of QA session {session}", screen=given.screen)
    return sessions.find(transaction, sessions.start(transaction, new).id)


def _repair(transaction: Transaction, row: CaptureSession, session: int) -> QaRepair:
    """Return the repair that waits for the end of the capture session."""
    query = select(QaRepair).where(
        QaRepair.capture_session_id == row.id, QaRepair.session_id == session, QaRepair.state == QaState.WAITING
    )
    found = transaction.session.scalar(query)
    if found is None:
        found = QaRepair(
            collection=row.collection,
            session_id=session,
            capture_session_id=row.id,
            created=transaction.now,
            created_by=transaction.actor.name,
        )
        transaction.session.add(found)
        transaction.session.flush()
    return found
