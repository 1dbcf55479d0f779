"""Write the WARC files of a date range, a job or a URL prefix to a folder outside the home.

Records are copied with their compressed bytes, so nothing about them changes. A revisit is exported together with its
original, unless the caller asks otherwise, so that every revisit can be read. The folder gets its name when all files
are written: an interrupted export leaves a folder `NAME.incomplete`, which the next export replaces.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, BinaryIO, Final

from admin.units import counted
from archive.capture import Capture
from archive.dates import Micros, iso_date, now_micros, parse_date
from archive.files import sync_folder
from archive.url import UrlError
from archive.warc import cdxj
from archive.warc.member_reader import WarcError
from archive.warc.reader import records
from archive.warc_paths import ENDINGS, SIDECAR_SUFFIX, WarcPaths, closed, growing, sidecars
from dedupdb.captures.query import KeyRange, end_of, key_ranges

MANIFEST: Final = "export.json"
INCOMPLETE: Final = ".incomplete"
_COPY_SIZE: Final = 1 << 20
_OF_A_PAGE: Final = re.compile(r"urn:[A-Za-z]+:(?=https?://)")
"""Records about a page, such as `urn:view:https://example.org/`, belong to the page's URL."""


class ExportProblem(Exception):
    """The export is not possible. The message names the option, its value and the remedy."""


@dataclass(frozen=True, slots=True)
class Selection:
    """The conditions for captures to export. Without a condition all are exported. Both dates are inclusive."""

    since: Micros | None = None
    until: Micros | None = None
    job: str = ""
    url_prefix: str = ""
    keys: tuple[KeyRange, ...] = ()
    """The ranges of sort keys that `url_prefix` covers."""

    @property
    def is_everything(self) -> bool:
        """Return True when there is no condition."""
        return self == Selection()

    def takes(self, capture: Capture) -> bool:
        """Return True when the capture meets every condition."""
        if self.since is not None and capture.date < self.since:
            return False
        if self.until is not None and capture.date > self.until:
            return False
        if self.job and not _is_job(capture.job or "", self.job):
            return False
        return not self.keys or self._takes_url(capture)

    def _takes_url(self, capture: Capture) -> bool:
        key = capture.key
        if found := _OF_A_PAGE.match(capture.url):
            try:
                key = key_ranges(capture.url[found.end() :], "exact")[0].low
            except UrlError:
                return False
        return any(keys.low <= key < (keys.high or keys.low) for keys in self.keys)


def selection(since: str = "", until: str = "", job: str = "", url_prefix: str = "") -> Selection:
    """Return the selection that these option values describe. Raises ExportProblem.

    A date is a year, month, day or moment: `2026`, `2026-11`, `20261122`, `2026-11-22T08:15:00Z`. `until` includes the
    whole year, month or day.
    """
    first, last = _date("--since", since), _date("--until", until, last=True)
    if first is not None and last is not None and first > last:
        raise ExportProblem(f"--since {since} is later than --until {until}; swap them")
    try:
        keys = key_ranges(url_prefix if "://" in url_prefix else f"http://{url_prefix}", "prefix") if url_prefix else ()
    except UrlError as error:
        raise ExportProblem(
            f"--url-prefix {url_prefix!r} is not a URL ({error}); write for instance https://example.org/news/"
        ) from error
    return Selection(first, last, job, url_prefix, keys)


@dataclass(frozen=True, slots=True)
class ExportedFile:
    """The file is one WARC file of an export. `source` names the file of the collection that it comes from."""

    name: str
    source: str
    bytes: int
    sha256: str
    captures: int

    def as_json(self) -> dict[str, Any]:
        """Return the fields as in export.json."""
        found = asdict(self)
        return {"name": found.pop("name"), "from": found.pop("source"), **found}


@dataclass(slots=True)
class Exported:
    """The result of an export has its files, and the captures that are missing."""

    folder: str
    files: list[ExportedFile] = field(default_factory=list)
    captures: int = 0
    originals: int = 0
    """Captures that were added because a chosen revisit refers to them; `captures` includes them."""
    lacking_originals: int = 0
    """Chosen revisits whose original is not in this collection, or was left out by request."""
    missing: list[str] = field(default_factory=list)
    """One line for each problem because of which chosen captures are missing."""

    @property
    def is_whole(self) -> bool:
        """Return whether no chosen capture is missing."""
        return not self.missing

    def as_json(self) -> dict[str, Any]:
        """Return the fields for `--json`."""
        return {**asdict(self), "files": [each.as_json() for each in self.files]}


