"""Exchanges as the proxy hands them to the archive: real heads and bodies, digests taken from the bytes."""

from __future__ import annotations

import base64
import hashlib
from typing import Any

from archive.capture import Body, Capture, Context, Digests, Exchange, Message, Origin, Original
from archive.digest import Algorithm
from archive.http.chunked import dechunk
from archive.http.http_message import Fields, parse_head
from archive.warc.records.record import Record, exchange_records
from archive.warc.writing.writer import WarcWriter

DATE = 1_795_248_900_000_123
"""2026-11-21T08:15:00.000123Z"""
HTML = b"<!doctype html><title>Welcome</title><p>A page of some length, so that packing it gains a little."


def message(start: str, *fields: str, body: bytes = b"") -> Message:
    """A message with these lines as its head."""
    head = "\r\n".join((start, *fields, "", "")).encode("latin-1")
    return Message(head, Body((body,) if body else (), None, len(body)))


def response(body: bytes = HTML, *fields: str, status: str = "200 OK", mime: str = "text/html") -> Message:
    """A response with a Content-Length."""
    lines = (f"Content-Type: {mime}", f"Content-Length: {len(body)}", *fields)
    return message(f"HTTP/1.1 {status}", *lines, body=body)


def request(path: str = "/", method: str = "GET", body: bytes = b"", *fields: str) -> Message:
    """A request to example.org."""
    length = (f"Content-Length: {len(body)}",) if body else ()
    return message(f"{method} {path} HTTP/1.1", "Host: example.org", "User-Agent: tests", *length, *fields, body=body)


def digests(answer: Message, algorithm: Algorithm = "sha1") -> Digests:
    """What the proxy would have measured."""
    chunks = answer.body.chunks()
    payload = b"".join(dechunk(chunks) if parse_head(answer.head).is_chunked else chunks)
    block = digest(b"".join(answer.chunks()), algorithm)
    return Digests(block, digest(payload, algorithm), hashlib.sha256(payload).digest(), len(payload), algorithm)


def digest(data: bytes, algorithm: Algorithm) -> bytes:
    """Raw, by the libraries themselves."""
    if algorithm == "blake3":
        from blake3 import blake3

        return blake3(data).digest()
    return hashlib.new(algorithm, data).digest()


def sha1(data: bytes) -> str:
    """As a record names it."""
    return "sha1:" + base64.b32encode(hashlib.sha1(data).digest()).decode()


def fields(record: Record) -> Fields:
    """Of the record's own header."""
    assert record.header.startswith(b"WARC/1.1\r\n")
    assert record.header.endswith(b"\r\n\r\n")
    return parse_head(record.header).fields


def exchange(path: str = "/", answer: Message | None = None, **changed: Any) -> Exchange:
    """One exchange with http://example.org; every fact can be changed by name."""
    answer = answer or response()
    head = parse_head(answer.head)
    facts: dict[str, Any] = {
        "id": "exchange-1",
        "context": Context("news", job="daily", page_id="page-1"),
        "method": "GET",
        "url": f"http://example.org{path}",
        "started": DATE,
        "duration_ms": 12,
        "outcome": head.status,
        "request": request(path),
        "response": answer,
        "digests": digests(answer),
        "mime": head.mime,
        "origin": Origin("192.0.2.7", ("http/1.1", "tls/1.3"), "TLS_AES_128_GCM_SHA256"),
    }
    return Exchange(**(facts | changed))


def keep(writer: WarcWriter, exchanged: Exchange, original: Original | None = None) -> Capture:
    """Append one exchange's records to the writer's batch."""
    return writer.append(exchange_records(exchanged, warcinfo_id=writer.warcinfo_id, original=original))[0]
