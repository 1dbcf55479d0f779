"""Reports, logs and set-up of an ended job are read from its metadata file: as a list, and one document line by line.

The capture index says where the records are, so that a harvester's machine need not be this one. A document is read in
parts: each call looks at a bounded number of bytes, for a bounded time.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from typing import Final
from urllib.parse import parse_qs, unquote, urlsplit

from sqlalchemy import select

from admin.collections.browsing.index import index_of
from admin.collections.browsing.records import RecordTrouble, open_record, plain_text
from admin.harvests.dispatch.line_search import LineSearch
from admin.harvests.domains.names import DomainNameError, stored_name
from admin.models.errors import IllegalState, InvalidInput, NotFound, Problem
from admin.models.job_tables import HarvestJob
from admin.models.operation import OutputModel, Page, checked_limit
from admin.models.transaction import Right, Transaction
from archive import crawl_log
from archive.capture import Capture
from archive.settings.load import Settings
from archive.storage.storage import StorageError
from archive.url import UrlError, host_of
from archive.warc.reading.member_reader import WarcError
from archive.warc.reading.reader import StoredRecord
from dedupdb.captures.schema import CAPTURES, reading, to_capture

MOST_LINES: Final = 1_000
MOST_TEXT: Final = 500_000
"""Characters of one part."""
LONGEST_LINE: Final = 65_536
"""Bytes of a line; a longer one comes in pieces."""
_READ_SECONDS: Final = 5.0
_SEARCH_SECONDS: Final = 5.0
_SKIP_SECONDS: Final = 15.0
"""Time to come to the place where a part begins; the record is compressed, so all before it has to be read."""
_MOST_FILES: Final = 20
"""A job has one metadata file; another one has the next number."""
_ADDRESS: Final = re.compile(r"/crawl/(setup|reports|logs|index)/([^/]+)")
_SOURCE_COLUMN: Final = 10
_URL_COLUMN: Final = 3


class DocumentLine(OutputModel):
    """The line describes one document of a job's metadata file."""

    offset: int
    """The document's place in the file, which tells it from the others."""
    group: str
    """setup, reports, logs or index."""
    name: str
    of_file: str
    """The WARC file that an index describes; empty for other documents."""
    media_type: str
    size: int
    """Bytes."""
    file: str
    """The metadata file."""


class DocumentPart(DocumentLine):
    """The output is a part of a document, or those of its lines that were searched for."""

    lines: list[str]
    next: int | None
    """The place in the document, in bytes, at which the next part begins; None at its end."""
    looked_at: int
    """Bytes that were looked at for this part."""


def list_documents(transaction: Transaction, job_id: int) -> Page[DocumentLine]:
    """Return the documents of a job; none before the job has ended. Raises NotFound, IllegalState without an index."""
    transaction.require(Right.READ)
    job = _job(transaction, job_id)
    found = _captures(transaction.settings, job)
    lines = sorted((_line(each) for each in found), key=lambda each: (each.group, each.name, each.of_file))
    return Page[DocumentLine](items=lines, total=len(lines))


def show_document(
    transaction: Transaction,
    job_id: int,
    offset: int,
    *,
    pattern: str = "",
    domain: str = "",
    after: int = 0,
    limit: int = 300,
) -> DocumentPart:
    """Return a part of a document that begins `after` so many bytes: lines in which `pattern` is found.

    `domain` leaves out the lines of crawl.log that don't count for the domain. Raises NotFound, IllegalState,
    InvalidInput.
    """
    transaction.require(Right.READ)
    wanted = checked_limit(limit, MOST_LINES)
    if not 0 <= after < 2**63:
        raise InvalidInput(Problem("after", f"{after} is no place in a document; use the `next` of a part"))
    search, owner = LineSearch(pattern, _SEARCH_SECONDS), _owner(domain)
    capture = _at(transaction, job_id, offset)
    lines: list[str] = []
    characters, place, ends = 0, after, time.monotonic() + _READ_SECONDS
    following: int | None = None
    try:
        with open_record(transaction.settings, capture) as record:
            for text, place in _lines(record, after):
                if search.finds(text) and (not owner or counts_for(text, owner)):
                    lines.append(plain_text(text))
                    characters += len(text)
                if len(lines) >= wanted or characters >= MOST_TEXT or time.monotonic() > ends:
                    following = place if place < record.block_length else None
                    break
    except RecordTrouble as error:
        raise IllegalState(str(error)) from error
    except (OSError, WarcError, StorageError) as error:
        raise IllegalState(f"{capture.filename} can't be read: {error}") from error
    return DocumentPart(**_line(capture).model_dump(), lines=lines, next=following, looked_at=place - after)


