"""Drops the captures of removed WARC files from the index and the dedup store."""

from __future__ import annotations

import logging
from collections.abc import Iterable

from archive.storage.presence import Presence, WarcFiles
from dedupdb.captures.capture_index import Captures
from dedupdb.claims.forgetting import forget_files
from dedupdb.claims.homes import Homes
from dedupdb.index.holdings import holdings
from dedupdb.index.sidecars import source_of
from dedupdb.redis_io.link import RedisLink

logger = logging.getLogger(__name__)


class Sweeper:
    """Looks for the file of every capture in the index. For one thread."""

    def __init__(self, link: RedisLink | None, captures: Captures, files: WarcFiles, home: str = "") -> None:
        """`home` is the name of this home where others share the dedup store or the index. Their files are ignored.

        Without `link`, only the index is changed.
        """
        self._link = link
        self._captures = captures
        self._files = files
        self._homes = Homes(link, home) if home and link is not None else None
        self._home = home

    def sweep(self, collections: Iterable[str]) -> int:
        """Drop the captures of these collections in removed files. Return how many captures were dropped.

        Redis is changed first. After an interruption, the next call finds the files in the index again and continues.
        Raises DedupUnavailable and CapturesError.
        """
        return sum(self._sweep(collection) for collection in collections)

    def _sweep(self, collection: str) -> int:
        names = self._captures.filenames(collection)
        found = self._files.presence_of_all(collection, names)
        if self._homes is not None:
            here = [name for name in names if isinstance(self._files.size(collection, name), int)]
            self._homes.add_all(collection, here)
        missing = [name for name in names if found[name] is Presence.MISSING]
        gone = holdings(self._link, self._home, collection, missing, ()).own
        if not gone:
            return 0
        if self._link is not None:
            forget_files(self._link, collection, gone)
        dropped = sum(self._captures.drop_file(collection, name, source_of(collection, name)) for name in gone)
        logger.warning(
            "collection %s: %d WARC files were removed, such as %s; their %d captures are dropped from the index",
            *(collection, len(gone), gone[0], dropped),
        )
        return dropped
