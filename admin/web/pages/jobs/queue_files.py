"""This page exports the queues of a crawl into a file, imports such a file, and rebuilds queues that were lost."""

from __future__ import annotations

from typing import Any, Final

from flask import Blueprint, request, url_for
from werkzeug.wrappers import Response

from admin.collections.tasks import queue_orders, tasks
from admin.collections.tasks.queue_orders import QueueExportOrder, QueueRebuildOrder
from admin.collections.tasks.task_folder import ENDS
from admin.models.errors import NotFound, UseCaseError
from admin.models.transaction import Right, Transaction
from admin.web.files import download as file_for_download
from admin.web.files import sent_file
from admin.web.forms.form import Form
from admin.web.page import done, needs, page, read, reading, saving, site, transaction, with_large_files

BLUEPRINT: Final = Blueprint("queue_files", __name__, url_prefix="/crawls/<name>/queues")
_SWITCHES: Final = ("seen", "any_scope", "revisit_pages", "anew")
_DROP: Final = "Drop the queues that Redis has of {} and rebuild them? URLs that stand in no log are lost."


@BLUEPRINT.get("", endpoint="index")
@needs(Right.READ)
def index(name: str) -> Response:
    """Show the exports, imports and rebuilds of the queues of a crawl, and the forms to order them."""
    return _page(name, _form())


@BLUEPRINT.get("/live", endpoint="live")
@needs(Right.READ)
def live(name: str) -> Response:
    """Show the part of the page that changes while a task is carried out."""
    return page("jobs/queue_files_live.html", **_tasks(name))


@BLUEPRINT.post("/export", endpoint="export")
@needs(Right.OPERATE)
def export(name: str) -> Response:
    """Let the queues be written into a file."""
    form = _form()
    if form.is_saved_by(saving(queue_orders.order_export, name), QueueExportOrder, _chosen("seen")):
        return done("The queues are being written. This page shows how far the file is.", ".index", name=name)
    return _page(name, form)


@BLUEPRINT.post("/import", endpoint="upload")
@with_large_files
@needs(Right.OPERATE)
def upload(name: str) -> Response:
    """Take a file of queues, and add its URLs to the crawl in the background."""
    form = _form()
    try:
        path, file = sent_file()
        with transaction() as opened:
            queue_orders.order_queue_import(opened, name, path, file=file, any_scope=bool(form.value("any_scope")))
    except UseCaseError as error:
        form.take(error)
        return _page(name, form)
    return done("The file is being read. This page shows what becomes of its URLs.", ".index", name=name)


@BLUEPRINT.post("/rebuild", endpoint="rebuild")
@needs(Right.OPERATE)
def rebuild(name: str) -> Response:
    """Let the queues be rebuilt, and ask first when queues of the crawl are to be dropped."""
    form = _form()
    if form.value("anew") and request.form.get("confirmed") != "yes":
        try:
            read(queue_orders.check_rebuild, name)
        except UseCaseError as error:
            form.take(error)
            return _page(name, form)
        fields = {field: "on" for field in ("revisit_pages", "anew") if form.value(field)}
        back = url_for(".index", name=name)
        return page("jobs/confirm.html", question=_DROP.format(name), fields=fields, label="rebuild them", back=back)
    chosen = _chosen("revisit_pages", "anew", "reason")
    if form.is_saved_by(saving(queue_orders.order_rebuild, name), QueueRebuildOrder, chosen):
        return done("The queues are being rebuilt. This page shows how far the rebuild is.", ".index", name=name)
    return _page(name, form)


@BLUEPRINT.post("/<task>/<any(cancel, remove):action>", endpoint="act")
@needs(Right.OPERATE)
def act(name: str, task: str, action: str) -> Response:
    """Cancel a task that waits or runs, or remove one that has ended."""
    with transaction() as opened:
        _check(opened, name, task)
        if action == "cancel":
            tasks.cancel_task(opened, task)
            return done("The task is cancelled. URLs that an import has added stay in the queues.", ".index", name=name)
        tasks.remove_task(opened, task)
    return done("The task was removed.", ".index", name=name)


@BLUEPRINT.get("/<task>/file", endpoint="download")
@needs(Right.OPERATE)
def download(name: str, task: str) -> Response:
    """Return a finished export for download, whole or in ranges."""
    with reading() as opened:
        _check(opened, name, task)
        path = tasks.package_of(opened, task)
    return file_for_download(path, f"{name}-{task}.jsonl.gz")


def _page(name: str, form: Form) -> Response:
    with reading() as opened:
        crawl = queue_orders.show_crawl(opened, name)
    most = site().settings.admin.upload_max_bytes
    status = 422 if form.has_problems else 200
    return page("jobs/queue_files.html", status, crawl=crawl, form=form, most=most, **_tasks(crawl.name))


def _tasks(name: str) -> dict[str, Any]:
    with reading() as opened:
        found = tasks.list_tasks(opened, crawl=name, queues=True, after=request.args.get("after"))
    return {"name": name, "tasks": found, "is_busy": any(each.state not in ENDS for each in found.items), "ends": ENDS}


def _check(opened: Transaction, name: str, task: str) -> None:
    found = tasks.show_task(opened, task)
    if found.job != name or not found.kind.is_of_queues:
        raise NotFound("task", task)


def _form() -> Form:
    return Form({"file": "", **dict.fromkeys(_SWITCHES, False)}, switches=_SWITCHES)


def _chosen(*fields: str) -> Any:
    """Return the function that takes these fields of a form."""
    return lambda sent: {field: sent[field] for field in fields if field in sent}
