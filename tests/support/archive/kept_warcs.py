"""Exchanges kept in real WARC files with their sidecars, as a proxy would keep them but without a network."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable

from archive.capture import Body, Capture, Context, Digests, Exchange, Message, Original
from archive.dates import now_micros
from archive.warc.records.record import exchange_records
from archive.warc.writing.writer import WarcWriter


def exchange(url: str, body: bytes = b"hello", *, collection: str = "news", status: int = 200) -> Exchange:
    """A GET of `url` answered with `body`."""
    head = f"HTTP/1.1 {status} Fine\r\nContent-Type: text/plain\r\nContent-Length: {len(body)}\r\n\r\n".encode()
    host, _, path = url.partition("://")[2].partition("/")
    digests = Digests(sha1(head + body), sha1(body), hashlib.sha256(body).digest(), len(body))
    return Exchange(
        id=f"x-{url}",
        context=Context(collection, job="daily", page_id="page-1"),
        method="GET",
        url=url,
        started=now_micros(),
        duration_ms=5,
        outcome=status,
        request=Message(f"GET /{path} HTTP/1.1\r\nHost: {host}\r\n\r\n".encode()),
        response=Message(head, Body((body,), None, len(body))),
        digests=digests,
        mime="text/plain",
    )


def keep(writer: WarcWriter, exchanges: Iterable[Exchange], original: Original | None = None) -> list[Capture]:
    """The captures of the exchanges, durable; revisits when there is an original."""
    captures: list[Capture] = []
    for each in exchanges:
        captures += writer.append(exchange_records(each, warcinfo_id=writer.warcinfo_id, original=original))
    writer.sync()
    return captures


def sha1(data: bytes) -> bytes:
    """Raw SHA-1."""
    return hashlib.sha1(data, usedforsecurity=False).digest()
