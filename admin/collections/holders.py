"""Find out who holds the files of a collection: this home, other homes that share the index, and the storage.

A folder that is missing in this home says nothing about the files: they may be in another home or in the storage. So
commands that advise or do a deletion ask here first.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from admin.collections.marks import deleting_folder
from admin.units import counted
from archive.names.warc_paths import closed, growing, sidecars
from archive.settings.load import Settings
from archive.settings.values.redacted import without_secrets
from archive.storage.presence import home_name, is_alone
from archive.storage.storage import Storage, StorageError
from dedupdb.claims.homes import Homes
from dedupdb.index.holdings import Holdings, holdings
from dedupdb.redis_io.link import DedupUnavailable, RedisLink

_MOST_NAMED: Final = 3


@dataclass(frozen=True, slots=True)
class Holders:
    """Several homes may hold the files in which the index has captures of one collection."""

    files: Holdings
    homes: Mapping[str, int] = field(default_factory=dict)
    """The number of files that Redis notes for each other home, whether the index has captures of them or not."""
    stored: tuple[str, ...] = ()
    """The names of all files of the collection in the storage."""
    storage: str = ""
    """The place of the storage; empty without one."""
    is_here: bool = False
    """This home has a folder of the collection."""
    captures: Mapping[str, int] = field(default_factory=dict)
    """The number of captures in the index, by file."""

    @property
    def others(self) -> tuple[str, ...]:
        """Return the files that this home must not take out of the index and the dedup store.

        Other homes hold these files or may hold them. Without a folder here, the files in the storage count too.
        """
        names = {name for held in self.files.others.values() for name in held} | {*self.files.unknown}
        if not self.is_here:
            names |= {*self.files.own} & {*self.stored}
        return tuple(sorted(names))

    @property
    def has_others(self) -> bool:
        """Return whether others hold files of the collection, or may hold some."""
        return bool(self.homes or self.others)

    @property
    def own(self) -> tuple[str, ...]:
        """Return the files whose captures a deletion in this home takes out."""
        return tuple(sorted({*self.files.own} - {*self.others}))

    def count(self, names: tuple[str, ...]) -> int:
        """Return the number of captures in these files."""
        return sum(self.captures.get(name, 0) for name in names)

    def lines(self) -> Iterator[str]:
        """Yield a line for each other holder."""
        homes = sorted(self.homes.items())
        for home, number in homes[:_MOST_NAMED]:
            captures = self.count(self.files.others.get(home, ()))
            yield f"home {home} holds {counted(number, 'file')} ({counted(captures, 'capture')} in the index)"
        if len(homes) > _MOST_NAMED:
            yield f"{len(homes) - _MOST_NAMED} more homes hold files"
        if self.stored:
            yield f"the storage {self.storage} holds {counted(len(self.stored), 'file')}"
        if unknown := tuple(name for name in self.files.unknown if name not in self.stored):
            yield (
                f"{counted(len(unknown), 'file')} ({counted(self.count(unknown), 'capture')}) may be in another home "
                "that shares the index"
            )


def find_holders(settings: Settings, name: str, captures: Mapping[str, int], link: RedisLink | None = None) -> Holders:
    """Return who holds a collection; `captures` are those of the index, by file.

    Without `link`, the shared Redis is asked, if there is one. While it does not answer, the homes of files that are
    not here are unknown.
    """
    folders = [path for path in (settings.collection(name), deleting_folder(settings, name)) if path.is_dir()]
    here = {found for folder in folders for found in _files_in(folder)}
    home = "" if is_alone(settings) else home_name(settings)
    stored, storage = _stored(settings, name)
    names = {*captures, *here}
    with ExitStack() as stack:
        if link is None and settings.redis.url:
            link = RedisLink(settings.redis.url, timeout_seconds=settings.redis.timeout_seconds)
            stack.callback(link.close)
        try:
            found = holdings(link, home, name, names, here)
            homes = Homes(link, home).numbers(name) if link is not None and home else {}
        except DedupUnavailable:
            found, homes = holdings(None, home, name, names, here), {}
    others = {each: number for each, number in homes.items() if each != home}
    return Holders(found, others, stored, storage, bool(folders), captures)


def shared_places(settings: Settings) -> tuple[str, str]:
    """Return the index and the Redis in words, such as `the shared index at db.example.org/ghostfleet`."""
    index = without_secrets(settings.database.url).rpartition("://")[2] if settings.database.url else ""
    redis = without_secrets(settings.redis.url).rpartition("://")[2] if settings.redis.url else ""
    return f"the shared index at {index}" if index else "the index", (
        f"the shared Redis at {redis}" if redis else "Redis"
    )


def _files_in(folder: Path) -> Iterator[str]:
    for places in (closed(folder), growing(folder), sidecars(folder)):
        yield from (place.name for place in places)


def _stored(settings: Settings, name: str) -> tuple[tuple[str, ...], str]:
    if not settings.storage.url:
        return (), ""
    try:
        storage = Storage(settings.storage)
        return tuple(sorted(storage.sizes(f"{name}/archive"))), storage.place
    except StorageError:
        return (), without_secrets(settings.storage.url)
