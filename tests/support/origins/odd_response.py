"""What one odd response is, and what builds one: all that goes over the wire, what a record holds of it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from support.origins.raw_origin import Drip, Send, Step

OK = b"HTTP/1.1 200 OK\r\n"
HTML = b"Content-Type: text/html\r\n"

type Build = Callable[[bytes], tuple[bytes, bytes]]
"""From a tag to what is sent and the payload."""


@dataclass(frozen=True)
class Odd:
    """`sent` is all that goes over the wire; `block` what the record holds; `payload` what a client ends up with.

    `end` is how the origin then ends the connection. `interim` is how many bytes of `sent` come before the final
    response, `extra` how many come after its end: neither is part of it. With `drips` they come one at a time.
    """

    name: str
    build: Build
    status: int = 200
    method: str = "GET"
    end: Step | None = None
    interim: int = 0
    extra: int = 0
    drips: bool = False

    def sent(self, tag: bytes) -> bytes:
        """Every byte the origin sends."""
        return self.build(tag)[0]

    def steps(self, tag: bytes) -> Sequence[Step]:
        """What the origin does."""
        sent = self.sent(tag)
        return (Drip(sent, 0.0005) if self.drips else Send(sent), *([self.end] if self.end else []))

    def block(self, tag: bytes) -> bytes:
        """The final response, to the byte."""
        sent = self.sent(tag)
        return sent[self.interim : len(sent) - self.extra]

    def payload(self, tag: bytes) -> bytes:
        """The body with the transfer coding removed."""
        return self.build(tag)[1]


def chunked(*pieces: bytes, extension: bytes = b"", trailers: bytes = b"") -> bytes:
    """A chunked body."""
    chunks = b"".join(b"%x%b\r\n%b\r\n" % (len(piece), extension, piece) for piece in pieces)
    return chunks + b"0\r\n" + trailers + b"\r\n"


def page(tag: bytes, size: int = 300) -> bytes:
    """A body with the tag in it."""
    return b"<html><body>%b " % tag + b"moss " * (size // 5) + b"</body></html>\n"


def plain(tag: bytes) -> tuple[bytes, bytes]:
    """As responses should be."""
    return OK + HTML + b"Content-Length: %d\r\n\r\n" % len(page(tag)) + page(tag), page(tag)


def with_head(head: Callable[[int], bytes]) -> Build:
    """A response whose head is given for the length of its body."""
    return lambda tag: (head(len(page(tag))) + page(tag), page(tag))


def with_line(line: bytes) -> Build:
    """A response with this status line, which has its line end."""
    return with_head(lambda length: line + b"Content-Length: %d\r\n\r\n" % length)


def with_field(field: bytes) -> Build:
    """A response with these header lines, which have their line ends, before its Content-Length."""
    return with_line(OK + field)


def with_length(lines: bytes) -> Build:
    """A response whose length is said in `lines`, where @ stands for the number."""
    return with_head(lambda length: OK + lines.replace(b"@", b"%d" % length) + b"\r\n")


def chunks(head: bytes = OK + HTML, extension: bytes = b"", trailers: bytes = b"") -> Build:
    """A response in three chunks."""

    def build(tag: bytes) -> tuple[bytes, bytes]:
        body = chunked(page(tag)[:50], page(tag)[50:51], page(tag)[51:], extension=extension, trailers=trailers)
        return head + b"Transfer-Encoding: chunked\r\n\r\n" + body, page(tag)

    return build


def coded(*lines: bytes) -> Build:
    """A body in chunks behind a head with these Transfer-Encoding lines."""
    head = OK + b"".join(b"Transfer-Encoding: %b\r\n" % line for line in lines) + b"\r\n"
    return lambda tag: (head + chunked(page(tag)[:50], page(tag)[50:]), page(tag))


def one_chunk(before: bytes = b"", after: bytes = b"", upper: bool = False) -> Build:
    """A body in one chunk, with these bytes around its size."""

    def build(tag: bytes) -> tuple[bytes, bytes]:
        size = (b"%X" if upper else b"%x") % len(page(tag))
        head = OK + b"Transfer-Encoding: chunked\r\n\r\n"
        return head + before + size + after + b"\r\n" + page(tag) + b"\r\n0\r\n\r\n", page(tag)

    return build


def packed(coding: bytes, pack: Callable[[bytes], bytes]) -> Build:
    """A body with a content coding, which is payload as it stands."""

    def build(tag: bytes) -> tuple[bytes, bytes]:
        body = pack(page(tag, 5000))
        head = OK + HTML + b"Content-Encoding: %b\r\nContent-Length: %d\r\n\r\n" % (coding, len(body))
        return head + body, body

    return build


def before(interim: bytes) -> Build:
    """Something before a response as it should be."""
    return lambda tag: (interim + plain(tag)[0], page(tag))


def behind(extra: bytes) -> Build:
    """Something behind a response as it should be."""
    return lambda tag: (plain(tag)[0] + extra, page(tag))


def no_body(head: bytes) -> Build:
    """All of a response, where @ stands for the tag."""
    return lambda tag: (head.replace(b"@", tag), b"")
