"""This module completes sidecars, so that an index can be rebuilt from them.

A sidecar is whole when each line can be parsed and is as `cdxj.line` writes it, and when the bytes between its captures
have no other record that belongs into the index. Those bytes are mostly request records, so no payload of a whole
sidecar has to be read. For any other sidecar, the WARC is read and the sidecar is rewritten. When the WARC is damaged
too, lines of captures behind the damage stay.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path

from archive import url as urls
from archive.capture import Capture
from archive.digest import parse as parse_digest
from archive.files import make_folder
from archive.names.warc_paths import ENDINGS, WarcPaths, closed, growing, sidecars
from archive.warc import cdxj
from archive.warc.reading.member_reader import MemberReader, WarcError
from archive.warc.reading.reader import next_record
from archive.warc.records.request_query import asked_key
from archive.warc.upkeep.repair import captures_again, locked, whole_part
from dedupdb.captures.validation import acceptable

_INDEXED = frozenset(("response", "revisit", "resource", "metadata", "conversion"))
_OURS = (b'"id":', b'"date":', b'"size":')
"""Keys of our lines that lines of pywb and cdxj-indexer lack."""


class SidecarOutcome(StrEnum):
    """The outcome is the state of a sidecar after the repair."""

    WHOLE = "whole"
    REBUILT = "rebuilt"
    """It was not whole, and now has every capture of the WARC."""
    INCOMPLETE = "incomplete"
    """Captures are missing, or may be missing."""


@dataclass(frozen=True, slots=True)
class RepairedSidecar:
    """This is the state of one WARC's sidecar.

    `filename` is the final name of the WARC. `reason` is empty for a whole sidecar.
    """

    filename: str
    outcome: SidecarOutcome
    reason: str = ""

    def __str__(self) -> str:
        return f"{self.filename}: index {self.outcome}" + (f", {self.reason}" if self.reason else "")


@dataclass(slots=True)
class _SidecarContent:
    """A sidecar has this content: captures of its own WARC, lines about other files, and faults."""

    captures: list[Capture] = field(default_factory=list)
    others: list[str] = field(default_factory=list)
    faults: list[str] = field(default_factory=list)

    @property
    def places(self) -> list[tuple[int, int]]:
        return sorted((capture.offset, capture.length) for capture in self.captures)


def repair_sidecars(folder: Path) -> Iterator[RepairedSidecar]:
    """Check the sidecar of each WARC of the collection in that folder, and rewrite those that are not whole.

    The sidecar of a file that is being written stays unchanged, since its writer continues it.
    """
    for place in closed(folder):
        yield _tried(place, place.warc)
    for place in growing(folder):
        with locked(place.growing) as file:
            if file is not None:
                yield _left_open(place)
            elif place.growing.exists():
                yield _of_live_writer(place)
            else:  # its writer has just closed it, with a whole sidecar
                yield RepairedSidecar(place.name, SidecarOutcome.WHOLE)
    for place in sidecars(folder):
        if place.name.endswith(ENDINGS) and not os.path.lexists(place.warc) and not place.growing.exists():
            faults = _read(place).faults
            reason = f"{_summary(faults)}; the WARC is not in the home, so it can't be read instead" if faults else ""
            yield RepairedSidecar(place.name, SidecarOutcome.INCOMPLETE if faults else SidecarOutcome.WHOLE, reason)


def _tried(place: WarcPaths, path: Path, end: int | None = None) -> RepairedSidecar:
    """Repair a sidecar; without `end`, the whole WARC counts. A file that can't be used keeps no other one back."""
    try:
        return _repaired(place, path, path.stat().st_size if end is None else end)
    except OSError as error:
        return RepairedSidecar(
            place.name, SidecarOutcome.INCOMPLETE, f"{error.filename or path} can't be used: {error.strerror}"
        )


def _left_open(place: WarcPaths) -> RepairedSidecar:
    """Repair the sidecar of a file whose writer has ended, up to the end of its last complete record set."""
    whole = whole_part(place.growing)
    found = _tried(place, place.growing, whole.length)
    left = "the WARC was left open by a writer that has ended; "
    left += whole.reason if whole.is_refused else "`ghostfleet repair` closes it"
    if not whole.is_refused and (cut := place.growing.stat().st_size - whole.length):
        left += f" and cuts off its last {cut} bytes, which are not a complete set of records ({whole.reason})"
    return RepairedSidecar(place.name, found.outcome, f"{found.reason}; {left}" if found.reason else left)


def _of_live_writer(place: WarcPaths) -> RepairedSidecar:
    """Check a sidecar whose writer is alive.

    The lines may be a batch behind the records. So records behind the last line count only when there are no lines.
    """
    content = _read(place, torn_end=True)
    last = max((sum(each) for each in content.places), default=0)
    try:
        faults = [*content.faults, *_missing_lines(place.growing, content.places, last)]
        if not content.captures and whole_part(place.growing).captures:
            faults.append("its records have no lines")
    except (OSError, WarcError) as error:
        faults = [str(error)]
    if not faults:
        return RepairedSidecar(place.name, SidecarOutcome.WHOLE)
    return RepairedSidecar(
        place.name,
        SidecarOutcome.INCOMPLETE,
        f"{_summary(faults)}; the WARC is being written; try again when it is closed",
    )


