"""A hostile origin and its clients send messages that consist almost entirely of framing.

`python -m bench.proxies.hostile KIND ADDRESS PROXY_HOST PROXY_PORT RATE` starts an origin at ADDRESS and requests its
responses through the proxy, over several connections, until standard input is closed. All connections together send
RATE bytes per second; 0 is no limit. The program prints one line after the first bytes are sent. At the end it prints
the numbers of exchanges and of bytes as JSON.
"""

from __future__ import annotations

import asyncio
import json
import socket
import subprocess
import sys
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Final

import uvloop

from bench.process import source_environment

_CHUNKED: Final = b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nTransfer-Encoding: chunked\r\n\r\n"
_ONE_BYTE: Final = b"1\r\nm\r\n" * 8192
_CONNECTIONS: Final = 2
_READ_BYTES: Final = 1 << 18
_SEND_BYTES: Final = 1 << 16


@dataclass(frozen=True, slots=True)
class HostileKind:
    """A kind of hostile message begins with `first` and repeats `again` without end.

    The origin sends the message, or the client when `uploads` is set. When `again` is empty, `first` is a whole
    response.
    """

    first: bytes
    again: bytes
    uploads: bool = False


KINDS: Final[Mapping[str, HostileKind]] = {
    "plain": HostileKind(
        b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 4194304\r\n\r\n" + b"m" * 4194304, b""
    ),
    "one-byte-chunks": HostileKind(_CHUNKED, _ONE_BYTE),
    "chunk-extensions": HostileKind(_CHUNKED, (b"1;" + b"x" * 100 + b"\r\nm\r\n") * 512),
    "trailers": HostileKind(_CHUNKED + b"1\r\nm\r\n0\r\n", b"X: m\r\n" * 8192),
    "interim-heads": HostileKind(b"", b"HTTP/1.1 103 Early Hints\r\n\r\n" * 2048),
    "header-lines": HostileKind(b"HTTP/1.1 200 OK\r\n", b"X: m\r\n" * 8192),
    "folded-lines": HostileKind(b"HTTP/1.1 200 OK\r\nX: m\r\n", b" m\r\n" * 8192),
    "one-byte-uploads": HostileKind(b"", _ONE_BYTE, uploads=True),
}


class RateLimit:
    """All connections share this limit in bytes per second; 0 is no limit."""

    def __init__(self, rate: int) -> None:
        self._rate = rate
        self._free_at = 0.0

    async def wait(self, size: int) -> None:
        """Wait until `size` bytes may be sent."""
        if not self._rate:
            return
        now = asyncio.get_running_loop().time()
        start = max(self._free_at, now)
        self._free_at = start + size / self._rate
        await asyncio.sleep(start - now)


class Hostile:
    """The origin and its clients send messages of one kind."""

    def __init__(self, kind: HostileKind, limit: RateLimit) -> None:
        self._kind = kind
        self._limit = limit
        self.ended = 0
        self.sent = 0
        self.under_way = asyncio.Event()
        """Set after the first bytes were sent."""

    async def answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Serve one connection until it breaks."""
        # With a larger buffer, the kernel would take megabytes at once, and the bench would measure its copying.
        writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, _SEND_BYTES)
        with suppress(OSError, asyncio.IncompleteReadError, asyncio.CancelledError):
            await reader.readuntil(b"\r\n\r\n")
            if self._kind.uploads:
                while await reader.read(_READ_BYTES):
                    pass
            else:
                await self._flood(writer)
        with suppress(asyncio.CancelledError):
            writer.close()

    async def ask(self, host: str, port: int, authority: str) -> None:
        """Ask the proxy for this origin's answer until this task is cancelled."""
        number = 0
        while True:
            number += 1
            with suppress(OSError):
                reader, writer = await asyncio.open_connection(host, port, limit=_READ_BYTES)
                try:
                    await self._exchange(reader, writer, f"http://{authority}/{id(reader)}/{number}", authority)
                finally:
                    writer.close()
            self.ended += 1
            await asyncio.sleep(0)

    async def _exchange(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, url: str, authority: str
    ) -> None:
        method, more = ("POST", "Transfer-Encoding: chunked\r\n") if self._kind.uploads else ("GET", "")
        writer.write(f"{method} {url} HTTP/1.1\r\nHost: {authority}\r\nConnection: close\r\n{more}\r\n".encode())
        if self._kind.uploads:
            await self._flood(writer)
        while await reader.read(_READ_BYTES):
            pass

    async def _flood(self, writer: asyncio.StreamWriter) -> None:
        await self._limit.wait(len(self._kind.first))
        writer.write(self._kind.first)
        self.sent += len(self._kind.first)
        self.under_way.set()
        await writer.drain()
        while self._kind.again and not writer.is_closing():
            await self._limit.wait(len(self._kind.again))
            if writer.is_closing():
                return
            writer.write(self._kind.again)
            self.sent += len(self._kind.again)
            await writer.drain()


class HostileProcess:
    """The hostile origin and clients run in a process of their own."""

    def __init__(self, kind: str, address: str, host: str, port: int, rate: int = 0) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "bench.proxies.hostile", kind, address, host, str(port), str(rate)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=source_environment(),
            text=True,
        )
        assert self._process.stdout is not None
        if not self._process.stdout.readline():
            raise RuntimeError(f"the hostile origin did not start: exit code {self._process.wait()}")

    def close(self) -> tuple[int, int]:
        """End the process and return the numbers of its ended exchanges and of the bytes it sent."""
        said, _ = self._process.communicate()
        found = json.loads(said)
        return int(found["ended"]), int(found["sent"])


async def _run(kind: str, address: str, host: str, port: int, rate: int) -> None:
    hostile = Hostile(KINDS[kind], RateLimit(rate))
    server = await asyncio.start_server(hostile.answer, address, 0, limit=_READ_BYTES)
    authority = "{}:{}".format(*server.sockets[0].getsockname())
    asking = [asyncio.create_task(hostile.ask(host, port, authority)) for _ in range(_CONNECTIONS)]
    await hostile.under_way.wait()
    print("under way", flush=True)
    await asyncio.get_running_loop().run_in_executor(None, sys.stdin.read)
    print(json.dumps({"ended": hostile.ended, "sent": hostile.sent}), flush=True)
    for task in asking:
        task.cancel()
    server.close()


if __name__ == "__main__":
    uvloop.run(_run(sys.argv[1], sys.argv[2], sys.argv[3], int(sys.argv[4]), int(sys.argv[5])))
