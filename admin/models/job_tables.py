"""These tables hold jobs, the harvesters that run them, and their results."""

from __future__ import annotations

from enum import StrEnum
from typing import Any, Final

from sqlalchemy import (
    BigInteger,
    Connection,
    ForeignKey,
    Index,
    LargeBinary,
    Text,
    UniqueConstraint,
    event,
    inspect,
    text,
)
from sqlalchemy.orm import Mapped, Mapper, mapped_column, relationship

from admin.models.base import Base, Document, Edition, Key, Limit, Moment, Name, Number, Words, chosen
from admin.models.errors import IllegalState
from admin.models.harvest_tables import Channel, Harvest


class JobStatus(StrEnum):
    """A job of a harvest is in one of these states; `admin.harvests.dispatch.job_status` has the transitions."""

    DRAFT = "DRAFT"
    """The run that the job belongs to is still being generated; all jobs of a run become NEW at once."""
    NEW = "NEW"
    SUBMITTED = "SUBMITTED"
    STARTED = "STARTED"
    DONE = "DONE"
    FAILED = "FAILED"
    RESUBMITTED = "RESUBMITTED"
    FAILED_REJECTED = "FAILED_REJECTED"


class HarvestJob(Base):
    """A job is the part of a harvest's run that one harvester works on.

    What is harvested never changes once the job is stored; only its status and progress do.
    """

    __tablename__ = "jobs"
    __table_args__ = (
        Index("ix_jobs_status_id", "status", "id"),
        Index("ix_jobs_harvest_run", "harvest_id", "run_number", "id"),
        # The states of a run's jobs are counted, and harvests and channels are filtered, without reading whole jobs.
        Index("ix_jobs_harvest_run_status", "harvest_id", "run_number", "status"),
        Index("ix_jobs_harvest_status", "harvest_id", "status", "id"),
        Index("ix_jobs_harvest_id", "harvest_id", "id"),
        Index("ix_jobs_harvest_channel", "harvest_id", "channel_id", "id"),
        Index("ix_jobs_channel_id", "channel_id", "id"),
        Index("ix_jobs_channel_status", "channel_id", "status", "id"),
        Index("ix_jobs_collection_id", "collection", "id"),
        Index("ix_jobs_harvester_id", "harvester", "id"),
        Index(
            "ix_jobs_upload_error",
            "id",
            sqlite_where=text("upload_error <> ''"),
            postgresql_where=text("upload_error <> ''"),
        ),
        Index(
            "ix_jobs_unanswered_domains",
            "id",
            sqlite_where=text("unanswered_domains > 0"),
            postgresql_where=text("unanswered_domains > 0"),
        ),
    )

    id: Mapped[Key]
    harvest_id: Mapped[int] = mapped_column(ForeignKey("harvests.id"))
    run_number: Mapped[Number]
    channel_id: Mapped[int] = mapped_column(ForeignKey("channels.id"))
    collection: Mapped[Name]
    status: Mapped[JobStatus] = mapped_column(chosen(JobStatus), default=JobStatus.NEW)
    edition: Mapped[Edition]

    template_name: Mapped[Name]
    template_version: Mapped[Number]
    profile: Mapped[Document]
    """The crawl profile as the job runs it: the template's values with limits, traps and attributes put in."""
    seeds: Mapped[str] = mapped_column(Text)
    max_bytes: Mapped[Limit]
    """Per domain."""
    max_objects: Mapped[Limit]
    max_seconds: Mapped[Number] = mapped_column(default=0)
    expected_objects: Mapped[Number] = mapped_column(default=0)
    configurations_count: Mapped[Number] = mapped_column(default=0)
    aliases: Mapped[Document] = mapped_column(default=dict)
    """The aliases that were left out because of a domain of this job: {"example.net": "example.org"}."""
    duplicate_reduction_jobs: Mapped[Document] = mapped_column(default=list)
    """Numbers of the earlier jobs against which this job is deduplicated."""
    facts: Mapped[Document] = mapped_column(default=dict)
    """The harvest's name, audience, comments, schedule and extended fields, for warcinfo."""

    created: Mapped[Moment]
    submitted: Mapped[Moment | None]
    started: Mapped[Moment | None]
    ended: Mapped[Moment | None]
    heard: Mapped[Moment | None]
    """When the harvester last said something about the job."""
    harvester: Mapped[str | None] = mapped_column(Text)
    token: Mapped[str | None] = mapped_column(Text)
    """The harvester that has this token, and no other, may report on the job."""
    run_name: Mapped[str | None] = mapped_column(Text)
    """The crawl's own name, `<job>-<timestamp14>`, which is its folder's."""
    resubmitted_as_id: Mapped[int | None] = mapped_column(ForeignKey("jobs.id"))
    resubmission_of_id: Mapped[int | None] = mapped_column(ForeignKey("jobs.id"))
    continuation_of_id: Mapped[int | None] = mapped_column(ForeignKey("jobs.id"))
    harvest_error: Mapped[Words]
    harvest_error_details: Mapped[Words]
    upload_error: Mapped[Words]
    upload_error_details: Mapped[Words]
    objects: Mapped[Number] = mapped_column(default=0)
    bytes: Mapped[Number] = mapped_column(default=0)
    new_bytes: Mapped[Number] = mapped_column(default=0)
    """Bytes that the collection did not have before."""
    exit_code: Mapped[int | None]
    report: Mapped[Document | None]
    """The content of the crawl's report.json at the end."""
    gaps: Mapped[Words] = mapped_column(default="", server_default="")
    """A sentence that names the part that the ended job lacks; empty when nothing is missing."""
    unanswered_domains: Mapped[Number] = mapped_column(default=0, server_default="0")
    """The number of domains without a good answer."""

    harvest: Mapped[Harvest] = relationship()
    channel: Mapped[Channel] = relationship()
    configurations: Mapped[list[JobConfiguration]] = relationship(
        back_populates="job", cascade="all, delete-orphan", order_by="JobConfiguration.position"
    )


