"""The crawler's connections to a proxy read what HTTP/1.1 allows, are used again, and end within bounds."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest
from support.origins.raw_origin import Close, Drip, RawOrigin, Repeat, Reset, Send, Wait
from support.processes.waiting import until

from browsers.proxying import proxy_connection
from browsers.proxying.proxy_connection import (
    AnswerUnreadable,
    ConnectionLost,
    ProxyConnections,
    ProxyResponse,
    ProxyUnreachable,
)

OK = b"HTTP/1.1 200 OK\r\n"


@pytest.fixture
def proxy() -> Iterator[RawOrigin]:
    with RawOrigin("127.0.1.12") as proxy:
        yield proxy


@pytest.fixture
def connections() -> Iterator[ProxyConnections]:
    connections = ProxyConnections(5, 4)
    yield connections
    connections.close()


def ask(connections: ProxyConnections, proxy: RawOrigin, path: str, seconds: float = 30) -> tuple[ProxyResponse, bytes]:
    response = connections.ask(proxy.address, proxy.port, path, {"Host": "example.org", "X-A": "b"}, seconds)
    try:
        return response, response.body()
    finally:
        response.close()


@pytest.mark.parametrize(
    ("sent", "body"),
    [
        (b"Content-Length: 5\r\n\r\nhello", b"hello"),
        (b"Content-Length: 5, 5\r\n\r\nhello", b"hello"),
        (b"Content-Length: 0\r\n\r\n", b""),
        (b"Transfer-Encoding: chunked\r\n\r\n3\r\nhel\r\n2;x=y\r\nlo\r\n0\r\n\r\n", b"hello"),
        (b"Transfer-Encoding: chunked\r\nContent-Length: 99\r\n\r\n5\r\nhello\r\n0\r\nX: y\r\n\r\n", b"hello"),
        (b"Transfer-Encoding: chunked\r\n\r\n0000000000000005\r\r\nhello\r\n0\r\n \r\n\r\n", b"hello"),
    ],
)
def test_a_body_with_an_end_leaves_the_connection_open(
    proxy: RawOrigin, connections: ProxyConnections, sent: bytes, body: bytes
) -> None:
    proxy.script("/a", Send(OK + b"A: b\r\n" + sent))
    proxy.script("/drip", Drip(OK + sent, 0.001))
    for path in ("/a", "/drip", "/a"):
        response, found = ask(connections, proxy, path)
        assert (response.status, found) == (200, body)
    assert proxy.connections == 1
    assert proxy.visits[0].received == b"GET /a HTTP/1.1\r\nHost: example.org\r\nX-A: b\r\n\r\n"


@pytest.mark.parametrize(
    ("sent", "body"),
    [
        (OK + b"\r\nhello", b"hello"),
        (b"HTTP/1.0 200 OK\r\n\r\nhello", b"hello"),
        (OK + b"Connection: close\r\nContent-Length: 5\r\n\r\nhello", b"hello"),
        (b"HTTP/1.0 200 OK\r\nContent-Length: 5\r\n\r\nhello", b"hello"),
    ],
)
def test_a_connection_that_closes_is_not_used_again(
    proxy: RawOrigin, connections: ProxyConnections, sent: bytes, body: bytes
) -> None:
    proxy.script("/a", Send(sent), Close())
    for number in (1, 2):
        assert ask(connections, proxy, "/a")[1] == body
        assert proxy.connections == number


def test_answers_without_a_body_and_interim_answers_are_read(proxy: RawOrigin, connections: ProxyConnections) -> None:
    proxy.script("/304", Send(b"HTTP/1.1 304 Not Modified\r\nContent-Length: 7\r\n\r\n"))
    proxy.script("/204", Send(b"HTTP/1.1 204\r\n\r\n"))
    early = b"HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n"
    proxy.script("/200", Send(early * 3 + OK + b"Content-Length: 1\r\n\r\nx"))
    proxy.script("/099", Send(b"HTTP/1.1 099 odd\r\nContent-Length: 1\r\n\r\ny"))
    found = [ask(connections, proxy, path) for path in ("/304", "/204", "/200", "/099")]
    assert [(response.status, body) for response, body in found] == [(304, b""), (204, b""), (200, b"x"), (99, b"y")]
    assert proxy.connections == 1


def test_fields_have_lower_case_names_and_joined_values(proxy: RawOrigin, connections: ProxyConnections) -> None:
    fields = (
        b"Set-Cookie: a=1\r\nX: \xe9\r\nset-cookie:b=2 \r\nFolded: one\r\n  two\r\nno colon\r\nEmpty:\r\n"
        b"Content-Length: 0\r\n\r\n"
    )
    proxy.script("/a", Send(OK + fields))
    proxy.script("/bare", Send(OK + b"A: b\nContent-Length: 2\n\nxy"))
    response, _ = ask(connections, proxy, "/a")
    assert response.headers == {
        "set-cookie": "a=1, b=2",
        "x": "é",
        "folded": "one two",
        "empty": "",
        "content-length": "0",
    }
    assert response.values("set-cookie") == ("a=1", "b=2")
    response, body = ask(connections, proxy, "/bare")
    assert (response.headers["a"], body) == ("b", b"xy")


@pytest.mark.parametrize(
    ("line", "name", "length"),
    [
        (b"A: b" + b" " * 1_000_000 + b"c\r\n", "a", 1_000_002),
        (b"a" + b" " * 1_000_000 + b"b: c\r\n", "a" + " " * 1_000_000 + "b", 1),
        (b"A: b\r\n" + b" c\r\n" * 1_000_000, "a", 2_000_001),
        (b"A:b\r\n" * 1_000_000, "a", 2_999_998),
    ],
    ids=("spaces in a value", "spaces in a name", "folded lines", "repeated fields"),
)
def test_large_fields_are_read_in_a_time_that_grows_with_their_length(
    proxy: RawOrigin, connections: ProxyConnections, line: bytes, name: str, length: int
) -> None:
    proxy.script("/a", Send(OK + line + b"Content-Length: 1\r\n\r\nx"))
    response, body = ask(connections, proxy, "/a")
    assert (len(response.headers[name]), body) == (length, b"x")


@pytest.mark.parametrize(
    "sent",
    [
        b"hello\r\n\r\n",
        b"HTTP/2.0 200 OK\r\n\r\n",
        OK + b"Content-Length: -1\r\n\r\n",
        OK + b"Content-Length: 1, 2\r\n\r\nab",
        OK + b"Transfer-Encoding: gzip\r\n\r\n",
        OK + b"Transfer-Encoding: chunked\r\n\r\nxyz\r\n",
        OK + b"Transfer-Encoding: chunked\r\n\r\n1\r\nabc\r\n0\r\n\r\n",
        OK + b"Transfer-Encoding: chunked\r\n\r\n5\r\nhello \r\n0\r\n\r\n",
        OK + b"Transfer-Encoding: chunked\r\n\r\n" + b"1;" + b"x" * 100_000,
    ],
)
def test_an_answer_that_is_no_http_is_unreadable(proxy: RawOrigin, connections: ProxyConnections, sent: bytes) -> None:
    proxy.script("/a", Send(sent), Close())
    with pytest.raises(AnswerUnreadable):
        ask(connections, proxy, "/a")


@pytest.mark.parametrize(
    ("first", "again"),
    [
        (b"HTTP/1.1 103 Early Hints\r\n\r\n", True),
        (OK + b"A: ", True),
        (OK + b"Transfer-Encoding: chunked\r\n\r\n0\r\n" + b"A: b\r\n", True),
        (OK + b"Transfer-Encoding: chunked\r\n\r\n", False),
    ],
)
def test_an_answer_without_an_end_is_given_up(
    proxy: RawOrigin, connections: ProxyConnections, monkeypatch: pytest.MonkeyPatch, first: bytes, again: bool
) -> None:
    monkeypatch.setattr(proxy_connection, "MAX_HEAD", 1_000_000)
    repeated = (first if first.endswith(b"Hints\r\n\r\n") else b"a: b\r\n") if again else b"1;" + b"x" * 60_000
    proxy.script("/a", Send(first), Repeat(repeated))
    with pytest.raises(AnswerUnreadable):
        ask(connections, proxy, "/a")


@pytest.mark.parametrize("sent", [b"", b"HTT", OK, OK + b"Content-Length: 9\r\n\r\nhello"])
@pytest.mark.parametrize("end", [Close(), Reset()])
def test_an_answer_that_breaks_off_is_lost(
    proxy: RawOrigin, connections: ProxyConnections, sent: bytes, end: Close | Reset
) -> None:
    proxy.script("/a", Send(sent), end)
    with pytest.raises(ConnectionLost):
        ask(connections, proxy, "/a")
    proxy.script("/b", Send(OK + b"Content-Length: 1\r\n\r\nx"))
    assert ask(connections, proxy, "/b")[1] == b"x"


def test_a_silent_proxy_is_waited_for_no_longer_than_told(proxy: RawOrigin, connections: ProxyConnections) -> None:
    never = threading.Event()
    proxy.script("/head", Wait(never))
    proxy.script("/body", Send(OK + b"Content-Length: 9\r\n\r\nhello"), Wait(never))
    for path in ("/head", "/body"):
        with pytest.raises(TimeoutError):
            ask(connections, proxy, path, seconds=0.2)
    never.set()


def test_an_idle_connection_that_the_proxy_closed_is_passed_over(
    proxy: RawOrigin, connections: ProxyConnections
) -> None:
    proxy.script("/a", Send(OK + b"Content-Length: 1\r\n\r\nx"), Close())
    for number in range(1, 4):
        assert ask(connections, proxy, "/a")[1] == b"x"
        assert proxy.connections == number
        (idle,) = connections._idle[f"{proxy.address}:{proxy.port}"]
        until(lambda idle=idle: not idle.stands(), what="the end of the connection")


def test_bytes_after_an_answer_are_no_answer_to_the_next_request(
    proxy: RawOrigin, connections: ProxyConnections
) -> None:
    proxy.script("/a", Send(OK + b"Content-Length: 1\r\n\r\nx" + OK + b"Content-Length: 6\r\n\r\nsecret"))
    proxy.script("/b", Send(OK + b"Content-Length: 1\r\n\r\ny"))
    assert ask(connections, proxy, "/a")[1] == b"x"
    assert ask(connections, proxy, "/b")[1] == b"y"


def test_a_body_that_is_not_read_to_its_end_costs_the_connection(
    proxy: RawOrigin, connections: ProxyConnections
) -> None:
    proxy.script("/a", Send(OK + b"Content-Length: 9\r\n\r\nhello"))
    proxy.script("/b", Send(OK + b"Content-Length: 1\r\n\r\ny"))
    response = connections.ask(proxy.address, proxy.port, "/a", {}, 30)
    assert next(response.pieces()) == b"hello"
    response.close()
    assert ask(connections, proxy, "/b")[1] == b"y"
    assert proxy.connections == 2


def test_a_connection_in_use_is_closed_after_the_pool(proxy: RawOrigin) -> None:
    proxy.script("/a", Send(OK + b"Content-Length: 5\r\n\r\nhello"))
    connections = ProxyConnections(5, 4)
    response = connections.ask(proxy.address, proxy.port, "/a", {}, 30)
    connections.close()
    assert response.body() == b"hello"
    response.close()
    assert response._connection.socket.fileno() == -1


def test_a_port_without_a_proxy_is_unreachable(proxy: RawOrigin, connections: ProxyConnections) -> None:
    proxy.close()
    with pytest.raises(ProxyUnreachable):
        ask(connections, proxy, "/a")


def test_a_body_is_sent_with_its_method(proxy: RawOrigin, connections: ProxyConnections) -> None:
    proxy.script("/a", Send(OK + b"Content-Length: 0\r\n\r\n"))
    sent = {"Content-Length": "3"}
    connections.ask(proxy.address, proxy.port, "/a", sent, 30, method="POST", body=b"x\0y").close()
    assert proxy.visits[0].received == b"POST /a HTTP/1.1\r\nContent-Length: 3\r\n\r\nx\0y"


@pytest.mark.parametrize("value", ["a\r\nX: y", "a\nb", "a\0"])
def test_no_field_can_begin_another_one(proxy: RawOrigin, connections: ProxyConnections, value: str) -> None:
    with pytest.raises(ValueError, match="line break"):
        connections.ask(proxy.address, proxy.port, "/a", {"A": value}, 30)
    assert proxy.visits == []


def test_a_large_body_of_small_chunks_is_read(proxy: RawOrigin, connections: ProxyConnections) -> None:
    proxy.script("/a", Send(OK + b"Transfer-Encoding: chunked\r\n\r\n" + b"1\r\nx\r\n" * 100_000 + b"0\r\n\r\n"))
    assert len(ask(connections, proxy, "/a")[1]) == 100_000
