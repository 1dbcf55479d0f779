"""This module validates WARC files of any program, one file or a folder of them.

Each record is checked by itself (`findings`), then together with the others. The warcinfo comes first. Record ids are
unique. Each record has a gzip member or zstd frame of its own. Request and response name each other. The original of a
revisit exists. Memory grows with the number of records, about 300 bytes for each, and not with their size.

A file whose name still ends with `.open` is read up to its last complete set of records. The rest is reported. When the
writer of the file has ended, this is reported too, since such a file needs a repair.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Final

from archive import digest as digests
from archive.dates import Micros, parse_date
from archive.names.warc_paths import ENDINGS, OPEN_SUFFIX, files_below
from archive.warc.reading.member_reader import MemberReader, WarcError, open_either
from archive.warc.reading.reader import StoredRecord, bare_id, next_record
from archive.warc.upkeep.findings import Measured, block_findings, field_findings, head_notes, length_findings
from archive.warc.upkeep.repair import has_writer, whole_part

SHARED_MEMBER: Final = "the record shares its member with the one before"
_ANSWERS: Final = ("response", "revisit")
_NAMELESS: Final = "the revisit names no original"
_OVERLAP: Final = 24 * 3600 * 1_000_000
"""Microseconds. Of fetches that overlap, the one that ends first is the original, whichever began first."""


class Level(StrEnum):
    """The level says how serious a finding is."""

    PROBLEM = "problem"
    """The file is damaged or incomplete, or the record contradicts itself, another record or the standard."""
    NOTE = "note"
    """The record is a faithful one of a message that breaks HTTP's own rules, or readers find by other fields what a
    field of the record should tell."""


@dataclass(frozen=True, slots=True)
class FileProblem:
    """A problem is a finding and its place; `record_id` is "" when it concerns the whole file."""

    file: Path
    offset: int
    record_id: str
    message: str
    level: Level = Level.PROBLEM

    def __str__(self) -> str:
        who = f" <{self.record_id}>" if self.record_id else ""
        return f"{self.file} at {self.offset}{who}: {self.words}"

    @property
    def words(self) -> str:
        """Return the message, and that it is a note when it is one."""
        return f"note: {self.message}" if self.level is Level.NOTE else self.message


@dataclass(frozen=True, slots=True)
class _Seen:
    """A check remembers these values of a record until all records are read."""

    file: Path
    offset: int
    record_id: str
    kind: str
    url: str
    date: Micros
    digest: str
    is_truncated: bool
    concurrent_to: tuple[str, ...] = ()
    short: tuple[str, ...] = ()
    """Complaints about the body's length, which hold unless the request was HEAD."""
    method: str = ""
    refers_to: str = ""
    refers_to_url: str = ""
    refers_to_date: str = ""
    container: str = ""
    """Another archive that has the original, as the revisit says."""
    profile: str = ""

    @property
    def names_original(self) -> bool:
        """Return whether this revisit tells its original."""
        return bool(self.refers_to or self.refers_to_url)

    def problem(self, message: str, level: Level = Level.PROBLEM) -> FileProblem:
        return FileProblem(self.file, self.offset, self.record_id, message, level)


@dataclass(slots=True)
class _FileSet:
    """A file set has the records of all files, by record id and by the URL and date that a revisit may name instead."""

    by_id: dict[str, _Seen] = field(default_factory=dict)
    by_capture: dict[tuple[str, Micros], _Seen] = field(default_factory=dict)
    revisits: list[_Seen] = field(default_factory=list)

    def first_dates(self) -> dict[tuple[str, str], Micros]:
        """Return when each payload of a URL was captured first, by URL and digest, for revisits without an original."""
        urls = {revisit.url for revisit in self.revisits if not revisit.names_original}
        dates: dict[tuple[str, str], Micros] = {}
        for (url, date), capture in self.by_capture.items() if urls else ():
            if url in urls and capture.digest:
                dates[url, capture.digest] = min(date, dates.get((url, capture.digest), date))
        return dates


def files_to_check(path: Path) -> list[Path]:
    """Return the WARC files to check: the file itself, or all files below a folder, open files included."""
    return files_below(path, (*ENDINGS, OPEN_SUFFIX)) if path.is_dir() else [path]