class JobConfiguration(Base):
    """One domain of a job, with the configuration and limits that it had when the job was made."""

    __tablename__ = "job_configurations"
    __table_args__ = (
        UniqueConstraint("job_id", "domain_name"),
        Index("ix_job_configurations_configuration_id", "configuration_id"),
        Index("ix_job_configurations_domain_job", "domain_name", "job_id"),
    )

    id: Mapped[Key]
    job_id: Mapped[int] = mapped_column(ForeignKey("jobs.id", ondelete="CASCADE"))
    position: Mapped[Number]
    configuration_id: Mapped[int | None] = mapped_column(ForeignKey("configurations.id", ondelete="SET NULL"))
    domain_name: Mapped[Name]
    configuration_name: Mapped[Name]
    expected_objects: Mapped[Number]
    max_bytes: Mapped[Limit]
    max_objects: Mapped[Limit]
    max_rate: Mapped[Number] = mapped_column(default=0, server_default="0")
    """Visits in a minute to each host of the domain; 0 is no rate."""
    reason: Mapped[Words]
    """Why the configuration began this job, or that it fitted into the job."""

    job: Mapped[HarvestJob] = relationship(back_populates="configurations")


CONTENT: Final = frozenset(
    """
    harvest_id run_number channel_id collection template_name template_version profile seeds max_bytes max_objects
    max_seconds expected_objects configurations_count aliases duplicate_reduction_jobs facts created
    """.split()  # noqa: SIM905 a list of words is easier to read as a text
)
"""Columns of a job that say what is harvested."""
CONFIGURATION_CONTENT: Final = frozenset(
    (
        "job_id",
        "position",
        "domain_name",
        "configuration_name",
        "expected_objects",
        "max_bytes",
        "max_objects",
        "max_rate",
        "reason",
    )
)


@event.listens_for(HarvestJob, "before_update")
def _job_keeps_its_content(_: Mapper[Any], __: Connection, job: HarvestJob) -> None:
    _refuse_changes(job, CONTENT, f"job {job.id}")


@event.listens_for(JobConfiguration, "before_update")
def _job_keeps_its_configurations(_: Mapper[Any], __: Connection, row: JobConfiguration) -> None:
    _refuse_changes(row, CONFIGURATION_CONTENT, f"{row.domain_name} of job {row.job_id}")


def _refuse_changes(row: Base, content: frozenset[str], name: str) -> None:
    """Raise IllegalState when one of these columns was given another value."""
    attributes = inspect(row).attrs
    changed = sorted(column for column in content if attributes[column].history.has_changes())
    if changed:
        raise IllegalState(
            f"{name} is stored, so its {', '.join(changed)} can't be changed; change the harvest instead"
        )


class StopReason(StrEnum):
    """The harvest of a domain ends for one of these reasons."""

    COMPLETE = "complete"
    OBJECT_LIMIT = "object-limit"
    SIZE_LIMIT = "size-limit"
    CONFIGURATION_OBJECT_LIMIT = "config-object-limit"
    CONFIGURATION_SIZE_LIMIT = "config-size-limit"
    TIME_LIMIT = "time-limit"
    UNFINISHED = "unfinished"
    NO_GOOD_ANSWER = "no-good-answer"
    """No seed of the domain gave a good answer (`admin.jobs.results.good_answers`)."""


