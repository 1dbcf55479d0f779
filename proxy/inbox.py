"""Where bytes arrive from sockets: one buffer for all connections of a thread, from which each takes what came.

An `asyncio.Protocol` is handed what `recv` gave: a piece of 256 KB, made for each read and cut down to the few bytes
that came, and behind TLS one for each of its records. The heap was full of holes between the remainders, and grew.
"""

from __future__ import annotations

import asyncio
import threading
from typing import Final

_READ_BYTES: Final = 1 << 18


class _Buffer(threading.local):
    """A loop fills it and hands it on in one step, so that connections can share it; two loops can't."""

    def __init__(self) -> None:
        self.view = memoryview(bytearray(_READ_BYTES))


_buffer: Final = _Buffer()


class Inbox(asyncio.BufferedProtocol):
    """A connection that hears of its bytes by `data_received`, as an `asyncio.Protocol` does."""

    def get_buffer(self, sizehint: int) -> memoryview:
        return _buffer.view

    def buffer_updated(self, nbytes: int) -> None:
        self.data_received(_buffer.view[:nbytes].tobytes())

    def data_received(self, data: bytes) -> None:
        """What came, in pieces of any size."""
        raise NotImplementedError
