"""List the collections of a home with what is in them, and show one collection with its statistics."""

from __future__ import annotations

import heapq
import re
import time
from collections.abc import Mapping
from typing import Final

from pydantic import Field

from admin.collections.browsing.files import FilesTotal, files_total
from admin.collections.browsing.index import (
    OpenIndex,
    check_collection,
    index_if_any,
    missing_index,
    unread_files,
)
from admin.collections.browsing.jobs import HarvestLink, JobLink, harvests_of, jobs_of
from admin.collections.facts import held_elsewhere, problems
from admin.collections.marks import unfinished_deletions
from admin.fleet.home_folder import collections
from admin.models.errors import DatabaseRefused, InvalidInput, Problem
from admin.models.operation import OutputModel, Page
from admin.models.transaction import Transaction
from admin.units import counted
from archive.dates import Micros
from archive.names.name_rules import NAME_PATTERN
from dedupdb.captures.census import CaptureCount, CaptureTally, Counts, census_of
from dedupdb.captures.schema import CapturesError

MOST: Final = 200
MOST_LINES: Final = 120
"""Lines of one table of statistics."""
_LIST_SECONDS: Final = 1.0
_SHOW_SECONDS: Final = 1.0


class CollectionLine(OutputModel):
    """The line describes one collection. What is None was not counted in time, or there is no index to count it in."""

    name: str
    files: int | None
    open_files: int | None
    file_bytes: int | None
    captures: int | None
    first: Micros | None
    last: Micros | None
    is_counted: bool
    """All captures of the index were counted; when false, there may be more."""


class CountLine(OutputModel):
    """The line counts the captures of one month, media type, status or kind of record."""

    name: str
    captures: int
    bytes: int


class CollectionView(CollectionLine):
    """The view shows one collection with its statistics, and what wrote to it."""

    warnings: list[str]
    """Each warning names what is missing or behind, and the remedy. Warnings come first on the page."""
    months: list[CountLine]
    types: list[CountLine]
    statuses: list[CountLine]
    kinds: list[CountLine]
    counted_rows: int
    rows: int
    """How many rows of the whole index were counted, of how many."""
    counted_at: Micros | None
    harvests: list[HarvestLink]
    jobs: list[JobLink]


class CollectionPage(Page[CollectionLine]):
    """The page is a part of the list of collections."""

    warnings: list[str] = Field(default_factory=list)


def list_collections(transaction: Transaction, *, after: str | None = None, limit: int = 100) -> CollectionPage:
    """Return the collections of the home and of the index by name; `after` is the last name of the page before."""
    settings = transaction.settings
    if after is not None and not re.fullmatch(NAME_PATTERN, after):
        raise InvalidInput(Problem("after", f"{after[:100]!r} is no name of a collection"))
    wanted = max(1, min(limit, MOST))
    start = after or ""
    ends = time.monotonic() + _LIST_SECONDS
    with index_if_any(settings) as index:
        indexed = [] if index is None else index.finder.collections(start, wanted + 1)
        here = {*collections(settings), *unfinished_deletions(settings), *indexed}
        names = heapq.nsmallest(wanted + 1, (name for name in here if name > start))
        tally = None if index is None else _counted(index, settings.database_url, _LIST_SECONDS)
    lines = [_line(name, files_total(settings, name, ends), tally, name in indexed) for name in names[:wanted]]
    return CollectionPage(
        items=lines,
        next=lines[-1].name if len(names) > wanted else None,
        total=len(here) if after is None and len(here) <= wanted else None,
        warnings=[missing_index()] if index is None and lines else [],
    )


def show_collection(transaction: Transaction, name: str) -> CollectionView:
    """Return one collection with its statistics. Raises NotFound."""
    settings = transaction.settings
    with index_if_any(settings) as index:
        check_collection(settings, index, name)
        tally = None if index is None else _counted(index, settings.database_url, _SHOW_SECONDS)
        is_indexed = index is not None and index.finder.has(name)
        warnings = [missing_index()] if index is None else []
        if index is not None and (unread := unread_files(settings, index, name)):
            warnings.append(
                f"the index is behind: the indexer has yet to read captures of {counted(unread, 'WARC file')}, so the"
                " newest captures may be missing here"
            )
    line = _line(name, files_total(settings, name, time.monotonic() + _SHOW_SECONDS), tally, is_indexed)
    counts = (tally.collections.get(name) if tally and is_indexed else None) or Counts()
    if index is not None and (line.is_counted or counts.total.captures):
        warnings += problems(settings, name, counts.total.captures)
        warnings += held_elsewhere(settings, name)
    return CollectionView(
        **line.model_dump(),
        warnings=warnings,
        months=_by_name(counts.months),
        types=_largest(counts.types),
        statuses=_by_name(counts.statuses),
        kinds=_largest(counts.kinds),
        counted_rows=tally.reached if tally else 0,
        rows=tally.highest if tally else 0,
        counted_at=tally.at if tally else None,
        harvests=harvests_of(transaction, name),
        jobs=jobs_of(transaction, name),
    )


def _counted(index: OpenIndex, url: str, seconds: float) -> CaptureTally:
    try:
        return census_of(url).count(index.engine, seconds)
    except CapturesError as error:
        raise DatabaseRefused(str(error)) from error


def _line(name: str, files: FilesTotal | None, tally: CaptureTally | None, is_indexed: bool) -> CollectionLine:
    """Return the line; the tally may still have a collection that was deleted a moment ago."""
    counts = tally.collections.get(name) if tally is not None and is_indexed else None
    known = counts or (Counts() if tally is not None else None)
    return CollectionLine(
        name=name,
        files=files.files if files else None,
        open_files=files.open_files if files else None,
        file_bytes=files.bytes if files else None,
        captures=known.total.captures if known else None,
        first=known.first if known else None,
        last=known.last if known else None,
        is_counted=tally is not None and tally.is_complete,
    )


def _by_name(counts: Mapping[str, CaptureCount]) -> list[CountLine]:
    """Return the last lines by name: the newest months, the statuses in order."""
    return [_count_line(name, count) for name, count in sorted(counts.items())[-MOST_LINES:]]


def _largest(counts: Mapping[str, CaptureCount]) -> list[CountLine]:
    found = heapq.nlargest(MOST_LINES, counts.items(), key=lambda each: (each[1].captures, each[0]))
    return [_count_line(name, count) for name, count in found]


def _count_line(name: str, count: CaptureCount) -> CountLine:
    return CountLine(name=name[:1000], captures=count.captures, bytes=count.bytes)
