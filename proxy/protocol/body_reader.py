"""The reader finds where a body ends in a stream of bytes, by the framing that its head announced (RFC 9112 section 6).
No I/O.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from archive.capture import Trailers
from archive.http.chunked import ChunkDecoder
from proxy.protocol.http1 import Framing

_FREE_FRAMING: Final = 4_194_304
"""Bytes of framing that any chunked body may have, however little payload it has."""
_CHEAP_FRAMING: Final = 65_536


class BodyReader:
    """Finds a body's end in a stream of bytes, and hands on its payload: the body without transfer coding."""

    __slots__ = ("_chunks", "_payload", "_remaining", "broken", "done", "framing")

    def __init__(
        self, framing: Framing, length: int, payload: Callable[[bytes | memoryview], object], *, strict: bool = False
    ) -> None:
        self.framing = framing
        self.done = framing is Framing.NONE or (framing is Framing.LENGTH and length == 0)
        self.broken = ""
        """Why the chunks are malformed; then no later message of the connection can be found."""
        self._payload = payload
        self._remaining = length
        self._chunks = ChunkDecoder(payload, strict=strict) if framing is Framing.CHUNKED else None

    @property
    def is_mostly_framing(self) -> bool:
        """Return whether chunk sizes, extensions and trailers are more than 4 MiB, and more than the payload.

        Such a body costs much more work than its payload is worth, and may have no end.
        """
        return self._has_framing_above(_FREE_FRAMING)

    @property
    def is_wasteful(self) -> bool:
        """Return whether the framing is more than 64 KiB, and more than the payload: then the body is read more
        slowly.
        """
        return self._has_framing_above(_CHEAP_FRAMING)

    @property
    def trailers(self) -> Trailers:
        """Return the fields that have come behind the chunks, up to 64 KiB of them; the rest are body bytes only."""
        return self._chunks.trailers if self._chunks is not None else ()

    def payload_to(self, payload: Callable[[bytes | memoryview], object]) -> None:
        """Hand the payload to another function from now on."""
        self._payload = payload
        if self._chunks is not None:
            self._chunks.payload = payload

    def feed(self, data: bytes) -> int:
        """Return how many of these bytes belong to the body; the rest came after its end."""
        if self.done:
            return 0
        if self.framing is Framing.LENGTH:
            taken = min(len(data), self._remaining)
            self._payload(data if taken == len(data) else memoryview(data)[:taken])
            self._remaining -= taken
            self.done = self._remaining == 0
            return taken
        chunks = self._chunks
        if chunks is None:
            self._payload(data)
            return len(data)
        taken = chunks.feed(data)
        self.done, self.broken = chunks.done, chunks.error
        return taken

    def finish(self) -> None:
        """Note that the stream has ended. An unfinished first line of a chunked body turns out to be payload."""
        if self._chunks is not None:
            self._chunks.finish()

    def _has_framing_above(self, limit: int) -> bool:
        chunks = self._chunks
        return chunks is not None and chunks.framing_length > limit and chunks.framing_length > chunks.payload_length
