"""The pages of capture sessions have titles, names of fields for passwords, and pictures, which the archive has."""

from __future__ import annotations

import html
import re
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import islice
from typing import Any, Final

from sqlalchemy import Select, func, select

from admin.collections.browsing.index import index_if_any
from admin.collections.browsing.records import RecordTrouble, open_record, read_block
from admin.models.plain_text import comparable
from archive.capture import Capture
from archive.dates import Micros
from archive.http.content_coding import decode
from archive.http.http_message import Fields
from archive.settings.load import Settings
from archive.url import key
from archive.warc.reading.member_reader import WarcError
from dedupdb.captures.schema import CAPTURES, reading, to_capture

_TITLE: Final = re.compile(r"<title[^<>]{0,200}>([^<]{0,1000})", re.IGNORECASE)
_INPUT: Final = re.compile(r"<input\b[^<>]{0,2000}>", re.IGNORECASE)
_PASSWORD: Final = re.compile(r"\btype\s{0,9}=\s{0,9}[\"']?password\b", re.IGNORECASE)
_FIELD_NAME: Final = re.compile(
    r"\b(name|id)\s{0,9}=\s{0,9}(?:[\"']([^\"'<>]{1,200})[\"']|([^\s\"'<>]{1,200}))", re.IGNORECASE
)
_CHARSET: Final = re.compile(rb"charset=[\"']?([\w.:-]{1,40})", re.IGNORECASE)
_MOST_HTML: Final = 200_000
MOST_SECRET_FIELDS: Final = 200
_MOST_PICTURE: Final = 4_000_000
_C: Final = CAPTURES.c
PICTURE_URN: Final = "urn:thumbnail:"
"""The URI of a picture is this and the URL of its page, as Webrecorder's programs name it."""


def picture_of(settings: Settings, collection: str, url: str, captured: Micros) -> bytes | None:
    """Return the picture of a page of a session as JPEG; None as long as the index has none."""
    uri = f"{PICTURE_URN}{url}"
    found = _nearest(settings, _pictures(collection, [uri]), captured)
    if found is None:
        return None
    try:
        block, is_whole = read_block(settings, found, _MOST_PICTURE)
    except RecordTrouble:
        return None
    return block if is_whole else None


def urls_with_picture(settings: Settings, collection: str, urls: Iterable[str]) -> frozenset[str]:
    """Return those of the URLs of which the index has a picture."""
    query = _pictures(collection, [f"{PICTURE_URN}{url}" for url in urls])
    with index_if_any(settings) as index:
        if index is None:
            return frozenset()
        with reading(index.engine) as connection:
            found = connection.execute(query.with_only_columns(_C.url).distinct()).scalars()
            return frozenset(str(uri).removeprefix(PICTURE_URN) for uri in found)


def _pictures(collection: str, uris: list[str]) -> Select[Any]:
    keys = [key(uri) for uri in uris]
    return select(CAPTURES).where(
        _C.collection == collection, _C.key.in_(keys), _C.url.in_(uris), _C.kind == "resource"
    )


@dataclass(frozen=True, slots=True)
class PageFacts:
    """The facts are what the document of a page says."""

    title: str = ""
    password_fields: frozenset[str] = frozenset()
    """Names and ids of the fields that take passwords."""


def facts_of(settings: Settings, collection: str, url: str, captured: Micros) -> PageFacts | None:
    """Return what the document of a captured page says; None as long as the index does not have the capture."""
    query = select(CAPTURES).where(
        _C.collection == collection, _C.key == key(url), _C.url == url, _C.kind == "response"
    )
    found = _nearest(settings, query, captured)
    if found is None:
        return None
    try:
        with open_record(settings, found) as record:
            fields = record.http.fields if record.is_http else Fields()
            return _facts(_beginning(record.payload()), fields)
    except (RecordTrouble, WarcError, OSError):
        return PageFacts()


def _nearest(settings: Settings, query: Select[Any], captured: Micros) -> Capture | None:
    """Return the capture of a query that is nearest in time; None without one, or without an index."""
    with index_if_any(settings) as index:
        if index is None:
            return None
        with reading(index.engine) as connection:
            found = connection.execute(query.order_by(func.abs(_C.date - captured)).limit(1)).first()
    return None if found is None else to_capture(found)


def _beginning(pieces: Iterable[bytes]) -> bytes:
    found = bytearray()
    for piece in pieces:
        found += piece
        if len(found) >= _MOST_HTML:
            break
    return bytes(found[:_MOST_HTML])


def _facts(body: bytes, fields: Fields) -> PageFacts:
    """Return what the beginning of a document says; `fields` are those of its HTTP response."""
    body = decode(body, fields.get("Content-Encoding") or "", _MOST_HTML).data
    charset = _CHARSET.search((fields.get("Content-Type") or "").encode("ascii", "replace") + body[:1024])
    try:
        text = body.decode(charset[1].decode() if charset else "utf-8", "replace")
    except (LookupError, UnicodeError):  # Python has codecs that no page may use, and that don't replace wrong bytes
        text = body.decode("utf-8", "replace")
    title = _TITLE.search(text)
    names = (
        html.unescape(name[2] or name[3])
        for tag in _INPUT.findall(text)
        if _PASSWORD.search(tag)
        for name in _FIELD_NAME.finditer(tag)
    )
    shown = " ".join(comparable(html.unescape(title[1])).split())[:300] if title else ""
    return PageFacts(shown, frozenset(islice(names, MOST_SECRET_FIELDS)))
