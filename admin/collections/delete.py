"""Delete a collection: its files, index, sidecars and jobs, and its data in Redis.

First the folder gets a name that marks the deletion. Then the index and Redis are cleared, and the files are removed
last. An interrupted deletion leaves the marked folder, and the same command continues: each step can be repeated.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from admin.collections.marks import RENAMING_FILE, deleting_folder, unfinished_renaming
from admin.collections.stores import FAILURES, Stores, has_index, open_stores
from admin.collections.usage import writers
from admin.jobs.runs import find_job_names
from admin.units import counted, human_bytes
from archive.files import sync_folder
from archive.program_name import command
from archive.settings.load import Settings
from archive.storage.storage import Storage, StorageError
from dedupdb.captures.inventory import Inventory
from dedupdb.claims.collection_keys import drop_collection
from dedupdb.index.sidecars import source

__all__ = ["FAILURES", "ChangeRefused", "Deleted", "delete", "refusal"]

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
    kept_new: bool = False
    """A new collection of the same name was made after the deletion had begun. The new one is kept."""

    def as_json(self) -> dict[str, Any]:
        """Return the fields for `--json`."""
        return {
            **{"name": self.name, "files": self.files, "bytes": self.bytes, "captures": self.captures},
            **{"redis_keys": self.redis_keys, "jobs": self.jobs, "left_in_storage": self.stored},
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
        if self.kept_new:
            found.append(
                f"this completed an earlier deletion; the newer collection {self.name} is kept, and the same command "
                "deletes it"
            )
        return found


def refusal(settings: Settings, name: str, *, force: bool) -> str:
    """Return the reason why this collection can't be deleted now; empty when it can. Raises CapturesError."""
    folder = settings.collection(name)
    if found := writers(folder):
        return in_use(name, found)
    if change := unfinished_renaming(folder):
        again = command(f"collection rename {change.old} {change.new}")
        return f"collection {name} is only partly renamed; run `{again}` first"
    if force or not has_index(settings):
        return ""
    with Inventory(settings.database_url) as inventory:
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


def delete(settings: Settings, name: str, step: Callable[[str], None] = lambda _: None) -> Deleted:
    """Delete the collection, or complete an interrupted deletion. `step` is called with the name of each done step.

    Raises ChangeRefused, or one of FAILURES when a step fails; then the function can be called again.
    """
    folder, deleting = settings.collection(name), deleting_folder(settings, name)
    kept_new = deleting.is_dir() and folder.is_dir()
    if not kept_new and folder.is_dir():
        _mark(settings, name)
    step("marked")
    jobs = find_job_names(deleting / "jobs")
    captures = keys = 0
    if not kept_new:
        with open_stores(settings) as stores:
            keys = _clear_redis(stores, name, jobs)
            step("redis")
            captures = stores.captures.drop(name, source(name, ""))
            step("index")
    files, size = _remove(deleting, step)
    step("files")
    return Deleted(name, files, size, captures, keys, len(jobs), *_left_in_storage(settings, name), kept_new)


def _mark(settings: Settings, name: str) -> None:
    """Give the folder the name that marks a deletion. Raises ChangeRefused when a process writes to the collection."""
    folder, deleting = settings.collection(name), deleting_folder(settings, name)
    folder.rename(deleting)
    if found := writers(deleting):  # a writer opened a file after the first check
        deleting.rename(folder)
        raise ChangeRefused(in_use(name, found))
    (deleting / RENAMING_FILE).unlink(missing_ok=True)
    sync_folder(deleting.parent)


def _clear_redis(stores: Stores, name: str, jobs: list[str]) -> int:
    for job in jobs:
        stores.drop_job(job)
    return drop_collection(stores.link, name)


def _remove(deleting: Path, step: Callable[[str], None]) -> tuple[int, int]:
    """Remove the folder; return the number of its files and their bytes. `step` is called with each removed entry."""
    if not deleting.is_dir():
        return 0, 0
    sizes = [path.stat().st_size for path in deleting.rglob("*") if path.is_file() and not path.is_symlink()]
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


def _left_in_storage(settings: Settings, name: str) -> tuple[int, str]:
    if not settings.storage.url:
        return 0, ""
    try:
        storage = Storage(settings.storage)
        return len(storage.sizes(f"{name}/archive")), storage.place
    except StorageError:
        return 0, ""
