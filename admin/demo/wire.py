"""The garden site has a small HTTP/1.1 server of its own, because the tests choose framing and timing."""

from __future__ import annotations

import gzip
import hashlib
import itertools
import threading
from collections.abc import Iterator
from dataclasses import dataclass, replace
from email.utils import formatdate
from http import HTTPStatus
from typing import BinaryIO, Final, Literal

type Framing = Literal["length", "chunked", "close"]

MAX_LINE: Final = 65_536
MAX_HEADERS: Final = 200
MAX_BODY: Final = 2_000_000
"""Bytes of a request's body, which is read before the request is answered."""
CHUNK: Final = 4096
REFUSAL: Final = b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
LAST_MODIFIED: Final = "Wed, 01 May 2024 06:00:00 GMT"
BODILESS: Final = frozenset({204, 304})


class BadRequest(ValueError):
    """The request is not HTTP/1.1."""


@dataclass(frozen=True, slots=True)
class Request:
    """The request is as the site saw it. Header names are in lower case, and the last of a repeated one counts."""

    scheme: str
    host: str
    method: str
    target: str
    headers: dict[str, str]
    body: bytes

    @property
    def path(self) -> str:
        """Return the target without its query."""
        return self.target.partition("?")[0]

    @property
    def query(self) -> str:
        """Return the part of the target behind the question mark."""
        return self.target.partition("?")[2]

    @property
    def url(self) -> str:
        """Return the URL as a browser shows it."""
        return f"{self.scheme}://{self.host}{self.target}"


@dataclass(frozen=True, slots=True)
class Answer:
    """The answer has what the site says to one request, and how it is framed."""

    body: bytes = b""
    status: int = 200
    content_type: str = "text/html; charset=utf-8"
    headers: tuple[tuple[str, str], ...] = ()
    framing: Framing = "length"
    gzip: bool = False
    wait_seconds: float = 0.0

    @property
    def etag(self) -> str:
        """Return a validator that is the same for the same bytes."""
        return f'"{hashlib.sha256(self.body).hexdigest()[:16]}"'


def read_request(stream: BinaryIO, scheme: str) -> Request | None:
    """Return the next request on a connection; None when the client closed it. Raises BadRequest."""
    line = stream.readline(MAX_LINE)
    if not line.strip():
        return None
    parts = line.decode("latin-1").split()
    if len(parts) != 3 or not parts[1].startswith("/"):
        raise BadRequest(f"request line {line[:100]!r} is not METHOD /target HTTP/1.1")
    headers = dict(_headers(stream))
    length = headers.get("content-length", "0")
    if not (length.isascii() and length.isdecimal() and len(length) < 9 and int(length) <= MAX_BODY):
        raise BadRequest(f"Content-Length {length[:100]!r} is no number up to {MAX_BODY}")
    body = stream.read(int(length))
    return Request(scheme, headers.get("host", "").partition(":")[0].lower(), parts[0], parts[1], headers, body)


def respond(stream: BinaryIO, request: Request, answer: Answer, stopping: threading.Event) -> bool:
    """Send the answer, after its wait. Return whether the connection may serve another request."""
    if answer.wait_seconds and stopping.wait(answer.wait_seconds):
        return False
    answer = _revalidated(request, answer)
    answer = _part(request, answer)
    body = gzip.compress(answer.body, mtime=0) if answer.gzip else answer.body
    stream.write(_head(answer, len(body)))
    if request.method != "HEAD" and answer.status not in BODILESS:
        for piece in _framed(body, answer.framing):
            stream.write(piece)
    stream.flush()
    return answer.framing != "close" and request.headers.get("connection", "").lower() != "close"


def _headers(stream: BinaryIO) -> Iterator[tuple[str, str]]:
    for count in itertools.count():
        line = stream.readline(MAX_LINE)
        if not line.strip():
            return
        if count >= MAX_HEADERS:
            raise BadRequest(f"the request has more than {MAX_HEADERS} header lines")
        name, colon, value = line.decode("latin-1").partition(":")
        if not colon:
            raise BadRequest(f"header line {line[:100]!r} has no colon")
        yield name.strip().lower(), value.strip()


def _revalidated(request: Request, answer: Answer) -> Answer:
    """Return a 304 when the client has the same bytes (RFC 9110, 13.1.2)."""
    if answer.status == 200 and request.headers.get("if-none-match") == answer.etag:
        return replace(answer, status=304, headers=(*answer.headers, ("ETag", answer.etag)), framing="length")
    return answer


def _part(request: Request, answer: Answer) -> Answer:
    """Return a 206 with the range, or a 416 (RFC 9110, 14.2), for plain bodies with a length."""
    wanted = request.headers.get("range", "")
    if answer.status != 200 or answer.framing != "length" or answer.gzip or not wanted.startswith("bytes="):
        return answer
    size = len(answer.body)
    first, _, last = wanted.removeprefix("bytes=").partition("-")
    start, end = (int(first), min(int(last or size - 1), size - 1)) if first else (max(size - int(last), 0), size - 1)
    if start > end:
        return replace(answer, status=416, body=b"", headers=(*answer.headers, ("Content-Range", f"bytes */{size}")))
    part = (("Content-Range", f"bytes {start}-{end}/{size}"), ("ETag", answer.etag))
    return replace(answer, status=206, body=answer.body[start : end + 1], headers=(*answer.headers, *part))


def _head(answer: Answer, length: int) -> bytes:
    fields = [("Server", "Garden"), ("Date", formatdate(usegmt=True)), *answer.headers]
    if answer.status not in BODILESS:
        fields.append(("Content-Type", answer.content_type))
    if answer.status == 200:
        fields += [("Last-Modified", LAST_MODIFIED), ("ETag", answer.etag), ("Accept-Ranges", "bytes")]
    if answer.gzip:
        fields += [("Content-Encoding", "gzip"), ("Vary", "Accept-Encoding")]
    if answer.framing == "length" and answer.status not in BODILESS:
        fields.append(("Content-Length", str(length)))
    elif answer.framing == "chunked":
        fields.append(("Transfer-Encoding", "chunked"))
    elif answer.framing == "close":
        fields.append(("Connection", "close"))
    lines = [f"HTTP/1.1 {answer.status} {HTTPStatus(answer.status).phrase}", *(f"{k}: {v}" for k, v in fields)]
    return ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1")


def _framed(body: bytes, framing: Framing) -> Iterator[bytes]:
    if framing != "chunked":
        yield body
        return
    for start in range(0, len(body), CHUNK):
        piece = body[start : start + CHUNK]
        yield b"%x\r\n%s\r\n" % (len(piece), piece)
    yield b"0\r\n\r\n"
