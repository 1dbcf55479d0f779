"""People and programs can order packages, and see what became of them, in these ways."""

from __future__ import annotations

from typing import Final

from admin.collections.tasks import tasks
from admin.models.operation import Operation
from admin.models.transaction import Right

_TAGS: Final = ("collection",)

OPERATIONS: Final[tuple[Operation, ...]] = (
    Operation(
        "task.create-package",
        "POST",
        "/collections/{name}/packages",
        Right.OPERATE,
        tasks.order_package,
        "Let a WACZ package be written.",
        input=tasks.PackageOrder,
        output=tasks.TaskView,
        status=202,
        tags=_TAGS,
    ),
    Operation(
        "task.create-import",
        "POST",
        "/collections/{name}/imports",
        Right.CURATE,
        tasks.order_import,
        "Import a WARC file or a WACZ package, which is the body of the request.",
        output=tasks.TaskView,
        takes_file=True,
        status=202,
        tags=_TAGS,
    ),
    Operation(
        "task.list",
        "GET",
        "/tasks",
        Right.READ,
        tasks.list_tasks,
        "List packages and imports of collections.",
        output=tasks.TaskView,
        is_list=True,
        tags=_TAGS,
    ),
    Operation(
        "task.show",
        "GET",
        "/tasks/{task}",
        Right.READ,
        tasks.show_task,
        "Show how far a package or an import is.",
        output=tasks.TaskView,
        tags=_TAGS,
    ),
    Operation(
        "task.cancel",
        "POST",
        "/tasks/{task}/cancel",
        Right.OPERATE,
        tasks.cancel_task,
        "Cancel a package or an import.",
        output=tasks.TaskView,
        tags=_TAGS,
    ),
    Operation(
        "task.remove",
        "DELETE",
        "/tasks/{task}",
        Right.OPERATE,
        tasks.remove_task,
        "Remove a package, or an import that has ended.",
        status=204,
        tags=_TAGS,
    ),
    Operation(
        "task.download",
        "GET",
        "/tasks/{task}/package",
        Right.OPERATE,
        tasks.package_of,
        "Download a finished WACZ package, whole or in ranges.",
        media_type="application/octet-stream",
        tags=_TAGS,
    ),
)
