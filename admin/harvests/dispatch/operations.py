"""People and programs can do these things with jobs and harvesters."""

from __future__ import annotations

from typing import Final

from admin.harvests.dispatch import (
    channels,
    harvesters,
    job_documents,
    job_domains,
    listing,
    observations,
    queue_answers,
    steering,
)
from admin.harvests.dispatch.channels import ChannelInput, ChannelView
from admin.harvests.dispatch.harvesters import HarvesterView
from admin.harvests.dispatch.job_domains import JobDomain
from admin.harvests.dispatch.listing import JobLine, JobView, SampleView
from admin.harvests.dispatch.queue_answers import HostLine, JobEdits, QueueAnswer
from admin.harvests.dispatch.steering import JobCommandInput, JobCommandView
from admin.models.moments import InputMoment
from admin.models.operation import InputModel, Operation, OutputModel, Page
from admin.models.transaction import Right, Transaction


class NewJob(OutputModel):
    """A new job has the number of a job that was made."""

    id: int


class Reason(InputModel):
    """A reason is given for a change; the audit keeps the text."""

    reason: str = ""


def _channels(transaction: Transaction) -> Page[ChannelView]:
    return Page(items=channels.list_channels(transaction))


def _harvesters(transaction: Transaction) -> Page[HarvesterView]:
    return Page(items=harvesters.list_harvesters(transaction))


def _samples(transaction: Transaction, job_id: int, *, since: InputMoment = 0, limit: int = 100) -> Page[SampleView]:
    return Page(items=listing.job_samples(transaction, job_id, since=since, limit=limit))


def _commands(transaction: Transaction, job_id: int) -> Page[JobCommandView]:
    return Page(items=steering.list_commands(transaction, job_id))


def _queues(transaction: Transaction, job_id: int) -> Page[HostLine]:
    return Page(items=queue_answers.list_queues(transaction, job_id))


def _stop_reasons(transaction: Transaction, job_id: int) -> Page[job_domains.StopReasonCount]:
    return Page(items=job_domains.stop_reasons(transaction, job_id))


def _pictures(transaction: Transaction, job_id: int) -> Page[observations.PictureView]:
    return Page(items=observations.list_pictures(transaction, job_id))


def _resubmit(transaction: Transaction, job_id: int) -> NewJob:
    return NewJob(id=steering.resubmit(transaction, job_id))


def _reject(transaction: Transaction, job_id: int, given: Reason) -> None:
    steering.reject(transaction, job_id, given.reason)


def _cancel(transaction: Transaction, job_id: int, given: Reason) -> None:
    steering.fail_job(transaction, job_id, given.reason)


