"""The proxy changes heads here: the request as the origin gets it, the response as the client gets it. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable
from http import HTTPStatus
from typing import Final

from proxy.protocol.http1 import DIGITS, Framing, RequestHead, ResponseHead

NEVER_FORWARDED: Final = frozenset(
    (
        b"proxy-authorization",
        b"proxy-connection",
        b"proxy-authenticate",
        b"warcprox-meta",
        b"keep-alive",
        b"http2-settings",
    )
)
"""Request headers that are for us: neither an origin nor a WARC ever gets them."""

_BARE_CR: Final = re.compile(rb"\r+(?!\n|\r)")
_FRAMING: Final = frozenset((b"transfer-encoding", b"content-length"))
_CODING: Final = frozenset((b"transfer-encoding",))
"""Beside a length that counts it is `identity`, for which some clients wait until the connection ends."""
_NOTHING: Final[frozenset[bytes]] = frozenset()
_NEVER_DROPPED: Final = _FRAMING | {b"host", b"cookie", b"authorization", b"content-type", b"content-encoding"}
"""The fields that `Connection` can't make hop-by-hop: without them the origin would see another request, or its end
elsewhere."""
_NOT_FOR_CLIENTS: Final = frozenset(
    (
        b"connection",
        b"keep-alive",
        b"proxy-connection",
        b"proxy-authenticate",
        b"ghostfleet-error",
        b"ghostfleet-replay",
        b"warcprox-meta",
    )
)
"""Response headers that only the proxy may say; an origin's are in the record, not on the wire to the client."""
_TRANSFER_CODINGS: Final = frozenset((b"gzip", b"x-gzip", b"deflate", b"compress", b"x-compress"))
LIMIT_PHRASES: Final = {420: "Reached limit", 430: "Reached soft limit"}
"""warcprox's status codes that HTTP does not know."""


def origin_head(head: RequestHead, target: str, host: str, *, upgrade: bool = False, via: bytes = b"") -> bytes:
    """Return the request head as it is sent to the origin and recorded: origin form, hop-by-hop headers removed.

    Order and case of the other lines stay. A missing or different Host is replaced by the target's, since the
    target decides where the request goes (RFC 9112 section 3.2.2). `via` is a header line of ours to add.
    """
    dropped = {token for name, value, _ in head.fields if name == b"connection" for token in _names(value)}
    dropped -= _NEVER_DROPPED
    lines = [f"{head.method} {target} HTTP/1.1\r\n".encode("latin-1")]
    seen_host = False
    for name, value, line in head.fields:
        if name in NEVER_FORWARDED or name == b"te" or (name in dropped and name != b"upgrade"):
            continue
        if name == b"host":
            if seen_host:
                continue
            seen_host = True
            if value.lower() != host.encode("latin-1"):
                line = f"Host: {host}\r\n".encode("latin-1")
        elif name in (b"connection", b"upgrade"):
            if not upgrade:
                continue
            if name == b"connection":
                line = b"Connection: Upgrade\r\n"
        lines.append(line)
    if not seen_host:
        lines.insert(1, f"Host: {host}\r\n".encode("latin-1"))
    lines.append(via + b"\r\n")
    return b"".join(lines)


def via_line(name: str) -> bytes:
    """Return the Via header of a proxy of that name (RFC 9110 section 7.6.3); nothing for no name."""
    return f"Via: 1.1 {name}\r\n".encode("latin-1") if name else b""


def client_head(
    head: ResponseHead, framing: Framing, length: int, *, close: bool, old_client: bool, via: bytes = b""
) -> bytes:
    """Return the response head as the client gets it: what concerns our connection to it is ours to say.

    `framing` and `length` are what the proxy goes by. A client that found another end of the body in the origin's
    fields would take the rest for its next response. A body framed by the connection's end goes out in chunks; an
    `old_client` (HTTP/1.0) gets neither chunks nor, for such bodies, a length.
    """
    raw = head.raw
    is_clean = raw.count(b"\r") == raw.count(b"\r\n")
    lines = [b"HTTP/1.1 %03d %s\r\n" % (head.status, head.reason)]
    reframed = framing in (Framing.CLOSE, Framing.CHUNKED)
    dropped = _FRAMING if reframed else _CODING if framing is Framing.LENGTH else _NOTHING
    seen_length = False
    coding = b"chunked"
    for name, value, line in head.fields:
        if name in _NOT_FOR_CLIENTS or not name or name in dropped:
            if name == b"transfer-encoding" and value != b"chunked":
                coding = _transfer_coding(value, coding)
            continue
        if name == b"content-length":
            number = length if framing is Framing.LENGTH else _first_number(value)
            if seen_length or number is None:
                continue
            seen_length = True
            line = b"Content-Length: %d\r\n" % number
        elif not is_clean or not line.endswith(b"\r\n") or line.count(b"\n") > 1:
            line = whole_line(name, value, line)
        lines.append(line)
    if reframed and not old_client:
        lines.append(b"Transfer-Encoding: %s\r\n" % coding)
    if close:
        lines.append(b"Connection: close\r\n")
    elif old_client:
        lines.append(b"Connection: keep-alive\r\n")
    lines.append(via + b"\r\n")
    return b"".join(lines)


