"""Which WARC files the originals lie in, by the short keys that stand for their names in the dedup store.

`gf:{collection}:files` is a hash of the names by their keys. A key is made from the name alone, so that nobody has to
agree on it, and a store that has lost a name can't take it for another.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from archive.capture import Original
from dedupdb.command import Command
from dedupdb.packing import file_key, file_key_in
from dedupdb.redis_link import DedupUnavailable, RedisLink

_REMEMBERED: Final = 10_000


class Filenames:
    """The names as one writer knows them; what it does not know it asks Redis for, once."""

    def __init__(self, link: RedisLink) -> None:
        self._link = link
        self._known: dict[bytes, str] = {}

    def announce(self, originals: Iterable[tuple[str, Original]]) -> list[Command]:
        """The commands that make the files of those originals, each with its collection, known to everybody."""
        names: dict[str, dict[str, None]] = {}
        for collection, original in originals:
            if original.filename:
                names.setdefault(collection, {})[original.filename] = None
        return [
            Command("HSET", (files_key(collection), *(part for name in some for part in (file_key(name), name))))
            for collection, some in names.items()
        ]

    def of(self, collection: str, packed: Sequence[bytes]) -> dict[bytes, str]:
        """The names of the files that those packed originals lie in, as far as they can be had now."""
        keys = {key for each in packed if (key := file_key_in(each))}
        if asked := [key for key in keys if key not in self._known]:
            self._learn(collection, asked)
        return {key: name for key in keys if (name := self._known.get(key))}

    def _learn(self, collection: str, keys: Sequence[bytes]) -> None:
        try:
            (names,) = self._link.run([Command("HMGET", (files_key(collection), *keys))])
        except DedupUnavailable:
            return  # a revisit needs no file's name: it is for logs
        if len(self._known) > _REMEMBERED:
            self._known.clear()
        self._known |= {key: name.decode() for key, name in zip(keys, names, strict=True) if name}


def files_key(collection: str) -> str:
    """The key of a collection's file names."""
    return f"gf:{{{collection}}}:files"
