"""The process of a task works on the queues of a crawl with the functions of `ghostfleet queue`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from admin.collections.tasks.task_folder import UPLOAD_FOLDER, TaskFolder, TaskOrder
from admin.fleet.home_folder import HomeError
from admin.jobs.control.queues import export, import_file, opened
from admin.jobs.control.rebuild import rebuild
from admin.jobs.control.steering import NoJob, NotRunning, find
from admin.jobs.runs import RunError
from archive.settings.load import Settings
from frontier.private_redis.server import RedisProblem
from frontier.store import FrontierLost, FrontierUnavailable

QUEUE_PROBLEMS: Final = (NoJob, NotRunning, RunError, HomeError, RedisProblem, FrontierLost, FrontierUnavailable)
"""Errors that are expected; the message of each says what to do."""
_LONGEST: Final = 500

type _Note = Callable[[str, int, int], None]


def export_queues(settings: Settings, folder: TaskFolder, order: TaskOrder, note: _Note) -> dict[str, Any]:
    """Write the queues of the crawl into the file of the task. Return the facts of the task."""
    target = find(settings, order.conditions["job"])
    with opened(target) as frontier:
        about = frontier.reports.progress().queued

        def tell(urls: int) -> None:
            note("", urls, max(about, urls + 1))

        with_seen = bool(order.conditions.get("seen"))
        found = export(target, frontier, folder.export, with_seen=with_seen, by=order.created_by, tell=tell)
    return {"bytes": folder.export.stat().st_size, "account": [found.line(folder.export.name)]}


def import_queues(settings: Settings, folder: TaskFolder, order: TaskOrder, note: _Note) -> dict[str, Any]:
    """Add the URLs of the uploaded file to the crawl. Return the facts of the task."""
    target = find(settings, order.conditions["job"])
    file = folder.path / UPLOAD_FOLDER / order.conditions["file"]
    size = max(1, file.stat().st_size)

    def tell(read: int) -> None:
        note(file.name, min(read, size - 1), size)

    any_scope = bool(order.conditions.get("any_scope"))
    with opened(target) as frontier:
        found = import_file(target, frontier, file, any_scope=any_scope, by=order.created_by, tell=tell)
    return {
        "account": [found.line()],
        "missing": [line[:_LONGEST] for line in found.problem_lines(file.name)],
        "missing_count": found.unusable,
    }


def rebuild_queues(settings: Settings, folder: TaskFolder, order: TaskOrder, _: _Note) -> dict[str, Any]:
    """Rebuild the queues of the crawl. Return the facts of the task."""
    wanted = order.conditions
    steps = 3 + bool(wanted.get("revisit_pages"))
    begun = 0

    def say(step: str) -> None:
        nonlocal begun
        folder.note("progress.json", {"name": step, "number": begun, "of": steps})
        begun += 1

    account = rebuild(
        find(settings, wanted["job"]),
        with_pages=bool(wanted.get("revisit_pages")),
        anew=bool(wanted.get("anew")),
        by=order.created_by,
        say=say,
    )
    return {"account": list(account.text())}
