"""This page exports the queues of a crawl into a file, imports such a file, and rebuilds queues that were lost."""

from __future__ import annotations

from typing import Any, Final

from flask import Blueprint, request, url_for
from werkzeug.wrappers import Response

from admin.collections.tasks import queue_orders
from admin.collections.tasks.queue_orders import QueueExportOrder, QueueRebuildOrder
from admin.models.errors import UseCaseError
from admin.models.transaction import Right
from admin.web.files import sent_file
from admin.web.forms.form import Form
from admin.web.page import done, needs, page, read, reading, saving, site, transaction, with_large_files
from admin.web.tasks import add_task_routes, task_values

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
    return page("jobs/queue_files_live.html", **task_values(name, queues=True))


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


add_task_routes(BLUEPRINT, queues=True)


def _page(name: str, form: Form) -> Response:
    with reading() as opened:
        crawl = queue_orders.show_crawl(opened, name)
    most = site().settings.admin.upload_max_bytes
    status = 422 if form.has_problems else 200
    shown = task_values(crawl.name, queues=True)
    return page("jobs/queue_files.html", status, crawl=crawl, form=form, most=most, **shown)


def _form() -> Form:
    return Form({"file": "", **dict.fromkeys(_SWITCHES, False)}, switches=_SWITCHES)


def _chosen(*fields: str) -> Any:
    """Return the function that takes these fields of a form."""
    return lambda sent: {field: sent[field] for field in fields if field in sent}
