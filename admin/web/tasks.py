"""Pages with tasks list them alike, and share the routes that cancel, remove and download a task."""

from __future__ import annotations

from typing import Any, Final

from flask import Blueprint, request
from werkzeug.wrappers import Response

from admin.collections.tasks import tasks
from admin.collections.tasks.task_folder import ENDS, TaskKind
from admin.models.errors import NotFound
from admin.models.transaction import Right, Transaction
from admin.web.files import download as file_for_download
from admin.web.page import done, needs, reading, transaction

_LEFT: Final = {
    TaskKind.IMPORT: "WARC files that the import has taken by now stay in the collection.",
    TaskKind.QUEUE_IMPORT: "URLs that the import has added stay in the queues.",
    TaskKind.QUEUE_REBUILD: "A rebuild that had begun leaves no queues.",
}
"""The sentences that say what is left of a cancelled task; nothing of other kinds."""


def task_values(name: str, *, queues: bool) -> dict[str, Any]:
    """Return what a template shows of the tasks of a collection or, with `queues`, of the queues of a crawl."""
    owner: dict[str, Any] = {"crawl" if queues else "collection": name}
    with reading() as opened:
        found = tasks.list_tasks(opened, queues=queues, after=request.args.get("after"), **owner)
    return {"name": name, "tasks": found, "is_busy": any(each.state not in ENDS for each in found.items), "ends": ENDS}


def add_task_routes(blueprint: Blueprint, *, queues: bool) -> None:
    """Add the routes `act` and `download` for tasks of a collection or, with `queues`, of the queues of a crawl.

    A task of another collection or crawl is not found (404).
    """

    def checked(opened: Transaction, name: str, task: str) -> tasks.TaskView:
        found = tasks.show_task(opened, task)
        if found.kind.is_of_queues != queues or name != (found.job if queues else found.collection):
            raise NotFound("task", task)
        return found

    @blueprint.post("/<task>/<any(cancel, remove):action>", endpoint="act")
    @needs(Right.OPERATE)
    def act(name: str, task: str, action: str) -> Response:
        """Cancel a task that waits or runs, or remove one that has ended."""
        with transaction() as opened:
            kind = checked(opened, name, task).kind
            if action == "cancel":
                tasks.cancel_task(opened, task)
                left = _LEFT.get(kind, "Nothing of it stays.")
                return done(f"The task is cancelled. {left}", ".index", name=name)
            tasks.remove_task(opened, task)
        return done("The task was removed.", ".index", name=name)

    @blueprint.get("/<task>/file", endpoint="download")
    @needs(Right.OPERATE)
    def download(name: str, task: str) -> Response:
        """Return a finished package or export for download, whole or in ranges."""
        with reading() as opened:
            checked(opened, name, task)
            path = tasks.package_of(opened, task)
        return file_for_download(path, f"{name}-{task}{''.join(path.suffixes)}")
