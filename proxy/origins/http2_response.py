"""The answer on one stream of an origin's HTTP/2 as HTTP/1.1 says it, piece by piece. No I/O.

HTTP/1.1 ends a message of known length with its last byte; in HTTP/2 trailers may come after that byte. So the last
bytes are held until the stream has ended, or its next frame has come.
"""

from __future__ import annotations

from typing import Final

from archive.capture import Trailers
from proxy.protocol import heads
from proxy.protocol.http1 import Framing, parse_response, response_framing
from proxy.protocol.http2 import Headers, header_lines, response_lines

_NOT_OVER: Final = -1


class OriginAnswer:
    """The object converts the response to one `method` request into HTTP/1.1. Its methods return the bytes that may be
    sent now. Heads and trailers may raise BadMessage.
    """

    __slots__ = ("_held", "_in_chunks", "_left", "_method", "trailers")

    def __init__(self, method: str) -> None:
        self.trailers: Trailers = ()
        """Trailers after the body, announced or not."""
        self._method = method
        self._in_chunks = False
        self._left = _NOT_OVER
        """Bytes until the message is whole in HTTP/1.1."""
        self._held = b""

    @property
    def is_held(self) -> bool:
        """Return whether bytes wait for the stream's end."""
        return bool(self._held)

    def head(self, headers: Headers, *, ended: bool) -> bytes:
        """Return the final head; `ended` when nothing follows."""
        self._in_chunks = not ended and _announces_trailers(dict(headers))
        head = response_lines(headers)[1]
        head += b"transfer-encoding: chunked\r\n\r\n" if self._in_chunks else b"\r\n"
        framing, length, _ = response_framing(parse_response(head), self._method)
        if framing in (Framing.NONE, Framing.LENGTH):
            self._left = length
        return self._told(head, ended=ended)

    def data(self, data: bytes, *, ended: bool) -> bytes:
        """Return more of the body."""
        if self._left > 0:
            self._left = max(_NOT_OVER, self._left - len(data))
        return self._told(heads.chunk(data) if self._in_chunks else data, ended=ended)

    def behind(self, headers: Headers) -> bytes:
        """Return the trailers as HTTP/1.1; nothing when the body is not in chunks, which alone have trailers."""
        self.trailers = tuple((name, value) for name, value in headers if not name.startswith(b":"))
        if not self._in_chunks:
            return b""
        self._in_chunks = False
        return heads.last_chunk(header_lines(headers))

    def end(self) -> bytes:
        """Return the last bytes, when the stream has ended in order."""
        in_chunks, self._in_chunks = self._in_chunks, False
        return heads.LAST_CHUNK if in_chunks else self.release()

    def release(self) -> bytes:
        """Return the bytes that were held for the end of the stream."""
        held, self._held = self._held, b""
        return held

    def _told(self, piece: bytes, *, ended: bool) -> bytes:
        piece = self.release() + piece
        if self._left or ended:
            return piece
        self._left, self._held = _NOT_OVER, piece
        return b""


def _announces_trailers(known: dict[bytes, bytes]) -> bool:
    is_grpc = known.get(b"content-type", b"").startswith(b"application/grpc")
    return b"content-length" not in known and (b"trailer" in known or is_grpc)
