"""This module makes the header of a WARC record. It refuses values that could start a field of their own."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Final
from urllib.parse import quote

from archive.capture import Context, Origin, Trailers
from archive.dates import Micros, iso_date

MAX_HEADER: Final = 1 << 24
"""Bytes of the longest header that is written or read. A URL has up to three times `proxy.max_head_bytes`, since each
byte may be escaped, and a revisit names two URLs."""
_TOKEN: Final = frozenset("abcdefghijklmnopqrstuvwxyz0123456789-_.!#$%&'*+^`|~")
_AS_THEY_ARE: Final = bytes(set(range(0x20, 0x7F)) - set(b"%"))
_OWN_FIELDS: Final = frozenset(
    {
        "content-length",
        "content-type",
        "warc-block-digest",
        "warc-cipher-suite",
        "warc-concurrent-to",
        "warc-date",
        "warc-http-trailer",
        "warc-ip-address",
        "warc-job-id",
        "warc-page-id",
        "warc-payload-digest",
        "warc-payload-length",
        "warc-profile",
        "warc-protocol",
        "warc-record-id",
        "warc-refers-to",
        "warc-refers-to-container",
        "warc-refers-to-date",
        "warc-refers-to-target-uri",
        "warc-target-uri",
        "warc-tls-verification",
        "warc-truncated",
        "warc-type",
        "warc-updated-by",
        "warc-warcinfo-id",
    }
)


def whole_header(
    kind: str, record_id: str, fields: str, block_digest: str, content_type: str, block_length: int
) -> bytes:
    """Return the header up to its empty line. `fields` are complete lines; `block_digest` has its label.

    Raises ValueError for a header that is too long to be read again.
    """
    header = (
        f"WARC/1.1\r\nWARC-Type: {kind}\r\nWARC-Record-ID: <urn:uuid:{record_id}>\r\n{fields}"
        f"WARC-Block-Digest: {block_digest}\r\n"
        f"Content-Type: {content_type}\r\nContent-Length: {block_length}\r\n\r\n"
    ).encode()
    if len(header) > MAX_HEADER:
        raise ValueError(f"the {kind} record's header has more than {MAX_HEADER} bytes")
    return header


def field(name: str, value: str) -> str:
    """Return one line of the header. Nothing is checked."""
    return f"{name}: {value}\r\n"


def target_fields(url: str, date: Micros, warcinfo_id: str) -> str:
    """Return the fields for date, URL and warcinfo record.

    Raises ValueError for a URL with a space, which the grammar of WARC forbids.
    """
    if " " in url:
        raise ValueError(f"WARC-Target-URI {url!r} has a space; percent-encode it")
    return f"WARC-Date: {iso_date(date)}\r\nWARC-Target-URI: {url}\r\nWARC-Warcinfo-ID: <urn:uuid:{warcinfo_id}>\r\n"


def origin_fields(origin: Origin) -> str:
    """Return the fields for the origin's address, its protocols and its TLS connection.

    Raises ValueError for a value that would break the header.
    """
    check_values(origin.ip or "", origin.cipher_suite or "", origin.certificate_error or "", *origin.protocols)
    text = f"WARC-IP-Address: {origin.ip}\r\n" if origin.ip else ""
    for protocol in origin.protocols:
        text += f"WARC-Protocol: {protocol}\r\n"
    if origin.cipher_suite:
        text += f"WARC-Cipher-Suite: {origin.cipher_suite}\r\n"
    if origin.certificate_error:
        text += f"WARC-TLS-Verification: {origin.certificate_error}\r\n"
    return text


def job_fields(context: Context) -> str:
    """Return the fields for page visit and job. The caller has checked their values."""
    page = f"WARC-Page-ID: {context.page_id}\r\n" if context.page_id else ""
    return f"{page}WARC-Job-ID: {context.job}\r\n" if context.job else page


def extra_fields(fields: Sequence[tuple[str, str]]) -> str:
    """Return the lines of fields that extensions add.

    Raises ValueError for a bad name or value, and for a field that the recorder writes itself.
    """
    for name, value in fields:
        _check_name(name)
        check_values(value)
    return "".join(field(name, value) for name, value in fields)


def trailer_fields(trailers: Trailers) -> str:
    """Return the fields for the trailers of a response. Bytes that could break the header are percent-escaped."""
    return "".join(
        field("WARC-HTTP-Trailer", quote(name + b": " + value, safe=_AS_THEY_ARE)) for name, value in trailers
    )


def check_values(*values: str) -> None:
    """Refuse values with line ends or other control characters, so that no page can add a field.

    Raises ValueError.
    """
    if not "".join(values).isprintable():
        wrong = next(value for value in values if not value.isprintable())
        raise ValueError(f"{wrong[:200]!r} can't be the value of a WARC field: it has control characters; remove them")


@lru_cache(maxsize=256)
def _check_name(name: str) -> None:
    if not name or not _TOKEN.issuperset(name.lower()):
        raise ValueError(f"{name!r} can't be the name of a WARC field; use letters, digits and -")
    if name.lower() in _OWN_FIELDS:
        raise ValueError(f"field {name} is written by the recorder itself and can't be given twice")
