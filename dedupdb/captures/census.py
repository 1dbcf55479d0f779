"""The census counts the captures of every collection by month, media type and status, a bounded number at a time.

It walks through the table in the order of the rows' numbers and remembers how far it came, so that a later call counts
new rows only. Now and then it counts all rows anew, because rows may have been removed; the earlier counts are shown
until that is done.
"""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from copy import deepcopy
from dataclasses import dataclass, field, replace
from typing import Any, Final

from sqlalchemy import Engine, Select, func, select

from archive.dates import Micros, now_micros, timestamp14
from dedupdb.captures.schema import CAPTURES, reading

STEP: Final = 20_000
MOST_NAMES: Final = 1_000
"""Months, types and statuses of a collection that are told apart; the rest is counted together."""
OTHERS: Final = "others"
_DAY: Final = 86_400_000_000
_RECOUNT_SECONDS: Final = 900.0
_PATIENCE: Final = 20
"""A count that took long is not repeated before so many times that time have passed."""
_MOST_CENSUSES: Final = 8
_C: Final = CAPTURES.c


@dataclass(slots=True)
class CaptureCount:
    """Captures, and the bytes of their records as they are stored."""

    captures: int = 0
    bytes: int = 0

    def add(self, captures: int, size: int) -> None:
        """Count some more."""
        self.captures += captures
        self.bytes += size


@dataclass(slots=True)
class Counts:
    """The counts of one collection."""

    total: CaptureCount = field(default_factory=CaptureCount)
    first: Micros | None = None
    last: Micros | None = None
    months: dict[str, CaptureCount] = field(default_factory=dict)
    """By `2026-11`, in UTC."""
    types: dict[str, CaptureCount] = field(default_factory=dict)
    """By media type; a revisit has the type of its own record."""
    statuses: dict[str, CaptureCount] = field(default_factory=dict)
    """By status; `-` is for records without one."""
    kinds: dict[str, CaptureCount] = field(default_factory=dict)


@dataclass(slots=True)
class CaptureTally:
    """One pass through the table: what was counted, and how far."""

    collections: dict[str, Counts] = field(default_factory=dict)
    reached: int = 0
    """The number of the last row that was looked at."""
    highest: int = 0
    """The highest number that a row had at the last call."""
    at: Micros = 0
    began: float = 0.0
    seconds: float = 0.0

    @property
    def is_complete(self) -> bool:
        """Return whether all rows of the last call were counted."""
        return self.at > 0 and self.reached >= self.highest


class Census:
    """Counts the rows of one index. Safe to share between threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._shown = CaptureTally()
        self._anew: CaptureTally | None = None

    def count(self, engine: Engine, seconds: float) -> CaptureTally:
        """Count for at most about so many seconds. Return what is known. Raises CapturesError.

        While another thread counts, return what is known at once.
        """
        if not self._lock.acquire(blocking=not self._shown.at):
            return self._shown
        try:
            self._count(engine, time.monotonic() + seconds)
        finally:
            self._lock.release()
        return self._shown

    def _count(self, engine: Engine, ends: float) -> None:
        with reading(engine) as connection:
            highest = connection.scalar(select(func.max(_C.id))) or 0
        if self._anew is None and self._is_doubtful(highest):
            self._anew = CaptureTally(began=time.monotonic())
        tally = replace(self._anew or self._shown, highest=highest)
        tally.collections = dict(tally.collections)  # pages may still read the counts that were returned before
        fresh: set[str] = set()
        started = time.monotonic()
        while tally.reached < highest:
            end = min(tally.reached + STEP, highest)
            with reading(engine) as connection:
                for row in connection.execute(counting(tally.reached, end)):
                    _add(tally, row, fresh)
            tally.reached = end
            if time.monotonic() > ends:
                break
        tally.seconds += time.monotonic() - started
        tally.at = now_micros()
        tally.began = tally.began or started
        if self._anew is None or tally.is_complete:
            self._shown, self._anew = tally, None
        else:
            self._anew = tally

    def _is_doubtful(self, highest: int) -> bool:
        """Return whether rows may have been removed since they were counted."""
        shown = self._shown
        if not shown.is_complete:
            return False
        age = time.monotonic() - shown.began
        return highest < shown.reached or age > max(_RECOUNT_SECONDS, _PATIENCE * shown.seconds)


def counting(after: int, end: int) -> Select[Any]:
    """Return the query that counts the rows with numbers above `after` up to `end`."""
    groups = (_C.collection, (_C.date // _DAY).label("day"), _C.mime, _C.status, _C.kind)
    return (
        select(
            *groups,
            func.count().label("captures"),
            func.sum(_C.length).label("bytes"),
            func.min(_C.date).label("first"),
            func.max(_C.date).label("last"),
        )
        .where(_C.id > after, _C.id <= end)
        .group_by(*groups)
    )


def census_of(url: str) -> Census:
    """Return the census of the index at this address; the process has one for each."""
    with _LOCK:
        found = _CENSUSES.setdefault(url, Census())
        _CENSUSES.move_to_end(url)
        while len(_CENSUSES) > _MOST_CENSUSES:
            _CENSUSES.popitem(last=False)
        return found


_CENSUSES: Final = OrderedDict[str, Census]()
_LOCK: Final = threading.Lock()


def _add(tally: CaptureTally, row: Any, fresh: set[str]) -> None:
    """Count a row; `fresh` names the collections whose counts nobody else has yet."""
    if row.collection not in fresh:
        fresh.add(row.collection)
        tally.collections[row.collection] = deepcopy(tally.collections.get(row.collection)) or Counts()
    counts = tally.collections[row.collection]
    captures, size = int(row.captures), int(row.bytes)
    counts.total.add(captures, size)
    counts.first = row.first if counts.first is None else min(counts.first, row.first)
    counts.last = row.last if counts.last is None else max(counts.last, row.last)
    month = timestamp14(int(row.day) * _DAY)[:6]
    for names, name in (
        (counts.months, f"{month[:4]}-{month[4:]}"),
        (counts.types, row.mime),
        (counts.statuses, "-" if row.status is None else str(row.status)),
        (counts.kinds, row.kind),
    ):
        if name not in names and len(names) >= MOST_NAMES:
            name = OTHERS
        names.setdefault(name, CaptureCount()).add(captures, size)
