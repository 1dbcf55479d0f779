"""The origin's close frame is the end of a WebSocket: the client sees it when all is kept, or the connection breaks."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
from support.archive.capture_rows import capture
from support.clients.listening_client import Ear
from support.clients.websocket import BYE, CLOSE, TEXT, frame

from archive.capture import Context, Exchange, Truncation
from archive.settings import ProxySettings
from proxy.delivery.delivery import Delivery
from proxy.fetch.upgraded import UpgradedConnection
from proxy.protocol.http1 import parse_request, parse_response
from proxy.recording.keep import Kept, Lost
from proxy.recording.plan import DerivedRecord
from proxy.sessions.session import Session
from proxy.sessions.spec import SessionSpec

RAW = b"HTTP/1.1 101 Switching Protocols\r\n\r\n"
URL = "http://a.org/"
KEPT = Kept(capture(URL))
WORD, ORIGIN_CLOSES = frame(TEXT, b"moss"), frame(CLOSE, BYE)
CLIENT_CLOSES = frame(CLOSE, BYE, mask=b"mask")


class Line:
    """The origin's connection."""

    def __init__(self) -> None:
        self.is_paused = False

    def free_place(self) -> None:
        """Nobody else wants it here."""

    def pause(self) -> None:
        self.is_paused = True

    def resume(self) -> None:
        self.is_paused = False


class Stage:
    """A conversation of which the handshake has been handed over, and everybody it deals with."""

    def __init__(self, folder: Path, **settings: Any) -> None:
        self.ear, self.line = Ear(), Line()
        self.submitted: list[tuple[Any, Callable[[Kept | Lost], None]]] = []
        self.ended: list[Truncation | None] = []
        self.is_over = False
        services = SimpleNamespace(
            settings=ProxySettings(**settings),
            spool_folder=folder,
            recorder=SimpleNamespace(submit=lambda item, answer: self.submitted.append((item, answer))),
        )
        order = SimpleNamespace(session=Session(SessionSpec("news")), url=URL)
        delivery = Delivery(self.ear, parse_request(b"GET / HTTP/1.1\r\nUpgrade: websocket\r\n\r\n"))
        self.it = UpgradedConnection(cast(Any, order), cast(Any, self.line), delivery, cast(Any, services), self.end)
        handshake = SimpleNamespace(id="x", url=URL, context=Context("news"), response=None)
        self.it.begin(parse_response(RAW), cast(Exchange, handshake), WORD)

    def end(self, reason: Truncation | None) -> None:
        """As an exchange does: once."""
        self.ended.append(reason)
        if len(self.ended) == 1:
            self.it.end(reason, self.over)

    def over(self) -> None:
        self.is_over = True

    def answer(self, outcome: Kept | Lost) -> list[str]:
        """The recorder's answer for what was submitted first; the types of its lines, unless it is the handshake."""
        item, answered = self.submitted.pop(0)
        lines = b"".join(item.body.chunks()).splitlines() if isinstance(item, DerivedRecord) else []
        answered(outcome)
        return [json.loads(line)["type"] for line in lines]

    @property
    def heard(self) -> bytes:
        return self.ear.heard.removeprefix(RAW)


@pytest.fixture
def stage(tmp_path: Path) -> Stage:
    return Stage(tmp_path)


def test_what_is_said_passes_before_anything_is_kept(stage: Stage) -> None:
    assert (stage.ear.end, stage.heard) == ("upgraded", WORD)


def test_the_close_frame_waits_for_handshake_and_messages(stage: Stage) -> None:
    stage.it.received(WORD)
    stage.it.received(ORIGIN_CLOSES)
    assert (stage.heard, stage.line.is_paused) == (WORD * 2, True)
    stage.answer(KEPT)
    assert stage.heard == WORD * 2, "only the handshake is kept"

    assert stage.answer(KEPT) == ["receive"] * 3
    assert (stage.heard, stage.line.is_paused) == (WORD * 2 + ORIGIN_CLOSES, False)

    stage.it.sent(CLIENT_CLOSES)
    stage.it.hung_up(in_order=True)
    stage.end(None)
    assert stage.ear.end == "upgradedclose"
    assert not stage.is_over
    assert stage.answer(KEPT) == ["send", "end"]
    assert stage.is_over


def test_what_the_client_ends_is_one_record(stage: Stage) -> None:
    stage.answer(KEPT)
    stage.it.sent(CLIENT_CLOSES)
    stage.it.received(ORIGIN_CLOSES)
    assert stage.heard == WORD

    assert stage.answer(KEPT) == ["receive", "send", "receive", "end"]
    assert stage.heard == WORD + ORIGIN_CLOSES
    stage.it.hung_up(in_order=True)
    stage.end(None)
    assert (stage.submitted, stage.is_over) == ([], True)


def test_a_hang_up_waits_behind_the_close_frame(stage: Stage) -> None:
    stage.answer(KEPT)
    stage.it.received(ORIGIN_CLOSES)
    stage.it.hung_up(in_order=True)
    stage.end(None)
    assert (stage.heard, stage.ear.end) == (WORD, "upgraded")

    stage.answer(KEPT)
    assert (stage.heard, stage.ear.end) == (WORD, "upgraded"), "the end of its log is not kept yet"
    stage.answer(KEPT)
    assert (stage.heard, stage.ear.end) == (WORD + ORIGIN_CLOSES, "upgradedclose")
    assert stage.is_over


@pytest.mark.parametrize("is_handshake", [True, False])
@pytest.mark.parametrize("hangs_up", [True, False])
def test_the_connection_breaks_when_something_is_lost(stage: Stage, is_handshake: bool, hangs_up: bool) -> None:
    stage.it.received(ORIGIN_CLOSES)
    if hangs_up:
        stage.it.hung_up(in_order=True)
        stage.end(None)
    if not is_handshake:
        stage.answer(KEPT)
    stage.answer(Lost("no disk"))

    assert (stage.heard, stage.ear.end) == (WORD, "upgradedabort")
    assert (stage.submitted, stage.is_over) == ([], True)


def test_a_loss_in_mid_conversation_breaks_it_soon(tmp_path: Path) -> None:
    stage = Stage(tmp_path, websocket_segment_bytes=10)
    stage.answer(KEPT)
    stage.answer(Lost("no disk"))
    stage.it.received(WORD)
    assert stage.ear.end == "upgraded"
    stage.it.tick()

    assert (stage.ear.end, stage.ended) == ("upgradedabort", [None])
    assert (stage.submitted, stage.is_over) == ([], True)


def test_what_is_not_to_be_archived_waits_for_nothing_but_this_word(stage: Stage) -> None:
    stage.it.received(ORIGIN_CLOSES)
    stage.answer(Kept(None))

    assert (stage.heard, stage.ear.end, stage.ended) == (WORD + ORIGIN_CLOSES, "upgraded", [])


def test_delivered_at_once_is_what_was_asked_for_so(tmp_path: Path) -> None:
    stage = Stage(tmp_path, deliver="at_once")
    stage.it.received(ORIGIN_CLOSES)

    assert stage.heard == WORD + ORIGIN_CLOSES
