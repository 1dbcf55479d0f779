"""One response as it comes in, however it is cut: what is spooled, what the client gets, when it is whole."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from archive.http.chunked import dechunk
from archive.http.http_message import is_chunked, parse_head
from proxy.delivery.delivery import Delivery
from proxy.fetch.response_reader import ResponseReader
from proxy.protocol.http1 import BadMessage, parse_request
from proxy.recording.spool import Spool

CHUNKED = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
HINTS = b"HTTP/1.1 103 Early Hints\r\nLink: </a.css>; rel=preload\r\n\r\n"


class Ear:
    """A client that notes what it gets."""

    is_full = False
    remarks = ()

    def __init__(self) -> None:
        self.heard = b""

    def send(self, data: bytes) -> None:
        self.heard += data

    def finish(self, *, keep_alive: bool, last: bytes = b"") -> None:
        self.heard += last
        self.heard += b"|end"

    def abort(self) -> None:
        self.heard += b"|abort"

    def upgraded(self) -> None:
        self.heard += b"|upgraded"

    def take_more(self) -> None:
        self.heard += b"|more"


class Exchange:
    """A response to a GET, its client and its spool."""

    def __init__(self, method: str = "GET", *, minor: int = 1, max_head_bytes: int = 4096, asks: bytes = b"") -> None:
        self.ear = Ear()
        self.spool = Spool(1 << 24, Path("/nonexistent"))
        request = parse_request(b"%b / HTTP/1.%d\r\n%b\r\n" % (method.encode(), minor, asks))
        self.delivery = Delivery(self.ear, request)
        self.incoming = ResponseReader(method, self.spool, self.delivery, max_head_bytes)

    def feed(self, *pieces: bytes) -> Exchange:
        for piece in pieces:
            assert self.incoming.feed(piece, client_stays=lambda: True) == b""
        return self

    @property
    def block(self) -> bytes:
        return b"".join(self.spool.message().chunks())


@pytest.mark.parametrize(
    ("raw", "heard"),
    [
        (b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello", None),
        (CHUNKED + b"5;x\r\nhello\r\n0\r\nX-Sum: 1\r\n\r\n", None),
        (b"HTTP/1.1 204 No Content\r\nContent-Length: 5\r\n\r\n", None),
        (b"\r\nHTTP/1.1 200 OK\nContent-Length: 0\n\n", b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"),
    ],
)
def test_every_byte_is_kept_and_the_client_gets_them_once_let_go(raw: bytes, heard: bytes | None) -> None:
    for place in range(1, len(raw)):
        exchange = Exchange().feed(raw[:place], raw[place:])

        assert exchange.incoming.is_whole, f"cut at {place}"
        assert exchange.block == raw
        exchange.delivery.let_go()
        assert exchange.ear.heard == (heard or raw) + b"|end"


def test_nothing_of_the_end_is_passed_on_before() -> None:
    raw = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello"
    for place in range(1, len(raw)):
        exchange = Exchange().feed(raw[:place], raw[place:])

        assert len(exchange.ear.heard) < len(raw)


@pytest.mark.parametrize("hints", [HINTS, b"HTTP/1.1 100 Continue\r\n\r\n", HINTS * 3])
def test_interim_responses_are_no_part_of_it_however_they_are_cut(hints: bytes) -> None:
    final = b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"
    raw = hints + final
    for place in range(1, len(raw)):
        exchange = Exchange().feed(raw[:place], raw[place:])

        assert exchange.incoming.is_whole, f"cut at {place}"
        assert exchange.block == final


@pytest.mark.parametrize("asks", [b"", b"Upgrade: h2c\r\n"])
def test_a_switch_that_nobody_asked_for_is_no_response(asks: bytes) -> None:
    """Else the client's next request, for whatever host, would go to this origin as it stands."""
    raw = b"HTTP/1.1 101 Switching\r\nUpgrade: moss\r\n\r\nHTTP/1.1 200 OK\r\n\r\n"
    exchange = Exchange(asks=asks)

    with pytest.raises(BadMessage, match="nobody asked"):
        exchange.feed(raw)
    assert exchange.incoming.unread == raw


@pytest.mark.parametrize("raw", [b"SSH-2.0-OpenSSH_9.2\r\n", b"220 moss ESMTP\r\n", b"\r\n<!doctype html>"])
def test_what_can_become_no_head_is_not_waited_for(raw: bytes) -> None:
    for place in range(len(raw)):
        with pytest.raises(BadMessage, match="bad status line"):
            Exchange().feed(raw[:place], raw[place:])


def test_a_switch_gives_back_what_came_behind_it() -> None:
    exchange = Exchange(asks=b"Upgrade: WebSocket\r\n")

    rest = exchange.incoming.feed(
        b"HTTP/1.1 101 Switching\r\nUpgrade: websocket\r\n\r\n\x81\x00", client_stays=lambda: True
    )

    assert rest == b"\x81\x00"
    assert exchange.incoming.is_switch
    assert exchange.block == b"HTTP/1.1 101 Switching\r\nUpgrade: websocket\r\n\r\n"


def test_a_body_that_ends_by_close_is_whole_then() -> None:
    exchange = Exchange().feed(b"HTTP/1.1 200 OK\r\n\r\nhel", b"lo")

    assert not exchange.incoming.is_whole
    assert exchange.incoming.ended_by_close()
    exchange.delivery.let_go()
    assert exchange.ear.heard.endswith(b"\r\n\r\n3\r\nhel\r\n2\r\nlo\r\n0\r\n\r\n|end")
    assert exchange.block == b"HTTP/1.1 200 OK\r\n\r\nhello"


