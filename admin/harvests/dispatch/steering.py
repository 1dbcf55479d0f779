"""Operators give commands to running jobs, and resubmit or reject failed ones."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import StrEnum
from pathlib import Path
from typing import Any, Final, Literal

import regex
from pydantic import Field
from sqlalchemy import ColumnElement, and_, func, select

from admin.harvests.dispatch import queue
from admin.harvests.dispatch.job_status import check_transition
from admin.harvests.domains.names import DomainNameError, stored_name
from admin.models.errors import IllegalState, InvalidInput, NotFound, Problem
from admin.models.job_tables import HarvestJob, JobCommand, JobConfiguration, JobStatus
from admin.models.operation import InputModel, OutputModel
from admin.models.transaction import Right, Transaction
from archive.dates import Micros
from archive.url import UrlError, canonical, named_host
from frontier.definition.edits import ProfileEditRefused, edited, with_lists_in
from frontier.definition.groups import MAX_GROUPS, check_group_line
from frontier.definition.job import JobError, Profile
from frontier.definition.rules.list_files import LIST_FOLDER
from frontier.definition.yaml_document import YamlRefused, read_document

CANCELLED: Final = "cancelled by "
"""The error of a job that a person cancelled begins so."""
_MOST_WAITING: Final = 100
_MOST_URLS: Final = 1000
_MOST_GROUP_TEXT: Final = 200_000
_MOST_PROFILE_TEXT: Final = 100_000


class Verb(StrEnum):
    """An operator may give one of these commands to a running job."""

    PAUSE = "pause"
    RESUME = "resume"
    STOP_AFTER_PAGE = "stop-after-page"
    STOP_NOW = "stop-now"
    ADD_URLS = "add-urls"
    SET_LIMITS = "set-limits"
    SET_DOMAIN_LIMITS = "set-domain-limits"
    BLOCK_HOST = "block-host"
    UNBLOCK_HOST = "unblock-host"
    ADD_REJECT = "add-reject"
    SET_GROUPS = "set-groups"
    VISIT_NOW = "visit-now"
    QUEUE_URLS = "queue-urls"
    DELETE_URLS = "delete-urls"
    SHOW_QUEUE = "show-queue"
    SEARCH_QUEUES = "search-queues"
    EDIT_PROFILE = "edit-profile"
    SHOW_URL = "show-url"


class JobCommandInput(InputModel):
    """A command to a running job, with the arguments that its verb needs."""

    verb: Verb
    urls: tuple[str, ...] = ()
    """For add-urls, which extends the scope, and for queue-urls and visit-now, which do not. For show-url: one URL."""
    host: str = ""
    """For block-host, unblock-host and show-queue; also in a URL."""
    expression: str = ""
    """For add-reject: a regular expression; URLs in which it is found are not fetched any more. For delete-urls and
    search-queues: the URLs in which it is found."""
    priority: Literal["high", "standard", "system"] = "high"
    """For queue-urls."""
    force: bool = False
    """For queue-urls: URLs that were visited are visited again."""
    state: Literal["", "queued", "leased", "failed", "excluded"] = ""
    """For search-queues: only URLs in this state."""
    domain: str = ""
    """For set-domain-limits: a domain of the job."""
    limits: dict[str, float | None] = Field(default_factory=dict)
    """For set-limits: keys of the profile's limits, such as {"urls": 50000}. For set-domain-limits: objects and bytes.
    Null removes a limit."""
    groups: tuple[str, ...] = ()
    """For set-groups: all queue groups of the job, as in the key `groups` of a profile. None removes them."""
    profile: str = ""
    """For edit-profile: keys of a profile with their new values, in YAML, such as `robots: ignore`. The key of a list
    may end with `+` or `-`, which adds or removes lines, such as `rules+: [REJECT MatchesRegex .*/print/.*]`."""
    reason: str = ""


class JobCommandView(OutputModel):
    """A command that was given to a job, and what came of it."""

    id: int
    job_id: int
    verb: str
    arguments: dict[str, Any]
    created: Micros
    created_by: str
    done: Micros | None
    outcome: str


NOT_DONE: Final = "not carried out"
"""The outcome of a command begins so when its harvester did not carry the command out."""
_LIMITS: Final = frozenset(("pages", "urls", "bytes", "seconds", "host_pages"))
_DOMAIN_LIMITS: Final = frozenset(("objects", "bytes"))
_LARGEST_LIMIT: Final = 2**53

CAN_NOT_BE_UNDONE: Final = frozenset((Verb.STOP_AFTER_PAGE, Verb.STOP_NOW, Verb.ADD_REJECT, Verb.DELETE_URLS))
"""The site asks before it gives one of these commands."""
QUESTIONS: Final = frozenset((Verb.SHOW_QUEUE, Verb.SEARCH_QUEUES, Verb.SHOW_URL))
"""Commands that change nothing, and have an answer (`queue_answers`)."""
OF_QUEUES: Final = QUESTIONS | {Verb.QUEUE_URLS, Verb.DELETE_URLS}
"""Commands of the page about the queues."""


def check_command(given: JobCommandInput) -> None:
    """Raise InvalidInput for a command whose arguments can't be used."""
    _arguments(given)


