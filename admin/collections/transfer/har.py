"""Convert a HAR file (HTTP Archive 1.2), as browsers export it, into a WARC file of pairs of requests and responses.

A HAR file has messages as the browser understood them, not the bytes of the connection. So the records are made anew:
the head from status and fields, and the body without its content coding, since a HAR file has the decoded body alone.
The record that opens the file says so. Entries without the body of their response are named and left out, so that
nobody takes an empty body for the site's.
"""

from __future__ import annotations

import base64
import binascii
import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, Final
from uuid import UUID, uuid5

from admin.collections.transfer.conversion import Converted, opening_record, warcinfo_id
from archive.capture import Message
from archive.dates import Micros, iso_date, parse_date
from archive.digest import hasher, labelled
from archive.settings.load import Settings
from archive.url import UrlError, canonical
from archive.warc.reading.member_reader import WarcError
from archive.warc.records.header import field, target_fields, whole_header
from archive.warc.records.record import Record, digest_of
from archive.warc.writing.members import gzip_member

MOST_BYTES: Final = 600_000_000
"""Largest HAR file: it is JSON, which is read as a whole, and takes three times its size of memory."""
_IDS: Final = UUID("c2d9f0a1-5d4e-5b8a-8b5e-70f4b1f0a6d3")
"""The namespace of the record ids that are made here (RFC 9562 section 5.5)."""
_NAME: Final = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]{1,200}")
_METHOD: Final = re.compile(r"[A-Z]{1,20}")
_FRAMING: Final = frozenset(("content-encoding", "content-length", "transfer-encoding", "connection", "keep-alive"))
"""Fields of a response that are about its bytes on the connection, which the HAR file does not have."""
_STATUSES: Final = range(100, 1000)
_WITHOUT_BODY: Final = frozenset((204, 205, 304))
_REDIRECTS: Final = range(300, 400)
_MOST_FIELD: Final = 65_536


class _Unusable(Exception):
    """An entry can't be taken; the message says why."""


@dataclass(frozen=True, slots=True)
class _Entry:
    """One exchange of the HAR file."""

    url: str
    date: Micros
    request: bytes
    request_body: bytes
    response: bytes
    response_body: bytes


def convert_har(
    source: Path, target: BinaryIO, settings: Settings, collection: str, sha256: str, report: Callable[[str], None]
) -> Converted:
    """Write the entries of the HAR file `source`, which has this SHA-256, to `target`.

    `report` is called with each entry that is not taken. Raises WarcError for a file that is no HAR file or has no
    entry that can be taken, and OSError.
    """
    return _HarConversion(source, target, settings, collection, sha256, report).run()


class _HarConversion:
    def __init__(
        self,
        source: Path,
        target: BinaryIO,
        settings: Settings,
        collection: str,
        sha256: str,
        report: Callable[[str], None],
    ) -> None:
        self._path, self._target, self._report = source, target, report
        self._settings, self._collection, self._sha256 = settings, collection, sha256
        self._done = Converted()

    def run(self) -> Converted:
        """Convert the whole file."""
        log = self._read()
        first_loss = ""
        for number, said in enumerate(log["entries"], 1):
            try:
                entry = _entry(said)
            except _Unusable as error:
                url = said.get("request", {}).get("url") if isinstance(said, dict) else None
                loss = f"entry {number} ({str(url)[:200]}) was not taken: {error}"
                first_loss = first_loss or loss
                self._done.lost += 1
                self._report(loss)
                continue
            if not self._done.taken:
                self._begin(log, entry.date)
            self._take(number, entry)
        if not self._done.taken:
            raise WarcError(self._path, 0, first_loss or "the HAR file has no entries")
        return self._done

    def _read(self) -> Mapping[str, Any]:
        if self._path.stat().st_size > MOST_BYTES:
            raise WarcError(self._path, 0, f"the HAR file has more than {MOST_BYTES:,} bytes; export it in parts")
        try:
            found = json.loads(self._path.read_bytes().decode("utf-8-sig"))
        except (ValueError, RecursionError) as error:
            raise WarcError(self._path, 0, f"the file is not JSON, so it is no HAR file: {error}") from error
        log = found.get("log") if isinstance(found, dict) else None
        if not isinstance(log, dict) or not isinstance(log.get("entries"), list):
            raise WarcError(self._path, 0, "the file has no list log.entries, so it is no HAR file")
        return log

    def _begin(self, log: Mapping[str, Any], date: Micros) -> None:
        creator = log.get("creator")
        program = creator if isinstance(creator, dict) else {}
        name = " ".join(f"{program.get('name', 'an unknown program')} {program.get('version', '')}".split())
        description = (
            f"Made from the HAR file with SHA-256 {self._sha256} of {_line(name)[:200]}. Bodies are without their"
            " content coding, and heads were made from the fields that the HAR file lists"
        )
        self._write(opening_record(self._sha256, iso_date(date), self._collection, description, self._settings))

    def _take(self, number: int, entry: _Entry) -> None:
        """Write the records of one exchange."""
        response_id, request_id = (str(uuid5(_IDS, f"{self._sha256}/{number}/{kind}")) for kind in ("res", "req"))
        self._message("response", response_id, request_id, entry, entry.response, entry.response_body)
        self._message("request", request_id, response_id, entry, entry.request, entry.request_body)
        self._done.taken += 1

    def _message(self, kind: str, own: str, other: str, entry: _Entry, head: bytes, body: bytes) -> None:
        algorithm, opening = self._settings.archive.digest, warcinfo_id(self._sha256)
        payload = hasher(algorithm)
        payload.update(body)
        fields = (
            target_fields(entry.url, entry.date, opening)
            + field("WARC-Concurrent-To", f"<urn:uuid:{other}>")
            + field("WARC-Payload-Digest", labelled(algorithm, payload.digest()))
        )
        block = head + body
        media = f"application/http;msgtype={kind}"
        header = whole_header(kind, own, fields, digest_of((block,), algorithm), media, len(block))
        self._write(Record(kind, own, opening, header, Message(block)))

    def _write(self, record: Record) -> None:
        for piece in gzip_member(record, self._settings.archive.gzip_level):
            self._target.write(piece)


