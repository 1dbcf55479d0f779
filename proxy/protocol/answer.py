"""A response as `Delivery` sends it, read back into its parts, for clients that don't speak HTTP/1 with us."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from archive.capture import Trailers
from proxy.protocol.body_reader import BodyReader
from proxy.protocol.http1 import Framing, ResponseHead, find_head_end, parse_response, response_framing

type AnswerPart = ResponseHead | bytes | Trailers

HOP_BY_HOP: Final = frozenset(
    (b"connection", b"keep-alive", b"proxy-connection", b"transfer-encoding", b"upgrade", b"te")
)
"""Fields about one HTTP/1 connection: they mean nothing elsewhere, and HTTP/2 forbids them (RFC 9113 section 8.2.2)."""


class AnswerReader:
    """Reads one answer to a request by `method`, interim heads included."""

    def __init__(self, method: str) -> None:
        self._method = method
        self._buffer = b""
        self._pieces: list[bytes] = []
        self._body: BodyReader | None = None
        self.framing = Framing.NONE
        """Of the final head."""

    @property
    def has_begun(self) -> bool:
        """Return whether the final head has come."""
        return self._body is not None

    def feed(self, data: bytes) -> Iterator[AnswerPart]:
        """Yield the parts in these bytes: heads, pieces of the payload, trailers."""
        while self._body is None and data:
            self._buffer += data
            end = find_head_end(self._buffer)
            if end < 0:
                return
            head, data, self._buffer = parse_response(self._buffer[:end]), self._buffer[end:], b""
            if head.status >= 200:
                self.framing, length, _ = response_framing(head, self._method)
                self._body = BodyReader(self.framing, length, lambda piece: self._pieces.append(bytes(piece)))
            yield head
        if self._body is None or not data:
            return
        self._body.feed(data)
        pieces, self._pieces = self._pieces, []
        if pieces:
            yield b"".join(pieces)
        if self._body.done and (trailers := self._body.trailers):
            yield trailers
