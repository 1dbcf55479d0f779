"""Order exports, imports and rebuilds of the queues of a crawl, which are the work of `ghostfleet queue`.

A crawl has a name: that of a run, or that of a job for its latest run. A file of queues has cookies, so that all but
looking asks for the right to steer jobs.
"""

from __future__ import annotations

from pathlib import Path

from pydantic import Field

from admin.collections.tasks.task_folder import TaskKind
from admin.collections.tasks.tasks import TaskView, order_task, safe_name
from admin.jobs.control.rebuild import checked_run
from admin.jobs.control.steering import FoundJob, NoJob, find
from admin.jobs.runs import RunError
from admin.models.errors import IllegalState, InvalidInput, NotFound, Problem
from admin.models.operation import InputModel, OutputModel
from admin.models.transaction import Right, Transaction


class QueueExportOrder(InputModel):
    """The order asks for a file with all URLs of a crawl that are not done."""

    seen: bool = False
    """The file also has the fingerprints, or the Bloom filter, of all URLs that were seen."""


class QueueRebuildOrder(InputModel):
    """The order asks for new queues of a crawl that does not run."""

    revisit_pages: bool = False
    """The links of stored pages are extracted, and those that are new are queued. No request is sent."""
    anew: bool = False
    """The queues that Redis has of the crawl are dropped first."""
    reason: str = Field("", max_length=1_000)


class CrawlView(OutputModel):
    """The view shows the crawl to whose queues an order belongs."""

    name: str
    """The name of the run."""
    is_running: bool
    """A command or a harvester on this machine runs the crawl."""
    is_here: bool
    """The folder of the crawl is in this home, so that its queues can be rebuilt here."""


def show_crawl(transaction: Transaction, name: str) -> CrawlView:
    """Return the crawl with the name of a run, or the latest one of a job. Raises NotFound and IllegalState."""
    transaction.require(Right.READ)
    found = _crawl(transaction, name)
    return CrawlView(name=found.name, is_running=found.is_running, is_here=found.run is not None)


def order_export(transaction: Transaction, name: str, given: QueueExportOrder) -> TaskView:
    """Let the queues of a crawl be written into a file. Raises NotFound, Forbidden and IllegalState."""
    transaction.require(Right.OPERATE)
    return _order(transaction, TaskKind.QUEUE_EXPORT, _crawl(transaction, name), {"seen": given.seen})


def order_queue_import(
    transaction: Transaction, name: str, upload: Path, *, file: str, any_scope: bool = False
) -> TaskView:
    """Let the URLs of an uploaded file be added to a crawl. `file` is its name, and `upload` the path of the bytes.

    With `any_scope`, URLs that are out of the scope of the crawl are queued, too. Raises InvalidInput, NotFound,
    Forbidden and IllegalState.
    """
    transaction.require(Right.OPERATE)
    target = _crawl(transaction, name)
    if not upload.stat().st_size:
        raise InvalidInput(Problem("file", "the file is empty; choose another one"))
    conditions = {"file": safe_name(file) or "queue.jsonl", "any_scope": any_scope}
    return _order(transaction, TaskKind.QUEUE_IMPORT, target, conditions, upload)


def check_rebuild(transaction: Transaction, name: str) -> None:
    """Raise NotFound, Forbidden and IllegalState when the queues of a crawl can't be rebuilt here and now."""
    transaction.require(Right.OPERATE)
    try:
        checked_run(_crawl(transaction, name))
    except RunError as error:
        raise IllegalState(str(error)) from error


def order_rebuild(transaction: Transaction, name: str, given: QueueRebuildOrder) -> TaskView:
    """Let the queues of a crawl be rebuilt. Raises NotFound, Forbidden, and IllegalState for a crawl that runs."""
    check_rebuild(transaction, name)
    return _order(transaction, TaskKind.QUEUE_REBUILD, _crawl(transaction, name), given.model_dump())


def _crawl(transaction: Transaction, name: str) -> FoundJob:
    try:
        return find(transaction.settings, name)
    except NoJob as error:
        raise NotFound("crawl in this home", name) from error
    except RunError as error:
        raise IllegalState(str(error)) from error


def _order(
    transaction: Transaction,
    kind: TaskKind,
    target: FoundJob,
    conditions: dict[str, object],
    upload: Path | None = None,
) -> TaskView:
    collection = target.run.state.collection if target.run is not None else ""
    return order_task(transaction, kind, collection, {"job": target.name, **conditions}, upload)