def give_command(transaction: Transaction, job_id: int, given: JobCommandInput) -> JobCommandView:
    """Give a command to a running job. Raises NotFound, IllegalState for a job that does not run, InvalidInput."""
    transaction.require(Right.OPERATE)
    job = transaction.session.get(HarvestJob, job_id)
    if job is None:
        raise NotFound("job", job_id)
    if job.status is not JobStatus.STARTED:
        raise IllegalState(f"job {job_id} is {job.status}; only a STARTED job takes commands")
    waiting = transaction.session.scalar(
        select(func.count()).where(JobCommand.job_id == job_id, JobCommand.done.is_(None))
    )
    if (waiting or 0) >= _MOST_WAITING:
        raise IllegalState(f"{waiting} commands wait for job {job_id} already; its harvester does not answer")
    arguments = _arguments(given)
    if given.verb is Verb.SET_DOMAIN_LIMITS:
        arguments["domain"] = _domain_of_job(transaction, job_id, given.domain)
    row = JobCommand(
        job_id=job_id,
        created=transaction.now,
        created_by=transaction.actor.name,
        verb=given.verb,
        arguments=arguments,
        outcome="",
    )
    transaction.session.add(row)
    transaction.session.flush()
    transaction.audit(f"job.{given.verb}", "job", job_id, f"job {job_id}", new={**arguments, "reason": given.reason})
    return JobCommandView.model_validate(row)


def list_commands(transaction: Transaction, job_id: int) -> list[JobCommandView]:
    """Return the commands that a job was given, newest first."""
    rows = transaction.session.scalars(
        select(JobCommand).where(JobCommand.job_id == job_id).order_by(JobCommand.id.desc()).limit(200)
    )
    return [JobCommandView.model_validate(row) for row in rows]


def is_paused(commands: Sequence[JobCommandView]) -> bool:
    """Return whether a pause is the newest of the pauses and resumptions in `commands`, which come newest first.

    Those that were not carried out don't count. A pause counts before its harvester has taken it.
    """
    taken = (each for each in commands if not each.outcome.startswith(NOT_DONE))
    return next((each.verb == Verb.PAUSE for each in taken if each.verb in (Verb.PAUSE, Verb.RESUME)), False)


def resubmit(transaction: Transaction, job_id: int) -> int:
    """Make a new job with the content of a failed or submitted one. Return the new job's number."""
    transaction.require(Right.OPERATE)
    return queue.resubmit(transaction, job_id)


def reject(transaction: Transaction, job_id: int, reason: str = "") -> None:
    """Mark a failed job as rejected: nobody needs to look at the job any more."""
    transaction.require(Right.OPERATE)
    _change(transaction, job_id, JobStatus.FAILED_REJECTED, "job.reject", reason)


