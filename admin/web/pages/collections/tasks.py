"""These pages order WACZ packages of a collection or of a job, show how far they are, and hand them out."""

from __future__ import annotations

from typing import Any, Final

from flask import Blueprint, request
from werkzeug.wrappers import Response

from admin.collections.tasks import tasks
from admin.collections.tasks.task_folder import ENDS
from admin.collections.tasks.tasks import PackageOrder
from admin.models.errors import NotFound, UseCaseError
from admin.models.transaction import Right, Transaction
from admin.web.files import download as file_for_download
from admin.web.files import sent_file
from admin.web.forms.form import Form
from admin.web.page import done, needs, page, read, reading, saving, site, transaction, with_large_files

BLUEPRINT: Final = Blueprint("tasks", __name__, url_prefix="/<name>/packages")
_FIELDS: Final = ("since", "until", "job", "url_prefix", "title")


@BLUEPRINT.route("", methods=["GET", "POST"], endpoint="index")
@needs(Right.READ, changes=Right.OPERATE)
def index(name: str) -> Response:
    """List the packages and imports of a collection, and order a package."""
    read(tasks.check_known, name)
    form = _empty_form()
    if form.is_saved_by(saving(tasks.order_package, name), PackageOrder, _order_of):
        return done("The package is being written. This page shows how far it is.", ".index", name=name)
    return page("collections/tasks.html", 422 if form.has_problems else 200, form=form, **_values(name))


@BLUEPRINT.post("/upload", endpoint="upload")
@with_large_files
@needs(Right.CURATE)
def upload(name: str) -> Response:
    """Take a WARC file or a WACZ package, and import it in the background."""
    form = _empty_form()
    try:
        path, file = sent_file()
        with transaction() as opened:
            tasks.order_import(opened, name, path, file=file)
    except UseCaseError as error:
        form.take(error)
        return page("collections/tasks.html", 422, form=form, **_values(name))
    return done("The file is being imported. This page shows how far it is.", ".index", name=name)


@BLUEPRINT.get("/live", endpoint="live")
@needs(Right.READ)
def live(name: str) -> Response:
    """Show the part of the page that changes while a task is carried out."""
    read(tasks.check_known, name)
    return page("collections/tasks_live.html", **_values(name))


@BLUEPRINT.post("/<task>/<any(cancel, remove):action>", endpoint="act")
@needs(Right.OPERATE)
def act(name: str, task: str, action: str) -> Response:
    """Cancel a task that waits or runs, or remove one that has ended."""
    with transaction() as opened:
        _check(opened, name, task)
        if action == "cancel":
            tasks.cancel_task(opened, task)
            return done("The task is cancelled. Nothing of it stays.", ".index", name=name)
        tasks.remove_task(opened, task)
    return done("The package was removed.", ".index", name=name)


@BLUEPRINT.get("/<task>/package", endpoint="download")
@needs(Right.OPERATE)
def download(name: str, task: str) -> Response:
    """Return a finished package for download, whole or in ranges."""
    with reading() as opened:
        _check(opened, name, task)
        path = tasks.package_of(opened, task)
    return file_for_download(path, f"{name}-{task}.wacz")


def _empty_form() -> Form:
    texts = dict.fromkeys(("since", "until", "url_prefix", "title", "file"), "")
    return Form({"job": request.args.get("job", ""), **texts, "originals": True}, switches=("originals",))


def _check(opened: Transaction, name: str, task: str) -> None:
    found = tasks.show_task(opened, task)
    if found.collection != name or found.kind.is_of_queues:
        raise NotFound("task", task)


def _order_of(sent: dict[str, Any]) -> dict[str, Any]:
    return {**{field: sent.get(field, "") for field in _FIELDS}, "originals": sent.get("originals", False)}


def _values(name: str) -> dict[str, Any]:
    most = site().settings.admin.upload_max_bytes
    with reading() as opened:
        found = tasks.list_tasks(opened, collection=name, queues=False, after=request.args.get("after"))
    is_busy = any(each.state not in ENDS for each in found.items)
    return {"name": name, "tasks": found, "is_busy": is_busy, "ends": ENDS, "most": most}
