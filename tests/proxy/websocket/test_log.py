"""The conversation's log when keeping fails: it always comes to an end, and the loss is counted."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from support.archive.capture_rows import capture
from support.clients.websocket import BYE, CLOSE, TEXT, frame

from archive.capture import Context
from archive.settings import ProxySettings
from proxy.recording.keep import Kept, Lost
from proxy.recording.plan import DerivedRecord
from proxy.sessions.secrets.redaction import Redaction
from proxy.sessions.session import Session
from proxy.sessions.spec import SessionSpec
from proxy.websocket.log import SocketLog

HANDSHAKE = "6f1a7c1e-0000-4000-8000-000000000009"


class HeldRecorder:
    """Takes records and answers for them when told to."""

    def __init__(self) -> None:
        self.items: list[tuple[DerivedRecord, Callable[[Kept | Lost], None]]] = []

    def submit(self, item: DerivedRecord, answer: Callable[[Kept | Lost], None]) -> None:
        self.items.append((item, answer))


@pytest.fixture
def session() -> Session:
    return Session(SessionSpec("news"))


@pytest.fixture
def recorder() -> HeldRecorder:
    return HeldRecorder()


@pytest.fixture
def log(session: Session, recorder: HeldRecorder, tmp_path: Path) -> SocketLog:
    return SocketLog("http://a.org/", Context("news"), session, None, ProxySettings(spool_bytes=10), recorder, tmp_path)


def test_what_ends_before_its_handshake_is_kept_waits_for_it(
    log: SocketLog, recorder: HeldRecorder, session: Session
) -> None:
    over: list[bool] = []
    log.received(frame(TEXT, b"moss"))
    log.end(None, lambda: over.append(True))
    assert (recorder.items, over) == ([], [])

    log.handshake_kept(HANDSHAKE)
    ((item, answer),) = recorder.items
    assert not over
    lines = [json.loads(line) for line in b"".join(item.body.chunks()).splitlines()]
    answer(Kept(capture("http://a.org/")))

    assert over == [True]
    assert item.concurrent_to == HANDSHAKE
    assert [line["type"] for line in lines] == ["receive", "end"]
    assert session.counts["messages"] == 1


def test_what_the_client_says_is_redacted(recorder: HeldRecorder, tmp_path: Path) -> None:
    session = Session(SessionSpec("news", redaction=Redaction(fields=frozenset({"password"}))))
    log = SocketLog("http://a.org/", Context("news"), session, None, ProxySettings(), recorder, tmp_path)
    log.sent(frame(TEXT, b'{"password": "hunter2"}', mask=b"mask") + frame(TEXT, b"hunter2", mask=b"mask"))
    log.received(frame(TEXT, b"welcome"))
    log.handshake_kept(HANDSHAKE)
    log.end(None, lambda: None)

    ((item, _),) = recorder.items
    text = b"".join(item.body.chunks())
    lines = [json.loads(line) for line in text.splitlines()]
    assert b"hunter2" not in text
    assert [line.get("payloadData") for line in lines] == ['{"password": "redacted"}', "", "welcome", None]
    assert [line.get("redacted") for line in lines] == [["field password"], ["message"], None, None]


def test_without_its_handshake_nothing_is_kept_and_it_is_over(log: SocketLog, recorder: HeldRecorder) -> None:
    over: list[bool] = []
    log.received(frame(TEXT, b"moss"))
    log.end(None, lambda: over.append(True))

    log.give_up()

    assert (recorder.items, over) == ([], [True])


def test_a_handshake_lost_in_mid_conversation_keeps_nothing_of_it(log: SocketLog, recorder: HeldRecorder) -> None:
    over: list[bool] = []
    log.received(frame(TEXT, b"moss"))
    log.give_up()
    log.received(frame(TEXT, b"more"))

    log.end("unspecified", lambda: over.append(True))

    assert (recorder.items, over) == ([], [True])


def test_a_lost_record_is_counted(log: SocketLog, recorder: HeldRecorder, session: Session) -> None:
    over: list[bool] = []
    log.handshake_kept(HANDSHAKE)
    log.end("time", lambda: over.append(True))

    recorder.items[0][1](Lost("no disk"))

    assert over == [True]
    assert (session.counts["failed"], session.errors["not-kept"]) == (1, 1)


def test_what_is_old_is_kept_before_the_end(log: SocketLog, recorder: HeldRecorder) -> None:
    log.handshake_kept(HANDSHAKE)
    log.flush_old(2**62)
    assert recorder.items == [], "there is nothing to keep"

    log.sent(frame(TEXT, b"moss"))
    log.flush_old(0)
    assert recorder.items == [], "it is not old"
    log.flush_old(2**62)

    ((item, answer),) = recorder.items
    assert item.truncated is None
    answer(Kept(capture("http://a.org/")))


def said(item: DerivedRecord) -> list[object]:
    """The payloads of a record, and how it ends."""
    lines = [json.loads(line) for line in b"".join(item.body.chunks()).splitlines()]
    return [line.get("payloadData", line.get("reason")) for line in lines]


def in_segments(session: Session, recorder: HeldRecorder, folder: Path) -> SocketLog:
    """A log with a record for each message; three are said."""
    log = SocketLog(
        "http://a.org/", Context("news"), session, None, ProxySettings(websocket_segment_bytes=10), recorder, folder
    )
    for word in (b"one", b"two", b"three"):
        log.received(frame(TEXT, word))
    log.handshake_kept(HANDSHAKE)
    return log


def test_each_record_waits_until_the_one_before_it_is_durable(
    session: Session, recorder: HeldRecorder, tmp_path: Path
) -> None:
    over: list[bool] = []
    in_segments(session, recorder, tmp_path).end(None, lambda: over.append(True))
    for count, text in enumerate(("one", "two", "three", "disconnect"), 1):
        assert len(recorder.items) == count
        item, answer = recorder.items[-1]
        assert (said(item), over) == ([text], [])
        answer(Kept(capture("http://a.org/")))
    assert (len(recorder.items), over) == (4, [True])


def test_behind_a_lost_record_there_are_no_more(session: Session, recorder: HeldRecorder, tmp_path: Path) -> None:
    log = in_segments(session, recorder, tmp_path)
    kept: list[bool] = []
    log.settle(kept.append)
    recorder.items[0][1](Kept(capture("http://a.org/")))
    recorder.items[1][1](Lost("no disk"))
    log.received(frame(TEXT, b"four"))
    log.end(None, lambda: None)

    assert (len(recorder.items), kept, log.has_lost) == (2, [False], True)
    assert session.counts["failed"] == 1


def test_what_is_said_behind_both_close_frames_has_an_end_of_its_own(log: SocketLog, recorder: HeldRecorder) -> None:
    kept: list[bool] = []
    log.handshake_kept(HANDSHAKE)
    log.sent(frame(CLOSE, BYE, mask=b"mask"))
    log.received(frame(CLOSE, BYE))
    log.settle(kept.append)
    log.received(frame(TEXT, b"late"))
    log.end(None, lambda: None)

    first, answer = recorder.items[0]
    assert said(first) == ["A+g=", "A+g=", "closed"]
    answer(Kept(capture("http://a.org/")))
    second, answer = recorder.items[1]
    assert said(second) == ["late", "closed"]
    answer(Kept(capture("http://a.org/")))
    assert kept == [True]


def test_whoever_breaks_it_off_behind_both_close_frames_cuts_nothing(log: SocketLog, recorder: HeldRecorder) -> None:
    log.handshake_kept(HANDSHAKE)
    log.received(frame(CLOSE, BYE))
    log.sent(frame(CLOSE, BYE, mask=b"mask"))
    log.end("time", lambda: None)

    ((item, answer),) = recorder.items
    assert (said(item), item.truncated) == (["A+g=", "A+g=", "closed"], None)
    answer(Kept(capture("http://a.org/")))
