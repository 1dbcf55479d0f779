"""Where the bytes of TLS arrive: one buffer for all connections of a thread, from which each takes what came.

Without it the loop makes a piece of 256 KB for each record of TLS, and cuts it down to the few bytes that came: between
these the heap filled with holes, and grew for hours. Plain connections the loop serves from a buffer of its own.
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
    """A connection that reads from there. It may not be an `asyncio.Protocol` too: uvloop would take it for one."""

    def get_buffer(self, sizehint: int) -> memoryview:
        return _buffer.view

    def buffer_updated(self, nbytes: int) -> None:
        self.data_received(_buffer.view[:nbytes].tobytes())

    def data_received(self, data: bytes) -> None:
        """What came, in pieces of any size."""
        raise NotImplementedError
