"""Write a WARC file of another program anew, with records that end as the standard says.

Records that are right are copied byte by byte. A record whose end was a few bytes off gets the Content-Length that its
block was taken with, and two empty lines. Bytes that belong to no record go to the collection's `quarantine`.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import BinaryIO, Final

from archive.files import make_folder, replacement
from archive.names.warc_paths import WarcPaths, closed
from archive.settings.load import Settings
from archive.warc import cdxj
from archive.warc.compression.gzip_member import packed_stream
from archive.warc.compression.zstd_frame import ZstdFrameWriter, read_dictionary
from archive.warc.reading.member_reader import MemberReader, WarcError
from archive.warc.reading.reader import StoredRecord, next_record, read_record
from archive.warc.records.record import RECORD_END
from archive.warc.upkeep.repair import Repaired, RepairOutcome, captures_again, is_of_another_program

_COPY_SIZE: Final = 1 << 20
_CONTENT_LENGTH: Final = re.compile(rb"(?im)^(Content-Length[ \t]*:)[^\r\n]*")


@dataclass(frozen=True, slots=True)
class _Part:
    """A part has a record and the bytes up to the next one."""

    offset: int
    end: int
    next: int
    length: int
    """The length of its block as it was taken."""
    finding: str


def mend(settings: Settings, collection: str) -> Iterator[Repaired]:
    """Repair the ends of records in every closed file of other programs of a collection.

    Yield what was done to each file that needed it.

    A file that was imported by reference belongs to somebody else, and a file that may have been uploaded has readers
    elsewhere. Both stay as they are.
    """
    for place in closed(settings.collection(collection)):
        try:
            if not is_of_another_program(place.warc):
                continue
            parts = list(_parts(place.warc))
            wrong = sum(bool(part.finding) for part in parts)
            between = sum(part.next - part.end for part in parts)
            if not wrong and not between:
                continue
            why_not = _why_not(place, settings)
            if not why_not:
                _rewrite(place, collection, parts, settings)
        except (OSError, ValueError) as error:
            yield Repaired(place.name, RepairOutcome.FAILED, reason=str(error))
            continue
        if why_not:
            said = f"{wrong} records end wrongly; they are read all the same, and stay so because {why_not}"
            yield Repaired(place.name, RepairOutcome.LEFT, wrong, reason=said)
        else:
            aside = place.tail if between else None
            said = "their ends were not as the standard says"
            yield Repaired(place.name, RepairOutcome.MENDED, wrong, between, aside, said)


def _why_not(place: WarcPaths, settings: Settings) -> str:
    if place.warc.is_symlink():
        return "the file was imported by reference; import it without --by-reference"
    if settings.storage.url:
        return "the file may be in the storage already"
    return ""


def _rewrite(place: WarcPaths, collection: str, parts: list[_Part], settings: Settings) -> None:
    """Replace a WARC file and its sidecar. The old file stays until the new one is durable."""
    _keep_aside(place, [(part.end, part.next) for part in parts if part.next > part.end])
    buckets = dict[str, tuple[str, ...]]()
    if place.sidecar.exists():
        buckets = {each.record_id: each.buckets for each in cdxj.read(place.sidecar, collection)}
    with replacement(place.warc) as target, place.warc.open("rb") as source:
        packed = _packer(source, settings)
        _copy(source, target, 0, parts[0].offset)
        for part in parts:
            if part.finding:
                with read_record(place.warc, part.offset, part.end - part.offset) as record:
                    for piece in packed(_pieces(record, part.length), part.length):
                        target.write(piece)
            else:
                _copy(source, target, part.offset, part.end)
        target.flush()
        os.fsync(target.fileno())  # a full disk must show before the sidecar is gone
        place.sidecar.unlink(missing_ok=True)  # the places in the old sidecar are wrong for the new file
    make_folder(place.sidecar.parent)
    cdxj.write_sorted(place.sidecar, map(cdxj.line, captures_again(place.warc, collection, place.name, buckets)))


def _parts(path: Path) -> Iterator[_Part]:
    """Yield the records of a file. Raises WarcError for one with several records in a member."""
    with path.open("rb") as file:
        source = MemberReader(file, path)
        last: _Part | None = None
        is_more = True
        while is_more:
            while record := next_record(source, 0):
                if last is not None:
                    yield _Part(last.offset, last.end, record.offset, last.length, last.finding)
                    if source.is_packed and record.offset == last.offset:
                        raise WarcError(path, record.offset, "several records share one member")
                end = record.finish()
                last = _Part(record.offset, end, end, record.block_length, record.end_finding)
            is_more = source.next_member()
        if last is not None:
            yield _Part(last.offset, last.end, path.stat().st_size, last.length, last.finding)


def _packer(source: BinaryIO, settings: Settings) -> Callable[[Iterator[bytes], int], Iterator[bytes]]:
    """Return what writes a record as the file has its others: plain, as gzip members or as zstd frames."""
    start = source.read(4)
    if start.startswith(b"\x1f\x8b"):
        return lambda pieces, _: packed_stream(pieces, settings.archive.gzip_level)
    if start.startswith(b"WARC"):
        return lambda pieces, _: pieces
    dictionary, _ = read_dictionary(source)
    writer = ZstdFrameWriter(settings.archive.zstd_level, dictionary)

    def framed(pieces: Iterator[bytes], length: int) -> Iterator[bytes]:
        header = next(pieces)
        return writer.packed_stream(chain((header,), pieces), len(header) + length + len(RECORD_END))

    return framed


def _pieces(record: StoredRecord, length: int) -> Iterator[bytes]:
    yield _CONTENT_LENGTH.sub(rb"\1 %d" % length, record.header, count=1)
    yield from record.block()
    yield RECORD_END


def _copy(source: BinaryIO, target: BinaryIO, start: int, end: int) -> None:
    source.seek(start)
    while start < end and (piece := source.read(min(_COPY_SIZE, end - start))):
        target.write(piece)
        start += len(piece)


def _keep_aside(place: WarcPaths, gaps: list[tuple[int, int]]) -> None:
    if not gaps:
        return
    make_folder(place.tail.parent)
    with place.warc.open("rb") as source, replacement(place.tail) as target:
        for start, end in gaps:
            _copy(source, target, start, end)
