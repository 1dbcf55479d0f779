"""Convert files that our strict reader refuses into WARC/1.1 files of our own: ARC files, and damaged WARC files.

warcio reads the headers of the records. Each record is written again as one gzip member with digests of its own bytes.
Digests that the record had are compared with the bytes before they are replaced. Each difference between a record and
its copy is reported. A record that can't be read is reported with its offset and the reason, and is left out. Reading
goes on at the next gzip member or, in an uncompressed file, at the next line that begins a record.

The same file always gives the same bytes, so that a second import recognises what the first one wrote. Memory is
bounded: headers have at most MAX_FOREIGN_HEADER bytes, and blocks are kept in a temporary file without a name.
"""

from __future__ import annotations

import re
import tempfile
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, Final
from uuid import UUID, uuid5

from warcio.archiveiterator import ArchiveIterator
from warcio.exceptions import ArchiveLoadFailed
from warcio.statusandheaders import StatusAndHeadersParserException

from admin.collections.transfer.converted_record import ConvertedRecord, RecordFacts, UnsupportedFile, facts_of
from admin.collections.transfer.foreign_block import NEXT_RECORD, PATTERN_LENGTH, BlockReader
from admin.collections.transfer.member_text import MemberText, Unreadable
from archive.capture import Message
from archive.settings.load import Settings
from archive.version import SOFTWARE
from archive.warc.reading.member_reader import MemberReader, WarcError
from archive.warc.reading.reader import read_record
from archive.warc.records.header import check_values, field, whole_header
from archive.warc.records.record import Record, digest_of
from archive.warc.records.warcinfo import CONFORMS_TO, FORMAT
from archive.warc.writing.members import gzip_member

MOST_DAMAGE: Final = 100
"""Behind so many places where reading began anew, the rest of a file is not read."""
_IDS: Final = UUID("5b7a2f5c-6f0e-5d0c-9a53-2f1d6c1f7a10")
"""The namespace of the record ids that are made here (RFC 9562 section 5.5)."""
_GZIP_MEMBER: Final = re.compile(rb"(?=\x1f\x8b\x08)")
_GZIP_WINDOW: Final = 31
_BEGINS_RECORD: Final = re.compile(rb"\s*(WARC/|[A-Za-z][A-Za-z0-9+.-]*:)")
_SCAN_SIZE: Final = 1 << 20


@dataclass(slots=True)
class Converted:
    """A conversion counts the records that were written and those left out. Version blocks are not counted."""

    taken: int = 0
    lost: int = 0
    is_arc: bool = False
    """At least one record has the header of an ARC file."""


def warcinfo_id(sha256: str) -> str:
    """Return the id of the record that opens the converted form of a file with this SHA-256."""
    return str(uuid5(_IDS, sha256))


def opening_record(sha256: str, date: str, collection: str, description: str, settings: Settings) -> Record:
    """Return the warcinfo record that opens the converted form of a file with this SHA-256."""
    said = {
        "software": SOFTWARE,
        "format": FORMAT,
        "conformsTo": CONFORMS_TO,
        "isPartOf": collection,
        "description": description,
    }
    check_values(*said.values())
    block = "".join(field(name, value) for name, value in said.items()).encode()
    record_id, digest = warcinfo_id(sha256), digest_of((block,), settings.archive.digest)
    fields = field("WARC-Date", date)
    header = whole_header("warcinfo", record_id, fields, digest, "application/warc-fields", len(block))
    return Record("warcinfo", record_id, record_id, header, Message(block))


def is_conversion(path: Path, sha256: str) -> bool:
    """Return whether a WARC file is the converted form of a file with this SHA-256."""
    try:
        with read_record(path, 0) as first:
            return first.record_id == warcinfo_id(sha256)
    except (OSError, WarcError):
        return False


def convert(
    source: Path, target: BinaryIO, settings: Settings, collection: str, sha256: str, report: Callable[[str], None]
) -> Converted:
    """Write the records of `source`, which has this SHA-256, to `target`; `report` is called with each finding.

    A temporary file is made in the folder of `source`. Raises WarcError when no record can be taken, and OSError.
    """
    with source.open("rb") as file, tempfile.TemporaryFile(dir=source.parent) as spool:
        return _Conversion(source, file, target, spool, settings, collection, sha256, report).run()


