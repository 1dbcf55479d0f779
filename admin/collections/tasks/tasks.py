"""Order packages and imports, show how far tasks are, cancel and remove them, and hand out what they have made.

`queue_orders` orders work on the queues of crawls. WARC files have everything that was sent and received, so all but
looking asks for the right to steer jobs.
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from pydantic import Field

from admin.collections.browsing.index import check_collection, index_if_any
from admin.collections.marks import unfinished_deletions, unfinished_renaming
from admin.collections.tasks.task_folder import (
    ENDS,
    UPLOAD_FOLDER,
    TaskFolder,
    TaskKind,
    TaskOrder,
    TaskResult,
    TaskState,
    find_task,
    new_draft,
    put_order,
    tasks_of,
)
from admin.collections.transfer.selection import ExportProblem, selection
from admin.models.errors import IllegalState, InvalidInput, NotFound, Problem
from admin.models.operation import InputModel, OutputModel, Page
from admin.models.transaction import RIGHTS, Right, Transaction
from archive.dates import Micros
from archive.names.warc_paths import ENDINGS
from archive.url import UrlError, canonical

MOST: Final = 200
MOST_WAITING: Final = 50
_DAY_MICROS: Final = 86_400_000_000
_IMPORTED: Final = (*ENDINGS, ".wacz")
_UNSAFE: Final = re.compile(r"[^A-Za-z0-9._@+=,~-]+", re.ASCII)
_LONGEST_NAME: Final = 180
_OPTION: Final = re.compile(r"--(since|until|url-prefix) ")


class PackageOrder(InputModel):
    """The order asks for a WACZ package. Without a condition, the package has all captures of the collection."""

    since: str = Field("", max_length=40)
    """Only captures of this date or later: 2026, 2026-11 or 2026-11-22."""
    until: str = Field("", max_length=40)
    """Only captures up to the end of this year, month or day."""
    job: str = Field("", max_length=200)
    """Only captures of this job, or of this run of a job."""
    url_prefix: str = Field("", max_length=9_000)
    """Only captures whose URL begins with this prefix."""
    title: str = Field("", max_length=500)
    """Title of the package; empty for the collection's name."""
    originals: bool = True
    """The originals of chosen revisits are added."""


class TaskView(OutputModel):
    """The view shows a task: a package to download, the import of an uploaded file, or work on queues of a crawl."""

    id: str
    kind: TaskKind
    collection: str
    state: TaskState
    created: Micros
    created_by: str
    since: str = ""
    until: str = ""
    job: str = ""
    """A condition of a package; or the run whose queues the task works on."""
    url_prefix: str = ""
    title: str = ""
    switches: list[str] = Field(default_factory=list)
    """The switches that are on in an order about queues: seen, any_scope, revisit_pages, anew."""
    file: str = ""
    """The name of an uploaded file."""
    current: str = ""
    """The file that is read at the moment, or the present step of a rebuild."""
    number: int = 0
    of: int = 0
    """How far the task is: so many files of all, bytes of an import, URLs of an export, or steps of a rebuild."""
    is_to_cancel: bool = False
    """Somebody asked the task to end, and it has not ended yet."""
    ended: Micros | None = None
    expires: Micros | None = None
    """When the task is removed with its package; None when nobody knows yet, or never."""
    problem: str = ""
    """Why the task failed."""
    bytes: int | None = None
    """The size of the finished package or export."""
    captures: int | None = None
    pages: int | None = None
    missing: list[str] = Field(default_factory=list)
    """The first twenty problems because of which captures are missing, or lines of a file of queues that can't be used.
    Lines of such a file are for people who may steer jobs."""
    missing_count: int = 0
    account: list[str] = Field(default_factory=list)
    """Lines that say what became of the URLs of queues."""


def order_package(transaction: Transaction, name: str, given: PackageOrder) -> TaskView:
    """Let a WACZ package be written. Raises InvalidInput, NotFound, Forbidden and IllegalState."""
    transaction.require(Right.OPERATE)
    _check_place(transaction, name)
    for field, text in given.model_dump(exclude={"originals"}).items():
        if not text.isprintable():
            raise InvalidInput(Problem(field, "the text has a control character; write it on one line"))
    _check_prefix(given.url_prefix.strip())
    try:
        selection(given.since.strip(), given.until.strip(), given.job.strip(), given.url_prefix.strip())
    except ExportProblem as error:
        option = _OPTION.match(str(error))
        field = option[1].replace("-", "_") if option else ""
        raise InvalidInput(Problem(field, _OPTION.sub("", str(error)).replace(" --until", ""))) from error
    conditions = {key: text.strip() if isinstance(text, str) else text for key, text in given.model_dump().items()}
    return order_task(transaction, TaskKind.PACKAGE, name, conditions)


