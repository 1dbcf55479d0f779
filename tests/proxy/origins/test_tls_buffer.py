"""proxy/origins/tls_buffer.py: connections share a buffer, and none sees another's bytes."""

from __future__ import annotations

import asyncio
import socket
import threading
from collections.abc import Callable

import pytest
import trustme
import uvloop
from support.origins.raw_origin import Close, RawOrigin, Send, response, server_tls
from support.proxy.proxy_process import ADDRESS

from archive.settings import ProxySettings
from proxy.origins.opener import Opener, resolver_of
from proxy.origins.tls_buffer import TlsBuffer
from proxy.origins.upstream import Destination, SecureUpstream

_LENGTH = 3_000_000


class Keeping(TlsBuffer):
    """Keeps the pieces as they came, until the other side closes."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self.pieces: list[bytes] = []
        self.closed = loop.create_future()

    def data_received(self, data: bytes) -> None:
        self.pieces.append(data)

    def connection_lost(self, exc: Exception | None) -> None:
        self.closed.set_result(exc)


async def _hear(count: int, salt: int) -> list[bytes]:
    """What that many connections of one loop have kept, each of which is sent a byte of its own."""
    loop = asyncio.get_running_loop()
    hearing, sending = [], []
    for number in range(count):
        ours, theirs = socket.socketpair()
        ours.setblocking(False)
        theirs.setblocking(False)
        _, keeping = await loop.create_connection(lambda: Keeping(loop), sock=ours)
        hearing.append(keeping)
        sending.append(_send(theirs, bytes([salt + number]) * _LENGTH))
    await asyncio.gather(*sending, *(keeping.closed for keeping in hearing))
    return [b"".join(keeping.pieces) for keeping in hearing]


async def _send(theirs: socket.socket, data: bytes) -> None:
    with theirs:
        await asyncio.get_running_loop().sock_sendall(theirs, data)


async def test_connections_of_a_loop_keep_their_own_bytes() -> None:
    assert await _hear(5, 1) == [bytes([1 + number]) * _LENGTH for number in range(5)]


def test_loops_in_two_threads_do_not_share_it() -> None:
    heard: dict[int, list[bytes]] = {}
    threads = [
        threading.Thread(target=lambda salt=salt: heard.update({salt: asyncio.run(_hear(3, salt))}))
        for salt in (1, 101)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert heard == {salt: [bytes([salt + number]) * _LENGTH for number in range(3)] for salt in (1, 101)}


def test_who_does_not_take_bytes_is_told() -> None:
    inbox = TlsBuffer()
    inbox.get_buffer(-1)[:3] = b"abc"
    with pytest.raises(NotImplementedError):
        inbox.buffer_updated(3)


@pytest.mark.parametrize("new_loop", [asyncio.new_event_loop, uvloop.new_event_loop])
def test_origins_by_tls_are_read_from_it(
    new_loop: Callable[[], asyncio.AbstractEventLoop], monkeypatch: pytest.MonkeyPatch
) -> None:
    read: list[int] = []

    class Counting(SecureUpstream):
        def buffer_updated(self, nbytes: int) -> None:
            read.append(nbytes)
            super().buffer_updated(nbytes)

    monkeypatch.setattr("proxy.origins.opener.SecureUpstream", Counting)
    body = bytes(range(256)) * 4000
    with (
        RawOrigin(ADDRESS, tls=server_tls(trustme.CA(), ADDRESS)) as origin,
        asyncio.Runner(loop_factory=new_loop) as runner,
    ):
        origin.script("/", Send(response(body)), Close())
        heard = runner.run(_fetch(Destination(ADDRESS, origin.port, tls=True)))
    assert heard.endswith(body)
    assert sum(read) == len(heard)
    assert len(read) > 1


async def _fetch(destination: Destination) -> bytes:
    settings = ProxySettings(allow_private=True)
    upstream = await Opener(settings, resolver_of(settings)).open(destination)
    upstream.user = hearing = Hearing(asyncio.get_running_loop())
    upstream.write(b"GET / HTTP/1.1\r\nConnection: close\r\n\r\n")
    await hearing.closed
    return b"".join(hearing.pieces)


class Hearing:
    """Whoever uses the connection; listens until the origin closes it."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self.pieces: list[bytes] = []
        self.closed = loop.create_future()

    def upstream_data(self, data: bytes) -> None:
        self.pieces.append(data)

    def upstream_closed(self, error: Exception | None) -> None:
        self.closed.set_result(None)

    def upstream_writable(self) -> None:
        pass
