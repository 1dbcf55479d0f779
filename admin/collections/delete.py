"""Delete a collection: its files, index, sidecars and jobs, and its data in Redis.

Several homes may share an index and a dedup store. Then a deletion takes out what belongs to the files of this home,
and what others hold stays.

First the folder gets a name that marks the deletion. Then the index and Redis are cleared, and the files are removed
last. An interrupted deletion leaves the marked folder, and the same command continues: each step can be repeated.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from admin.collections.curation_rows import drop_rows
from admin.collections.holders import Holders, find_holders, shared_places
from admin.collections.marks import RENAMING_FILE, deleting_folder, unfinished_renaming
from admin.collections.stores import FAILURES, Stores, has_index, open_stores
from admin.collections.usage import users
from admin.jobs.runs import find_job_names
from admin.units import counted, human_bytes
from archive.files import sync_folder
from archive.program_name import command
from archive.settings.load import Settings
from dedupdb.captures.inventory import Inventory
from dedupdb.claims.collection_keys import count_keys, drop_collection
from dedupdb.claims.forgetting import forget_files
from dedupdb.claims.homes import Homes
from dedupdb.index.sidecars import source, source_of

__all__ = ["FAILURES", "ChangeRefused", "Deleted", "Erasure", "delete", "erasure", "refusal"]

_MAX_NAMED: Final = 3


class ChangeRefused(Exception):
    """The collection can't be changed now. The message is one line with the reason and the remedy."""


@dataclass(frozen=True, slots=True)
class Deleted:
    """The result of a deletion counts the deleted files, captures, Redis keys and jobs."""

    name: str
    files: int
    bytes: int
    captures: int
    redis_keys: int
    jobs: int
    stored: int = 0
    """The number of files that the storage still has."""
    storage: str = ""
    kept: int = 0
    """The number of captures that the index still has, because others hold their files."""
    kept_new: bool = False
    """A new collection of the same name was made after the deletion had begun. The new one is kept."""

    def as_json(self) -> dict[str, Any]:
        """Return the fields for `--json`."""
        return {
            **{"name": self.name, "files": self.files, "bytes": self.bytes, "captures": self.captures},
            **{"redis_keys": self.redis_keys, "jobs": self.jobs, "left_in_storage": self.stored},
            "captures_of_others": self.kept,
            "kept_new": self.kept_new,
        }

    def lines(self) -> list[str]:
        """Return the lines for people."""
        found = [
            f"{self.name}: deleted {counted(self.files, 'file')} ({human_bytes(self.bytes)}), "
            f"{counted(self.captures, 'capture')} in the index, {counted(self.redis_keys, 'Redis key')} and "
            f"{counted(self.jobs, 'job')}"
        ]
        if self.stored:
            found.append(f"{counted(self.stored, 'file')} kept in {self.storage}, in the folder {self.name}")
        if self.kept:
            found.append(f"{counted(self.kept, 'capture')} kept in the index, because others hold their files")
        if self.kept_new:
            found.append(
                f"this completed an earlier deletion; the newer collection {self.name} is kept, and the same command "
                "deletes it"
            )
        return found


@dataclass(frozen=True, slots=True)
class Erasure:
    """The erasure says what a deletion takes away, and what stays because others hold it."""

    name: str
    files: int
    bytes: int
    jobs: int
    captures: int
    redis_keys: int
    index: str
    redis: str
    stored: int
    storage: str
    others: tuple[str, ...]
    """One line for each other holder."""
    takes_others: bool
    """The deletion also takes out of the index and Redis what belongs to the files of others."""

    def lines(self) -> Iterator[str]:
        """Yield the lines that a person reads before the deletion."""
        yield f"deleting the collection {self.name} erases:"
        jobs, keys = counted(self.jobs, "job"), counted(self.redis_keys, "key")
        yield f"  in this home: {counted(self.files, 'file')} ({human_bytes(self.bytes)}) and {jobs}"
        yield f"  in {self.index}: {counted(self.captures, 'capture')}"
        entries = f"the entries of these files, in up to {keys}" if self.others and not self.takes_others else keys
        yield f"  in {self.redis}: {entries}{f', and the frontier of {jobs}' if self.jobs else ''}"
        if self.stored:
            yield f"  in the storage {self.storage}: nothing; its {counted(self.stored, 'file')} stay"
        if self.others:
            fate = "their captures and dedup entries are erased too" if self.takes_others else "what they hold stays"
            yield f"others hold the collection, and {fate}:"
            yield from (f"  {line}" for line in self.others)


def erasure(settings: Settings, name: str, *, everywhere: bool) -> Erasure:
    """Return what a deletion would take away. Raises one of FAILURES."""
    with open_stores(settings) as stores:
        held = _holders(stores, name)
        own = sum(held.captures.values()) if everywhere or not held.has_others else held.count(held.own)
        places = [path for path in (settings.collection(name), deleting_folder(settings, name)) if path.is_dir()]
        sizes = [size for path in places for size in _sizes(path)]
        jobs = sum(len(find_job_names(path / "jobs")) for path in places)
        index, redis = shared_places(settings)
        keys = count_keys(stores.link, name)
    others = tuple(held.lines()) if held.has_others else ()
    stored = len(held.stored)
    return Erasure(
        name, len(sizes), sum(sizes), jobs, own, keys, index, redis, stored, held.storage, others, everywhere
    )


