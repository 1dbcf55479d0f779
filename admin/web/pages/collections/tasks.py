"""These pages order WACZ packages of a collection or of a job, show how far they are, and hand them out."""

from __future__ import annotations

from typing import Any, Final

from flask import Blueprint, request
from werkzeug.wrappers import Response

from admin.collections.tasks import tasks
from admin.collections.tasks.tasks import PackageOrder
from admin.models.errors import UseCaseError
from admin.models.transaction import Right
from admin.web.files import sent_file
from admin.web.forms.form import Form
from admin.web.page import done, needs, page, read, saving, site, transaction, with_large_files
from admin.web.tasks import add_task_routes, task_values

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


add_task_routes(BLUEPRINT, queues=False)


def _empty_form() -> Form:
    texts = dict.fromkeys(("since", "until", "url_prefix", "title", "file"), "")
    return Form({"job": request.args.get("job", ""), **texts, "originals": True}, switches=("originals",))


def _order_of(sent: dict[str, Any]) -> dict[str, Any]:
    return {**{field: sent.get(field, "") for field in _FIELDS}, "originals": sent.get("originals", False)}


def _values(name: str) -> dict[str, Any]:
    return {"most": site().settings.admin.upload_max_bytes, **task_values(name, queues=False)}
