"""A harvester reports on its job: progress while it works, then the end, with errors and statistics apart.

Every report names the job's token. A report with another token comes from a harvester that was given up, and is
refused. The report of an end may come several times: its statistics are stored once.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from sqlalchemy import delete, func, select, update

from admin.harvests.dispatch.observations import Observations, store_observations
from admin.harvests.dispatch.qa_sessions import start_qa
from admin.harvests.dispatch.queue import move
from admin.harvests.dispatch.queue_answers import stored_answer
from admin.models.domain_tables import Domain
from admin.models.errors import IllegalState, NotFound
from admin.models.job_tables import (
    DomainHistory,
    Harvester,
    HarvestJob,
    JobCommand,
    JobConfiguration,
    JobSample,
    JobStatus,
    StopReason,
)
from admin.models.transaction import Transaction
from admin.notifications.events import Event
from admin.notifications.outbox import notify
from admin.units import counted
from archive.dates import Micros

_SHORT: Final = 300
_LONG: Final = 10_000
"""Characters of an error's short and long text, as NetarchiveSuite keeps them."""
_GAPS: Final = 1_000
_NAMED: Final = 100
"""A message names so many domains at most."""
_SAMPLES: Final = 2_000
"""Samples that are kept of one job; of more, the oldest go."""
_MOST_HOSTS: Final = 200


@dataclass(frozen=True, slots=True)
class DomainResult:
    """The result says how much a job harvested of one domain."""

    domain_name: str
    objects: int
    bytes: int
    new_bytes: int
    stop_reason: StopReason


@dataclass(frozen=True, slots=True)
class JobResult:
    """The end of a job, as its harvester reports it."""

    succeeded: bool
    harvest_error: str = ""
    harvest_error_details: str = ""
    upload_error: str = ""
    upload_error_details: str = ""
    domains: Sequence[DomainResult] = ()
    objects: int = 0
    bytes: int = 0
    new_bytes: int = 0
    exit_code: int | None = None
    run_name: str = ""
    gaps: str = ""
    """A sentence that names the part that the ended job lacks; empty when nothing is missing."""
    report: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class PendingCommand:
    """A command of an operator that the job's harvester has to carry out."""

    id: int
    verb: str
    arguments: Mapping[str, Any]
    by: str = ""
    """The person who gave the command."""


def report_progress(
    transaction: Transaction,
    job_id: int,
    token: str,
    state: str,
    progress: Mapping[str, Any],
    hosts: Sequence[Mapping[str, Any]] = (),
    *,
    run_name: str = "",
    sample: bool = True,
    seen: Observations | None = None,
) -> list[PendingCommand]:
    """Note a running job's progress. Return what operators have asked meanwhile.

    Raises NotFound, and IllegalState when the job was given to nobody with this token, or has ended.
    """
    job = job_of(transaction, job_id, token)
    if job.status is not JobStatus.STARTED:
        raise IllegalState(f"job {job_id} is {job.status}: the harvester must stop its work on this job")
    job.heard = transaction.now
    if run_name and run_name != job.run_name:
        job.run_name = run_name
        start_qa(transaction, job, is_over=False)
    job.objects, job.bytes = int(progress.get("urls", job.objects)), int(progress.get("bytes", job.bytes))
    job.new_bytes = int(progress.get("new_bytes", job.new_bytes))
    harvester = transaction.session.get(Harvester, job.harvester) if job.harvester else None
    if harvester is not None:
        harvester.heard = transaction.now
    if sample:
        _drop_hosts_of_last_sample(transaction, job_id)
        transaction.session.add(
            JobSample(
                job_id=job_id,
                at=transaction.now,
                state=state[:255],
                progress=dict(progress),
                hosts=[dict(each) for each in hosts[:_MOST_HOSTS]],
            )
        )
        _drop_old_samples(transaction, job_id)
    if seen is not None:
        store_observations(transaction, job_id, seen)
    rows = transaction.session.scalars(
        select(JobCommand)
        .where(JobCommand.job_id == job_id, JobCommand.done.is_(None))
        .order_by(JobCommand.id)
        .limit(100)
    )
    return [PendingCommand(row.id, row.verb, dict(row.arguments), row.created_by) for row in rows]


