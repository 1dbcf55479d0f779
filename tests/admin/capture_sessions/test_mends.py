"""admin/capture_sessions/mends: a page of QA is captured by hand in an open session, and judged again at its end."""

from __future__ import annotations

import pytest
from support.admin.qa_rows import add_page, add_session

from admin.capture_sessions import sessions
from admin.capture_sessions.details import show
from admin.capture_sessions.mends import HandCapture, capture_by_hand
from admin.capture_sessions.sessions import NewCaptureSession
from admin.models.capture_tables import CaptureDoor, CaptureSession, CaptureState
from admin.models.database import Database
from admin.models.errors import Forbidden, IllegalState, InvalidInput, NotFound
from admin.models.people_tables import Role
from admin.models.qa_tables import QaPageState, QaRepair
from admin.models.transaction import COMMAND_LINE, Actor, Door
from admin.qa.leases import take_work
from admin.qa.reviewing.repairs import stop
from admin.qa.sessions import list_pages

URL = "http://example.org/"


def test_pages_of_one_session_share_a_capture_session_and_wait_for_its_end(database: Database) -> None:
    with database.transaction(COMMAND_LINE) as transaction:
        judged = add_session(transaction)
        bad, worse = (add_page(transaction, judged, f"{URL}{score}", score).id for score in (30, 20))
        first = capture_by_hand(transaction, judged.id, bad, HandCapture())
        assert (first.door, first.url) == (CaptureDoor.SCREEN, f"{URL}30")
        assert capture_by_hand(transaction, judged.id, bad, HandCapture()) == first, "twice asked is once made"
        second = capture_by_hand(transaction, judged.id, worse, HandCapture())
        assert (second.capture_session, second.repair) == (first.capture_session, first.repair)
        mends = show(transaction, first.capture_session).mends
        assert [(each.qa_page, each.url) for each in mends] == [(worse, f"{URL}20"), (bad, f"{URL}30")]
        found = {page.id: page.repair for page in list_pages(transaction, judged.id).items}
        assert found[bad] is not None
        assert found[bad].words == (
            "to be captured again by hand in session manual-1, and judged again when that session has ended"
        )
        own = capture_by_hand(transaction, judged.id, bad, HandCapture(screen=False))
        assert own.door is CaptureDoor.OWN_BROWSER
        assert own.capture_session != first.capture_session
        judged_id = judged.id
    assert take_work(database, QaRepair, "a process") is None, "the capture sessions are open"
    with database.transaction(COMMAND_LINE) as transaction:
        transaction.session.get_one(CaptureSession, first.capture_session).state = CaptureState.ENDED
        third = capture_by_hand(transaction, judged_id, bad, HandCapture())
        assert third.capture_session not in (first.capture_session, own.capture_session)
        assert third.repair not in (first.repair, own.repair)
        stop(transaction, third.repair)
    taken = take_work(database, QaRepair, "a process")
    assert taken is not None
    assert taken.id == first.repair
    assert take_work(database, QaRepair, "a process") is None


def test_what_can_not_be_mended_is_refused(database: Database) -> None:
    eva = Actor("eva", Role.OPERATOR, Door.WEB)
    with database.transaction(COMMAND_LINE) as transaction:
        judged = add_session(transaction)
        waits = add_page(transaction, judged, URL, state=QaPageState.WAITING).id
        bad = add_page(transaction, judged, f"{URL}bad").id
        number = judged.id
        other = sessions.start(transaction, NewCaptureSession(collection="other")).id
        ours = sessions.start(transaction, NewCaptureSession(collection="news")).id
        with pytest.raises(IllegalState, match="not judged yet"):
            capture_by_hand(transaction, number, waits, HandCapture())
        with pytest.raises(InvalidInput, match="records into other"):
            capture_by_hand(transaction, number, bad, HandCapture(capture_session=other))
        with pytest.raises(NotFound):
            capture_by_hand(transaction, number, bad, HandCapture(capture_session=999))
        sessions.end(transaction, ours)
        with pytest.raises(IllegalState, match="is ending"):
            capture_by_hand(transaction, number, bad, HandCapture(capture_session=ours))
    with database.transaction(eva) as transaction, pytest.raises(Forbidden):
        capture_by_hand(transaction, number, bad, HandCapture(capture_session=other))