def order_import(transaction: Transaction, name: str, upload: Path, *, file: str) -> TaskView:
    """Let an uploaded WARC file or WACZ package be imported. `file` is its name, and `upload` the path of the bytes.

    Raises InvalidInput, NotFound, Forbidden and IllegalState.
    """
    transaction.require(Right.CURATE)
    _check_place(transaction, name)
    safe = safe_name(file)
    if not safe.endswith(_IMPORTED):
        why = f"{file[:100]!a} is no WARC file or WACZ package; the name must end in {', '.join(_IMPORTED)}"
        raise InvalidInput(Problem("file", why))
    if not upload.stat().st_size:
        raise InvalidInput(Problem("file", "the file is empty; choose another one"))
    return order_task(transaction, TaskKind.IMPORT, name, {"file": safe}, upload)


def safe_name(file: str) -> str:
    """Return the name of an uploaded file without folders and signs that a file of the home must not have."""
    return _UNSAFE.sub("_", file.replace("\\", "/").rpartition("/")[2])[-_LONGEST_NAME:].lstrip(".-_")


def check_known(transaction: Transaction, name: str) -> None:
    """Raise NotFound unless there is a collection of this name."""
    transaction.require(Right.READ)
    with index_if_any(transaction.settings) as index:
        check_collection(transaction.settings, index, name)


def list_tasks(
    transaction: Transaction,
    *,
    collection: str | None = None,
    crawl: str | None = None,
    queues: bool | None = None,
    after: str | None = None,
    limit: int = 50,
) -> Page[TaskView]:
    """Return tasks, the newest first; `after` is the id of the last one before.

    With `crawl`, these are tasks about this run. With `queues`, they work on queues; without, they do not.
    """
    transaction.require(Right.READ)
    found = []
    for task in reversed(tasks_of(transaction.settings)):
        order = task.order() if after is None or task.id < after else None
        if (
            order is not None
            and collection in (None, order.collection)
            and crawl in (None, order.conditions.get("job"))
            and queues in (None, order.kind.is_of_queues)
        ):
            found.append(_view(transaction, task, order))
        if len(found) > max(1, min(limit, MOST)):
            return Page[TaskView](items=found[:-1], next=found[-2].id)
    return Page[TaskView](items=found, total=len(found) if after is None else None)


def show_task(transaction: Transaction, task: str) -> TaskView:
    """Return one task. Raises NotFound."""
    transaction.require(Right.READ)
    return _view(transaction, *_find(transaction, task))


def cancel_task(transaction: Transaction, task: str) -> TaskView:
    """Let a task end that waits or runs. Raises NotFound, Forbidden, and IllegalState for one that has ended."""
    transaction.require(Right.OPERATE)
    found, order = _find(transaction, task)
    if (state := found.state()) in ENDS:
        raise IllegalState(f"the task has ended: it is {state}")
    _audit(transaction, "task.cancel", found, order)
    transaction.session.flush()
    found.ask_to_cancel()
    with found.held() as is_ours:
        if is_ours and found.result() is None:
            found.end(TaskResult(TaskState.CANCELLED, transaction.now, "", {}))
    return _view(transaction, found, order)


def remove_task(transaction: Transaction, task: str) -> None:
    """Remove a task that has ended, with its package. Raises NotFound, Forbidden, and IllegalState before its end."""
    transaction.require(Right.OPERATE)
    found, order = _find(transaction, task)
    if (state := found.state()) not in ENDS:
        raise IllegalState(f"the task is {state}; cancel it first")
    _audit(transaction, "task.remove", found, order)
    transaction.session.flush()
    found.remove()


def package_of(transaction: Transaction, task: str) -> Path:
    """Return the path of a finished package or export. Raises NotFound, Forbidden, and IllegalState before the end."""
    transaction.require(Right.OPERATE)
    found, order = _find(transaction, task)
    made = {TaskKind.PACKAGE: found.package, TaskKind.QUEUE_EXPORT: found.export}.get(order.kind)
    if made is None:
        raise NotFound("package", task)
    if (state := found.state()) is not TaskState.DONE or not made.is_file():
        raise IllegalState(f"there is no file to download: the task is {state}")
    return made


