"""This module finds the captures of a collection that fulfil conditions, with the originals of their revisits.

The sidecars are read, not the capture index, so that a collection on a disk is enough.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Set
from dataclasses import dataclass, field
from pathlib import Path

from admin.units import counted
from archive.capture import Capture
from archive.dates import Micros, parse_date
from archive.names.warc_paths import WarcPaths, closed, growing, sidecars
from archive.url import OF_A_PAGE, UrlError
from archive.warc import cdxj
from archive.warc.reading.member_reader import WarcError
from archive.warc.reading.reader import records
from dedupdb.captures.query import KeyRange, end_of, key_ranges


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
        if self.job and not is_of_job(capture.job or "", self.job):
            return False
        return not self.keys or self._takes_url(capture)

    def _takes_url(self, capture: Capture) -> bool:
        key = capture.key
        if found := OF_A_PAGE.match(capture.url):
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


@dataclass(slots=True)
class ChosenCaptures:
    """The captures that fulfil the conditions, by file, and what could not be found."""

    offsets: dict[WarcPaths, set[int]] = field(default_factory=dict)
    """The places of the captures in each file that has any, in the order of the files' names."""
    captures: int = 0
    originals: int = 0
    """Captures that were added because a chosen revisit refers to them; `captures` includes them."""
    lacking_originals: int = 0
    """Chosen revisits whose original is not in this collection, or was left out by request."""
    missing: list[str] = field(default_factory=list)
    """One line for each problem because of which captures are missing."""


def choose(folder: Path, chosen: Selection, *, originals: bool) -> ChosenCaptures:
    """Return the captures of the collection in `folder` that fulfil the conditions.

    With `originals`, the originals of chosen revisits are added. Raises ValueError for a damaged sidecar, and
    WarcError for a damaged WARC file without a sidecar.
    """
    found = ChosenCaptures(
        missing=[f"{place.name} is still being written and was left out" for place in growing(folder)]
    )
    wanted: defaultdict[WarcPaths, set[int]] = defaultdict(set)
    sought: set[tuple[str, Micros]] = set()
    for place in indexed_files(folder):
        for capture in captures_in(place):
            if not chosen.takes(capture):
                continue
            wanted[place].add(capture.offset)
            found.captures += 1
            if capture.refers_to:
                sought.add((capture.refers_to.url, capture.refers_to.date))
    if sought and not chosen.is_everything:
        _add_originals(folder, found, wanted, sought, is_wanted=originals)
    found.offsets = {place: wanted[place] for place in sorted(wanted, key=lambda place: place.name)}
    return found


def _add_originals(
    folder: Path,
    found: ChosenCaptures,
    wanted: defaultdict[WarcPaths, set[int]],
    sought: set[tuple[str, Micros]],
    *,
    is_wanted: bool,
) -> None:
    there: set[tuple[str, Micros]] = set()
    for place in indexed_files(folder):
        for capture in captures_in(place):
            named = (capture.url, capture.date)
            if named not in sought or capture.kind in ("revisit", "metadata"):
                continue  # the list of a page's links has the URL and the date of the page
            if capture.offset in wanted[place]:
                there.add(named)
            elif is_wanted and named not in there:
                there.add(named)
                wanted[place].add(capture.offset)
                found.captures += 1
                found.originals += 1
        if not wanted[place]:
            del wanted[place]
    found.lacking_originals = len(sought - there)
    if is_wanted and found.lacking_originals:
        found.missing.append(f"{counted(found.lacking_originals, 'original')} of revisits not in this collection")


def indexed_files(folder: Path) -> Iterator[WarcPaths]:
    """Yield every closed WARC file of a collection that has a sidecar or exists in the home."""
    closed_names = {place.name: place for place in closed(folder)}
    for place in sidecars(folder):
        closed_names.pop(place.name, None)
        yield place
    yield from closed_names.values()


def captures_in(place: WarcPaths) -> Iterator[Capture]:
    """Return the captures of a file from its sidecar, or else from the file itself. Raises ValueError and WarcError."""
    collection = place.folder.name
    if place.sidecar.exists():
        return cdxj.read(place.sidecar, collection)
    return cdxj.captures_of(place.warc, collection, place.name)


def record_ranges(path: Path, offsets: set[int], hidden: Set[int] = frozenset()) -> list[tuple[int, int]]:
    """Return the byte ranges of the records to copy: the captures at these offsets and their related records.

    Every warcinfo is related, and so is each request, metadata or resource record that names a chosen capture in
    WARC-Concurrent-To or is named there by one, but for those at `hidden`. The first range includes the dictionary at
    the start of a zstd file.
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
        elif kind in ("request", "metadata", "resource") and offset not in hidden:
            others.append((*facts, record.record_id, frozenset(record.concurrent_to)))
    found += [(start, end) for start, end, name, to in others if name in named or not kept_ids.isdisjoint(to)]
    prefix = [(0, start_of_all)] if start_of_all else []
    return sorted(prefix + found)


def is_of_job(run: str, asked: str) -> bool:
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
