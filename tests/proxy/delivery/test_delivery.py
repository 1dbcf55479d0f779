"""One response handed to one client: in its framing, its end held back, broken visibly when it is not whole."""

from __future__ import annotations

import pytest
from support.clients.listening_client import Ear

from proxy.delivery.delivery import Delivery
from proxy.protocol.http1 import Framing, parse_request, parse_response

HEAD = parse_response(b"HTTP/1.1 200 OK\r\nA: b\r\n\r\n")


def delivery(minor: int = 1, *lines: bytes) -> tuple[Delivery, Ear]:
    """A delivery to a client of HTTP/1.`minor` that sent these lines."""
    ear = Ear()
    return Delivery(ear, parse_request(b"GET / HTTP/1.%d\r\n%b\r\n" % (minor, b"".join(lines)))), ear


def test_the_end_is_held_back_until_it_is_let_go() -> None:
    to, ear = delivery()

    to.pass_on(to.begin(HEAD, Framing.LENGTH, 0, stays=True) + to.shaped(b"first"))
    to.hold(to.shaped(b"last"))
    assert ear.heard == b"HTTP/1.1 200 OK\r\nA: b\r\n\r\nfirst"
    assert ear.end == ""

    to.let_go()
    assert ear.heard.endswith(b"firstlast")
    assert ear.end == "keep"


def test_a_body_that_ends_with_its_connection_goes_out_in_chunks() -> None:
    to, ear = delivery()

    to.pass_on(to.begin(HEAD, Framing.CLOSE, 0, stays=True) + to.shaped(b"hello"))
    to.hold(b"")
    to.let_go()

    assert ear.heard.partition(b"\r\n\r\n")[2] == b"5\r\nhello\r\n0\r\n\r\n"
    assert b"Transfer-Encoding: chunked\r\n" in ear.heard
    assert ear.end == "keep"


@pytest.mark.parametrize(("framing", "wants_payload"), [(Framing.CLOSE, False), (Framing.CHUNKED, True)])
def test_a_client_of_http_1_0_gets_a_plain_body_that_ends_with_the_connection(
    framing: Framing, wants_payload: bool
) -> None:
    to, ear = delivery(0, b"Connection: keep-alive\r\n")

    to.pass_on(to.begin(HEAD, framing, 0, stays=True) + to.shaped(b"hello"))
    assert to.wants_payload is wants_payload
    to.hold(b"")
    to.let_go()

    assert ear.heard == b"HTTP/1.1 200 OK\r\nA: b\r\nConnection: close\r\n\r\nhello"
    assert ear.end == "close"


def test_a_connection_that_shall_not_stay_says_so() -> None:
    to, ear = delivery()

    to.hold(to.begin(HEAD, Framing.NONE, 0, stays=False))
    to.let_go()

    assert ear.heard == b"HTTP/1.1 200 OK\r\nA: b\r\nConnection: close\r\n\r\n"
    assert ear.end == "close"


def test_a_cut_never_shows_the_held_end() -> None:
    to, ear = delivery()
    to.pass_on(to.begin(HEAD, Framing.CLOSE, 0, stays=True))
    to.hold(to.shaped(b"last"))

    to.cut()

    assert b"last" not in ear.heard
    assert not ear.heard.endswith(b"0\r\n\r\n")
    assert ear.end == "abort"


def test_a_refusal_is_an_answer_as_long_as_nothing_was_sent() -> None:
    to, ear = delivery()
    to.hold(to.begin(HEAD, Framing.LENGTH, 0, stays=True) + b"body")

    to.refuse(503, 0, "not-kept", "could not keep it\n")

    assert ear.heard.startswith(b"HTTP/1.1 503 Service Unavailable\r\n")
    assert b"Ghostfleet-Error: 0 not-kept\r\n" in ear.heard
    assert b"Retry-After: " in ear.heard
    assert b"body" not in ear.heard
    assert ear.end == "close"


def test_a_refusal_after_the_first_byte_is_a_break() -> None:
    to, ear = delivery()
    to.pass_on(to.begin(HEAD, Framing.LENGTH, 0, stays=True))

    to.refuse(502, -3, "lost", "lost\n")

    assert b"502" not in ear.heard
    assert ear.end == "abort"


@pytest.mark.parametrize("act", ["let_go", "cut", "refuse", "pass_on", "switch", "take_more"])
def test_nothing_more_is_said_to_a_client_that_left(act: str) -> None:
    to, ear = delivery()
    to.hold(b"x")
    to.leave()
    assert not to.is_wanted
    assert not to.is_full

    arguments = {"refuse": (502, -3, "lost", "lost\n"), "pass_on": (b"x",), "switch": (HEAD,)}
    getattr(to, act)(*arguments.get(act, ()))

    assert (ear.heard, ear.end) == (b"", "")


@pytest.mark.parametrize("expects", [False, True])
def test_an_interim_response_is_for_those_who_wait_for_it(expects: bool) -> None:
    to, ear = delivery(1, *((b"Expect: 100-continue\r\n",) if expects else ()))

    to.interim(parse_response(b"HTTP/1.1 100 Continue\r\n\r\n"))

    assert ear.heard == (b"HTTP/1.1 100 Continue\r\n\r\n" if expects else b"")


def test_a_switch_passes_the_head_as_it_came() -> None:
    to, ear = delivery()
    raw = b"HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n"

    to.switch(parse_response(raw))

    assert (ear.heard, ear.end) == (raw, "upgraded")