class _Conversion:
    """A conversion reads one file and writes another."""

    def __init__(
        self,
        path: Path,
        file: BinaryIO,
        target: BinaryIO,
        spool: BinaryIO,
        settings: Settings,
        collection: str,
        sha256: str,
        report: Callable[[str], None],
    ) -> None:
        self._path = path
        self._file = file
        self._target = target
        self._spool = spool
        self._blocks = BlockReader(spool)
        self._settings = settings
        self._collection = collection
        self._sha256 = sha256
        self._report = report
        self._done = Converted()
        self._written: set[str] = set()
        """The ids of the records that were written."""
        self._warcinfos: set[str] = set()
        self._first_loss: tuple[int, str] | None = None
        self._last_loss = 0

    def run(self) -> Converted:
        """Convert the whole file. Raises WarcError when no record can be taken."""
        offset: int | None = 0
        places = 0
        try:
            while offset is not None and places < MOST_DAMAGE:
                offset = self._run_from(offset)
                places += 1
        except UnsupportedFile as refusal:
            raise WarcError(self._path, 0, str(refusal)) from refusal
        if offset is not None:
            self._lose(offset, f"the file is damaged at {MOST_DAMAGE} places; the rest of it was not read")
        if not self._done.taken and (self._first_loss or not self._written):
            raise WarcError(self._path, *(self._first_loss or (0, "the file has no records")))
        return self._done

    def _run_from(self, offset: int) -> int | None:
        """Take records from an offset on; return the offset of the next record behind damage, None at the end."""
        is_packed = offset == 0
        try:
            source = MemberReader(self._file, self._path, offset)
            is_packed = source.is_packed
            while self._take_member(source):
                is_more = source.next_member()
                if source.gap:
                    self._report(f"at offset {source.offset}: {source.gap}")
                if not is_more:
                    return None
            return _scan(self._file, self._last_loss, NEXT_RECORD, lambda data: True)
        except WarcError as error:
            self._lose(error.offset, error.reason)
            return _scan(self._file, error.offset + 1, _GZIP_MEMBER, _begins_record) if is_packed else None

    def _take_member(self, source: MemberReader) -> bool:
        """Take the records of a gzip member or an uncompressed file, up to the first one that can't be read.

        Return False when reading must begin anew behind that record.
        """
        text = MemberText(source)
        if not text.peek(1)[0]:
            return True
        try:
            iterator = ArchiveIterator(text, no_record_parse=True, arc2warc=True)
            iterator.reader = text  # a second layer that decompresses would hide damage
            for record in iterator:
                self._take(record, text, self._offset(source, text), is_packed=source.is_packed)
                text.begin_record()
        except Unreadable as error:
            reason = str(error)
        except WarcError:
            raise
        except (ArchiveLoadFailed, StatusAndHeadersParserException, ValueError, TypeError, OverflowError):
            reason = f"{bytes(text.header[:60])!r} is not the header of a record of a WARC or ARC file"
        else:
            return True
        rest = "; the rest of its gzip member was not read" if source.is_packed and text.peek(1)[0].strip() else ""
        self._lose(self._offset(source, text), reason + rest)
        return source.is_packed

    def _offset(self, source: MemberReader, text: MemberText) -> int:
        return source.offset if source.is_packed else text.record_position

    def _take(self, record: Any, text: MemberText, offset: int, *, is_packed: bool) -> None:
        """Write one record. Raises Unreadable."""
        facts = facts_of(bytes(text.header), record)
        block = self._blocks.read(
            record, text, is_arc=facts.is_arc, is_http=facts.tells_length, is_packed=is_packed, before=facts.before
        )
        made = ConvertedRecord(facts, block, self._blocks.http_head(block), self._spool, self._settings.archive.digest)
        record_id = self._record_id(made, offset)
        self._begin(facts)
        target = made.record(record_id, self._warcinfo_of(facts))
        for problem in made.problems:
            self._report(f"record at offset {offset}: {problem}")
        self._write(target)
        self._written.add(record_id)
        if facts.kind == "warcinfo":
            self._warcinfos.add(record_id)
        self._done.is_arc |= facts.is_arc
        self._done.taken += facts.kind != "warcinfo"

    def _record_id(self, made: ConvertedRecord, offset: int) -> str:
        """Return the URI of the record; a new one for a record without one, or with one that is not unique."""
        said = made.facts.record_id
        if said and said not in self._written:
            return said
        if not made.facts.is_arc:
            made.problems.append("its WARC-Record-ID is missing, malformed or not unique, and was replaced")
        return f"urn:uuid:{uuid5(_IDS, f'{self._sha256}/{offset}/{len(self._written)}')}"

    def _warcinfo_of(self, facts: RecordFacts) -> str:
        said = facts.warcinfo_id
        return said if said in self._warcinfos else f"urn:uuid:{warcinfo_id(self._sha256)}"

    def _begin(self, facts: RecordFacts) -> None:
        """Write the record that opens the file before the first other one, and with its date."""
        if self._written:
            return
        description = f"Records of the file with SHA-256 {self._sha256}, read by warcio and written anew"
        opening = opening_record(self._sha256, facts.date, self._collection, description, self._settings)
        self._write(opening)
        self._written.add(f"urn:uuid:{opening.record_id}")

    def _write(self, record: Record) -> None:
        for piece in gzip_member(record, self._settings.archive.gzip_level):
            self._target.write(piece)

    def _lose(self, offset: int, reason: str) -> None:
        self._first_loss = self._first_loss or (offset, reason)
        self._last_loss = offset
        self._done.lost += 1
        self._report(f"record at offset {offset} was not taken: {reason}")


def _scan(file: BinaryIO, start: int, pattern: re.Pattern[bytes], is_it: Callable[[bytes], bool]) -> int | None:
    """Return the first offset from `start` on where `pattern` ends and `is_it` accepts the bytes that follow."""
    file.seek(start)
    data, base = b"", start
    while piece := file.read(_SCAN_SIZE):
        data += piece
        for found in pattern.finditer(data):
            if is_it(data[found.end() : found.end() + PATTERN_LENGTH]):
                return base + found.end()
        base += max(0, len(data) - PATTERN_LENGTH)
        data = data[-PATTERN_LENGTH:]
    return None


def _begins_record(data: bytes) -> bool:
    try:
        return _BEGINS_RECORD.match(zlib.decompressobj(_GZIP_WINDOW).decompress(data, 100)) is not None
    except zlib.error:
        return False