OPERATIONS: Final[tuple[Operation, ...]] = (
    Operation("job.list", "GET", "/jobs", Right.READ, listing.list_jobs, "List jobs.", output=JobLine, is_list=True),
    Operation("job.show", "GET", "/jobs/{job_id}", Right.READ, listing.show_job, "Show a job.", output=JobView),
    Operation(
        "job.seeds",
        "GET",
        "/jobs/{job_id}/seeds",
        Right.READ,
        listing.job_seeds,
        "Download a job's seeds.",
        media_type="text/plain; charset=utf-8",
    ),
    Operation(
        "job.domains",
        "GET",
        "/jobs/{job_id}/domains",
        Right.READ,
        job_domains.list_job_domains,
        "List a job's domains with their results.",
        output=JobDomain,
        is_list=True,
    ),
    Operation(
        "job.stop-reasons",
        "GET",
        "/jobs/{job_id}/stop-reasons",
        Right.READ,
        _stop_reasons,
        "Count the domains of a job by the reason for which each ended.",
        output=job_domains.StopReasonCount,
        is_list=True,
    ),
    Operation(
        "job.samples",
        "GET",
        "/jobs/{job_id}/samples",
        Right.READ,
        _samples,
        "List samples of a job's progress.",
        output=SampleView,
        is_list=True,
    ),
    Operation(
        "job.log",
        "GET",
        "/jobs/{job_id}/log",
        Right.READ,
        observations.show_log,
        "Show the end of a running job's crawl.log, or its lines in which a pattern is found.",
        output=observations.JobLogView,
    ),
    Operation(
        "job.documents",
        "GET",
        "/jobs/{job_id}/documents",
        Right.READ,
        job_documents.list_documents,
        "List the reports, logs and set-up in the metadata file of an ended job.",
        output=job_documents.DocumentLine,
        is_list=True,
    ),
    Operation(
        "job.document",
        "GET",
        "/jobs/{job_id}/documents/{offset}",
        Right.READ,
        job_documents.show_document,
        "Show a part of such a document, or those of its lines in which a pattern is found.",
        output=job_documents.DocumentPart,
    ),
    Operation(
        "job.pictures",
        "GET",
        "/jobs/{job_id}/pictures",
        Right.READ,
        _pictures,
        "List the last pictures of a running job's ghosts.",
        output=observations.PictureView,
        is_list=True,
    ),
    Operation(
        "job.picture",
        "GET",
        "/jobs/{job_id}/pictures/{picture_id}",
        Right.READ,
        observations.picture_bytes,
        "Download a picture, PNG or JPEG.",
        media_type="application/octet-stream",
    ),
    Operation(
        "job.command",
        "POST",
        "/jobs/{job_id}/commands",
        Right.OPERATE,
        steering.give_command,
        "Give a command to a running job.",
        input=JobCommandInput,
        output=JobCommandView,
        status=202,
    ),
    Operation(
        "job.commands",
        "GET",
        "/jobs/{job_id}/commands",
        Right.READ,
        _commands,
        "List the commands that a job was given.",
        output=JobCommandView,
        is_list=True,
    ),
    Operation(
        "job.queues",
        "GET",
        "/jobs/{job_id}/queues",
        Right.READ,
        _queues,
        "List the hosts of a running job with the longest queues.",
        output=HostLine,
        is_list=True,
    ),
    Operation(
        "job.queue-answer",
        "GET",
        "/jobs/{job_id}/queues/answers/{command_id}",
        Right.READ,
        queue_answers.show_answer,
        "Show what a harvester found for a command show-queue, search-queues or show-url.",
        output=QueueAnswer,
    ),
    Operation(
        "job.edits",
        "GET",
        "/jobs/{job_id}/edits",
        Right.READ,
        queue_answers.list_edits,
        "Show the edits of a job's profile, and the patch that they make.",
        output=JobEdits,
    ),
    Operation(
        "job.resubmit",
        "POST",
        "/jobs/{job_id}/resubmit",
        Right.OPERATE,
        _resubmit,
        "Make a new job with the content of a failed or submitted one.",
        output=NewJob,
        status=201,
    ),
    Operation(
        "job.reject",
        "POST",
        "/jobs/{job_id}/reject",
        Right.OPERATE,
        _reject,
        "Mark a failed job as rejected.",
        input=Reason,
    ),
    Operation(
        "job.undo_reject",
        "POST",
        "/jobs/{job_id}/undo-reject",
        Right.OPERATE,
        steering.undo_reject,
        "Take the rejection of a job back.",
    ),
    Operation(
        "job.cancel",
        "POST",
        "/jobs/{job_id}/cancel",
        Right.OPERATE,
        _cancel,
        "Cancel a job that no harvester has taken.",
        input=Reason,
    ),
    Operation(
        "harvester.list",
        "GET",
        "/harvesters",
        Right.READ,
        _harvesters,
        "List harvesters and what they do.",
        output=HarvesterView,
        is_list=True,
    ),
    Operation(
        "harvester.forget",
        "DELETE",
        "/harvesters/{name}",
        Right.ADMINISTER,
        harvesters.forget_harvester,
        "Remove a harvester that will not come back.",
    ),
    Operation(
        "channel.list",
        "GET",
        "/channels",
        Right.READ,
        _channels,
        "List channels.",
        output=ChannelView,
        is_list=True,
    ),
    Operation(
        "channel.create",
        "POST",
        "/channels",
        Right.ADMINISTER,
        channels.create_channel,
        "Make a channel.",
        input=ChannelInput,
        output=ChannelView,
        status=201,
    ),
    Operation(
        "channel.show",
        "GET",
        "/channels/{name}",
        Right.READ,
        channels.show_channel,
        "Show a channel.",
        output=ChannelView,
    ),
    Operation(
        "channel.change",
        "PUT",
        "/channels/{name}",
        Right.ADMINISTER,
        channels.change_channel,
        "Change a channel.",
        input=ChannelInput,
        output=ChannelView,
    ),
    Operation(
        "channel.delete",
        "DELETE",
        "/channels/{name}",
        Right.ADMINISTER,
        channels.delete_channel,
        "Delete a channel that nothing uses.",
    ),
)
