"""Makes the dedup store forget originals whose records no longer exist."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from itertools import batched
from typing import Final

from archive.capture import Original
from dedupdb.claims.claims import PayloadKey, originals_pattern
from dedupdb.claims.file_names import forget_names
from dedupdb.claims.packing import file_key, pack_original
from dedupdb.redis_io.command import RedisScript
from dedupdb.redis_io.link import RedisLink

_FORGET: Final = RedisScript.load("forget.lua")
_FORGET_FILES: Final = RedisScript.load("forget_files.lua")
_FILES_AT_ONCE: Final = 1000


def forget(link: RedisLink, gone: Sequence[tuple[PayloadKey, Original]]) -> int:
    """Forget these originals in every bucket of their payloads. Return how many entries were dropped.

    An entry that has another original by now stays. Raises DedupUnavailable.
    """
    collections: dict[str, tuple[list[bytes], list[bytes]]] = {}
    for payload, original in gone:
        keys, arguments = collections.setdefault(payload.collection, ([], []))
        # File and offset, which may be unknown, come first in an entry: the rest of it identifies the original.
        ending = pack_original(replace(original, filename=""))
        for hash_key in (*(known for known, _ in payload.places), *payload.searched_hashes):
            keys.append(hash_key)
            arguments += (payload.field, ending)
    commands = [_FORGET.command(keys, arguments) for keys, arguments in collections.values() if keys]
    return sum(map(int, link.run(commands, patient=True)))


def forget_files(link: RedisLink, collection: str, filenames: Collection[str]) -> int:
    """Forget every original of the collection in one of these files. Return how many entries were dropped.

    Redis searches the whole collection, one hash at a time. Raises DedupUnavailable.
    """
    forgotten = 0
    for names in batched(filenames, _FILES_AT_ONCE):
        gone = [file_key(name) for name in names]
        for keys in link.keys(originals_pattern(collection)):
            forgotten += sum(map(int, link.run([_FORGET_FILES.command([key], gone) for key in keys], patient=True)))
        link.run([forget_names(collection, names)], patient=True)
    return forgotten