def check(path: Path) -> Iterator[FileProblem]:
    """Yield every finding about a file, or about all WARC files below a folder.

    In a check of one file, a revisit may refer to an original in another file. Raises FileNotFoundError.
    """
    seen = _FileSet()
    for file in files_to_check(path):
        yield from _check_open_file(file, seen) if file.name.endswith(OPEN_SUFFIX) else _check_file(file, seen)
    first_dates = seen.first_dates()
    for revisit in seen.revisits:
        if revisit.names_original:
            yield from _revisit_problems(revisit, seen, must_be_there=path.is_dir())
        elif first_dates.get((revisit.url, revisit.digest), revisit.date) < revisit.date:
            yield revisit.problem(f"{_NAMELESS}; an older capture of its URL has its payload digest", Level.NOTE)
        else:
            yield revisit.problem(_NAMELESS)


def _check_open_file(path: Path, seen: _FileSet) -> Iterator[FileProblem]:
    """Yield the findings about a file without its final name.

    Its writer is still at work, or has ended without closing the file.
    """
    try:
        size, is_written = path.stat().st_size, has_writer(path)
    except FileNotFoundError:  # its writer has closed it since the folder was listed
        yield from _check_file(path.with_name(path.name.removesuffix(OPEN_SUFFIX)), seen)
        return
    if not size:
        return
    whole = whole_part(path)
    if not is_written:
        left = "the file was left open by a writer that has ended"
        does = "can't close it" if whole.is_refused else "closes it"
        yield FileProblem(path, 0, "", f"{left}; `ghostfleet repair` {does}")
    if whole.length:
        yield from _check_file(path, seen, end=whole.length)
    if whole.length < size:
        where = f"the last {size - whole.length} bytes are not checked, since they are no whole set of records"
        why = "the file is being written" if is_written else whole.reason
        yield FileProblem(path, whole.length, "", f"{where}: {why}")


def _check_file(path: Path, seen: _FileSet, end: int | None = None) -> Iterator[FileProblem]:
    """Yield the findings about a file. Bytes from `end` on are not read."""
    here: dict[str, _Seen] = {}
    warcinfos: set[str] = set()
    last: FileProblem | None = None  # damage met in a block is met again where the record should end
    with open_either(path) as file:
        if not file.read(1):
            yield FileProblem(path, 0, "", "the file is empty")
            return
        source = MemberReader(file, path, end=end)
        for found in _walk(source):
            if isinstance(found, FileProblem):
                if found != last:
                    yield found
                continue
            if not here and not warcinfos and found.kind != "warcinfo":
                yield _problem(
                    found, f"the file begins with a {found.kind or 'nameless record'}, not with its warcinfo"
                )
            yield from (_problem(found, message) for message in source.findings)
            for last in _check_record(found, here, warcinfos, seen):
                yield last
    yield from _pair_problems(here)


def _walk(source: MemberReader) -> Iterator[StoredRecord | FileProblem]:
    """Yield records and the problems that prevent reading them. Damage in one member does not hide the next one."""
    while True:
        offset, in_member = source.offset, 0
        try:
            while record := next_record(source, in_member):
                offset = record.offset
                yield record
                record.finish()
                if record.end_finding:
                    yield _problem(record, record.end_finding)
                in_member += source.is_packed  # a plain file has no members
        except WarcError as error:
            yield FileProblem(source.path, offset, "", error.reason)
            if not source.is_packed:
                return
        try:
            is_more = source.next_member()
            if source.gap:
                yield FileProblem(source.path, source.offset, "", source.gap)
            if not is_more:
                return
        except WarcError as error:
            if error.offset != offset:
                yield FileProblem(source.path, error.offset, "", error.reason)
            return


def _check_record(
    record: StoredRecord, here: dict[str, _Seen], warcinfos: set[str], seen: _FileSet
) -> Iterator[FileProblem]:
    measured = Measured()
    try:
        for note in head_notes(record):
            yield _problem(record, note, Level.NOTE)
        for message in (*field_findings(record), *block_findings(record, measured)):
            yield _problem(record, message)
        for note in measured.notes:
            yield _problem(record, note, Level.NOTE)
        known = _remember(record, measured)
    except WarcError as error:
        yield FileProblem(record.path, record.offset, "", error.reason)
        return
    if record.in_member:
        yield _problem(record, SHARED_MEMBER)
    if record.kind == "warcinfo":
        warcinfos.add(record.record_id)
    elif (named := bare_id(record.fields.get("WARC-Warcinfo-ID") or "")) and named not in warcinfos:
        yield _problem(record, f"WARC-Warcinfo-ID names {named}, which does not come before it in this file")
    if first := seen.by_id.get(record.record_id):
        yield _problem(record, f"the record's id is not unique: {first.file} at {first.offset} has it too")
    here[record.record_id] = seen.by_id[record.record_id] = known
    _file_capture(known, seen)


