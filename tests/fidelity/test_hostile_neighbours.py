"""Origins and clients whose messages are nearly all framing, beside honest ones in the same recording process (T3).

The hostile one is ended with a reason and what it sent is kept; the honest one gets everything. How long the honest
one waits is measured by `ghostfleet bench neighbours`.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from support.origins.odd_responses import OK, page
from support.origins.raw_origin import Close, RawOrigin, Repeat, Send, Step, Wait, response
from support.proxy.running_proxy import RunningProxy, crawl_session, request

from proxy.origins.malformed_answers import TOLERATED

HONEST, HOSTILE = "127.0.1.91", "127.0.1.92"
CHUNKS = OK + b"Transfer-Encoding: chunked\r\n\r\n"
MIB = 1 << 20
MOST_FRAMING = 4 * MIB
ROOM = MIB // 2
"""How much more than a limit may have come with the read in which the limit was reached."""

BODIES: dict[str, tuple[Step, ...]] = {
    "one-byte-chunks": (Send(CHUNKS), Repeat(b"1\r\nm\r\n" * 4096)),
    "three-byte-chunks": (Send(CHUNKS), Repeat(b"3\r\nmos\r\n" * 4096)),
    "chunk-extensions": (Send(CHUNKS), Repeat((b"1;" + b"x" * 100 + b"\r\nm\r\n") * 256)),
    "long-chunk-extensions": (Send(CHUNKS), Repeat(b"1;" + b"x" * 60_000 + b"\r\nm\r\n")),
    "trailers": (Send(CHUNKS + b"1\r\nm\r\n0\r\n"), Repeat((b"X: " + b"m" * 100 + b"\r\n") * 256)),
}
QUICK = ("chunk-extensions", "long-chunk-extensions", "trailers")


@pytest.fixture(scope="module")
def proxy(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningProxy]:
    with RunningProxy(tmp_path_factory.mktemp("neighbours") / "home") as running:
        yield running


@pytest.fixture
def honest() -> Iterator[RawOrigin]:
    with RawOrigin(HONEST) as origin:
        origin.otherwise(lambda asked: (Send(response(page(asked.split(b" ", 2)[1]))),))
        yield origin


@pytest.fixture
def hostile() -> Iterator[RawOrigin]:
    with RawOrigin(HOSTILE) as origin:
        yield origin


class Asking(threading.Thread):
    """A client that sends these bytes, goes on sending others if there are any, and reads until the proxy has ended."""

    def __init__(self, proxy: RunningProxy, data: bytes, more: bytes = b"") -> None:
        super().__init__(daemon=True)
        self.answer = b""
        """What came, as far as it is interesting."""
        self._proxy, self._data, self._more = proxy, data, more

    def run(self) -> None:
        with self._proxy.connect() as client, suppress(OSError):
            client.send(self._data)
            try:
                while self._more:
                    client.send(self._more)
            except OSError:
                pass  # the proxy has broken it off, perhaps with an answer
            while piece := client.stream.recv(1 << 18):
                self.answer = (self.answer + piece)[:1000]


def fetch_beside(proxy: RunningProxy, honest: RawOrigin, asking: Asking, name: str) -> None:
    """Ask the honest origin for pages for as long as the hostile exchange goes on; all of them must come whole."""
    asking.start()
    number = 0
    while asking.is_alive() or number < 10:
        path = f"/{name}/{number}"
        reply = proxy.get(honest.url(path))
        assert (reply.status, reply.whole, reply.body) == (200, True, page(path.encode()))
        number += 1
    asking.join()


@pytest.mark.parametrize(
    "name", [name if name in QUICK else pytest.param(name, marks=pytest.mark.slow) for name in BODIES]
)
def test_an_origin_that_sends_little_but_framing_is_ended_with_a_reason(
    proxy: RunningProxy, honest: RawOrigin, hostile: RawOrigin, tmp_path: Path, name: str
) -> None:
    path = f"/{name}"
    hostile.script(path, *BODIES[name])
    with crawl_session(proxy, tmp_path) as credentials:
        fetch_beside(proxy, honest, Asking(proxy, request("plain", hostile.url(path), credentials)), name)

    record = proxy.awaited(hostile.url(path), "response")
    assert record.field("WARC-Truncated") == "length"
    assert record.block.startswith(CHUNKS)
    assert MOST_FRAMING < len(record.block) < 2 * MOST_FRAMING + ROOM
    (line,) = (tmp_path / "crawl.log").read_text().splitlines()
    assert "framing:more_framing_than_payload" in line


def test_an_origin_that_sends_interim_heads_for_ever_is_ended_and_what_came_is_kept(
    proxy: RunningProxy, honest: RawOrigin, hostile: RawOrigin
) -> None:
    head = b"HTTP/1.1 103 Early Hints\r\n\r\n"
    hostile.script("/interim", Repeat(head * 1000))
    asking = Asking(proxy, request("plain", hostile.url("/interim")))

    fetch_beside(proxy, honest, asking, "interim")

    assert asking.answer.startswith(b"HTTP/1.1 502 ")
    assert b"more than 32 interim responses" in asking.answer
    record = proxy.awaited(hostile.url("/interim"), "metadata")
    assert record.block.startswith(head * 33)
    assert len(record.block) < ROOM


def test_a_client_that_sends_little_but_framing_is_refused(
    proxy: RunningProxy, honest: RawOrigin, hostile: RawOrigin
) -> None:
    hostile.script("/upload", Send(response(b"thanks")))
    asking = Asking(
        proxy,
        request("plain", hostile.url("/upload"), "Transfer-Encoding: chunked", method="POST"),
        (b"1;" + b"x" * 100 + b"\r\nm\r\n") * 256,
    )

    fetch_beside(proxy, honest, asking, "upload")

    assert asking.answer.startswith(b"HTTP/1.1 400 ")
    assert b"more framing than payload" in asking.answer


def test_a_body_of_modest_size_in_chunks_of_one_byte_is_recorded_whole(proxy: RunningProxy, hostile: RawOrigin) -> None:
    """Some servers really send such ones: an application that hands a text over as an iterable of characters."""
    body = page(b"/modest", 100_000)
    hostile.script("/modest", Send(CHUNKS + b"".join(b"1\r\n%c\r\n" % byte for byte in body) + b"0\r\n\r\n"))

    reply = proxy.get(hostile.url("/modest"))

    assert (reply.whole, reply.body) == (True, body)
    record = proxy.awaited(hostile.url("/modest"), "response")
    assert record.field("WARC-Truncated") is None
    assert record.block == hostile.sent("/modest")


@pytest.mark.parametrize("end", [b"5\r\nhello \r\n0\r\n\r\n", b"hello\r\n0\r\n\r\n"], ids=["space", "no-size"])
def test_bytes_behind_malformed_chunks_are_no_answer_to_the_next_request(
    proxy: RunningProxy, hostile: RawOrigin, end: bytes
) -> None:
    """A client that finds an end of the body in malformed chunks loses its connection, and the record goes on."""
    path = f"/poison/{len(end)}"
    left, forged = threading.Event(), response(b"forged")
    hostile.script(path, Send(CHUNKS + end), Wait(left), Send(forged), Close())
    with proxy.connect() as client:
        client.send(f"GET {hostile.url(path)} HTTP/1.1\r\nHost: {hostile.authority}\r\n\r\n".encode())
        got = client.read_some(1000)
        while piece := client.read_some(1000):
            got += piece
        left.set()
    assert got.endswith(end)
    record = proxy.awaited(hostile.url(path), "response")
    assert record.field("WARC-Truncated") == "disconnect"
    assert record.block == CHUNKS + end + forged


def test_an_origin_whose_answers_were_malformed_waits_and_is_fetched_when_they_are_right(
    proxy: RunningProxy, hostile: RawOrigin
) -> None:
    hostile.otherwise(lambda _: (Send(b"X: m\r\n" * 100 + b"\r\n"),))
    for number in range(TOLERATED + 2):
        assert proxy.get(hostile.url(f"/malformed/{number}")).status == 502
    hostile.otherwise(lambda asked: (Send(response(page(asked.split(b" ", 2)[1]))),))

    reply = proxy.get(hostile.url("/right"))

    assert (reply.status, reply.whole, reply.body) == (200, True, page(b"/right"))