def refusal(settings: Settings, name: str, *, force: bool, everywhere: bool = False) -> str:
    """Return the reason why this collection can't be deleted now; empty when it can. Raises one of FAILURES."""
    folder = settings.collection(name)
    if found := users(settings, name):
        return in_use(name, found)
    if change := unfinished_renaming(folder):
        again = command(f"collection rename {change.old} {change.new}")
        return f"collection {name} is only partly renamed; run `{again}` first"
    if not has_index(settings):
        return ""
    with Inventory(settings.database_url) as inventory:
        held = find_holders(settings, name, inventory.files(name))
        if not held.is_here and held.has_others and not everywhere:
            return (
                f"collection {name} has no folder in this home, and others hold it: {'; '.join(held.lines())}; run the "
                "command in their homes, or give --everywhere to erase what the index and Redis have of their files"
            )
        if force:
            return ""
        referring = inventory.referring(name)
    if not referring:
        return ""
    named = ", ".join(f"{count:,} of {other}" for other, count in sorted(referring.items())[:_MAX_NAMED])
    return (
        f"originals in {name} are needed to read {counted(sum(referring.values()), 'revisit')} of other collections "
        f"({named}); give --force to delete the collection anyway"
    )


def in_use(name: str, found: list[str]) -> str:
    """Return one line that names the writers of a collection."""
    more = f", and {len(found) - 1} more" if len(found) > 1 else ""
    return f"collection {name} is in use: {found[0]}{more}; stop the writer, then run the command again"


def delete(
    settings: Settings, name: str, step: Callable[[str], None] = lambda _: None, *, everywhere: bool = False
) -> Deleted:
    """Delete the collection, or complete an interrupted deletion. `step` is called with the name of each done step.

    What the index and the dedup store have of files that others hold stays, unless `everywhere` is given. Raises
    ChangeRefused, or one of FAILURES when a step fails; then the function can be called again.
    """
    folder, deleting = settings.collection(name), deleting_folder(settings, name)
    kept_new = deleting.is_dir() and folder.is_dir()
    if not kept_new and folder.is_dir():
        _mark(settings, name)
    step("marked")
    jobs = find_job_names(deleting / "jobs")
    captures = keys = kept = 0
    stored: tuple[int, str] = (0, "")
    if not kept_new:
        with open_stores(settings) as stores:
            held = _holders(stores, name)
            stored = len(held.stored), held.storage
            is_whole = everywhere or not held.has_others
            for job in jobs:
                stores.drop_job(job)
            keys = drop_collection(stores.link, name) if is_whole else _clear_own(stores, name, held.own)
            step("redis")
            if is_whole:
                captures = stores.captures.drop(name, source(name, ""))
                drop_rows(settings, name)
            else:
                captures = sum(stores.captures.drop_file(name, each, source_of(name, each)) for each in held.own)
                kept = held.count(held.others)
            step("index")
    files, size = _remove(deleting, step)
    step("files")
    return Deleted(name, files, size, captures, keys, len(jobs), *stored, kept, kept_new)


def _holders(stores: Stores, name: str) -> Holders:
    with Inventory(stores.settings.database_url) as inventory:
        return find_holders(stores.settings, name, inventory.files(name), stores.link)


def _mark(settings: Settings, name: str) -> None:
    """Give the folder the name that marks a deletion. Raises ChangeRefused when a process writes to the collection."""
    folder, deleting = settings.collection(name), deleting_folder(settings, name)
    folder.rename(deleting)
    if found := users(settings, name, deleting):  # a writer opened a file after the first check
        deleting.rename(folder)
        raise ChangeRefused(in_use(name, found))
    (deleting / RENAMING_FILE).unlink(missing_ok=True)
    sync_folder(deleting.parent)


def _clear_own(stores: Stores, name: str, own: tuple[str, ...]) -> int:
    """Forget the originals in these files, and their homes. Return the number of dropped entries."""
    forgotten = forget_files(stores.link, name, own)
    Homes(stores.link, "").forget(name, own)
    return forgotten


def _sizes(folder: Path) -> list[int]:
    return [path.stat().st_size for path in folder.rglob("*") if path.is_file() and not path.is_symlink()]


def _remove(deleting: Path, step: Callable[[str], None]) -> tuple[int, int]:
    """Remove the folder; return the number of its files and their bytes. `step` is called with each removed entry."""
    if not deleting.is_dir():
        return 0, 0
    sizes = _sizes(deleting)
    # The folder of the jobs names the jobs to drop from the frontier, so it is removed last.
    for path in sorted(deleting.iterdir(), key=lambda path: path.name == "jobs"):
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        else:
            path.unlink()
        step(path.name)
    deleting.rmdir()
    sync_folder(deleting.parent)
    return len(sizes), sum(sizes)