@pytest.mark.parametrize("raw", [b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhello", CHUNKED + b"9\r\nhello", b""])
def test_a_body_that_says_more_is_not_whole_by_close(raw: bytes) -> None:
    assert not Exchange().feed(raw).incoming.ended_by_close()


def test_an_old_client_gets_a_body_without_chunks() -> None:
    raw = CHUNKED + b"5\r\nhello\r\n6\r\n world\r\n0\r\n\r\n"
    for place in range(1, len(raw)):
        exchange = Exchange(minor=0).feed(raw[:place], raw[place:])
        exchange.delivery.let_go()

        assert exchange.ear.heard == b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nhello world|end"
        assert exchange.block == raw


@pytest.mark.parametrize(
    ("raw", "is_certain"),
    [
        (b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello", True),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello!", False),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\nhello", False),
        (b"HTTP/1.1 200 OK\r\nodd line\r\nContent-Length: 5\r\n\r\nhello", False),
        (b"HTTP/1.1 204 No Content\r\n\r\nhello", False),
        (CHUNKED + b"0\r\n\r\n", True),
        (CHUNKED + b"0\r\n\r\nX", False),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhell", False),
    ],
)
def test_a_connection_is_used_again_only_where_the_border_is_certain(raw: bytes, is_certain: bool) -> None:
    assert Exchange().feed(raw).incoming.is_certain is is_certain


def test_bytes_behind_the_message_are_not_kept() -> None:
    exchange = Exchange().feed(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello and more")

    assert exchange.block.endswith(b"\r\n\r\nhello")
    assert exchange.incoming.doubt == "bytes behind the message"


def test_a_head_without_end_is_refused() -> None:
    exchange = Exchange(max_head_bytes=100).feed(b"HTTP/1.1 200 OK\r\n")

    with pytest.raises(BadMessage, match="larger than 100 bytes"):
        exchange.feed(b"X: " + b"y" * 100)


def test_an_event_stream_is_endless() -> None:
    assert Exchange().feed(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream;x\r\n\r\n").incoming.is_endless


@given(
    st.sampled_from([CHUNKED, b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n", b"HTTP/1.1 200 OK\r\n\r\n"]),
    st.text("0123aF;\r\n x", max_size=30).map(str.encode) | st.binary(max_size=30),
    st.lists(st.integers(0, 200), max_size=5),
)
def test_a_reader_of_the_record_finds_the_digests_we_took(head: bytes, body: bytes, places: list[int]) -> None:
    """However the bytes were cut, and whatever broke off."""
    raw = head + body
    bounds = sorted({0, len(raw), *(place % (len(raw) + 1) for place in places)})
    exchange = Exchange()
    for start, stop in pairwise(bounds):
        if exchange.incoming.is_whole:
            break
        exchange.feed(raw[start:stop])
    exchange.incoming.cut_off()

    message = exchange.spool.message()
    chunks = message.body.chunks()
    coded = is_chunked(parse_head(message.head).fields.all("Transfer-Encoding"))
    payload = b"".join(dechunk(chunks) if coded else chunks)
    assert exchange.spool.digests().payload_length == len(payload)
    assert raw.startswith(exchange.block)


def test_more_than_thirty_two_interim_responses_are_no_response_and_what_came_is_kept() -> None:
    """T3: a bare 103 is 28 bytes, and each cost as much as a head."""
    exchange = Exchange().feed(HINTS * 20, HINTS * 12)

    with pytest.raises(BadMessage, match="more than 32 interim responses"):
        exchange.feed(HINTS)
    assert exchange.incoming.unread == HINTS * 33


def test_a_head_of_very_many_lines_is_refused_before_it_is_whole() -> None:
    exchange = Exchange(max_head_bytes=1 << 22).feed(b"HTTP/1.1 200 OK\r\n")

    with pytest.raises(BadMessage, match="more than 16384 lines"):
        exchange.feed(*[b"X: m\r\n" * 1000] * 17)


def test_a_body_in_chunks_that_is_mostly_framing_is_cut_with_a_reason() -> None:
    exchange = Exchange().feed(CHUNKED, *[b"1\r\nm\r\n" * 10_000] * 83)
    assert not exchange.incoming.is_cut

    exchange.feed(b"1\r\nm\r\n" * 10_000)

    assert exchange.incoming.is_cut
    assert exchange.incoming.doubt == "more framing than payload"


def test_a_body_in_small_chunks_with_as_much_payload_is_not_cut() -> None:
    exchange = Exchange().feed(CHUNKED, *[b"6\r\nmosses\r\n" * 20_000] * 50, b"0\r\n\r\n")

    assert exchange.incoming.is_whole
    assert not exchange.incoming.is_cut


@pytest.mark.parametrize(
    ("head", "body", "is_cut"),
    [
        (b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n", b"m" * 10, False),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 11\r\n\r\n", b"m" * 11, True),
        (b"HTTP/1.1 200 OK\r\n\r\n", b"m" * 10, False),
        (b"HTTP/1.1 200 OK\r\n\r\n", b"m" * 11, True),
        (CHUNKED, b"0\r\nX: m\r\n\r\n"[:10], True),
        (CHUNKED, b"00000\r\n\r\n", False),
        (CHUNKED, b"4\r\nmoss\r\n0\r\n\r\n", True),
    ],
)
def test_a_body_over_the_limit_is_cut_exactly_there_however_it_comes(head: bytes, body: bytes, is_cut: bool) -> None:
    """T38: it was cut at the end of the read in which it reached the limit, and not marked when that was its last."""
    raw = head + body
    for place in range(1, len(raw)):
        exchange = Exchange()
        for piece in (raw[:place], raw[place:]):
            if not exchange.incoming.is_cut:
                exchange.incoming.feed(piece, client_stays=lambda: True, most=10)

        assert exchange.incoming.is_cut is is_cut, f"cut at {place}"
        assert exchange.block == raw[: len(head) + 10]