def whole_line(name: bytes, value: bytes, line: bytes) -> bytes:
    """Return a field as one line that all readers find the end of; nothing for a name with a bare CR.

    With a space in place of that CR, a client might take the line for a header that we did not see.
    """
    if b"\r" in name:
        return b""
    if line.endswith(b"\r\n") and line.count(b"\n") == line.count(b"\r") == 1:
        return line
    return without_bare_cr(line.partition(b":")[0].strip() + b": " + value) + b"\r\n"


def without_bare_cr(text: bytes) -> bytes:
    """Return the text with a space for each CR that ends no line, which some readers take for a line's end.

    RFC 9112 section 2.2 wants this of whoever passes a message on. The record keeps the text as it came.
    """
    return _BARE_CR.sub(b" ", text)


def _transfer_coding(value: bytes, so_far: bytes) -> bytes:
    """Return the coding with what the origin did to the body before it came in chunks: the client has to undo that."""
    known = [token for token in _names(value) if token in _TRANSFER_CODINGS]
    return b", ".join([*known, so_far])


def _first_number(value: bytes) -> int | None:
    return next((int(part) for part in value.split(b",") if DIGITS.fullmatch(part.strip(b" \t"))), None)


def chunk(data: bytes) -> bytes:
    """Return the bytes as one chunk (RFC 9112 section 7.1); nothing for no bytes, which would end the body."""
    return b"%x\r\n%s\r\n" % (len(data), data) if data else b""


def last_chunk(trailers: Iterable[bytes]) -> bytes:
    """Return the end of a body in chunks, with these lines (without their ends) as its trailers."""
    return b"\r\n".join((b"0", *trailers, b"", b""))


LAST_CHUNK: Final = last_chunk(())
_CLOSE: Final = "Connection: close\r\n"


def plain_answer(status: int, reason: str, text: str, *, extra: str = "", close: bool = True) -> bytes:
    """Return an answer of the proxy's own, as plain text. `extra` is further header lines, each with its line end."""
    body = text.encode()
    return (
        f"HTTP/1.1 {status} {reason}\r\nContent-Type: text/plain;charset=utf-8\r\n"
        f"Content-Length: {len(body)}\r\n{extra}{_CLOSE if close else ''}\r\n"
    ).encode() + body


def _names(value: bytes) -> list[bytes]:
    return [token.strip().lower() for token in value.split(b",")]


def refusal(status: int, word: str, text: str, extra: str = "") -> bytes:
    """Return the answer to a request that is not carried out; the connection closes behind it."""
    extra += f"Ghostfleet-Error: 0 {word}\r\n"
    if status == 407:
        extra += 'Proxy-Authenticate: Basic realm="ghostfleet"\r\n'
    if status == 503:
        extra += "Retry-After: 5\r\n"
    phrase = LIMIT_PHRASES.get(status) or HTTPStatus(status).phrase
    return plain_answer(status, phrase, text + "\n", extra=extra)


def own_answer(kind: str, body: bytes, *, with_body: bool) -> bytes:
    """Return a successful answer of the proxy's own."""
    head = f"HTTP/1.1 200 OK\r\nContent-Type: {kind}\r\nContent-Length: {len(body)}\r\nCache-Control: no-store\r\n\r\n"
    return head.encode() + (body if with_body else b"")


def with_connection(answer: bytes, asked: RequestHead, *, stays: bool) -> bytes:
    """Return the answer with what becomes of the client's connection in its head, where the client expects otherwise.

    A connection that `stays` does so when the request asked for that.
    """
    if stays and (asked.minor == 1 or not asked.keep_alive):
        return answer
    head, gap, body = answer.partition(b"\r\n\r\n")
    return head + (b"\r\nConnection: keep-alive" if stays else b"\r\nConnection: close") + gap + body