def _remember(record: StoredRecord, measured: Measured) -> _Seen:
    get = record.fields.get
    return _Seen(
        file=record.path,
        offset=record.offset,
        record_id=record.record_id,
        kind=record.kind,
        url=record.url,
        date=_date(get("WARC-Date")),
        digest=get("WARC-Payload-Digest") or "",
        is_truncated=get("WARC-Truncated") is not None,
        concurrent_to=tuple(record.concurrent_to) if record.kind in ("request", *_ANSWERS) else (),
        short=tuple(length_findings(record, measured)),
        method=record.http.method if record.kind == "request" and record.is_http else "",
        refers_to=bare_id(get("WARC-Refers-To") or ""),
        refers_to_url=get("WARC-Refers-To-Target-URI") or "",
        refers_to_date=get("WARC-Refers-To-Date") or "",
        container=get("WARC-Refers-To-Container") or "",
        profile=get("WARC-Profile") or "",
    )


def _file_capture(known: _Seen, seen: _FileSet) -> None:
    if known.kind in ("response", "resource"):
        seen.by_capture.setdefault((known.url, known.date), known)
    elif known.kind == "revisit":
        seen.revisits.append(known)


def _pair_problems(here: dict[str, _Seen]) -> Iterator[FileProblem]:
    """Yield the problems of one exchange. Its records must all be in one file."""
    partners: dict[str, set[str]] = {record_id: set() for record_id in here}
    for record in here.values():
        for other in record.concurrent_to:
            if other in here:
                partners[record.record_id].add(other)
                partners[other].add(record.record_id)
            else:
                yield record.problem(f"WARC-Concurrent-To names {other}, which is not in this file")
    for record in here.values():
        others = [here[other] for other in partners[record.record_id]]
        if record.kind == "request" and not any(other.kind in _ANSWERS for other in others):
            yield record.problem("the request has neither response nor revisit in this file")
        if record.short and not any(other.method == "HEAD" for other in others):
            yield from map(record.problem, record.short)


def _revisit_problems(revisit: _Seen, seen: _FileSet, *, must_be_there: bool) -> Iterator[FileProblem]:
    """Yield the problems of revisits (WARC/1.1 section 6.7).

    The original must exist, be complete, be older and have the same payload, unless the revisit names another archive.
    """
    capture = (revisit.refers_to_url, _date(revisit.refers_to_date))
    original = seen.by_id.get(revisit.refers_to) or seen.by_capture.get(capture)
    if original is None:
        if must_be_there and not revisit.container:
            named = revisit.refers_to or f"{revisit.refers_to_url} of {revisit.refers_to_date}"
            yield revisit.problem(f"the original {named} is in none of these files")
    else:
        yield from map(revisit.problem, _mismatches(revisit, original))


def _mismatches(revisit: _Seen, original: _Seen) -> Iterator[str]:
    where = f"the original ({original.file.name} at {original.offset})"
    if original.kind not in ("response", "resource", "conversion"):
        yield f"{where} is a {original.kind}"
    if original.is_truncated:
        yield f"{where} was cut short"
    if original.date > revisit.date + _OVERLAP:
        yield f"{where} is later than its revisit"
    if "identical-payload" in revisit.profile and not digests.same(revisit.digest, original.digest):
        yield f"{where} has payload digest {original.digest or 'none'}, the revisit {revisit.digest or 'none'}"
    if revisit.refers_to_url and revisit.refers_to_url != original.url:
        yield f"{where} is of {original.url}, not of {revisit.refers_to_url}"
    if revisit.refers_to_date and _date(revisit.refers_to_date) != original.date:
        yield f"{where} has another date than WARC-Refers-To-Date {revisit.refers_to_date}"


def _date(said: str | None) -> Micros:
    """Return the date, or 0 for a date that can't be read, which `findings` has reported."""
    try:
        return parse_date(said or "")
    except ValueError:
        return 0


def _problem(record: StoredRecord, message: str, level: Level = Level.PROBLEM) -> FileProblem:
    return FileProblem(record.path, record.offset, record.record_id, message, level)
