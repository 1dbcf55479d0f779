"""A client that leaves early does not end the fetch: what it began is kept whole."""

from __future__ import annotations

import socket
import struct
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from support.origins.odd_responses import page
from support.origins.raw_origin import RawOrigin, Send, Wait, response
from support.processes.waiting import until
from support.proxy.running_proxy import RunningProxy, request

ADDRESS = "127.0.1.24"


@pytest.fixture
def origin() -> Iterator[RawOrigin]:
    with RawOrigin(ADDRESS) as running:
        yield running


@pytest.fixture(scope="module")
def proxy(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningProxy]:
    with RunningProxy(tmp_path_factory.mktemp("leaving") / "home") as running:
        yield running


@pytest.mark.parametrize(
    ("how", "when"),
    [
        ("fin", "before the head"),
        ("rst", "within the body"),
        pytest.param("rst", "before the head", marks=pytest.mark.slow),
        pytest.param("fin", "within the body", marks=pytest.mark.slow),
    ],
)
def test_the_fetch_goes_on_to_its_end(proxy: RunningProxy, origin: RawOrigin, how: str, when: str) -> None:
    whole, gone = response(page(f"{how} {when}".encode(), 3_000_000)), threading.Event()
    at = 0 if when == "before the head" else 1_000_000
    origin.script("/page", Send(whole[:at]), Wait(gone), Send(whole[at:]))
    client = proxy.connect()
    client.send(request("plain", origin.url("/page")))
    until(lambda: origin.asked("/page"), what="the request to reach the origin")
    if at:
        client.read_some(500_000)

    if how == "rst":
        client.stream.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    client.close()
    gone.set()

    record = proxy.awaited(origin.url("/page"), "response")
    assert record.block == whole
    assert record.field("WARC-Truncated") is None


def leave_early(proxy: RunningProxy, origin: RawOrigin, path: str, gone: threading.Event) -> bytes:
    """Asks for 3 MB, leaves within the first of them, and then lets the origin go on; what the origin has to send."""
    whole = response(page(path.encode(), 3_000_000))
    origin.script(path, Send(whole[:1_000_000]), Wait(gone), Send(whole[1_000_000:]))
    with proxy.connect() as client:
        client.send(request("plain", origin.url(path)))
        client.read_some(500_000)
    return whole


def test_the_fetch_ends_after_so_many_bytes_without_its_client(tmp_path: Path, origin: RawOrigin) -> None:
    gone = threading.Event()
    with RunningProxy(tmp_path / "home", {"proxy.orphan_bytes": 200_000}) as proxy:
        whole = leave_early(proxy, origin, "/bytes", gone)
        # The bytes that were on their way may be enough to end the fetch at once.
        until(
            lambda: proxy.status()["orphans"] or proxy.records(growing=True).of(origin.url("/bytes"), "response"),
            what="the proxy to notice",
        )
        gone.set()
        record = proxy.awaited(origin.url("/bytes"), "response")

    assert record.field("WARC-Truncated") == "length"
    assert whole.startswith(record.block)
    # The proxy counts from the moment when it notices that the client has left. The client has read 500,000 bytes by
    # then, and the rest of the first million may still be on its way.
    assert 700_000 <= len(record.block) < len(whole)


def test_no_more_fetches_go_on_without_their_clients_than_are_allowed(tmp_path: Path, origin: RawOrigin) -> None:
    gone = threading.Event()
    with RunningProxy(tmp_path / "home", {"proxy.orphans": 1}) as proxy:
        first = leave_early(proxy, origin, "/first", gone)
        until(lambda: proxy.status()["orphans"], what="the proxy to notice")
        leave_early(proxy, origin, "/second", gone)
        second = proxy.awaited(origin.url("/second"), "response")
        gone.set()
        kept = proxy.awaited(origin.url("/first"), "response")

    assert second.field("WARC-Truncated") == "disconnect"
    assert kept.block == first


def test_a_client_that_does_not_read_holds_the_origin_back(proxy: RunningProxy, origin: RawOrigin) -> None:
    """Most of 40 MB wait at the origin, not in the proxy's memory; and in the end all of it arrives."""
    body = page(b"slow", 40_000_000)
    origin.script("/slow", Send(response(body)))
    before = _peak(proxy)
    with proxy.connect() as client:
        client.send(request("plain", origin.url("/slow")))
        until(lambda: origin.asked("/slow"), what="the request to reach the origin")
        held_back = _steady(lambda: sum(map(len, origin.asked("/slow")[-1].pieces)))
        reply = client.read_reply()

    assert held_back < 20_000_000
    assert reply.whole
    assert len(reply.body) == len(body)
    assert _peak(proxy) - before < 30_000_000


def test_a_request_that_never_became_whole_is_not_fetched(proxy: RunningProxy, origin: RawOrigin) -> None:
    with proxy.connect() as client:
        client.send(f"GET {origin.url('/half')} HTTP/1.1\r\nHost: x".encode())

    assert proxy.get(origin.url("/other")).status == 404
    assert origin.asked("/half") == []
    assert proxy.records().of(origin.url("/half")) == []


def _steady(measure: Callable[[], int]) -> int:
    """The measure once it has not changed in twenty looks."""
    last: list[int] = []

    def settled() -> bool:
        last.append(measure())
        return len(last) >= 20 and len(set(last[-20:])) == 1

    until(settled, what="a steady state")
    return last[-1]


def _peak(proxy: RunningProxy) -> int:
    """The largest peak of resident memory of one process."""
    found = [Path(f"/proc/{pid}/status").read_text() for pid in proxy.pids()]
    return max(int(status.partition("VmHWM:")[2].split()[0]) * 1024 for status in found if "VmHWM:" in status)
