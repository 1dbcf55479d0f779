"""Each response of the campaign's origin is computed from its path, so that any process can check a record."""

from __future__ import annotations

import gzip
import random
from dataclasses import dataclass
from typing import Final

from bench.faults.traffic.conversation import handshake_response

SHAPES: Final = (
    "plain",
    "plain",
    "twin",
    "twin",
    "chunked",
    "gzip",
    "packed",
    "close",
    "slow",
    "large",
    "empty",
    "gone",
    "posted",
)
"""The kinds of responses, in the proportions of the requests."""
POSTED: Final = "posted"
"""The shape whose requests have a body."""
SOCKET: Final = "socket"
"""The shape of the paths of WebSockets. `conversation` has their messages."""
_TWINS: Final = 40
_SLOW_PIECES: Final = 5
_LARGE: Final = 700_000
"""More bytes than the spool keeps in memory."""


@dataclass(frozen=True, slots=True)
class SiteAnswer:
    """A site answer describes a response of the site.

    `raw` is the head and the coded body; `payload` is the body as a client reads it. The response is sent in `pieces`,
    a moment apart. After a `closing` one, the connection ends.
    """

    status: int
    raw: bytes
    payload: bytes
    pieces: int = 1
    closing: bool = False


def path(name: str, number: int, shape: str = "") -> str:
    """Return the path of a file. The number decides its shape, unless `shape` is given."""
    return f"/{name}/{shape or SHAPES[number % len(SHAPES)]}/{number}"


def is_socket(target: str) -> bool:
    """Return whether the path is one of a WebSocket."""
    return f"/{SOCKET}/" in target


def answer(target: str) -> SiteAnswer:
    """Return the response of a path. Raises ValueError for a path that is not of this site."""
    _, _, shape, number = target.split("/")
    if shape == SOCKET:
        return SiteAnswer(101, handshake_response(target), b"")
    draw = random.Random(f"twin {int(number) // len(SHAPES) % _TWINS}" if shape == "twin" else target)
    size = _LARGE if shape == "large" else draw.randrange(300, 30_000)
    content = draw.randbytes(size) if draw.random() < 0.4 else _text(draw, size)
    match shape:
        case "plain" | "twin" | "large" | "posted":
            return SiteAnswer(200, _sized(b"200 OK", content), content)
        case "slow":
            return SiteAnswer(200, _sized(b"200 OK", content), content, pieces=_SLOW_PIECES)
        case "chunked":
            return SiteAnswer(200, _chunked(draw, content), content)
        case "gzip":
            packed = gzip.compress(content, 1, mtime=0)
            return SiteAnswer(200, _sized(b"200 OK", packed, b"Content-Encoding: gzip"), packed)
        case "packed":
            packed = gzip.compress(content, 1, mtime=0)
            return SiteAnswer(200, _chunked(draw, packed, b"Content-Encoding: gzip"), packed)
        case "close":
            head = b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nConnection: close\r\n\r\n"
            return SiteAnswer(200, head + content, content, closing=True)
        case "empty":
            return SiteAnswer(204, b"HTTP/1.1 204 No Content\r\nX-Path: " + target.encode() + b"\r\n\r\n", b"")
        case "gone":
            return SiteAnswer(404, _sized(b"404 Not Found", content), content)
    raise ValueError(f"{target} is no path of this site")


def upload(target: str) -> bytes:
    """Return the request body of a path; empty for most paths."""
    draw = random.Random(f"upload {target}")
    return draw.randbytes(draw.randrange(1, 100_000)) if f"/{POSTED}/" in target else b""


def _text(draw: random.Random, size: int) -> bytes:
    """Return text that compresses well."""
    words = [b"%06x" % draw.getrandbits(24) for _ in range(50)]
    return b" ".join(draw.choices(words, k=size // 7 + 1))[:size]


def _sized(status: bytes, content: bytes, *headers: bytes) -> bytes:
    lines = [b"HTTP/1.1 " + status, b"Content-Type: text/plain", *headers, b"Content-Length: %d" % len(content)]
    return b"\r\n".join([*lines, b"", b""]) + content


def _chunked(draw: random.Random, content: bytes, *headers: bytes) -> bytes:
    pieces = [b"\r\n".join([b"HTTP/1.1 200 OK", b"Transfer-Encoding: chunked", *headers, b"", b""])]
    at = 0
    while at < len(content):
        chunk = content[at : at + draw.randrange(1, 8000)]
        pieces.append(b"%x\r\n%b\r\n" % (len(chunk), chunk))
        at += len(chunk)
    return b"".join([*pieces, b"0\r\n\r\n"])
