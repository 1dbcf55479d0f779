"""This module makes records of derived content and of notes: screenshots, texts, DNS answers. It writes nothing."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from archive import url as urls
from archive.capture import Body, Capture, Context, Message, Origin, Truncation
from archive.dates import Micros
from archive.digest import DEFAULT_ALGORITHM, NEW_HASHER, Algorithm, labelled
from archive.http.http_message import media_type
from archive.names.ids import new_id
from archive.warc.compression.incompressible import is_incompressible
from archive.warc.records.header import (
    check_values,
    extra_fields,
    field,
    job_fields,
    origin_fields,
    target_fields,
    whole_header,
)
from archive.warc.records.record import UNKNOWN_MIME, Record

type ResourceKind = Literal["resource", "metadata", "conversion", "response"]
"""`response` is for protocols other than HTTP: DNS answers, which the standard (section 6.4.4) would also have as
resource, but which Heritrix, and so nearly every archive there is, keeps as response."""


def resource_record(
    kind: ResourceKind,
    url: str,
    content_type: str,
    body: Body,
    *,
    date: Micros,
    context: Context,
    warcinfo_id: str,
    concurrent_to: str | None = None,
    origin: Origin | None = None,
    fields: Sequence[tuple[str, str]] = (),
    truncated: Truncation | None = None,
    algorithm: Algorithm = DEFAULT_ALGORITHM,
) -> Record:
    """Return a resource, metadata or conversion record made by Ghostfleet, such as a screenshot.

    `concurrent_to` is a bare UUID. `origin` is the source of content that was not made here. Raises ValueError for a
    value that would break the header.
    """
    record_id = new_id()
    taken, sha256 = NEW_HASHER[algorithm](), NEW_HASHER["sha256"]()
    for chunk in body.chunks():
        taken.update(chunk)
        sha256.update(chunk)
    digest = labelled(algorithm, taken.digest())
    check_values(url, content_type, context.page_id or "", context.job or "", concurrent_to or "")
    header = target_fields(url, date, warcinfo_id) + (origin_fields(origin) if origin else "")
    header += job_fields(context) + extra_fields(tuple(fields))
    header += _said_of_it(concurrent_to, truncated, digest if kind != "metadata" else None)
    mime = media_type(content_type) or UNKNOWN_MIME
    line = Capture(
        collection=context.collection, key=urls.key(url), date=date, url=url, mime=mime, status=None,
        digest=digest.removeprefix("sha1:"), kind=kind, filename="", offset=-1, length=0, record_id=record_id,
        job=context.job, page_id=context.page_id,
        payload_length=body.length, sha256=sha256.digest().hex(), truncated=truncated,
    )  # fmt: skip
    whole = whole_header(kind, record_id, header, digest, content_type, body.length)
    return Record(kind, record_id, warcinfo_id, whole, Message(b"", body), is_incompressible(mime, None), line)


def _said_of_it(concurrent_to: str | None, truncated: Truncation | None, digest: str | None) -> str:
    """Return the header fields that only some records have."""
    header = field("WARC-Concurrent-To", f"<urn:uuid:{concurrent_to}>") if concurrent_to else ""
    header += field("WARC-Truncated", truncated) if truncated else ""
    return header + (field("WARC-Payload-Digest", digest) if digest else "")