def report_command(
    transaction: Transaction,
    job_id: int,
    token: str,
    command_id: int,
    outcome: str,
    answer: Mapping[str, Any] | None = None,
) -> None:
    """Note that a command was carried out, or why it was not. `answer` is that to a question, or has edits."""
    job_of(transaction, job_id, token)
    row = transaction.session.get(JobCommand, command_id)
    if row is None or row.job_id != job_id:
        raise NotFound("command", command_id)
    if row.done is None:
        row.done, row.outcome = transaction.now, outcome[:1000]
        row.answer = stored_answer(answer) if answer is not None else None


def report_end(transaction: Transaction, job_id: int, token: str, result: JobResult) -> bool:
    """Take the end of a job in. Return whether the report counted; one that came before counts no more.

    A late report about a job that was given up (FAILED) leaves the job FAILED, but its statistics are stored: the data
    is there. Raises NotFound, and IllegalState for a wrong token.
    """
    job = job_of(transaction, job_id, token)
    if job.status is not JobStatus.STARTED:
        return _late_report(transaction, job, result)
    after = JobStatus.DONE if result.succeeded else JobStatus.FAILED
    _take_over(transaction, job, result)
    transaction.session.flush()
    move(transaction, job_id, JobStatus.STARTED, after, ended=transaction.now)
    _free_harvester(transaction, job)
    transaction.audit("job.end", "job", job_id, f"job {job_id}", new={"status": after, "error": job.harvest_error})
    _notify(transaction, job, result)
    if result.succeeded:
        start_qa(transaction, job, is_over=True)
    return True


def _notify(transaction: Transaction, job: HarvestJob, result: JobResult) -> None:
    """Tell the subscribers that the job ended or failed, and that files were not uploaded."""
    named = {"harvest_id": job.harvest_id, "job_id": job.id}
    facts = {"objects": result.objects, "bytes": result.bytes, "harvester": job.harvester}
    if result.succeeded:
        gaps = f", but has gaps: {result.gaps}" if result.gaps else ""
        notify(transaction, Event.JOB_ENDED, f"Job {job.id} is done{gaps}"[:_SHORT], facts, **named)
    else:
        why = result.harvest_error or result.upload_error or "no reason was given"
        notify(transaction, Event.JOB_FAILED, f"Job {job.id} failed: {why}"[:_SHORT], facts, **named)
    if unanswered := _unanswered(result):
        subject = f"{counted(len(unanswered), 'domain')} of job {job.id} gave no good answer: {', '.join(unanswered)}"
        told = {**facts, "domains": unanswered[:_NAMED]}
        notify(transaction, Event.DOMAINS_UNANSWERED, subject[:_SHORT], told, **named)
    if result.upload_error:
        subject = f"Files of job {job.id} were not uploaded: {result.upload_error}"[:_SHORT]
        notify(transaction, Event.UPLOAD_FAILED, subject, facts, **named)


def _unanswered(result: JobResult) -> list[str]:
    """Return the domains without a good answer."""
    return [each.domain_name for each in result.domains if each.stop_reason is StopReason.NO_GOOD_ANSWER]


def fail_silent_jobs(transaction: Transaction, silent_after: Micros) -> list[int]:
    """Let jobs fail whose harvester has said nothing for so long. Return their numbers.

    A job on which its harvester reports at this moment is left alone.
    """
    silent = transaction.session.scalars(
        select(HarvestJob)
        .where(HarvestJob.status == JobStatus.STARTED, HarvestJob.heard < transaction.now - silent_after)
        .order_by(HarvestJob.id)
        .limit(1000)
        .with_for_update(skip_locked=True)
    ).all()
    failed = []
    for job in silent:
        seconds = (transaction.now - (job.heard or transaction.now)) // 1_000_000
        text = f"harvester {job.harvester} has said nothing for {seconds} s; the job was given up"
        job.harvest_error = _appended(job.harvest_error, text, _SHORT)
        transaction.session.flush()
        if move(transaction, job.id, JobStatus.STARTED, JobStatus.FAILED, ended=transaction.now):
            _free_harvester(transaction, job)
            transaction.audit("job.give_up", "job", job.id, f"job {job.id}", new={"error": text})
            failed.append(job.id)
    return failed