def document_record(transaction: Transaction, job_id: int, offset: int) -> tuple[str, StoredRecord]:
    """Return a document whole as a record, to be closed, behind a name for the file to download.

    Raises NotFound, IllegalState.
    """
    transaction.require(Right.READ)
    capture = _at(transaction, job_id, offset)
    line = _line(capture)
    try:
        record = open_record(transaction.settings, capture)
    except RecordTrouble as error:
        raise IllegalState(str(error)) from error
    return f"job-{job_id}-{f'{line.of_file}.cdx' if line.of_file else line.name}", record


def counts_for(line: str, domain: str) -> bool:
    """Return whether a line of crawl.log counts for the domain: by its seed, or else by its own URL."""
    columns = line.split(maxsplit=_SOURCE_COLUMN + 1)
    if len(columns) <= _URL_COLUMN:
        return False
    source = columns[_SOURCE_COLUMN] if len(columns) > _SOURCE_COLUMN else "-"
    try:
        host = host_of(columns[_URL_COLUMN] if source == "-" else source)
    except UrlError:
        return False
    return host == domain or host.endswith(f".{domain}")


def log_of(documents: list[DocumentLine]) -> DocumentLine | None:
    """Return the document that is the job's crawl.log."""
    return next((each for each in documents if (each.group, each.name) == ("logs", crawl_log.FILE_NAME)), None)


def _job(transaction: Transaction, job_id: int) -> HarvestJob:
    job = transaction.session.get(HarvestJob, job_id) if 0 <= job_id < 2**63 else None
    if job is None:
        raise NotFound("job", job_id)
    return job


def _captures(settings: Settings, job: HarvestJob) -> list[Capture]:
    """Return the records of the job's newest metadata file, as the index has them."""
    if job.ended is None:
        return []
    names = [f"{job.id}-metadata-{n}{end}" for n in range(1, _MOST_FILES + 1) for end in (".warc", ".warc.gz")]
    query = select(CAPTURES).where(CAPTURES.c.collection == job.collection, CAPTURES.c.filename.in_(names))
    with index_of(settings, job.collection) as index, reading(index.engine) as connection:
        found = [to_capture(row) for row in connection.execute(query)]
    mine = [each for each in found if _belongs(each.url, job.id)]
    newest = max((names.index(each.filename) for each in mine), default=None)
    return [each for each in mine if each.filename == names[newest]] if newest is not None else []


def _at(transaction: Transaction, job_id: int, offset: int) -> Capture:
    job = _job(transaction, job_id)
    found = next((each for each in _captures(transaction.settings, job) if each.offset == offset), None)
    if found is None:
        raise NotFound(f"document of job {job_id}", offset)
    return found


def _belongs(url: str, job_id: int) -> bool:
    """Return whether a record is the job's: another installation may have a job of the same number."""
    parts = urlsplit(url)
    numbers = parse_qs(parts.query).get("jobid", [])
    return parts.scheme == "metadata" and bool(_ADDRESS.fullmatch(parts.path)) and numbers == [str(job_id)]


def _line(capture: Capture) -> DocumentLine:
    parts = urlsplit(capture.url)
    address = _ADDRESS.fullmatch(parts.path)
    assert address is not None, "`_captures` leaves out what has no such address"
    return DocumentLine(
        offset=capture.offset,
        group=address[1],
        name=plain_text(unquote(address[2])),
        of_file=plain_text(next(iter(parse_qs(parts.query).get("filename", [])), "")),
        media_type=capture.mime,
        size=capture.payload_length,
        file=capture.filename,
    )


def _owner(domain: str) -> str:
    if not domain:
        return ""
    try:
        return stored_name(domain)
    except DomainNameError as error:
        raise InvalidInput(Problem("domain", str(error))) from error


def _lines(record: StoredRecord, after: int) -> Iterator[tuple[str, int]]:
    """Yield each line behind `after` bytes, without its end, and the place behind the line. Raises IllegalState."""
    read, place, rest = 0, after, b""
    ends = time.monotonic() + _SKIP_SECONDS
    for piece in record.block():
        read += len(piece)
        if read <= after:
            if time.monotonic() > ends:
                raise IllegalState(f"byte {after} is too far behind to be shown; download the document whole")
            continue
        rest += piece[-(read - after) :]
        begin = 0
        while True:
            end = rest.find(b"\n", begin, begin + LONGEST_LINE)
            if end < 0 and len(rest) - begin < LONGEST_LINE:
                break
            stop = begin + LONGEST_LINE if end < 0 else end + 1
            place += stop - begin
            yield _decoded(rest[begin:stop]), place
            begin = stop
        rest = rest[begin:]
    if rest:
        yield _decoded(rest), place + len(rest)


def _decoded(line: bytes) -> str:
    return line.rstrip(b"\r\n").decode("utf-8", "replace")