class Exporter:
    """The exporter writes captures of one collection to a new folder."""

    def __init__(self, folder: Path, target: Path, chosen: Selection, *, originals: bool, whole_files: bool) -> None:
        """`folder` is the collection's. Raises ExportProblem when `target` exists and isn't empty."""
        if target.exists() and (not target.is_dir() or any(target.iterdir())):
            raise ExportProblem(f"--to {target} exists and is not empty; name a new folder")
        if target.resolve().is_relative_to(folder.resolve()):
            raise ExportProblem(f"--to {target} is inside the collection; name a folder outside of the home")
        self._folder = folder
        self._target = target
        self._draft = target.with_name(target.name + INCOMPLETE)
        self._chosen = chosen
        self._with_originals = originals
        self._whole_files = whole_files or chosen.is_everything
        self._result = Exported(str(target))

    def run(self, watch: Callable[[str, int, int], None] = lambda name, number, of: None) -> Exported:
        """Write all files and return the result; `watch` is called for each file before the file is read.

        Raises OSError when the folder can't be written to; then the incomplete folder is removed.
        """
        self._report_open_files()
        wanted = self._wanted()
        if self._draft.exists():
            shutil.rmtree(self._draft)
        (self._draft / "archive").mkdir(parents=True)
        (self._draft / "indexes").mkdir()
        try:
            for number, (place, offsets) in enumerate(wanted.items(), 1):
                watch(place.name, number, len(wanted))
                self._write(place, offsets)
            self._finish()
        except BaseException:
            shutil.rmtree(self._draft, ignore_errors=True)
            raise
        return self._result

    def _report_open_files(self) -> None:
        self._result.missing += [
            f"{place.name} is still being written and was left out" for place in growing(self._folder)
        ]

    def _wanted(self) -> dict[WarcPaths, set[int]]:
        """Return the offsets of the captures to export, for each file that holds any."""
        wanted: defaultdict[WarcPaths, set[int]] = defaultdict(set)
        sought: set[tuple[str, Micros]] = set()
        for place in self._places():
            for capture in self._captures(place):
                if not self._chosen.takes(capture):
                    continue
                wanted[place].add(capture.offset)
                self._result.captures += 1
                if capture.refers_to:
                    sought.add((capture.refers_to.url, capture.refers_to.date))
        if sought and not self._chosen.is_everything:
            self._add_originals(wanted, sought)
        return {place: wanted[place] for place in sorted(wanted, key=lambda place: place.name)}

    def _add_originals(self, wanted: defaultdict[WarcPaths, set[int]], sought: set[tuple[str, Micros]]) -> None:
        found: set[tuple[str, Micros]] = set()
        for place in self._places():
            for capture in self._captures(place):
                named = (capture.url, capture.date)
                if named not in sought or capture.kind == "revisit":
                    continue
                if capture.offset in wanted[place]:
                    found.add(named)
                elif self._with_originals and named not in found:
                    found.add(named)
                    wanted[place].add(capture.offset)
                    self._result.captures += 1
                    self._result.originals += 1
            if not wanted[place]:
                del wanted[place]
        self._result.lacking_originals = len(sought - found)
        if self._with_originals and self._result.lacking_originals:
            self._result.missing.append(
                f"{counted(self._result.lacking_originals, 'original')} of revisits not in this collection"
            )

    def _places(self) -> Iterator[WarcPaths]:
        """Yield every closed WARC file that has a sidecar or exists in the home."""
        closed_names = {place.name: place for place in closed(self._folder)}
        for place in sidecars(self._folder):
            closed_names.pop(place.name, None)
            yield place
        yield from closed_names.values()

    def _captures(self, place: WarcPaths) -> Iterator[Capture]:
        collection = self._folder.name
        if place.sidecar.exists():
            return cdxj.read(place.sidecar, collection)
        return cdxj.captures_of(place.warc, collection, place.name)

    def _write(self, place: WarcPaths, offsets: set[int]) -> None:
        if not place.warc.exists():
            if not place.growing.exists():
                self._result.captures -= len(offsets)
                self._result.missing.append(
                    f"{place.name} with {counted(len(offsets), 'chosen capture')} is not in the home"
                )
            else:
                self._result.captures -= len(offsets)
            return
        name = place.name if self._whole_files else _extract_name(place.name)
        target = self._draft / "archive" / name
        target.parent.mkdir(parents=True, exist_ok=True)
        try:
            ranges = None if self._whole_files else _ranges(place.warc, offsets)
            with place.warc.open("rb") as source, target.open("xb") as file:
                sha256, size = _copied(source, file, ranges)
            sidecar = self._draft / "indexes" / (name + SIDECAR_SUFFIX)
            sidecar.parent.mkdir(parents=True, exist_ok=True)
            count = _write_lines(sidecar, target, self._folder.name, name)
        except WarcError as error:
            target.unlink(missing_ok=True)
            self._result.captures -= len(offsets)
            self._result.missing.append(
                f"{place.name} with {counted(len(offsets), 'chosen capture')} is damaged at offset {error.offset}: "
                f"{error.reason}"
            )
            return
        self._result.files.append(ExportedFile(name, place.name, size, sha256, count))

    def _finish(self) -> None:
        if self._whole_files:
            self._result.captures = sum(each.captures for each in self._result.files)
        conditions = {
            key: value for key, value in asdict(self._chosen).items() if key in ("job", "url_prefix") and value
        }
        for key in ("since", "until"):
            if (moment := getattr(self._chosen, key)) is not None:
                conditions[key] = iso_date(moment)
        facts = {
            "collection": self._folder.name,
            "exported": iso_date(now_micros()),
            "selection": conditions,
            "whole_files": self._whole_files,
            **self._result.as_json(),
        }
        del facts["folder"]
        (self._draft / MANIFEST).write_text(json.dumps(facts, indent=2, ensure_ascii=False) + "\n", "utf-8")
        for folder in (self._draft / "archive", self._draft / "indexes", self._draft):
            sync_folder(folder)
        if self._target.exists():
            self._target.rmdir()
        self._draft.rename(self._target)
        sync_folder(self._target.parent)


