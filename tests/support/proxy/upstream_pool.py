"""What the tests of upstream connections share."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from proxy.origins.upstream import Destination, Pool, Upstream
from support.origins.raw_origin import RawOrigin


class User:
    """Whoever has a connection; collects what comes."""

    def __init__(self) -> None:
        self.data = bytearray()
        self.has_answer = asyncio.Event()
        self.closed: asyncio.Future[Exception | None] = asyncio.get_running_loop().create_future()

    def upstream_data(self, data: bytes) -> None:
        self.data += data
        self.has_answer.set()

    def upstream_closed(self, error: Exception | None) -> None:
        self.closed.set_result(error)

    def upstream_writable(self) -> None:
        pass


type MakePool = Callable[..., Pool]


def at(origin: RawOrigin, *, tls: bool = False) -> Destination:
    return Destination(origin.address, origin.port, tls)


async def ask(upstream: Upstream) -> bytes:
    """One exchange over the connection."""
    upstream.user = user = User()
    upstream.write(b"GET / HTTP/1.1\r\n\r\n")
    await user.has_answer.wait()
    return bytes(user.data)
