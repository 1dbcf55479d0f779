"""Heads of HTTP/2 as HTTP/1.1 says them, and what can't be said."""

from __future__ import annotations

import pytest
from h2.connection import H2Connection
from h2.exceptions import ProtocolError

from proxy.protocol.http1 import BadMessage
from proxy.protocol.http2 import GoAway, Http2Wire, request_lines

GET = [(b":method", b"GET"), (b":scheme", b"https"), (b":path", b"/a?b"), (b":authority", b"a.example")]


def test_a_request_begins_with_its_host_and_has_its_cookies_together() -> None:
    fields = [(b"cookie", b"a=1"), (b"x-one", b""), (b"cookie", b"b=2"), (b"host", b"other.example")]

    lines = request_lines([*GET, *fields])

    assert lines == b"GET /a?b HTTP/1.1\r\nhost: a.example\r\ncookie: a=1; b=2\r\nx-one: \r\n"


@pytest.mark.parametrize(
    "headers",
    [
        [*GET, (b"x-a", b"b\r\nx-c: d")],
        [*GET, (b"x-a", b"b\x00")],
        [*GET, (b"x a", b"b")],
        [*GET, (b"", b"b")],
        [*GET, (b"connection", b"close")],
        [*GET, (b"transfer-encoding", b"chunked")],
        [*GET, (b":path", b"/again")],
        [*GET[:2], GET[3], (b":path", b"/a\nb")],
        [GET[0], *GET[1:2]],
        [(b":method", b"GET"), (b":path", b"a")],
    ],
)
def test_what_has_two_meanings_is_no_request(headers: list[tuple[bytes, bytes]]) -> None:
    with pytest.raises(BadMessage):
        request_lines(headers)


def begun() -> tuple[Http2Wire, H2Connection]:
    wire, peer = Http2Wire(max_head_bytes=65_536), H2Connection()
    wire.initiate_connection()  # type: ignore[no-untyped-call]
    peer.initiate_connection()
    wire.events(peer.data_to_send())
    peer.receive_data(wire.data_to_send())
    return wire, peer


def test_a_frame_that_is_too_long_is_refused_before_it_is_taken_in() -> None:
    wire, _ = begun()

    with pytest.raises(ProtocolError, match="longer than allowed"):
        wire.events(b"\xff" * 100)

    assert wire.data_to_send()[3] == 7, "GOAWAY"


def test_streams_go_on_behind_a_goaway() -> None:
    wire, peer = begun()
    peer.send_headers(1, [(name.decode(), value.decode()) for name, value in GET])
    peer.send_data(1, b"first ")
    goaway = b"\x00\x00\x08\x07\x00\x00\x00\x00\x00" + (1).to_bytes(4) + (0).to_bytes(4)
    found = wire.events(peer.data_to_send() + goaway)
    peer.send_data(1, b"second", end_stream=True)

    assert [event.is_orderly for event in found if isinstance(event, GoAway)] == [True]
    assert [type(event).__name__ for event in wire.events(peer.data_to_send())] == ["DataReceived", "StreamEnded"]


def test_a_peer_gets_no_more_room_than_a_window() -> None:
    wire, peer = begun()
    peer.send_headers(1, [(name.decode(), value.decode()) for name, value in GET])
    wire.events(peer.data_to_send())

    assert peer.local_flow_control_window(1) == 1 << 20