def _entry(said: object) -> _Entry:
    """Return the exchange. Raises _Unusable."""
    if not isinstance(said, dict):
        raise _Unusable("it is not an object")
    request, response = said.get("request"), said.get("response")
    if not isinstance(request, dict) or not isinstance(response, dict):
        raise _Unusable("its request or its response is missing")
    url = request.get("url")
    if not isinstance(url, str) or not url.startswith(("http://", "https://")):
        raise _Unusable("its URL is not one of http or https")
    try:
        url = canonical(url)
        date = parse_date(str(said.get("startedDateTime", "")))
    except UrlError as error:
        raise _Unusable(f"its URL can't be used: {error}") from error
    except (ValueError, OverflowError) as error:
        raise _Unusable(f"its startedDateTime can't be read: {error}") from error
    status = response.get("status")
    if not isinstance(status, int) or isinstance(status, bool) or status not in _STATUSES:
        raise _Unusable("it has no response")
    method = request.get("method")
    if not isinstance(method, str) or not _METHOD.fullmatch(method):
        raise _Unusable(f"its method {str(method)[:40]!r} is none")
    body = _response_body(response, status, method)
    sent = _request_body(request)
    path = "/" + url.split("/", 3)[3] if url.count("/") >= 3 else "/"
    begin = f"{method} {path} HTTP/1.1\r\n"
    heads = _head(begin, request, sent), _head(f"HTTP/1.1 {status} {_reason(response)}\r\n", response, body)
    return _Entry(url, date, heads[0], sent, heads[1], body)


def _response_body(response: Mapping[str, Any], status: int, method: str) -> bytes:
    content = response.get("content")
    content = content if isinstance(content, dict) else {}
    text = content.get("text")
    if text is None:
        size = content.get("size")
        if size == 0 or status in _WITHOUT_BODY or status in _REDIRECTS or method == "HEAD":
            return b""
        raise _Unusable("the body of its response is missing; export the HAR file with content")
    if not isinstance(text, str):
        raise _Unusable("the body of its response is not a text")
    if content.get("encoding") == "base64":
        try:
            return base64.b64decode(text, validate=False)
        except (binascii.Error, ValueError) as error:
            raise _Unusable(f"the body of its response can't be read: {error}") from error
    return text.encode("utf-8", "surrogatepass")


def _request_body(request: Mapping[str, Any]) -> bytes:
    posted = request.get("postData")
    if not isinstance(posted, dict):
        return b""
    text = posted.get("text")
    return text.encode("utf-8", "surrogatepass") if isinstance(text, str) else b""


def _head(first: str, message: Mapping[str, Any], body: bytes) -> bytes:
    """Return the head of a message with these fields, and with the length of its body."""
    lines = [first]
    for name, value in _fields(message):
        if name.startswith(":") or name.lower() in _FRAMING:
            continue
        if _NAME.fullmatch(name):
            lines.append(f"{name}: {_line(value)}\r\n")
    if body or first.startswith("HTTP/"):
        lines.append(f"Content-Length: {len(body)}\r\n")
    return "".join((*lines, "\r\n")).encode("utf-8", "replace")


def _fields(message: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    listed = message.get("headers")
    for each in listed if isinstance(listed, list) else ():
        if isinstance(each, dict) and isinstance(each.get("name"), str) and isinstance(each.get("value"), str):
            for value in each["value"].split("\n"):  # browsers join fields of the same name so
                yield each["name"], value[:_MOST_FIELD]


def _reason(response: Mapping[str, Any]) -> str:
    text = response.get("statusText")
    return _line(text)[:200] if isinstance(text, str) else ""


def _line(text: str) -> str:
    """Return the text on one line."""
    return " ".join(text.split())
