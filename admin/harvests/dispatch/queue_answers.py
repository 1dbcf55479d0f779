"""The queues of a running job, as its harvester reports them: hosts with each report, URLs in answer to a question.

A harvester may run on another machine than the admin. So a question about URLs is a command (`steering.Verb`), and the
answer comes with the next report.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from sqlalchemy import select

from admin.harvests.dispatch import listing
from admin.harvests.dispatch.steering import QUESTIONS
from admin.jobs.control.url_history import UrlHistory
from admin.models.errors import NotFound
from admin.models.job_tables import JobCommand
from admin.models.operation import OutputModel
from admin.models.transaction import Right, Transaction
from archive.dates import Micros
from frontier.definition.edits import ProfileEdit, patch_of, with_list_names
from frontier.definition.heritrix.profile import yaml_text

MOST_URLS: Final = 200
"""URLs in an answer."""
_LONGEST: Final = 2_000
_MOST_EDITS: Final = 1_000


class HostLine(OutputModel):
    """The output has the queue of a host, and the reason for which the host waits."""

    host: str
    queued: int
    objects: int
    failed: int
    kind: str
    why: str


class QueuedUrl(OutputModel):
    """The output has a URL of a job that is not done."""

    url: str
    state: str
    """queued, leased, failed or excluded."""
    priority: str
    depth: int
    hop_path: str
    via: str
    tries: int
    """Visits that failed so far."""
    rest_seconds: float
    """The time until the next try of a URL that rests after a failure."""
    code: int
    """The code with which the URL ended; 0 until it has ended."""


class EditView(OutputModel):
    """The output has one edit of the profile of a running job."""

    time: Micros
    by: str
    key: str
    before: Any
    after: Any
    line: int = 0
    """The number of the line with which `before` and `after` begin, in an edit of a long list. They have the changed
    lines, one line before them and one line behind them. 0 means that they have the whole values."""


class JobEdits(OutputModel):
    """The output has the edits of a job's profile, and the patch that they make."""

    edits: list[EditView]
    patch: str
    """The values in force as a profile in YAML, which another profile can name in `extends`."""
    removed: list[str]
    """Lines of lists that were removed, which a patch can't do."""
    misplaced: list[str]
    """Rules that were put before others; a patch puts them last."""


class QueueAnswer(OutputModel):
    """The output has the URLs that a harvester found in answer to a question."""

    id: int
    verb: str
    arguments: dict[str, Any]
    created: Micros
    created_by: str
    done: Micros | None
    """When the harvester answered; None before."""
    outcome: str
    urls: list[QueuedUrl]
    is_whole: bool
    """There are no more URLs than these."""
    history: UrlHistory | None = None
    """The history of the URL of a question show-url; None for another question, and for an unknown URL."""


def list_queues(transaction: Transaction, job_id: int) -> list[HostLine]:
    """Return the hosts with the longest queues, as the newest report of the harvester has them. Raises NotFound."""
    transaction.require(Right.READ)
    listing.show_job(transaction, job_id)
    samples = listing.job_samples(transaction, job_id, limit=1)
    rows: Sequence[Mapping[str, Any]] = samples[-1].hosts if samples else []
    return [
        HostLine(
            host=str(row.get("host", "")),
            queued=int(row.get("queued", 0)),
            objects=int(row.get("objects", 0)),
            failed=int(row.get("failed", 0)),
            kind=str(row.get("kind", "")),
            why=str(row.get("why", "")),
        )
        for row in rows
    ]


def show_answer(transaction: Transaction, job_id: int, command_id: int) -> QueueAnswer:
    """Return the answer to a question about the queues of a job. Raises NotFound, also for another command."""
    transaction.require(Right.READ)
    row = transaction.session.get(JobCommand, command_id) if 0 <= command_id < 2**63 else None
    if row is None or row.job_id != job_id or row.verb not in QUESTIONS:
        raise NotFound(f"question to job {job_id}", command_id)
    return _answer(row)


def latest_answer(transaction: Transaction, job_id: int) -> QueueAnswer | None:
    """Return the newest question about the queues of a job, with its answer; None when nobody has asked."""
    transaction.require(Right.READ)
    wanted = select(JobCommand).where(JobCommand.job_id == job_id, JobCommand.verb.in_(sorted(QUESTIONS)))
    row = transaction.session.scalar(wanted.order_by(JobCommand.id.desc()).limit(1))
    return None if row is None else _answer(row)


def list_edits(transaction: Transaction, job_id: int) -> JobEdits:
    """Return the edits of a job's profile that its harvester has carried out. Raises NotFound."""
    transaction.require(Right.READ)
    listing.show_job(transaction, job_id)
    rows = transaction.session.scalars(
        select(JobCommand).where(JobCommand.job_id == job_id, JobCommand.done.is_not(None)).order_by(JobCommand.id)
    )
    texts = [text for row in rows for text in (row.answer or {}).get("edits", ())]
    edits = [with_list_names(ProfileEdit.unpacked(text)) for text in texts]
    patch = patch_of(edits)
    return JobEdits(
        edits=[EditView.model_validate(each) for each in edits],
        patch=yaml_text(dict(patch.values), [f"Edits of job {job_id}"]),
        removed=list(patch.removed),
        misplaced=list(patch.misplaced),
    )


def stored_answer(answer: Mapping[str, Any]) -> dict[str, Any]:
    """Return the answer of a harvester as it is stored, within bounds."""
    if isinstance(edits := answer.get("edits"), list):
        return {"edits": [str(each) for each in edits[:_MOST_EDITS]]}
    if isinstance(history := answer.get("history"), Mapping):
        return {"urls": [], "is_whole": True, "history": UrlHistory.model_validate(history).model_dump()}
    urls = [_url(each) for each in list(answer.get("urls", ()))[:MOST_URLS] if isinstance(each, Mapping)]
    return {"urls": urls, "is_whole": bool(answer.get("is_whole", True))}


def _answer(row: JobCommand) -> QueueAnswer:
    answer = row.answer or {}
    return QueueAnswer(
        id=row.id,
        verb=row.verb,
        arguments=row.arguments,
        created=row.created,
        created_by=row.created_by,
        done=row.done,
        outcome=row.outcome,
        urls=[QueuedUrl(**each) for each in answer.get("urls", ())],
        is_whole=bool(answer.get("is_whole", True)),
        history=UrlHistory.model_validate(answer["history"]) if answer.get("history") else None,
    )


def _url(found: Mapping[str, Any]) -> dict[str, Any]:
    texts = {name: _text(found.get(name)) for name in ("url", "state", "priority", "hop_path", "via")}
    numbers = {name: int(found.get(name) or 0) for name in ("depth", "tries", "code")}
    return {**texts, **numbers, "rest_seconds": float(found.get("rest_seconds") or 0)}


def _text(value: Any) -> str:
    return str(value or "").replace("\0", "\ufffd")[:_LONGEST]