def _check_place(transaction: Transaction, name: str) -> None:
    """Raise NotFound and IllegalState for a collection that can't be worked on here."""
    check_known(transaction, name)
    settings = transaction.settings
    folder = settings.collection(name)
    if name in unfinished_deletions(settings) or unfinished_renaming(folder):
        raise IllegalState(f"collection {name} is only partly deleted or renamed; complete that first")
    if not folder.is_dir():
        raise IllegalState(f"the files of {name} are not in this home; make the package on the machine that has them")


def _check_prefix(url: str) -> None:
    """Raise InvalidInput for a prefix that no URL can have; empty is none."""
    try:
        if url:
            canonical(url if "://" in url else f"http://{url}")
    except (UrlError, UnicodeError) as error:
        why = f"{url[:200]!a} is no beginning of a URL; write such as https://example.org/news/"
        raise InvalidInput(Problem("url_prefix", why)) from error


def order_task(
    transaction: Transaction, kind: TaskKind, name: str, conditions: Mapping[str, Any], upload: Path | None = None
) -> TaskView:
    """Write an order that was checked, with its uploaded file, and note the order in the audit. Raises IllegalState."""
    settings = transaction.settings
    waiting = sum(1 for each in tasks_of(settings) if each.result() is None)
    if waiting >= MOST_WAITING:
        raise IllegalState(f"{waiting} tasks wait already; cancel one, or try again when some have ended")
    order = TaskOrder(kind, name, transaction.now, transaction.actor.name, conditions)
    asked = {key: value for key, value in conditions.items() if value not in ("", None)}
    transaction.audit(f"{kind}.create", *_thing(order), new=asked)
    transaction.session.flush()
    draft = None
    try:
        draft = new_draft(settings, transaction.now)
        if upload is not None:
            (draft / UPLOAD_FOLDER).mkdir()
            os.link(upload, draft / UPLOAD_FOLDER / str(conditions["file"]))
        return _view(transaction, put_order(draft, order), order)
    except OSError as error:
        if draft is not None:
            shutil.rmtree(draft, ignore_errors=True)
        raise IllegalState(f"the order can't be written: {error.strerror}") from error


def _find(transaction: Transaction, task: str) -> tuple[TaskFolder, TaskOrder]:
    found = find_task(transaction.settings, task)
    order = found.order() if found is not None else None
    if found is None or order is None:
        raise NotFound("task", task)
    return found, order


def _audit(transaction: Transaction, action: str, task: TaskFolder, order: TaskOrder) -> None:
    old = {"task": task.id, "kind": str(order.kind), "created_by": order.created_by}
    transaction.audit(action, *_thing(order), old=old)


def _thing(order: TaskOrder) -> tuple[str, str, str]:
    """Return the kind, the key and the name of the thing that a task works on, for the audit."""
    name = str(order.conditions["job"]) if order.kind.is_of_queues else order.collection
    return "crawl" if order.kind.is_of_queues else "collection", name, name


def _view(transaction: Transaction, task: TaskFolder, order: TaskOrder) -> TaskView:
    result, progress = task.result(), task.progress()
    facts = result.facts if result is not None else {}
    days = transaction.settings.admin.task_days
    expires = None if result is None or not days else int(result.ended + days * _DAY_MICROS)
    wanted = ("since", "until", "job", "url_prefix", "title", "file")
    may_see = not order.kind.is_of_queues or Right.OPERATE in RIGHTS[transaction.actor.role]
    switches = [name for name, value in order.conditions.items() if value is True] if order.kind.is_of_queues else []
    return TaskView(
        id=task.id,
        kind=order.kind,
        collection=order.collection,
        state=task.state(),
        created=order.created,
        created_by=order.created_by,
        **{name: order.conditions.get(name, "") for name in wanted},
        switches=switches,
        current=progress.get("name", "") if result is None else "",
        number=progress.get("number", 0) if result is None else 0,
        of=progress.get("of", 0) if result is None else 0,
        is_to_cancel=result is None and task.is_to_cancel,
        ended=result.ended if result is not None else None,
        expires=expires,
        problem=result.problem if result is not None else "",
        bytes=facts.get("bytes"),
        captures=facts.get("captures"),
        pages=facts.get("pages"),
        missing=facts.get("missing", []) if may_see else [],
        missing_count=facts.get("missing_count", 0),
        account=facts.get("account", []) if may_see else [],
    )
