"""A task is a folder below `tasks` in the home. Its files say what was ordered, how far it is, and how it ended.

| file | written by | content |
|---|---|---|
| order.json | the site that took the order | kind, collection, conditions, who and when |
| progress.json | the process that works | the file that is read or the step, its number, and how many there are |
| facts.json | the process that works | what it made; or why it failed |
| cancel | the site | empty: the task shall end |
| running | the site | empty, and locked while a process works |
| result.json | the site whose process worked | the state at the end, and the facts |

A new folder has another name until it is whole, so that a site never sees half an order.
"""

from __future__ import annotations

import errno
import json
import os
import re
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import IO, Any, Final

from archive.dates import Micros, timestamp14
from archive.file_lock import is_locked, lock_or_not
from archive.files import make_folder, replacement, sync_folder
from archive.json_text import parsed_object
from archive.settings.load import Settings

FOLDER: Final = "tasks"
PACKAGE_FILE: Final = "package.wacz"
EXPORT_FILE: Final = "queue.jsonl.gz"
UPLOAD_FOLDER: Final = "upload"
ID: Final = re.compile(r"[0-9]{14}-[0-9a-f]{8}", re.ASCII)
_DRAFT: Final = ".new-"
_MOST_AT_ONCE: Final = 4096
"""Tasks of one microsecond."""
_REMOVED: Final = ".removed-"
_UPLOAD: Final = ".upload-"
_KEPT: Final = frozenset(("order.json", "result.json", "running", PACKAGE_FILE, EXPORT_FILE))
_MOST_JSON: Final = 1_000_000


class TaskKind(StrEnum):
    """A task is one of these."""

    PACKAGE = "package"
    """Write a WACZ package."""
    IMPORT = "import"
    """Add an uploaded WARC file or WACZ package to a collection."""
    QUEUE_EXPORT = "queue-export"
    """Write the queues of a crawl into a file."""
    QUEUE_IMPORT = "queue-import"
    """Add the URLs of an uploaded file to the queues of a crawl."""
    QUEUE_REBUILD = "queue-rebuild"
    """Rebuild the queues of a crawl from its logs and the capture index."""

    @property
    def is_of_queues(self) -> bool:
        """Return whether the task works on the queues of a crawl."""
        return self in (TaskKind.QUEUE_EXPORT, TaskKind.QUEUE_IMPORT, TaskKind.QUEUE_REBUILD)


class TaskState(StrEnum):
    """A task is in one of these states. The last three are ends."""

    WAITING = "waiting"
    RUNNING = "running"
    DONE = "done"
    FAILED = "failed"
    CANCELLED = "cancelled"


ENDS: Final = frozenset((TaskState.DONE, TaskState.FAILED, TaskState.CANCELLED))


@dataclass(frozen=True, slots=True)
class TaskOrder:
    """The order says what a task is to do, for whom."""

    kind: TaskKind
    collection: str
    """Empty for work on the queues of a crawl of another home."""
    created: Micros
    created_by: str
    conditions: Mapping[str, Any]
    """For a package: since, until, job, url_prefix, title, originals. For an import: file. For work on queues: job, the
    name of the run; seen of an export, file and any_scope of an import, or revisit_pages and anew of a rebuild."""


@dataclass(frozen=True, slots=True)
class TaskResult:
    """The result says how a task ended."""

    state: TaskState
    ended: Micros
    problem: str
    """Why the task failed; empty otherwise."""
    facts: Mapping[str, Any]