def _ranges(path: Path, offsets: set[int]) -> list[tuple[int, int]]:
    """Return the byte ranges of the records to copy: the captures at these offsets and their related records.

    Every warcinfo is related, and so is each request, metadata or resource record that names a chosen capture in
    WARC-Concurrent-To or is named there by one. The first range includes the dictionary at the start of a zstd file.
    """
    kept_ids: set[str] = set()
    named: set[str] = set()
    others: list[tuple[int, int, str, frozenset[str]]] = []
    found: list[tuple[int, int]] = []
    start_of_all = None
    for record in records(path):
        offset, kind = record.offset, record.kind
        if start_of_all is None:
            start_of_all = offset
        if record.in_member:
            raise WarcError(path, offset, "several records share one member; import the file again to rewrap it")
        facts = (offset, record.finish())
        if kind == "warcinfo":
            found.append(facts)
        elif offset in offsets:
            found.append(facts)
            kept_ids.add(record.record_id)
            named.update(record.concurrent_to)
        elif kind in ("request", "metadata", "resource"):
            others.append((*facts, record.record_id, frozenset(record.concurrent_to)))
    found += [(start, end) for start, end, name, to in others if name in named or not kept_ids.isdisjoint(to)]
    prefix = [(0, start_of_all)] if start_of_all else []
    return sorted(prefix + found)


def _copied(source: BinaryIO, target: BinaryIO, ranges: Iterable[tuple[int, int]] | None) -> tuple[str, int]:
    """Copy these ranges, or the whole file, durably; return SHA-256 and size."""
    sha256, size = hashlib.sha256(), 0
    for start, end in ranges if ranges is not None else ((0, os.fstat(source.fileno()).st_size),):
        source.seek(start)
        left = end - start
        while left and (piece := source.read(min(left, _COPY_SIZE))):
            sha256.update(piece)
            target.write(piece)
            size += len(piece)
            left -= len(piece)
    target.flush()
    os.fsync(target.fileno())
    return sha256.hexdigest(), size


def _write_lines(sidecar: Path, warc: Path, collection: str, name: str) -> int:
    count = 0

    def lines() -> Iterator[str]:
        nonlocal count
        for capture in cdxj.captures_of(warc, collection, name):
            count += 1
            yield cdxj.line(capture)

    cdxj.write_sorted(sidecar, lines())
    return count


def _extract_name(name: str) -> str:
    ending = next((ending for ending in ENDINGS if name.endswith(ending)), "")
    return f"{name.removesuffix(ending)}-extract{ending}"


def _is_job(run: str, asked: str) -> bool:
    """Return whether a capture belongs to the chosen job; `asked` is the name of a run or of a job."""
    return run == asked or re.fullmatch(re.escape(asked) + r"-\d{14}", run) is not None


def _date(flag: str, text: str, *, last: bool = False) -> Micros | None:
    if not text:
        return None
    digits = re.sub(r"[^0-9]", "", text.partition(".")[0])
    try:
        if not re.fullmatch(r"[0-9TZ:.-]+", text) or len(digits) not in (4, 6, 8, 10, 12, 14):
            raise ValueError
        return end_of(digits) if last else parse_date(digits)
    except (ValueError, OverflowError) as error:
        raise ExportProblem(
            f"{flag} {text[:40]!r} is not a date; write for instance 2026, 2026-11 or 2026-11-22"
        ) from error
