"""Several homes may share one dedup store. This module stores in which home each WARC file lies.

`gf:{collection}:homes` is a hash of the homes' names (`archive.storage.presence.home_name`) by the files' short keys. A
home without a file finds out here whether the file was removed from it or belongs to another home.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable
from itertools import batched
from typing import Final

from archive.capture import Capture
from dedupdb.claims.packing import file_key
from dedupdb.redis_io.command import Command
from dedupdb.redis_io.link import RedisLink

_REMEMBERED: Final = 10_000
_AT_ONCE: Final = 500


class Homes:
    """One process of the home `own` stores and asks the homes of files by this object."""

    def __init__(self, link: RedisLink, own: str) -> None:
        self._link = link
        self.own = own
        self._known: dict[tuple[str, str], str] = {}
        self._added: set[tuple[str, str]] = set()

    def of(self, collection: str, filename: str) -> str:
        """Return the name of the file's home; empty when it is not known. Raises DedupUnavailable."""
        name = (collection, filename)
        if name not in self._known:
            (found,) = self._link.run([Command("HGET", (homes_key(collection), file_key(filename)))])
            if not found:
                return ""
            if len(self._known) >= _REMEMBERED:
                self._known.clear()
            self._known[name] = found.decode()
        return self._known[name]

    def of_all(self, collection: str, filenames: Iterable[str]) -> dict[str, str]:
        """Return the homes of those of many files whose home is known. Raises DedupUnavailable."""
        found: dict[str, str] = {}
        for names in batched(filenames, _AT_ONCE):
            keys = [file_key(name) for name in names]
            (homes,) = self._link.run([Command("HMGET", (homes_key(collection), *keys))], patient=True)
            found |= {name: home.decode() for name, home in zip(names, homes, strict=True) if home}
        return found

    def numbers(self, collection: str) -> dict[str, int]:
        """Return for each home how many files of the collection are noted as its own. Raises DedupUnavailable."""
        (homes,) = self._link.run([Command("HVALS", (homes_key(collection),))], patient=True)
        return dict(Counter(home.decode() for home in homes))

    def forget(self, collection: str, filenames: Iterable[str]) -> None:
        """Forget the homes of these files. Raises DedupUnavailable."""
        for names in batched(filenames, _AT_ONCE):
            self._link.run([Command("HDEL", (homes_key(collection), *map(file_key, names)))], patient=True)

    def add(self, captures: Iterable[Capture]) -> None:
        """Store that the files of these captures are in this home, once for each file. Raises DedupUnavailable."""
        fresh = {(capture.collection, capture.filename) for capture in captures} - self._added
        if fresh:
            commands = [Command("HSET", (homes_key(name), file_key(file), self.own)) for name, file in fresh]
            self._link.run(commands)
            if len(self._added) >= _REMEMBERED:
                self._added.clear()
            self._added |= fresh

    def add_all(self, collection: str, filenames: Collection[str]) -> None:
        """Store that these files are in this home, for those without a home in Redis. Raises DedupUnavailable."""
        for names in batched(filenames, _AT_ONCE):
            keys = [file_key(name) for name in names]
            (homes,) = self._link.run([Command("HMGET", (homes_key(collection), *keys))], patient=True)
            unknown = [part for key, home in zip(keys, homes, strict=True) if not home for part in (key, self.own)]
            if unknown:
                self._link.run([Command("HSET", (homes_key(collection), *unknown))], patient=True)


def homes_key(collection: str) -> str:
    """Return the key of the homes of a collection's files."""
    return f"gf:{{{collection}}}:homes"