class TaskFolder:
    """A task folder has the files of one task."""

    def __init__(self, path: Path) -> None:
        self.path = path

    @property
    def id(self) -> str:
        """Return the id of the task."""
        return self.path.name

    @property
    def package(self) -> Path:
        """Return the path of the finished package."""
        return self.path / PACKAGE_FILE

    @property
    def export(self) -> Path:
        """Return the path of the finished export of queues."""
        return self.path / EXPORT_FILE

    @property
    def input_bytes(self) -> float:
        """Return the size of an uploaded file; infinity for a task without one, or when the file is gone."""
        try:
            return sum(path.stat().st_size for path in (self.path / UPLOAD_FOLDER).iterdir())
        except OSError:
            return float("inf")

    def order(self) -> TaskOrder | None:
        """Return the order; None when the task is gone, or its folder is damaged."""
        found = _read(self.path / "order.json")
        try:
            return TaskOrder(
                TaskKind(found["kind"]), found["collection"], found["created"], found["created_by"], found["conditions"]
            )
        except (KeyError, ValueError):
            return None

    def result(self) -> TaskResult | None:
        """Return how the task ended; None before it has ended."""
        found = _read(self.path / "result.json")
        try:
            return TaskResult(TaskState(found["state"]), found["ended"], found["problem"], found["facts"])
        except (KeyError, ValueError):
            return None

    def state(self) -> TaskState:
        """Return the state at this moment."""
        result = self.result()
        if result is not None:
            return result.state
        return TaskState.RUNNING if is_locked(self.path / "running") else TaskState.WAITING

    def progress(self) -> Mapping[str, Any]:
        """Return what the process that works has noted; empty without a note."""
        return _read(self.path / "progress.json")

    def facts(self) -> Mapping[str, Any]:
        """Return what the process has made, or its `problem`."""
        return _read(self.path / "facts.json")

    def note(self, name: str, values: Mapping[str, Any]) -> None:
        """Write progress.json or facts.json in one step. Raises OSError."""
        with replacement(self.path / name, durable=False) as file:
            file.write(json.dumps(values).encode())

    def end(self, result: TaskResult) -> None:
        """Write the result durably, and remove all but the order, the result and what was made. Raises OSError."""
        if result.state is not TaskState.DONE:
            self.package.unlink(missing_ok=True)
            self.export.unlink(missing_ok=True)
        self.remove_drafts(keeps_input=True)
        with replacement(self.path / "result.json") as file:
            values = {"state": result.state, "ended": result.ended, "problem": result.problem, "facts": result.facts}
            file.write(json.dumps(values).encode())
        self.remove_drafts()

    def remove_drafts(self, *, keeps_input: bool = False) -> None:
        """Remove what a process that was killed has left; with `keeps_input`, not the uploaded file."""
        for path in self.path.iterdir():
            if path.name == UPLOAD_FOLDER and not keeps_input:
                shutil.rmtree(path, ignore_errors=True)
            elif path.name not in (*_KEPT, UPLOAD_FOLDER, "cancel"):
                path.unlink(missing_ok=True)

    def ask_to_cancel(self) -> None:
        """Ask the process that works to end."""
        (self.path / "cancel").touch()

    @property
    def is_to_cancel(self) -> bool:
        """Return whether somebody asked the task to end."""
        return (self.path / "cancel").exists()

    @contextmanager
    def held(self) -> Iterator[bool]:
        """Yield whether this process has the task for itself until the end of the block."""
        with ExitStack() as stack:
            try:
                is_held = stack.enter_context(lock_or_not(self.path / "running"))
            except FileNotFoundError:  # the task was removed
                is_held = False
            yield is_held

    def remove(self) -> None:
        """Remove the task with its package. Raises OSError."""
        gone = self.path.with_name(f"{_REMOVED}{self.id}")
        self.path.rename(gone)
        shutil.rmtree(gone, ignore_errors=True)


def tasks_of(settings: Settings) -> list[TaskFolder]:
    """Return the tasks of a home, oldest first."""
    try:
        names = os.listdir(settings.home / FOLDER)
    except FileNotFoundError:
        return []
    return [TaskFolder(settings.home / FOLDER / name) for name in sorted(names) if ID.fullmatch(name)]


def find_task(settings: Settings, task: str) -> TaskFolder | None:
    """Return the task with this id; None without one."""
    if not ID.fullmatch(task):
        return None
    found = TaskFolder(settings.home / FOLDER / task)
    return found if found.order() is not None else None


def new_draft(settings: Settings, now: Micros) -> Path:
    """Make the folder of a task that is not ordered yet, to which an uploaded file can be written. Raises OSError.

    Names sort in the order of the orders: by the microsecond, and by a number within it.
    """
    folder = settings.home / FOLDER
    make_folder(folder)
    for number in range(_MOST_AT_ONCE):
        name = f"{timestamp14(now)}-{now % 1_000_000:05x}{number:03x}"
        draft = folder / f"{_DRAFT}{name}"
        if (folder / name).exists():
            continue
        try:
            draft.mkdir(mode=0o700)
        except FileExistsError:
            continue
        return draft
    raise OSError(errno.EEXIST, os.strerror(errno.EEXIST), str(folder))


@contextmanager
def upload_draft(settings: Settings) -> Iterator[IO[bytes]]:
    """Yield a new file among the tasks, for an upload; the file is removed at the end of the block. Raises OSError."""
    folder = settings.home / FOLDER
    make_folder(folder)
    with tempfile.NamedTemporaryFile(dir=folder, prefix=_UPLOAD) as file:
        yield file


def put_order(draft: Path, order: TaskOrder) -> TaskFolder:
    """Write the order to its draft, and give the folder its name. Raises OSError."""
    values = {
        "kind": order.kind,
        "collection": order.collection,
        "created": order.created,
        "created_by": order.created_by,
        "conditions": dict(order.conditions),
    }
    with replacement(draft / "order.json") as file:
        file.write(json.dumps(values).encode())
    whole = draft.with_name(draft.name.removeprefix(_DRAFT))
    draft.rename(whole)
    sync_folder(whole.parent)
    return TaskFolder(whole)


def remove_leftovers(settings: Settings, older_than: float) -> None:
    """Remove drafts last changed before a moment (seconds since 1970), and what is left of removed tasks."""
    folder = settings.home / FOLDER
    for path in folder.iterdir() if folder.is_dir() else ():
        is_old_draft = path.name.startswith(_DRAFT) and _changed(path) < older_than
        if is_old_draft or path.name.startswith(_REMOVED):
            shutil.rmtree(path, ignore_errors=True)
        elif path.name.startswith(_UPLOAD) and _changed(path) < older_than:
            path.unlink(missing_ok=True)


def _changed(path: Path) -> float:
    """Return when something in the folder was changed last, in seconds since 1970."""
    try:
        return max(each.stat().st_mtime for each in (path, *path.rglob("*")))
    except OSError:
        return float("inf")


def _read(path: Path) -> Mapping[str, Any]:
    try:
        with path.open("rb") as file:
            return parsed_object(file.read(_MOST_JSON))
    except OSError:
        return {}
