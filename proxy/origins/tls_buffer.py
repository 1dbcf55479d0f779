"""The bytes of TLS arrive in one buffer for all connections of a thread, from which each takes its bytes.

Without it the loop allocates 256 KB for each TLS record and cuts it down to the few bytes that came; the heap fragments
and grows for hours. The loop reads plain connections into a buffer of its own.
"""

from __future__ import annotations

import asyncio
import threading
from typing import Final

_READ_BYTES: Final = 1 << 18


class _Buffer(threading.local):
    """The connections of one loop share the buffer: the loop fills it and hands it on in one step."""

    def __init__(self) -> None:
        self.view = memoryview(bytearray(_READ_BYTES))


_buffer: Final = _Buffer()


class TlsBuffer(asyncio.BufferedProtocol):
    """The connection reads from the shared buffer. It must not be an `asyncio.Protocol` too, because of uvloop."""

    def get_buffer(self, sizehint: int) -> memoryview:
        return _buffer.view

    def buffer_updated(self, nbytes: int) -> None:
        self.data_received(_buffer.view[:nbytes].tobytes())

    def data_received(self, data: bytes) -> None:
        """Take bytes in pieces of any size."""
        raise NotImplementedError
