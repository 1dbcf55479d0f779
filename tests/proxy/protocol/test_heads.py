"""What origins and clients get to see of each other's heads."""

from __future__ import annotations

import pytest

from proxy.protocol import heads
from proxy.protocol.http1 import Framing, parse_request, parse_response, response_framing

HOST = b"Host: example.org\r\n"


def to_origin(*lines: bytes, upgrade: bool = False) -> bytes:
    """The lines of a GET for http://example.org/a?b as the origin gets them, without the request line."""
    raw = b"GET http://example.org/a?b HTTP/1.1\r\n" + b"".join(lines) + b"\r\n"
    head = heads.origin_head(parse_request(raw), "/a?b", "example.org", upgrade=upgrade)
    start, _, rest = head.partition(b"\r\n")
    assert start == b"GET /a?b HTTP/1.1"
    return rest.removesuffix(b"\r\n")


class TestOriginHead:
    def test_keeps_lines_as_they_came_and_in_order(self) -> None:
        lines = (b"X-ODD:  two  spaces \r\n", HOST, b"accept:*/*\r\n", b"Cookie: a=b\r\n", b"x-odd: again\r\n")

        assert to_origin(*lines) == b"".join(lines)

    @pytest.mark.parametrize(
        "line",
        [
            b"Proxy-Authorization: Basic eDp5\r\n",
            b"Proxy-Connection: keep-alive\r\n",
            b"Warcprox-Meta: {}\r\n",
            b"WARCPROX-META: {}\r\n",
            b"Keep-Alive: 300\r\n",
            b"Connection: keep-alive\r\n",
            b"TE: trailers\r\n",
            b"Upgrade: h2c\r\n",
            b"HTTP2-Settings: AAMAAABkAARAAAAAAAIAAAAA\r\n",
        ],
    )
    def test_has_nothing_that_is_for_the_proxy(self, line: bytes) -> None:
        assert to_origin(HOST, line, b"Accept: */*\r\n") == HOST + b"Accept: */*\r\n"

    def test_has_nothing_that_connection_names(self) -> None:
        assert (
            to_origin(HOST, b"X-Hop: 1\r\n", b"Connection: close, x-hop\r\n", b"X-End: 2\r\n") == HOST + b"X-End: 2\r\n"
        )

    @pytest.mark.parametrize("line", [b"Content-Length: 5\r\n", b"Transfer-Encoding: chunked\r\n", b"Cookie: a=b\r\n"])
    def test_keeps_what_tells_the_request_even_when_connection_names_it(self, line: bytes) -> None:
        """Without its length, the body would be taken for a second request."""
        named = b"Connection: " + line.partition(b":")[0] + b"\r\n"

        assert to_origin(HOST, line, named) == HOST + line

    @pytest.mark.parametrize(
        "lines", [(), (b"Host: other.example\r\n",), (b"Host:\r\n",), (HOST, HOST), (b"Host: other.example\r\n", HOST)]
    )
    def test_names_the_host_it_is_sent_to_once(self, lines: tuple[bytes, ...]) -> None:
        assert to_origin(*lines, b"A: b\r\n") == HOST + b"A: b\r\n"

    def test_keeps_the_spelling_of_a_host_that_is_the_same(self) -> None:
        assert to_origin(b"HOST: Example.ORG\r\n") == b"HOST: Example.ORG\r\n"

    def test_can_ask_for_another_protocol(self) -> None:
        lines = (HOST, b"Connection: keep-alive, Upgrade\r\n", b"Upgrade: websocket\r\n")

        assert to_origin(*lines, upgrade=True) == HOST + b"Connection: Upgrade\r\nUpgrade: websocket\r\n"


def to_client(raw: bytes, framing: Framing, *, close: bool = False, old_client: bool = False) -> bytes:
    """A head as the client gets it."""
    head = parse_response(raw)
    length = response_framing(head, "GET")[1]
    return heads.client_head(head, framing, length, close=close, old_client=old_client)


