"""Redis may have lost a part of the dedup store. This module notices it.

INFO counts the keys that Redis has evicted since its start, but nothing reports a FLUSHALL. So each collection has a
mark, `gf:{collection}:whole`, with the run id of Redis and its count of evicted keys at a time when the store was
complete. The mark is set when the collection is new and after a rebuild. It is deleted when keys have been evicted
since, and a FLUSHALL deletes it with all other keys.
"""

from __future__ import annotations

import logging
import time
from typing import Final

from dedupdb.captures.capture_index import Captures
from dedupdb.claims.claims import mark_key
from dedupdb.redis_io.command import Command
from dedupdb.redis_io.link import RedisLink

logger = logging.getLogger(__name__)

_LOOK_SECONDS: Final = 5.0


class Completeness:
    """Reads the marks every few seconds, in a round trip of its own. For one thread."""

    def __init__(self, link: RedisLink, captures: Captures) -> None:
        self._link = link
        self._captures = captures
        self._known: dict[str, tuple[float, bool]] = {}

    def is_whole(self, collection: str) -> bool:
        """Return whether Redis knows every original of the collection, as far as this can be found out.

        Raises DedupUnavailable. Raises CapturesError when the index can't say whether the collection is new.
        """
        now = time.monotonic()
        looked, answer = self._known.get(collection, (0.0, False))
        if now - looked < _LOOK_SECONDS and collection in self._known:
            return answer
        found = self._look(collection)
        if answer and not found:
            logger.warning("collection %s: Redis has lost originals; the index is asked for them", collection)
        self._known[collection] = now, found
        return found

    def in_doubt(self) -> int:
        """Return how many collections were incomplete at the last check."""
        return sum(not answer for _, answer in self._known.values())

    def _look(self, collection: str) -> bool:
        info, mark = self._link.run([_info(collection), Command("GET", (mark_key(collection),))])
        run, evicted = str(info.get("run_id", "")), int(info.get("evicted_keys", 0))
        if mark is None:
            if self._captures.has(collection):
                return False
            self._link.run([_set_mark(collection, run, evicted)])
            return True
        marked_run, _, marked = mark.decode().partition(" ")
        if evicted == (int(marked) if marked_run == run else 0):
            return True
        self._link.run([Command("DEL", (mark_key(collection),))])  # so that the loss is known after a restart of Redis
        return False


def declare_whole(link: RedisLink, collection: str) -> None:
    """Mark a collection as complete in Redis, after a rebuild. Raises DedupUnavailable."""
    (info,) = link.run([_info(collection)], patient=True)
    link.run([_set_mark(collection, str(info.get("run_id", "")), int(info.get("evicted_keys", 0)))], patient=True)


def _info(collection: str) -> Command:
    """Return the command INFO for the server of the collection; a cluster has several servers."""
    return Command("INFO", (), beside=mark_key(collection))


def _set_mark(collection: str, run: str, evicted: int) -> Command:
    return Command("SET", (mark_key(collection), f"{run} {evicted}"))