def _repaired(place: WarcPaths, path: Path, end: int) -> RepairedSidecar:
    """Repair the sidecar of a WARC without a writer, of which `end` bytes count."""
    content = _read(place)
    faults = content.faults or list(_missing_lines(path, content.places, end))
    if not faults:
        return RepairedSidecar(place.name, SidecarOutcome.WHOLE)
    captures, missing = dict[int, Capture](), list[str]()
    buckets = {each.record_id: each.buckets for each in content.captures}
    try:
        for capture in captures_again(path, place.folder.name, place.name, buckets):
            if capture.offset < end:
                captures[capture.offset] = capture
    except WarcError as error:
        if error.offset < end:
            missing.append(
                f"the WARC can't be read from {error.offset} on ({error.reason}); `ghostfleet check` says more"
            )
            captures |= {each.offset: each for each in content.captures if _stays(each, captures, error.offset, end)}
    refused = sum(not _is_acceptable(capture) for capture in captures.values())
    if refused:
        missing.append(f"{refused} captures can't be indexed")
    found = {capture.record_id for capture in captures.values()}
    if gone := sum(each.offset + each.length > end and each.record_id not in found for each in content.captures):
        missing.append(f"{gone} captures are behind the end of the WARC")
    if captures or place.sidecar.exists():
        make_folder(place.sidecar.parent)
        cdxj.write_sorted(place.sidecar, [*map(cdxj.line, captures.values()), *content.others])
    reason = f"{_summary(faults)}; {len(captures)} captures now"
    if missing:
        return RepairedSidecar(place.name, SidecarOutcome.INCOMPLETE, f"{reason}; {'; '.join(missing)}")
    return RepairedSidecar(place.name, SidecarOutcome.REBUILT, reason)


def _read(place: WarcPaths, *, torn_end: bool = False) -> _SidecarContent:
    """Return the content of a sidecar; with `torn_end`, a last line without a line end is ignored."""
    content = _SidecarContent()
    try:
        file = place.sidecar.open("rb")
    except FileNotFoundError:
        content.faults.append("there is no sidecar")
        return content
    with file:
        for number, raw in enumerate(file, 1):
            if not raw.strip() or raw.startswith((b"!", b"#")) or (torn_end and not raw.endswith(b"\n")):
                continue
            try:
                capture = _capture(raw, place)
            except (ValueError, OverflowError, RecursionError):
                content.faults.append(f"line {number} is damaged")
                continue
            if capture.filename == place.name:
                content.captures.append(capture)
            else:
                content.others.append(raw.decode().rstrip("\r\n"))
    return content


def _capture(raw: bytes, place: WarcPaths) -> Capture:
    """Return the capture of a line. Raises ValueError for a line that can't be read, or that contradicts itself."""
    if not raw.endswith(b"\n"):
        raise ValueError("the line has no end")
    text = raw.decode().rstrip("\r\n")
    capture = acceptable(cdxj.parse(text, place.folder.name))
    if any(name in raw for name in _OURS):
        if cdxj.line(capture) != text:
            raise ValueError("the line was changed")
        asked = asked_key(capture.url, capture.method, capture.request_body)
        if capture.key != asked and not capture.key.startswith(urls.key(capture.url)):
            raise ValueError("the key does not belong to the URL")
        digest = capture.digest or ""
        if digest and parse_digest(digest if ":" in digest else f"sha1:{digest}")[1] is None:
            raise ValueError("the digest can't be read")
    return capture


def _stays(content: Capture, read: Mapping[int, Capture], damage: int, end: int) -> bool:
    """Return whether a line stays although its WARC is damaged.

    The line may be of a record behind the damage, or have the method of a request that can't be read.
    """
    if content.offset in read:
        return content.record_id == read[content.offset].record_id
    return damage <= content.offset <= end - content.length


def _is_acceptable(capture: Capture) -> bool:
    try:
        acceptable(capture)
    except (ValueError, OverflowError):
        return False
    return True


def _missing_lines(path: Path, content: Sequence[tuple[int, int]], end: int) -> Iterator[str]:
    """Yield faults that only the WARC shows: records up to `end` that belong into the sidecar and are not in it.

    `content` has offset and length of each capture, in order.
    """
    known, at = {offset for offset, _ in content}, 0
    with path.open("rb") as file:
        if (size := os.fstat(file.fileno()).st_size) < end:
            yield f"the WARC has {size} bytes instead of {end}"
            return
        for offset, length in (*content, (end, 0)):
            if at < offset <= end:
                try:
                    yield from _indexed_between(MemberReader(file, path, at, offset), known)
                except WarcError as error:
                    yield f"the bytes before the capture at {offset} can't be read: {error.reason}"
            at = max(at, offset + length)
        if at > end:
            yield "a line has a capture behind the end of the WARC"


def _indexed_between(source: MemberReader, known: set[int]) -> Iterator[str]:
    is_more = True
    while is_more:
        while record := next_record(source, 0):
            if record.kind in _INDEXED and record.offset not in known:
                yield f"there is no line for the {record.kind} at {record.offset}"
            record.finish()
        is_more = source.next_member()


def _summary(faults: Sequence[str]) -> str:
    more = f" (and {len(faults) - 1} more faults)" if len(faults) > 1 else ""
    return f"{faults[0]}{more}"
