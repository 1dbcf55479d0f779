"""Whether the dedup store still has all that was told to it, or whether Redis has lost some of it.

Redis says how many keys it has evicted since it was started; that it was emptied, nobody says. So each collection has
a mark, `gf:{collection}:whole`: the run of Redis and its count of evicted keys, at the time when the store was known
to be whole. It is set when the collection is new and after a rebuild, and taken away when keys were evicted since; and
when everything is gone, so is the mark.
"""

from __future__ import annotations

import logging
import time
from typing import Final

from dedupdb.captures import Captures
from dedupdb.claims import mark_key
from dedupdb.command import Command
from dedupdb.redis_link import RedisLink

logger = logging.getLogger(__name__)

_LOOK_SECONDS: Final = 5.0


class Wholeness:
    """Looks at the marks every few seconds, in a round trip of its own. For one thread."""

    def __init__(self, link: RedisLink, captures: Captures) -> None:
        self._link = link
        self._captures = captures
        self._known: dict[str, tuple[float, bool]] = {}

    def is_whole(self, collection: str) -> bool:
        """Whether Redis knows every original of the collection, as far as it can be told.

        Raises DedupUnavailable, and CapturesError when the index has to be asked whether the collection is new.
        """
        now = time.monotonic()
        looked, answer = self._known.get(collection, (0.0, False))
        if now - looked < _LOOK_SECONDS and collection in self._known:
            return answer
        found = self._look(collection)
        if answer and not found:
            logger.warning("collection %s: Redis has lost originals; they are looked up in the index", collection)
        self._known[collection] = now, found
        return found

    def in_doubt(self) -> int:
        """How many collections were not whole when last looked at."""
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
        self._link.run([Command("DEL", (mark_key(collection),))])  # remembered when Redis is started again
        return False


def declare_whole(link: RedisLink, collection: str) -> None:
    """Mark a collection whose originals were all told to Redis just now. Raises DedupUnavailable."""
    (info,) = link.run([_info(collection)], patient=True)
    link.run([_set_mark(collection, str(info.get("run_id", "")), int(info.get("evicted_keys", 0)))], patient=True)


def _info(collection: str) -> Command:
    """What the server says of itself that has the collection: in a cluster there are others."""
    return Command("INFO", (), beside=mark_key(collection))


def _set_mark(collection: str, run: str, evicted: int) -> Command:
    return Command("SET", (mark_key(collection), f"{run} {evicted}"))