class TestClientHead:
    def test_keeps_lines_as_they_came_and_in_order(self) -> None:
        raw = b"HTTP/1.1 404 Nicht  da\r\nX-ODD:  1 \r\nSet-Cookie: a\r\nContent-Length: 5\r\nset-cookie: b\r\n\r\n"

        assert to_client(raw, Framing.LENGTH) == raw

    def test_says_itself_what_becomes_of_the_connection(self) -> None:
        raw = b"HTTP/1.0 200 OK\r\nConnection: Keep-Alive\r\nKeep-Alive: 5\r\nProxy-Authenticate: Basic\r\nA: b\r\n\r\n"

        assert to_client(raw, Framing.NONE, close=True) == b"HTTP/1.1 200 OK\r\nA: b\r\nConnection: close\r\n\r\n"

    @pytest.mark.parametrize("framing", [Framing.CLOSE, Framing.CHUNKED])
    @pytest.mark.parametrize("old", [False, True])
    def test_announces_chunks_to_those_who_know_them(self, framing: Framing, old: bool) -> None:
        raw = b"HTTP/1.1 200 OK\r\nContent-Length: x\r\nTransfer-Encoding: gzip, chunked\r\nA: b\r\n\r\n"

        end = b"Connection: close\r\n" if old else b"Transfer-Encoding: gzip, chunked\r\n"
        told = to_client(raw, framing, close=old, old_client=old)
        assert told == b"HTTP/1.1 200 OK\r\nA: b\r\n" + end + b"\r\n"

    @pytest.mark.parametrize("framing", [Framing.LENGTH, Framing.NONE])
    def test_tells_an_old_client_that_its_connection_stays(self, framing: Framing) -> None:
        raw = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nConnection: close\r\n\r\n"

        told = to_client(raw, framing, old_client=True)

        assert told == b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nConnection: keep-alive\r\n\r\n"

    @pytest.mark.parametrize(
        "lines",
        [
            b"Content-Length: 5, 5\r\n",
            b"Content-Length: 5\r\nContent-Length: 5\r\n",
            b"Content-Length: x\r\nContent-Length: 5\r\n",
            b"Content-Length: x, 5\r\n",
            b"Content-Length:5\n",
            b"Content-Length: 005\r\n",
            b"Content-Length: 00000000000000000003, 5\r\n",
            b"Content-Length: 00000000000000000003\r\nContent-Length: 5\r\n",
        ],
    )
    @pytest.mark.parametrize("framing", [Framing.LENGTH, Framing.NONE])
    def test_says_the_length_once_that_the_proxy_goes_by(self, lines: bytes, framing: Framing) -> None:
        found = to_client(b"HTTP/1.1 200 OK\r\n%b\r\n" % lines, framing)

        assert found == b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n"

    @pytest.mark.parametrize("lines", [b"A: b\n", b"A: b\r\n", b"A: \r\n b\r\n", b"A: \n\tb\n", b"A : b\n"])
    def test_ends_lines_as_they_should_end(self, lines: bytes) -> None:
        found = to_client(b"HTTP/1.1 200 OK\n%b\n" % lines, Framing.NONE)

        assert found.replace(b":  b", b": b") == b"HTTP/1.1 200 OK\r\nA: b\r\n\r\n"

    @pytest.mark.parametrize("name", [b"Ghostfleet-Error", b"ghostfleet-replay", b"Warcprox-Meta", b"Proxy-Connection"])
    def test_has_nothing_that_only_the_proxy_may_say(self, name: bytes) -> None:
        assert to_client(b"HTTP/1.1 200 OK\r\n%b: x\r\n\r\n" % name, Framing.NONE) == b"HTTP/1.1 200 OK\r\n\r\n"

    def test_drops_lines_without_a_name(self) -> None:
        assert to_client(b"HTTP/1.1 200 OK\r\nno colon\r\n: x\r\n\r\n", Framing.NONE) == b"HTTP/1.1 200 OK\r\n\r\n"


class TestOwnAnswers:
    def test_a_chunk_of_nothing_is_nothing(self) -> None:
        assert heads.chunk(b"") == b""
        assert heads.chunk(b"x" * 17) == b"11\r\n" + b"x" * 17 + b"\r\n"

    @pytest.mark.parametrize(
        ("status", "line"),
        [
            (407, b"Proxy-Authenticate: Basic realm="),
            (503, b"Retry-After: "),
            (400, b"Ghostfleet-Error: 0 bad-request\r\n"),
            (431, b"HTTP/1.1 431 Request Header Fields Too Large\r\n"),
        ],
    )
    def test_a_refusal_says_why_and_closes(self, status: int, line: bytes) -> None:
        answer = heads.refusal(status, "bad-request", "why")

        assert line in answer
        assert b"Connection: close\r\n" in answer
        assert b"Content-Length: 4\r\n" in answer
        assert answer.endswith(b"\r\n\r\nwhy\n")

    @pytest.mark.parametrize("with_body", [False, True])
    def test_an_answer_of_ours_is_not_stored_by_clients(self, with_body: bool) -> None:
        answer = heads.own_answer("text/plain", b"hello", with_body=with_body)

        assert b"Cache-Control: no-store\r\n" in answer
        assert b"Content-Length: 5\r\n" in answer
        assert answer.endswith(b"\r\n\r\nhello" if with_body else b"\r\n\r\n")


class TestBareCarriageReturns:
    """T32: some clients take a CR for the end of a line."""

    def test_reach_clients_as_spaces_and_stay_in_the_record(self) -> None:
        raw = b"HTTP/1.1 200 Fi\rne\r\nX-A: one\rSet-Cookie: a=b\r\nX-B: 1\r\r\nContent-Length: 0\r\n\r\n"
        head = parse_response(raw)

        told = heads.client_head(head, Framing.LENGTH, 0, close=False, old_client=False)

        assert head.raw == raw
        assert told.count(b"\r") == told.count(b"\r\n")
        assert b"\r\nX-A: one Set-Cookie: a=b\r\n" in told
        assert b"\r\nX-B: 1\r\n" in told

    def test_in_a_name_make_a_line_that_clients_do_not_get(self) -> None:
        head = parse_response(b"HTTP/1.1 200 OK\r\nTransfer-Encoding\r: chunked\r\nContent-Length: 0\r\n\r\n")

        told = heads.client_head(head, Framing.LENGTH, 0, close=False, old_client=False)

        assert b"chunked" not in told
        assert told.count(b"\r") == told.count(b"\r\n")