def undo_reject(transaction: Transaction, job_id: int) -> None:
    """Take a rejection back: the job is failed again."""
    transaction.require(Right.OPERATE)
    _change(transaction, job_id, JobStatus.FAILED, "job.undo_reject", "")


def was_cancelled() -> ColumnElement[bool]:
    """Return the condition that a person cancelled a job, which never began."""
    return and_(HarvestJob.started.is_(None), HarvestJob.harvest_error.startswith(CANCELLED))


def fail_job(transaction: Transaction, job_id: int, reason: str) -> None:
    """Let a job fail that no harvester works on, such as one of a channel that nobody serves any more."""
    transaction.require(Right.OPERATE)
    job = transaction.session.get(HarvestJob, job_id, with_for_update=True)
    if job is None:
        raise NotFound("job", job_id)
    if job.status not in (JobStatus.NEW, JobStatus.SUBMITTED):
        raise IllegalState(f"job {job_id} is {job.status}; only a NEW or SUBMITTED job can be cancelled")
    job.harvest_error = f"{CANCELLED}{transaction.actor.name}{f': {reason}' if reason else ''}"[:300]
    transaction.session.flush()
    _change(transaction, job_id, JobStatus.FAILED, "job.cancel", reason, ended=transaction.now)


def _change(transaction: Transaction, job_id: int, after: JobStatus, action: str, reason: str, **values: Any) -> None:
    before = transaction.session.scalar(select(HarvestJob.status).where(HarvestJob.id == job_id))
    if before is None:
        raise NotFound("job", job_id)
    before = JobStatus(before)
    if after is JobStatus.FAILED and action == "job.undo_reject" and before is not JobStatus.FAILED_REJECTED:
        raise IllegalState(f"job {job_id} is {before}; only the rejection of a FAILED_REJECTED job can be undone")
    check_transition(job_id, before, after)
    if not queue.move(transaction, job_id, before, after, **values):
        raise IllegalState(f"job {job_id} changed its state at this moment; look again")
    new = {"status": after, "reason": reason} if reason else {"status": after}
    transaction.audit(action, "job", job_id, f"job {job_id}", old={"status": before}, new=new)


def _arguments(given: JobCommandInput) -> dict[str, Any]:
    match given.verb:
        case Verb.ADD_URLS | Verb.VISIT_NOW:
            return {"urls": _checked_urls(given.urls)}
        case Verb.QUEUE_URLS:
            return {"urls": _checked_urls(given.urls), "priority": given.priority, "force": given.force}
        case Verb.DELETE_URLS:
            return {"expression": _checked_expression(given.expression)}
        case Verb.SEARCH_QUEUES:
            return {"expression": _checked_expression(given.expression), "state": given.state}
        case Verb.BLOCK_HOST | Verb.UNBLOCK_HOST | Verb.SHOW_QUEUE:
            return {"host": _checked_host(given.host)}
        case Verb.ADD_REJECT:
            return {"expression": _checked_expression(given.expression)}
        case Verb.SET_LIMITS:
            return {"limits": _checked_limits(given.limits, _LIMITS, "a job")}
        case Verb.SET_DOMAIN_LIMITS:
            return {"domain": given.domain, "limits": _checked_limits(given.limits, _DOMAIN_LIMITS, "a domain")}
        case Verb.SET_GROUPS:
            return {"groups": _checked_groups(given.groups)}
        case Verb.SHOW_URL:
            return {"url": _checked_urls(given.urls[:1])[0]}
        case Verb.EDIT_PROFILE:
            return {"values": _checked_profile(given.profile)}
        case _:
            return {}


