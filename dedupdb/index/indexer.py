"""Keeps the capture index in step with what is on disk, and rebuilds it and the dedup store from there.

Captures come by two ways. Writers announce them on a stream, which is quick; and they stand in the sidecars beside
the WARC files, which is the truth. Both are read from a position that is stored with the rows, and adding a capture
twice adds it once, so that neither a crash nor a lost announcement loses or doubles anything.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final

from archive.capture import Capture
from dedupdb.captures import Captures, CapturesError, Position
from dedupdb.claims import Claims
from dedupdb.command import Command
from dedupdb.eligible import Eligible
from dedupdb.originals import Originals
from dedupdb.redis_link import DedupUnavailable, RedisLink
from dedupdb.sidecars import Sidecars
from dedupdb.stream import STREAM, from_entry
from dedupdb.trust import acceptable
from dedupdb.wholeness import declare_whole

logger = logging.getLogger(__name__)

_SOURCE: Final = f"stream/{STREAM}"
_START: Final = "0-0"
_BATCH: Final = 50
"""Entries read at once; each announces up to 64 captures."""
_GATHER_SECONDS: Final = 0.2
"""Pause after each look at the stream: under load, a transaction for many captures instead of one for a few."""


class Indexer:
    """The one writer of a capture index. Several at once do no harm, and no good."""

    def __init__(
        self,
        redis_url: str,
        captures: Captures,
        home: Path,
        *,
        timeout_seconds: float = 5,
        poll_seconds: float = 0.5,
        reconcile_seconds: float = 60,
    ) -> None:
        """`poll_seconds`: longest wait for a stream entry; `reconcile_seconds`: how often sidecars are looked through.

        With an empty `redis_url` there is only the looking through.
        """
        self._link = RedisLink(redis_url, timeout_seconds=timeout_seconds + poll_seconds) if redis_url else None
        self._captures = captures
        self._sidecars = Sidecars(home, captures)
        self._poll_seconds = poll_seconds
        self._reconcile_seconds = reconcile_seconds
        self._is_following = True

    def run(self, stop: threading.Event) -> None:
        """Take in captures until `stop` is set; what was announced before that is in the index on return.

        Raises CapturesError only at the end: until then, a database that fails is tried again.
        """
        due = 0.0
        while not stop.is_set():
            try:
                if time.monotonic() >= due:
                    self.reconcile()
                    due = time.monotonic() + self._reconcile_seconds
                if self._follow(wait=True):
                    stop.wait(_GATHER_SECONDS)
                else:
                    due = 0.0
                    stop.wait(self._poll_seconds)
            except CapturesError as error:
                logger.error("captures are not taken in: %s", error)
                stop.wait(self._poll_seconds)
        self._follow(wait=False)
        self.reconcile()

    def take(self, *, wait: bool = False) -> int:
        """Take in what was announced since the last time. How many captures were new.

        Raises DedupUnavailable. Rows and position are one transaction; the stream is shortened after it.
        """
        added = 0
        while entries := self._announced(wait=wait):
            reached = entries[-1][0].decode()
            added += self._captures.add(_captures_in(entries), position=Position(_SOURCE, reached))
            self._run(Command("XTRIM", (STREAM, "MINID", "~", reached)))
            if wait or len(entries) < _BATCH:
                break
        return added

    def reconcile(self, collection: str | None = None) -> int:
        """Take in what is new in the sidecars, of one collection or of all. How many captures were new."""
        added = self._sidecars.reconcile(collection)
        if added:
            logger.info("%d captures of %s taken from sidecars", added, collection or "all collections")
        return added

    def reindex(self, collection: str) -> int:
        """Rebuild a collection's index from its sidecars, first writing those that are missing. How many captures now.

        Stopped half way, the next `reconcile` goes on with it.
        """
        self._sidecars.write_missing(collection)
        before = self._sidecars.reset(collection)
        self._sidecars.reconcile(collection)
        now = self._captures.count(collection)
        logger.info("collection %s: index rebuilt, %d captures before and %d now", collection, before, now)
        return now

    def rebuild_dedup(self, collection: str, claims: Claims, eligible: Eligible) -> int:
        """Fill the dedup store again from the collection's index, all its buckets. How many originals it knows.

        Those are, by the rules given, the earliest of each payload and bucket. Raises DedupUnavailable.
        """
        claims.forget(collection)
        restored = claims.restore(Originals(self._captures, eligible).of(collection))
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
        """`take`, and whether the stream could be read."""
        if self._link is None:
            return False
        try:
            self.take(wait=wait)
        except DedupUnavailable as error:
            if self._is_following:
                logger.warning("announcements can't be read, sidecars are looked through instead: %s", error)
            self._is_following = False
            return False
        if not self._is_following:
            logger.info("announcements can be read again")
        self._is_following = True
        return True

    def _announced(self, *, wait: bool) -> Sequence[tuple[bytes, dict[bytes, bytes]]]:
        """The next entries; none when none come within `poll_seconds`."""
        mark = self._captures.positions(_SOURCE).get(_SOURCE, _START)
        if found := self._read(mark, wait=wait):
            return found
        newest = self._run(Command("XREVRANGE", (STREAM, "+", "-", "COUNT", 1)))
        if not newest or _number(newest[0][0].decode()) >= _number(mark):
            return ()
        logger.warning(
            "stream %s ends before %s, where it was read to: it is another one, read from its start", STREAM, mark
        )
        return self._read(_START, wait=False)

    def _read(self, mark: str, *, wait: bool) -> Sequence[tuple[bytes, dict[bytes, bytes]]]:
        block = ("BLOCK", max(1, round(self._poll_seconds * 1000))) if wait else ()
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
            logger.warning("stream entry %s is left out: %s", number.decode(), error)
            continue
        for capture in announced:
            try:
                yield acceptable(capture)
            except ValueError as error:
                logger.warning("a capture of stream entry %s is left out: %s", number.decode(), error)


def _number(entry_id: str) -> tuple[int, ...]:
    return tuple(int(part) for part in entry_id.split("-"))
