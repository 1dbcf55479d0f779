"""Validators tell versions of a representation apart: ETags and dates (RFC 9110 section 8.8). Pure."""

from __future__ import annotations

from proxy.protocol.http1 import FieldLines, ResponseHead


def confirms(head: ResponseHead, asked: FieldLines) -> bool:
    """Return whether a head has the validator that a conditional request names: the ETag, or else the date.

    ETags are compared weakly (RFC 9110 section 13.1.2). A client repeats the date as it came (RFC 9111 section 4.3.1).
    """
    named = _named(asked)
    if named:
        etag = head.get(b"etag")
        return etag is not None and _opaque(etag) in map(_opaque, named)
    modified = head.get(b"last-modified")
    return modified is not None and any(name == b"if-modified-since" and value == modified for name, value, _ in asked)


def is_about(said: ResponseHead, head: ResponseHead, asked: FieldLines) -> bool:
    """Return whether a 304 speaks of the response with that head, which has a validator that the client named.

    A client may have named several ETags. Without an ETag, the 304 does not tell which of them it means.
    """
    etag, known = said.get(b"etag"), head.get(b"etag")
    if etag is None:
        return len(_named(asked)) <= 1
    return known is None or _opaque(etag) == _opaque(known)


def _named(asked: FieldLines) -> list[bytes]:
    return [etag for name, value, _ in asked if name == b"if-none-match" for etag in value.split(b",")]


def _opaque(etag: bytes) -> bytes:
    """Return the value for the weak comparison (RFC 9110 section 8.8.3.2)."""
    return etag.strip().removeprefix(b"W/")
