"""The dedup store knows the WARC files of originals by short keys. This module stores and reads the names behind them.

`gf:{collection}:files` is a hash of the names by their keys. A key is computed from the name alone, so all writers use
the same key, and a store that has lost a name can't mistake the file for another.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from archive.capture import Original
from dedupdb.claims.packing import file_key, file_key_in
from dedupdb.redis_io.command import Command
from dedupdb.redis_io.link import DedupUnavailable, RedisLink

_REMEMBERED: Final = 10_000


class Filenames:
    """The names that one writer knows. It asks Redis once for each name that it does not know."""

    def __init__(self, link: RedisLink) -> None:
        self._link = link
        self._known: dict[bytes, str] = {}

    def announce(self, originals: Iterable[tuple[str, Original]]) -> list[Command]:
        """Return the commands that store the file names of these originals, each with its collection."""
        names: dict[str, dict[str, None]] = {}
        for collection, original in originals:
            if original.filename:
                names.setdefault(collection, {})[original.filename] = None
        return [
            Command("HSET", (files_key(collection), *(part for name in some for part in (file_key(name), name))))
            for collection, some in names.items()
        ]

    def of(self, collection: str, packed: Sequence[bytes]) -> dict[bytes, str]:
        """Return the file names of these packed originals by their keys, as far as Redis answers."""
        keys = {key for each in packed if (key := file_key_in(each))}
        if asked := [key for key in keys if key not in self._known]:
            self._learn(collection, asked)
        return {key: name for key in keys if (name := self._known.get(key))}

    def _learn(self, collection: str, keys: Sequence[bytes]) -> None:
        try:
            (names,) = self._link.run([Command("HMGET", (files_key(collection), *keys))])
        except DedupUnavailable:
            return  # the name is only for logs, not for the revisit
        if len(self._known) > _REMEMBERED:
            self._known.clear()
        self._known |= {key: name.decode() for key, name in zip(keys, names, strict=True) if name}


def forget_names(collection: str, filenames: Iterable[str]) -> Command:
    """Return the command that forgets the names of these files, of which there must be at least one."""
    return Command("HDEL", (files_key(collection), *map(file_key, filenames)))


def files_key(collection: str) -> str:
    """Return the key of a collection's file names."""
    return f"gf:{{{collection}}}:files"
