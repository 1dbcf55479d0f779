"""A CDXJ file has one line for each record, `<key> <timestamp14> {json}`, with pywb's field names and some of our own.

Each WARC file has a sidecar in the collection's `indexes` folder, with the same name. The sidecar has all fields of a
Capture except the collection, so the capture index and the dedup store can be rebuilt from it. pywb's fields are `url`,
`mime`, `status`, `digest`, `length`, `offset` and `filename`, all of them texts. Requests other than GET have pywb's
`method` and `requestBody`, which are in the key, too (`archive.warc.records.request_query`). These fields are our own:

| field | when | meaning |
|---|---|---|
| id, date | always | bare UUID of the record; its exact date (`timestamp14` has no microseconds) |
| kind | neither response nor revisit | resource, metadata, conversion |
| job, page | when known | the job's name; the page visit's id |
| size, sha256 | always; not on revisits | length and hex SHA-256 of the payload, by which dedup compares |
| payload_mime | revisits | the payload's media type, since `mime` is then `warc/revisit` |
| refers_to, refers_to_url, refers_to_date | revisits | the original; its id only if it is known |
| buckets | not the collection's own | dedup buckets that have it as an original |
| truncated | cut short | the reason in WARC-Truncated |
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

from archive import url as urls
from archive.capture import OWN_BUCKET, Capture, Original, RecordKind, Truncation
from archive.dates import iso_date, parse_date, timestamp14
from archive.digest import DEFAULT_ALGORITHM, NEW_HASHER, as_indexed, hasher, index_text
from archive.digest import parse as parse_digest
from archive.files import replacement
from archive.http.http_message import media_type, parse_fields
from archive.json_text import ascii_json
from archive.line_sort import sorted_lines
from archive.names.warc_paths import OPEN_SUFFIX
from archive.warc.reading.exchange_pairs import AskedRequest, ExchangePairs, asked_by
from archive.warc.reading.member_reader import WarcError
from archive.warc.reading.reader import StoredRecord, bare_id, records, without_brackets
from archive.warc.records.record import UNKNOWN_MIME, parse_buckets
from archive.warc.records.request_query import without_nul

KINDS: Final[Mapping[str, RecordKind]] = {
    "response": "response",
    "revisit": "revisit",
    "resource": "resource",
    "metadata": "metadata",
    "conversion": "conversion",
}
"""The types of the records that have index lines."""
_TRUNCATIONS: Final[Mapping[str, Truncation]] = {
    "length": "length",
    "time": "time",
    "disconnect": "disconnect",
    "unspecified": "unspecified",
}
_LENGTH: Final = re.compile("[0-9]{1,18}")
_PLACE: Final = re.compile(rb',"length":"([0-9]{1,18})","offset":"([0-9]{1,18})","filename":("(?:[^"\\]|\\.)*")')
"""As `line` writes them. Within a JSON string no quote stands without a backslash, so this is found nowhere else."""


def line(capture: Capture) -> str:
    """Return the capture's index line without a line end. The line is ASCII when the URL is ASCII.

    The JSON is not written by an encoder, which would take three times as long.
    """
    said = f'"url":{ascii_json(capture.url)},"mime":{ascii_json(capture.cdx_mime)}'
    if capture.status is not None:
        said += f',"status":"{capture.status}"'
    if capture.digest is not None:
        said += f',"digest":{ascii_json(capture.digest)}'
    said += (
        f',"length":"{capture.length}","offset":"{capture.offset}","filename":{ascii_json(capture.filename)}'
        f',"id":{ascii_json(capture.record_id)},"date":"{iso_date(capture.date)}","size":{capture.payload_length}'
    )
    if capture.method != "GET":
        said += f',"method":{ascii_json(capture.method)}'
        if capture.request_body is not None:
            said += f',"requestBody":{ascii_json(capture.request_body)}'
    if capture.kind not in ("response", "revisit"):
        said += f',"kind":{ascii_json(capture.kind)}'
    if capture.kind == "revisit":
        said += f',"payload_mime":{ascii_json(capture.mime)}'
    if original := capture.refers_to:
        if original.record_id:
            said += f',"refers_to":{ascii_json(original.record_id)}'
        said += f',"refers_to_url":{ascii_json(original.url)},"refers_to_date":"{iso_date(original.date)}"'
    for name, value in (
        ("job", capture.job),
        ("page", capture.page_id),
        ("sha256", capture.sha256),
        ("truncated", capture.truncated),
    ):
        if value is not None:
            said += f',"{name}":{ascii_json(value)}'
    if capture.buckets != OWN_BUCKET:
        said += f',"buckets":[{",".join(map(ascii_json, capture.buckets))}]'
    return f"{capture.key} {timestamp14(capture.date)} {{{said}}}"


def place_in(raw: bytes, filename: str) -> tuple[int, int] | None:
    """Return the offset and the length of a record of that file, from an index line; None when `line` wrote no such."""
    found = _PLACE.search(raw)
    try:
        return (int(found[2]), int(found[1])) if found and json.loads(found[3]) == filename else None
    except ValueError:  # a damaged line
        return None


def parse(text: str, collection: str, filename: str | None = None) -> Capture:
    """Return the capture of an index line. Lines of pywb and cdxj-indexer are read too.

    `filename` is used for a line without a file name. Raises ValueError that quotes the line.
    """
    try:
        key, timestamp, rest = text.rstrip("\r\n").split(" ", 2)
        return _capture(key, timestamp, json.loads(rest), collection, filename)
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise ValueError(f"not a CDXJ line ({error!r}): {text[:300]!r}") from error


def read(path: Path, collection: str) -> Iterator[Capture]:
    """Yield the captures of a sidecar. A last line without a line end is still being written and is left out.

    Raises ValueError with the file's name and the line's number.
    """
    with path.open("rb") as file:
        for number, raw in enumerate(file, 1):
            if raw.endswith(b"\n") and not raw.startswith((b"!", b"#")) and raw.strip():
                try:
                    yield parse(raw.decode(), collection)
                except ValueError as error:
                    raise ValueError(f"{path}:{number}: {error}") from error


def captures_of(path: Path, collection: str | None = None, filename: str | None = None) -> Iterator[Capture]:
    """Yield the captures of a WARC file, in its order, read from the WARC file alone.

    Without `collection`, the warcinfo's `isPartOf` names it. `filename` is needed for a file in a subfolder. Raises
    WarcError at the first damage, after the captures before it.
    """
    filename = filename or path.name.removesuffix(OPEN_SUFFIX)
    pairs: ExchangePairs[Capture] = ExchangePairs()
    damage: WarcError | None = None
    try:
        for record in records(path):
            if record.kind == "warcinfo" and collection is None:
                collection = _collection_in(record)
            elif record.kind == "request":
                pairs.add_request(asked_by(record))
            elif record.kind in KINDS:
                pairs.add_answer(capture_of(record, collection or "", filename), record)
                yield from _asked_for(pairs.settled())
    except WarcError as error:
        damage = error
    yield from _asked_for(pairs.settled(is_end=True))
    if damage is not None:
        raise damage


def _asked_for(settled: Iterable[tuple[Capture, AskedRequest | None]]) -> Iterator[Capture]:
    return (capture if request is None else request.of(capture) for capture, request in settled)


def write_sorted(path: Path, lines: Iterable[str]) -> None:
    """Write a whole sidecar, sorted by key. The old sidecar stays until the new one is durable. Raises OSError.

    Many lines are sorted in runs on the disk and merged, so that few of them are in memory at a time.
    """
    with sorted_lines((f"{text}\n" for text in lines), path.parent) as merged, replacement(path) as file:
        file.writelines(text.encode("utf-8") for text in merged)


def _capture(key: str, timestamp: str, said: dict[str, Any], collection: str, filename: str | None) -> Capture:
    status = str(said.get("status", "-"))
    digest = said.get("digest")
    is_revisit = said.get("mime") == "warc/revisit"
    return Capture(
        collection=collection,
        key=key,
        date=parse_date(said.get("date", timestamp)),
        url=said["url"],
        mime=said.get("payload_mime", "unk") if is_revisit else said.get("mime", "unk"),
        status=int(status) if status.isdecimal() else None,
        digest=digest.removeprefix("sha1:") if digest else None,
        kind="revisit" if is_revisit else said.get("kind", "response"),
        filename=said["filename"] if filename is None else said.get("filename", filename),
        offset=int(said["offset"]),
        length=int(said.get("length", 0)),
        record_id=said.get("id", ""),
        method=said.get("method", "GET"),
        job=said.get("job"),
        page_id=said.get("page"),
        refers_to=_original(said),
        payload_length=int(said.get("size", 0)),
        sha256=said.get("sha256"),
        truncated=said.get("truncated"),
        buckets=tuple(said.get("buckets", OWN_BUCKET)),
        request_body=without_nul(said.get("requestBody") or "") or None,
    )


def _original(said: dict[str, Any]) -> Original | None:
    if "refers_to_url" not in said or "refers_to_date" not in said:
        return None
    return Original(said.get("refers_to", ""), said["refers_to_url"], parse_date(said["refers_to_date"]))


def capture_of(
    record: StoredRecord, collection: str, filename: str, watch: Callable[[], object] = lambda: None
) -> Capture:
    """Return the capture of a record of a type in KINDS, which is read to its end. The request is not known yet.

    `watch` is called before each piece of the payload, and may raise. Raises WarcError.
    """
    head = record.http if record.is_http else None
    said = record.fields.get("WARC-Payload-Digest") or ""
    algorithm = parse_digest(said or record.fields.get("WARC-Block-Digest") or "")[0] or DEFAULT_ALGORITHM
    taken, sha256, length = hasher(algorithm), NEW_HASHER["sha256"](), 0
    for piece in record.payload():
        watch()
        taken.update(piece)
        sha256.update(piece)
        length += len(piece)
    is_revisit = record.kind == "revisit"
    mime = head.mime if head else media_type(record.fields.get("Content-Type"))
    return Capture(
        collection=collection,
        key=urls.key(record.url),
        date=record.date,
        url=record.url,
        mime=mime or UNKNOWN_MIME,
        status=head.status if head else None,
        digest=None if is_revisit and not said else as_indexed(said) or index_text(algorithm, taken.digest()),
        kind=KINDS[record.kind],
        filename=filename,
        offset=record.offset,
        length=record.finish() - record.offset,
        record_id=record.record_id,
        job=record.fields.get("WARC-Job-ID"),
        page_id=record.fields.get("WARC-Page-ID"),
        refers_to=_refers_to(record),
        payload_length=_length(record.fields.get("WARC-Payload-Length") or "") if is_revisit else length,
        sha256=None if is_revisit else sha256.digest().hex(),
        truncated=None if is_revisit else _TRUNCATIONS.get(record.fields.get("WARC-Truncated") or ""),
        buckets=parse_buckets(record.fields.get("WARC-Dedup-Buckets")),
    )


def _refers_to(record: StoredRecord) -> Original | None:
    """Return what a revisit refers to. One that names a record alone, as wget writes it, gets its own URL and date.

    A date that can't be read counts as missing.
    """
    if record.kind != "revisit":
        return None
    url, date = record.fields.get("WARC-Refers-To-Target-URI"), record.fields.get("WARC-Refers-To-Date")
    record_id = bare_id(record.fields.get("WARC-Refers-To") or "")
    if url and date:
        with suppress(ValueError):
            return Original(record_id, without_brackets(url), parse_date(date))
    return Original(record_id, record.url, record.date) if record_id else None


def _length(text: str) -> int:
    """Return a length that a program has written; 0 for a text that is none."""
    return int(text) if _LENGTH.fullmatch(text) else 0


def _collection_in(warcinfo: StoredRecord) -> str | None:
    text = b"".join(warcinfo.block()).decode("utf-8", "replace")
    return parse_fields(text.splitlines()).get("isPartOf")