def _late_report(transaction: Transaction, job: HarvestJob, result: JobResult) -> bool:
    if job.status is JobStatus.DONE or _has_statistics(transaction, job.id) or not result.domains:
        return False
    _take_over(transaction, job, result)
    text = "its harvester reported the end after the job had been given up; the statistics are those of that report"
    job.harvest_error_details = _appended(job.harvest_error_details, text, _LONG)
    return True


def _take_over(transaction: Transaction, job: HarvestJob, result: JobResult) -> None:
    job.harvest_error = _appended(job.harvest_error, result.harvest_error, _SHORT)
    job.harvest_error_details = _appended(job.harvest_error_details, result.harvest_error_details, _LONG)
    job.upload_error = _appended(job.upload_error, result.upload_error, _SHORT)
    job.upload_error_details = _appended(job.upload_error_details, result.upload_error_details, _LONG)
    job.objects, job.bytes, job.exit_code = result.objects, result.bytes, result.exit_code
    job.new_bytes = result.new_bytes
    job.run_name = result.run_name or job.run_name
    job.report = dict(result.report) or None
    job.gaps = result.gaps[:_GAPS]
    job.unanswered_domains = len(_unanswered(result))
    job.heard = transaction.now
    _store_statistics(transaction, job, result.domains)


def _store_statistics(transaction: Transaction, job: HarvestJob, results: Sequence[DomainResult]) -> None:
    """Store what each domain of the job gave; domains that are not of the job are not counted."""
    if _has_statistics(transaction, job.id):
        return
    rows = transaction.session.execute(
        select(JobConfiguration.domain_name, JobConfiguration.configuration_id, Domain.id)
        .join(Domain, Domain.name == JobConfiguration.domain_name)
        .where(JobConfiguration.job_id == job.id)
    )
    known = {name: (configuration, domain) for name, configuration, domain in rows}
    for each in results:
        if each.domain_name in known:
            configuration_id, domain_id = known[each.domain_name]
            transaction.session.add(
                DomainHistory(
                    job_id=job.id,
                    harvest_id=job.harvest_id,
                    domain_id=domain_id,
                    configuration_id=configuration_id,
                    objects=each.objects,
                    bytes=each.bytes,
                    new_bytes=each.new_bytes,
                    stop_reason=each.stop_reason,
                    ended=transaction.now,
                )
            )


def _has_statistics(transaction: Transaction, job_id: int) -> bool:
    found = select(DomainHistory.id).where(DomainHistory.job_id == job_id).limit(1)
    return transaction.session.scalar(found) is not None


def job_of(transaction: Transaction, job_id: int, token: str) -> HarvestJob:
    """Return the row of a job, locked. Raises NotFound, and IllegalState when the job was not given with this token."""
    job = transaction.session.get(HarvestJob, job_id, with_for_update=True, populate_existing=True)
    if job is None:
        raise NotFound("job", job_id)
    if not token or job.token != token:
        raise IllegalState(f"job {job_id} belongs to another harvester; this one must stop its work on the job")
    return job


def _free_harvester(transaction: Transaction, job: HarvestJob) -> None:
    row = transaction.session.get(Harvester, job.harvester) if job.harvester else None
    if row is not None and row.job_id == job.id:
        row.job_id = None


def _drop_hosts_of_last_sample(transaction: Transaction, job_id: int) -> None:
    """Drop the hosts of the newest sample so far: only those of the newest one are ever shown.

    The newest is the one that came last, also when the clock was set back.
    """
    newest = select(func.max(JobSample.id)).where(JobSample.job_id == job_id)
    transaction.session.execute(
        update(JobSample).where(JobSample.id == newest.scalar_subquery()).values(hosts=[]),
        execution_options={"synchronize_session": False},
    )


def _drop_old_samples(transaction: Transaction, job_id: int) -> None:
    count = transaction.session.scalar(select(func.count()).where(JobSample.job_id == job_id)) or 0
    if count >= _SAMPLES + 200:
        oldest = select(JobSample.id).where(JobSample.job_id == job_id).order_by(JobSample.id).limit(count - _SAMPLES)
        transaction.session.execute(delete(JobSample).where(JobSample.id.in_(oldest.scalar_subquery())))


def _appended(before: str, text: str, longest: int) -> str:
    joined = f"{before}; {text}" if before and text else before or text
    return joined[:longest]
