"""The indexer keeps the capture index in step with the files on disk. It also rebuilds the index and the dedup store.

Captures come in two ways. Writers announce them on a stream, which is quick but may lose some. The sidecars beside the
WARC files have them all. The positions of both are stored with the rows, and a capture that is added twice has one row.
So neither a crash nor a lost announcement loses or doubles a capture.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, Final

from archive.capture import Capture
from archive.steady_work import SteadyWork
from archive.storage.presence import WarcFiles
from dedupdb.captures.capture_index import Captures, SourcePosition
from dedupdb.captures.schema import CapturesError
from dedupdb.captures.stream import STREAM, from_entry
from dedupdb.captures.validation import acceptable
from dedupdb.claims.claims import Claims
from dedupdb.claims.completeness import declare_whole
from dedupdb.claims.dedup_rules import DedupRules
from dedupdb.claims.originals import IsThere, Originals
from dedupdb.index.holdings import holdings
from dedupdb.index.removed_files import Sweeper
from dedupdb.index.sidecar_repair import RepairedSidecar
from dedupdb.index.sidecars import Sidecars
from dedupdb.redis_io.command import Command
from dedupdb.redis_io.link import DedupUnavailable, RedisLink

logger = logging.getLogger(__name__)

_SOURCE: Final = f"stream/{STREAM}"
_START: Final = "0-0"
_BATCH: Final = 50
"""Entries that are read at once; each announces up to 64 captures."""
_GATHER_SECONDS: Final = 0.2
"""Pause after each read of the stream, so that under load a transaction has many captures."""
_LONGEST_READ_SECONDS: Final = 0.2
"""Longest wait for an entry in one read: an indexer that is to end is waiting for an entry, as a rule."""


class Indexer:
    """The indexer writes a capture index. Several indexers of one index do the same work without harm."""

    def __init__(
        self,
        redis_url: str,
        captures: Captures,
        home: Path,
        *,
        timeout_seconds: float = 5,
        poll_seconds: float = 0.5,
        reconcile_seconds: float = 60,
        files: WarcFiles | None = None,
        own_home: str = "",
    ) -> None:
        """`poll_seconds` is the pause while Redis is away; one below 0.2 s is the longest wait for a stream entry, too.
        `reconcile_seconds` is the pause between two searches of the sidecars.

        With an empty `redis_url`, only sidecars are read. With `files`, each search ends with dropping the captures of
        removed WARC files. `own_home` is the name of this home where other homes share Redis or the index.
        """
        self._link = RedisLink(redis_url, timeout_seconds=timeout_seconds + poll_seconds) if redis_url else None
        self._captures = captures
        self._sidecars = Sidecars(home, captures, files)
        self._sweeper = Sweeper(self._link, captures, files, own_home) if files is not None else None
        self._own_home = own_home
        self._poll_seconds = poll_seconds
        self._reconcile_seconds = reconcile_seconds
        self._is_following = True
        self._due = 0.0
        """When the sidecars are searched again, in seconds of `time.monotonic`."""

    def run(self, stop: threading.Event) -> None:
        """Add captures until `stop` is set. All captures that were announced before are in the index on return.

        A failing database is tried again; only at the end CapturesError is raised.
        """
        follow = SteadyWork("the indexer's addition of captures to the index", self._round, CapturesError)
        while not stop.is_set():
            pause = follow()
            stop.wait(self._poll_seconds if pause is None else pause)
        self._follow(wait=False)
        self.reconcile()
        self.sweep()

    def _round(self) -> float:
        """Add what was announced, and search the sidecars when it is time. Return the seconds to wait."""
        if time.monotonic() >= self._due:
            self.reconcile()
            self.sweep()
            self._due = time.monotonic() + self._reconcile_seconds
        if self._follow(wait=True):
            return _GATHER_SECONDS
        self._due = 0.0
        return self._poll_seconds

    def take(self, *, wait: bool = False) -> int:
        """Add the captures that were announced since the last call. Return how many were new.

        Rows and position are one transaction, and the stream is shortened after it. Raises DedupUnavailable.
        """
        added = 0
        while entries := self._announced(wait=wait):
            reached = entries[-1][0].decode()
            added += self._captures.add(_captures_in(entries), position=SourcePosition(_SOURCE, reached))
            self._run(Command("XTRIM", (STREAM, "MINID", "~", reached)))
            if wait or len(entries) < _BATCH:
                break
        return added

    def reconcile(self, collection: str | None = None) -> int:
        """Add the captures of new lines in sidecars, of one collection or of all. Return how many were new."""
        added = self._sidecars.reconcile(collection)
        if added:
            logger.info("added %d captures of %s from sidecars", added, collection or "all collections")
        return added

    def sweep(self, collection: str | None = None) -> int:
        """Drop captures whose WARC file was removed, of one collection or of all. Return how many were dropped.

        While Redis can't be reached, nothing is dropped.
        """
        if self._sweeper is None:
            return 0
        try:
            return self._sweeper.sweep([collection] if collection else self._captures.collections())
        except DedupUnavailable as error:
            logger.info("can't look for removed files: %s", error)
            return 0

    def reindex(self, collection: str, *, report: Callable[[RepairedSidecar], None] = lambda _: None) -> int:
        """Rebuild the index of a collection from its sidecars. Return how many captures it has now.

        Missing and incomplete sidecars are rewritten first, from their WARC files. `report` is called with the state of
        each sidecar. After an interruption, the next `reconcile` continues. Captures in files of other homes stay.
        """
        for repaired in self._sidecars.repair(collection):
            report(repaired)
        before = self._sidecars.reset(collection, self._own_files(collection))
        self._sidecars.reconcile(collection, anew=True)
        now = self._captures.count(collection)
        logger.info("collection %s: rebuilt the index, which had %d captures and has %d now", collection, before, now)
        return now

    def _own_files(self, collection: str) -> tuple[str, ...] | None:
        """Return the files of this home; None when no other home shares the index."""
        if not self._own_home:
            return None
        return holdings(self._link, self._own_home, collection, self._captures.filenames(collection), ()).own

    def rebuild_dedup(
        self, collection: str, claims: Claims, eligible: DedupRules, is_there: IsThere | None = None
    ) -> int:
        """Rebuild the dedup store from the index of the collection, with all buckets. Return the number of originals.

        By the given rules, the earliest capture of each payload in each bucket is an original; `is_there` leaves out
        captures whose files are missing. Raises DedupUnavailable.
        """
        claims.forget(collection)
        return self.fill_dedup(collection, claims, eligible, is_there)

    def fill_dedup(self, collection: str, claims: Claims, eligible: DedupRules, is_there: IsThere | None = None) -> int:
        """Add what the dedup store lacks of the index of the collection. Return the number of new originals.

        The rules are those of `rebuild_dedup`, so both leave the same store. Raises DedupUnavailable.
        """
        restored = claims.restore(Originals(self._captures, eligible, is_there).of(collection))
        declare_whole(claims.link, collection)
        return restored

    def close(self) -> None:
        """Close the connections to Redis."""
        if self._link is not None:
            self._link.close()

    def __enter__(self) -> Indexer:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _follow(self, *, wait: bool) -> bool:
        """Call `take`, and return whether the stream could be read."""
        if self._link is None:
            return False
        try:
            self.take(wait=wait)
        except DedupUnavailable as error:
            if self._is_following:
                logger.warning("can't read announcements, so sidecars are searched: %s", error)
            self._is_following = False
            return False
        if not self._is_following:
            logger.info("announcements can be read again")
        self._is_following = True
        return True

    def _announced(self, *, wait: bool) -> Sequence[tuple[bytes, dict[bytes, bytes]]]:
        """Return the next entries; none when no entry comes within a moment."""
        mark = self._captures.positions(_SOURCE).get(_SOURCE, _START)
        if found := self._read(mark, wait=wait):
            return found
        newest = self._run(Command("XREVRANGE", (STREAM, "+", "-", "COUNT", 1)))
        if not newest or _number(newest[0][0].decode()) >= _number(mark):
            return ()
        logger.warning(
            "stream %s ends before entry %s, which was read before; the stream is new and is read from its start",
            STREAM,
            mark,
        )
        return self._read(_START, wait=False)

    def _read(self, mark: str, *, wait: bool) -> Sequence[tuple[bytes, dict[bytes, bytes]]]:
        seconds = min(self._poll_seconds, _LONGEST_READ_SECONDS)
        block = ("BLOCK", max(1, round(seconds * 1000))) if wait else ()
        reply = self._run(Command("XREAD", ("COUNT", _BATCH, *block, "STREAMS", STREAM, mark)))
        return reply[0][1] if reply else ()

    def _run(self, command: Command) -> Any:
        if self._link is None:
            return None
        return self._link.run([command])[0]


def _captures_in(entries: Sequence[tuple[bytes, dict[bytes, bytes]]]) -> Iterator[Capture]:
    for number, entry in entries:
        try:
            announced = from_entry(entry)
        except ValueError as error:
            logger.warning("stream entry %s is skipped: %s", number.decode(), error)
            continue
        for capture in announced:
            try:
                yield acceptable(capture)
            except ValueError as error:
                logger.warning("a capture of stream entry %s is skipped: %s", number.decode(), error)


def _number(entry_id: str) -> tuple[int, ...]:
    return tuple(int(part) for part in entry_id.split("-"))
