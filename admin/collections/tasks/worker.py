"""Two threads of the admin site let processes carry out the tasks of the home, the oldest first in each thread.

Several sites may share a home: locks of the home say which of them works. A task whose site was killed waits again,
and begins anew. Results are removed after `admin.task_days`, and packages with their collection.
"""

from __future__ import annotations

import logging
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from enum import Enum
from typing import Final

from admin.collections.browsing.index import index_if_any
from admin.collections.tasks.task_folder import (
    FOLDER,
    TaskFolder,
    TaskKind,
    TaskOrder,
    TaskResult,
    TaskState,
    remove_leftovers,
    tasks_of,
)
from admin.models.errors import DatabaseRefused
from archive.dates import now_micros
from archive.file_lock import lock_or_not
from archive.files import free_bytes
from archive.settings.load import Settings
from archive.steady_work import SteadyWork

log = logging.getLogger(__name__)

_LOOK_SECONDS: Final = 1.0
_WATCH_SECONDS: Final = 0.2
_STOP_SECONDS: Final = 30.0
_DAY_MICROS: Final = 86_400_000_000
_DRAFT_SECONDS: Final = 86_400.0
_SMALL_BYTES: Final = 20_000_000


type _Imported = Callable[[str, TaskOrder, TaskResult], None]


class _Lane(Enum):
    """Tasks are carried out in two lanes, so that small imports and work on queues do not wait for a package."""

    ALL = ".lock"
    SMALL = ".lock-small"
    """Imports of small files, and work on queues."""


class TaskWorker:
    """The worker runs in a thread for each lane between `start` and `stop`."""

    def __init__(self, settings: Settings, imported: _Imported = lambda *_: None) -> None:
        """Start nothing yet.

        `imported` is called with the name, the order and the result of each import that has taken files. It may be
        called twice for an import whose site ended in the meantime.
        """
        self._settings = settings
        self._imported = imported
        self._stops = threading.Event()
        self._threads = [
            threading.Thread(target=self._run, args=(lane,), name=f"tasks-{lane.name.lower()}", daemon=True)
            for lane in _Lane
        ]

    def start(self) -> None:
        """Begin with the tasks that wait."""
        for thread in self._threads:
            thread.start()

    def stop(self) -> None:
        """End the processes that work; their tasks wait for the next start."""
        self._stops.set()
        for thread in self._threads:
            if thread.ident is not None:
                thread.join()

    def _run(self, lane: _Lane) -> None:
        look = SteadyWork(f"the search for tasks of collections, {lane.name}", lambda: self._look(lane))
        while not self._stops.wait(_LOOK_SECONDS):
            look()

    def _look(self, lane: _Lane) -> None:
        """Carry out the tasks of a lane that wait, oldest first, and remove tasks that nobody needs any more."""
        tasks = tasks_of(self._settings)
        if not tasks:
            return
        with self._home_lock(lane) as is_ours:
            if not is_ours:
                return
            busy: set[str] = set()
            if lane is _Lane.SMALL:
                for task in filter(_is_small, tasks):
                    self._carry_out_in_turn(task, busy)
                return
            remove_leftovers(self._settings, time.time() - _DRAFT_SECONDS)
            for task in tasks:
                if self._is_unneeded(task):
                    task.remove()
                else:
                    self._carry_out_in_turn(task, busy)

    def _carry_out_in_turn(self, task: TaskFolder, busy: set[str]) -> None:
        """Carry out a task that waits. `busy` has the crawls on whose queues an older task still works.

        A rebuild and an import of one crawl at the same time would queue URLs that were visited.
        """
        crawl = _crawl_of(task)
        if task.result() is not None or crawl in busy or self._stops.is_set():
            return
        self._carry_out(task)
        if crawl and task.result() is None:
            busy.add(crawl)

    def _is_unneeded(self, task: TaskFolder) -> bool:
        order, result = task.order(), task.result()
        if order is None:
            return True
        days = self._settings.admin.task_days
        is_old = result is not None and days > 0 and result.ended + days * _DAY_MICROS < now_micros()
        return is_old or (result is not None and order.collection != "" and self._is_gone(order.collection))

    def _is_gone(self, collection: str) -> bool:
        """Return whether the collection was deleted. A folder that is only away leaves its captures in the index."""
        if self._settings.collection(collection).is_dir():
            return False
        try:
            with index_if_any(self._settings) as index:
                return index is None or not index.finder.has(collection)
        except DatabaseRefused:
            return False

    def _carry_out(self, task: TaskFolder) -> None:
        with task.held() as is_ours:
            if not is_ours or task.result() is not None:
                return
            if task.is_to_cancel:
                task.end(TaskResult(TaskState.CANCELLED, now_micros(), "", {}))
                return
            task.remove_drafts(keeps_input=True)
            result = self._watched(task)
            if result is None:
                task.remove_drafts(keeps_input=True)
            else:
                order = task.order()
                if order is not None and order.kind is TaskKind.IMPORT and result.facts:
                    self._imported(task.path.name, order, result)
                task.end(result)

    def _watched(self, task: TaskFolder) -> TaskResult | None:
        """Run the process to its end, and return the result; None when the site stops before."""
        process = subprocess.Popen(
            [sys.executable, "-m", "admin.collections.tasks.work", str(task.path)],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            env={**os.environ, **self._settings.for_child()},
        )
        state, problem = TaskState.DONE, ""
        try:
            while process.poll() is None:
                if self._stops.is_set():
                    return None
                if task.is_to_cancel:
                    state = TaskState.CANCELLED
                    break
                if free_bytes(self._settings.home) < self._settings.archive.min_free_bytes:
                    state, problem = TaskState.FAILED, "the disk is nearly full; free some space, and order it again"
                    break
                self._stops.wait(_WATCH_SECONDS)
        finally:
            _end(process)
        facts = task.facts()
        if state is TaskState.DONE and (process.returncode or not facts):
            why = f"its process ended with code {process.returncode}; the log of the site says more"
            state, problem = TaskState.FAILED, str(facts.get("problem") or why)
        stays = state is TaskState.DONE or "names" in facts  # files that an import has taken stay
        return TaskResult(state, now_micros(), problem, facts if stays else {})

    @contextmanager
    def _home_lock(self, lane: _Lane) -> Iterator[bool]:
        """Yield whether this site is the one that works in a lane until the end of the block."""
        with lock_or_not(self._settings.home / FOLDER / lane.value) as is_held:
            yield is_held


def _is_small(task: TaskFolder) -> bool:
    return task.input_bytes <= _SMALL_BYTES or bool(_crawl_of(task))


def _crawl_of(task: TaskFolder) -> str:
    """Return the name of the run on whose queues a task works; empty for other tasks."""
    order = task.order()
    return str(order.conditions["job"]) if order is not None and order.kind.is_of_queues else ""


def _end(process: subprocess.Popen[bytes]) -> None:
    """Let the process end by SIGTERM; kill it when it does not end in time."""
    process.terminate()
    try:
        process.wait(_STOP_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
    if process.stdin is not None:
        process.stdin.close()
