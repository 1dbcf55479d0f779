"""Rename a collection: its folder, its rows of the index, its dedup entries and its jobs.

A file in the folder names both names. The file is written first and removed last, so the same command continues an
interrupted renaming. WARC files keep their names.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from admin.collections.curation_rows import move_rows
from admin.collections.delete import ChangeRefused, in_use
from admin.collections.holders import find_holders
from admin.collections.marks import RENAMING_FILE, Renaming, deleting_folder, mark_renaming, unfinished_renaming
from admin.collections.stores import FAILURES, Stores, has_index, open_stores
from admin.collections.usage import users
from admin.jobs.runs import find_runs
from admin.units import counted
from archive.files import sync_folder
from archive.program_name import command
from archive.settings.load import Settings
from archive.storage.presence import WarcFiles
from archive.storage.storage import Storage, StorageError
from dedupdb.captures.inventory import Inventory
from dedupdb.claims.collection_keys import move_collection
from dedupdb.index.sidecars import Sidecars, source
from frontier.store import Store

__all__ = ["FAILURES", "ChangeRefused", "Renamed", "rename"]


@dataclass(frozen=True, slots=True)
class Renamed:
    """The result of a renaming counts the changed captures, Redis keys and jobs."""

    old: str
    new: str
    captures: int
    redis_keys: int
    jobs: int

    def as_json(self) -> dict[str, Any]:
        """Return the fields for `--json`."""
        return {
            **{"old": self.old, "name": self.new, "captures": self.captures},
            **{"redis_keys": self.redis_keys, "jobs": self.jobs},
        }

    def line(self) -> str:
        """Return the line for people."""
        return (
            f"{self.old}: renamed to {self.new}, with {counted(self.captures, 'capture')} in the index, "
            f"{counted(self.redis_keys, 'Redis key')} and {counted(self.jobs, 'job')}"
        )


def rename(settings: Settings, old: str, new: str, step: Callable[[str], None] = lambda _: None) -> Renamed:
    """Rename the collection, or complete an interrupted renaming. `step` is called with the name of each done step.

    Raises ChangeRefused, RunError, or one of FAILURES when a step fails; then the function can be called again.
    """
    source_folder, folder = settings.collection(old), settings.collection(new)
    change = Renaming(old, new)
    if unfinished_renaming(folder) != change:
        _check(settings, change)
        _check_storage(settings, old)
        _check_others(settings, old)
        _check_free(settings, new)
        mark_renaming(source_folder, change)
        step("marked")
        source_folder.rename(folder)
        sync_folder(folder.parent)
        if found := users(settings, old, folder):  # a writer opened a file after the first check
            folder.rename(source_folder)
            (source_folder / RENAMING_FILE).unlink()
            raise ChangeRefused(in_use(old, found))
    elif found := users(settings, new):
        raise ChangeRefused(in_use(new, found))
    step("folder")
    with open_stores(settings) as stores:
        jobs = _rename_in_jobs(stores, folder, new)
        step("jobs")
        keys = move_collection(stores.link, old, new)
        step("redis")
        Sidecars(settings.home, stores.captures, WarcFiles(settings)).reconcile(new)
        stores.captures.drop(old, source(old, ""))
        captures = stores.captures.count(new)
        step("index")
    move_rows(settings, old, new)
    (folder / RENAMING_FILE).unlink()
    sync_folder(folder)
    return Renamed(old, new, captures, keys, jobs)


def _check(settings: Settings, change: Renaming) -> None:
    old, new = settings.collection(change.old), settings.collection(change.new)
    if deleting_folder(settings, change.new).is_dir() or new.exists():
        raise ChangeRefused(f"there is already a collection {change.new}; choose another name")
    if (begun := unfinished_renaming(old)) and begun != change:
        again = command(f"collection rename {begun.old} {begun.new}")
        raise ChangeRefused(f"collection {change.old} is only partly renamed; run `{again}` first")
    if found := users(settings, change.old):
        raise ChangeRefused(in_use(change.old, found))


def _check_storage(settings: Settings, name: str) -> None:
    """Raise ChangeRefused when the storage has files of the collection, because they would keep the old name."""
    if not settings.storage.url:
        return
    try:
        count = len(Storage(settings.storage).sizes(f"{name}/archive"))
    except StorageError as error:
        raise ChangeRefused(f"the storage can't be searched for files of {name}: {error}") from error
    if count:
        raise ChangeRefused(
            f"the storage {settings.storage.url} has {counted(count, 'file')} of {name}, which this command can't "
            f"rename; rename the folder {name} in the storage first, or keep the name"
        )


def _check_others(settings: Settings, name: str) -> None:
    """Raise ChangeRefused when other homes hold files of the collection, because these would keep the old name."""
    if not has_index(settings):
        return
    with Inventory(settings.database_url) as inventory:
        held = find_holders(settings, name, inventory.files(name))
    if held.has_others:
        raise ChangeRefused(
            f"others hold files of {name}, which this command can't rename: {'; '.join(held.lines())}; keep the name, "
            "or export and import the files into a collection with the new name"
        )


def _check_free(settings: Settings, name: str) -> None:
    """Raise ChangeRefused when the index, another home or the storage has a collection of this name."""
    files: dict[str, int] = {}
    if has_index(settings):
        with Inventory(settings.database_url) as inventory:
            files = inventory.files(name)
    held = find_holders(settings, name, files)
    if files or held.homes or held.stored:
        where = "; ".join(held.lines()) or f"the index has {counted(sum(files.values()), 'capture')} of it"
        raise ChangeRefused(f"there is already a collection {name}: {where}; choose another name")


def _rename_in_jobs(stores: Stores, folder: Path, new: str) -> int:
    """Write the new name into the state of each run, and into the frontier if it still has the run."""
    count = 0
    for run in find_runs(folder / "jobs"):
        if run.state.collection != new:
            run.save(collection=new)
        _rename_in_frontier(stores, run.state.name, new)
        count += 1
    return count


def _rename_in_frontier(stores: Stores, job: str, new: str) -> None:
    store = Store(stores.redis_url, stores.settings.frontier.shard, job, timeout_seconds=60)
    try:
        with store.guarded():
            if stored := store.client.get(store.root):
                store.client.set(store.root, json.dumps({**json.loads(stored), "collection": new}))
    finally:
        store.client.close()