def _checked_urls(urls: tuple[str, ...]) -> list[str]:
    if not urls or len(urls) > _MOST_URLS:
        raise InvalidInput(Problem("urls", f"{len(urls)} URLs were given; give 1 to {_MOST_URLS}"))
    problems, good = [], []
    for number, url in enumerate(urls, 1):
        try:
            good.append(canonical(url.strip()))
        except UrlError as error:
            problems.append(Problem("urls", f"{url[:100]!r}: {error}", number))
    if problems:
        raise InvalidInput(*problems[:20])
    return good


def _checked_host(text: str) -> str:
    try:
        return named_host(text)
    except UrlError as error:
        raise InvalidInput(
            Problem("host", f"{text[:100]!r} is no host: {error}; give one such as www.example.org")
        ) from error


def _checked_groups(lines: tuple[str, ...]) -> list[str]:
    if len(lines) > MAX_GROUPS or sum(map(len, lines)) > _MOST_GROUP_TEXT:
        raise InvalidInput(
            Problem("groups", f"{len(lines):,} groups are too many or too long; use list:FILE for long lists of hosts")
        )
    problems, good = [], []
    for number, line in enumerate((line.strip() for line in lines), 1):
        try:
            good.append(check_group_line(line))
        except ValueError as error:
            problems.append(Problem("groups", str(error), number))
    if problems:
        raise InvalidInput(*problems[:20])
    return good


def _checked_profile(text: str) -> dict[str, Any]:
    """Return the keys of a profile that are to be changed, nested. Raises InvalidInput."""
    try:
        document = read_document(text[: _MOST_PROFILE_TEXT + 1])
        values = document.values()
        if len(text) > _MOST_PROFILE_TEXT or not isinstance(values, dict) or not values:
            raise JobError("these are no keys of a profile with values; write for example robots: ignore")
        edited(Profile(), values, document.line_of, is_present=False)
        with_lists_in(values, Path(LIST_FOLDER))
    except (YamlRefused, ProfileEditRefused) as error:
        raise InvalidInput(*(Problem("profile", each.message, each.line) for each in error.problems[:20])) from error
    except JobError as error:
        raise InvalidInput(Problem("profile", str(error))) from error
    return values


def _checked_expression(expression: str) -> str:
    if not expression or len(expression) > 2000:
        raise InvalidInput(Problem("expression", "an expression of 1 to 2000 characters is needed, such as /calendar/"))
    try:
        compiled = regex.compile(expression)
        compiled.search("http://example.org/" + "a" * 2000 + "!", timeout=0.1)
    except (regex.error, RecursionError, OverflowError) as error:
        raise InvalidInput(Problem("expression", f"{expression[:100]!r} is no regular expression: {error}")) from error
    except TimeoutError as error:
        raise InvalidInput(
            Problem("expression", f"{expression[:100]!r} takes too long on a URL of 2,000 characters; make it simpler")
        ) from error
    return expression


def _domain_of_job(transaction: Transaction, job_id: int, name: str) -> str:
    """Return the name that the job has for a domain, given in ASCII or Unicode. Raises InvalidInput."""
    try:
        stored = stored_name(name)
    except DomainNameError as error:
        raise InvalidInput(Problem("domain", str(error))) from error
    found = select(JobConfiguration.id).where(JobConfiguration.job_id == job_id, JobConfiguration.domain_name == stored)
    if transaction.session.scalar(found) is None:
        raise InvalidInput(Problem("domain", f"{name[:100]} is no domain of job {job_id}"))
    return stored


def _checked_limits(limits: Mapping[str, float | None], known: frozenset[str], owner: str) -> dict[str, float | None]:
    problems = [
        Problem(f"limits.{name}", f"{name!r} is no limit of {owner}; the limits are {', '.join(sorted(known))}")
        for name in limits
        if name not in known
    ]
    problems += [
        Problem(f"limits.{name}", f"{value!r} must be 1 or more, or null for no limit")
        for name, value in limits.items()
        if name in known and value is not None and not 1 <= value <= _LARGEST_LIMIT
    ]
    if not limits:
        problems.append(Problem("limits", "name at least one limit"))
    if problems:
        raise InvalidInput(*problems)
    return dict(limits)