class DomainHistory(Base):
    """The row says how much one job harvested of one domain, and why it ended there."""

    __tablename__ = "domain_history"
    __table_args__ = (
        UniqueConstraint("job_id", "domain_id"),
        Index("ix_domain_history_domain_ended", "domain_id", "ended"),
        Index("ix_domain_history_configuration_ended", "configuration_id", "ended"),
        Index("ix_domain_history_harvest_domain", "harvest_id", "domain_id"),
    )

    id: Mapped[Key]
    job_id: Mapped[int] = mapped_column(ForeignKey("jobs.id", ondelete="CASCADE"))
    harvest_id: Mapped[int] = mapped_column(ForeignKey("harvests.id"))
    domain_id: Mapped[int] = mapped_column(ForeignKey("domains.id", ondelete="CASCADE"))
    configuration_id: Mapped[int | None] = mapped_column(ForeignKey("configurations.id", ondelete="SET NULL"))
    objects: Mapped[Number]
    bytes: Mapped[Number]
    new_bytes: Mapped[Number] = mapped_column(default=0)
    """Bytes that were not known before: what was kept as revisits is not among them."""
    stop_reason: Mapped[StopReason] = mapped_column(chosen(StopReason))
    ended: Mapped[Moment]


class JobSample(Base):
    """A sample is the progress of a running job at one moment."""

    __tablename__ = "job_samples"
    __table_args__ = (Index("ix_job_samples_job_at", "job_id", "at"),)

    id: Mapped[Key]
    job_id: Mapped[int] = mapped_column(ForeignKey("jobs.id", ondelete="CASCADE"))
    at: Mapped[Moment]
    state: Mapped[Name]
    progress: Mapped[Document]
    """The numbers of the progress view: urls, bytes, new_bytes, queued, failed, rate, errors by kind …"""
    hosts: Mapped[Document] = mapped_column(default=list)
    """The hosts with the longest queues, and what each waits for."""


class JobLog(Base):
    """The row has the end of a running job's crawl.log, as its harvester reported the end of the log last."""

    __tablename__ = "job_logs"

    job_id: Mapped[int] = mapped_column(ForeignKey("jobs.id", ondelete="CASCADE"), primary_key=True)
    at: Mapped[Moment]
    size: Mapped[Number]
    """Bytes of the whole log."""
    tail: Mapped[str] = mapped_column(Text)


class JobPicture(Base):
    """The row has a small picture of a page that a ghost of a running job visited."""

    __tablename__ = "job_pictures"
    __table_args__ = (Index("ix_job_pictures_job_id", "job_id", "id"),)

    id: Mapped[Key]
    job_id: Mapped[int] = mapped_column(ForeignKey("jobs.id", ondelete="CASCADE"))
    at: Mapped[Moment]
    url: Mapped[str] = mapped_column(Text)
    image: Mapped[bytes] = mapped_column(LargeBinary)
    """PNG or JPEG."""


class HarvesterState(StrEnum):
    """A harvester is in one of these states."""

    READY = "ready"
    WORKING = "working"
    UPLOADING = "uploading"
    DORMANT = "dormant"
    """The disk is too full for another job."""
    STOPPED = "stopped"


class Harvester(Base):
    """A harvester is a process that runs the jobs of one channel, one after another."""

    __tablename__ = "harvesters"

    name: Mapped[str] = mapped_column(Text, primary_key=True)
    channel_id: Mapped[int] = mapped_column(ForeignKey("channels.id"), index=True)
    machine: Mapped[Name]
    home: Mapped[Name] = mapped_column(default="")
    """A name that the harvester's home has made up. It tells two harvesters of the same name apart."""
    pid: Mapped[Number]
    state: Mapped[HarvesterState] = mapped_column(chosen(HarvesterState))
    why: Mapped[Words]
    job_id: Mapped[int | None] = mapped_column(BigInteger)
    free_bytes: Mapped[Number] = mapped_column(default=0)
    registered: Mapped[Moment]
    heard: Mapped[Moment]

    channel: Mapped[Channel] = relationship()


class JobCommand(Base):
    """An operator gives a command to a running job; the harvester that runs the job carries the command out."""

    __tablename__ = "job_commands"
    __table_args__ = (Index("ix_job_commands_job_done", "job_id", "done"),)

    id: Mapped[Key]
    job_id: Mapped[int] = mapped_column(ForeignKey("jobs.id", ondelete="CASCADE"))
    created: Mapped[Moment]
    created_by: Mapped[Name]
    verb: Mapped[Name]
    """A `Verb` of `admin.harvests.dispatch.steering`."""
    arguments: Mapped[Document] = mapped_column(default=dict)
    done: Mapped[Moment | None]
    outcome: Mapped[Words]
    answer: Mapped[Document | None]
    """The URLs that the harvester found, for a question about the queues."""
