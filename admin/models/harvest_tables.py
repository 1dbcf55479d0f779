"""These tables hold templates, schedules, harvest definitions and their runs."""

from __future__ import annotations

from enum import StrEnum

from sqlalchemy import Column, ForeignKey, Index, Table, Text, UniqueConstraint
from sqlalchemy.orm import Mapped, mapped_column, relationship

from admin.models.base import Base, Document, Edition, Key, Limit, Moment, Name, Number, Words, chosen
from admin.models.domain_tables import Configuration, CrawlerTrap

HARVEST_CONFIGURATIONS = Table(
    "harvest_configurations",
    Base.metadata,
    Column("harvest_id", ForeignKey("harvests.id", ondelete="CASCADE"), primary_key=True),
    Column("configuration_id", ForeignKey("configurations.id", ondelete="CASCADE"), primary_key=True),
    Index("ix_harvest_configurations_configuration_id", "configuration_id"),
)


class Template(Base):
    """A template is a crawl profile that is kept under a name; each change makes a new version."""

    __tablename__ = "templates"

    id: Mapped[Key]
    name: Mapped[Name] = mapped_column(unique=True)
    comments: Mapped[Words]
    is_active: Mapped[bool] = mapped_column(default=True)
    created: Mapped[Moment]
    edition: Mapped[Edition]

    versions: Mapped[list[TemplateVersion]] = relationship(
        back_populates="template", cascade="all, delete-orphan", order_by="TemplateVersion.number"
    )


class TemplateVersion(Base):
    """A version of a template never changes."""

    __tablename__ = "template_versions"
    __table_args__ = (UniqueConstraint("template_id", "number"),)

    id: Mapped[Key]
    template_id: Mapped[int] = mapped_column(ForeignKey("templates.id", ondelete="CASCADE"))
    number: Mapped[Number]
    text: Mapped[str] = mapped_column(Text)
    """The document as its author wrote it, in YAML."""
    sha256: Mapped[Name]
    comments: Mapped[Words]
    created: Mapped[Moment]
    created_by: Mapped[Name]

    template: Mapped[Template] = relationship(back_populates="versions")


class TimeUnit(StrEnum):
    """A schedule's interval is counted in one of these units."""

    HOUR = "hour"
    DAY = "day"
    WEEK = "week"
    MONTH = "month"


class ScheduleEnd(StrEnum):
    """A schedule ends in one of these ways."""

    NEVER = "never"
    DATE = "date"
    COUNT = "count"


class Schedule(Base):
    """A schedule says when a selective harvest runs."""

    __tablename__ = "schedules"

    id: Mapped[Key]
    name: Mapped[Name] = mapped_column(unique=True)
    comments: Mapped[Words]
    unit: Mapped[TimeUnit] = mapped_column(chosen(TimeUnit))
    every: Mapped[Number] = mapped_column(default=1)
    minute: Mapped[int | None]
    """The minute (0 to 59), hour (0 to 23), weekday (0 is Monday) or day of the month (1 to 31) at which runs begin.
    None is any time: the n-th run begins n intervals after the first."""
    hour: Mapped[int | None]
    weekday: Mapped[int | None]
    month_day: Mapped[int | None]
    zone: Mapped[Name] = mapped_column(default="UTC")
    """The name of a time zone, such as Europe/Copenhagen."""
    starts: Mapped[Moment | None]
    ends: Mapped[ScheduleEnd] = mapped_column(chosen(ScheduleEnd), default=ScheduleEnd.NEVER)
    ends_at: Mapped[Moment | None]
    ends_after: Mapped[int | None]
    edition: Mapped[Edition]


class HarvestKind(StrEnum):
    """A harvest definition is of one of these kinds."""

    SELECTIVE = "selective"
    """Chosen configurations, as often as a schedule says (NetarchiveSuite's partial harvest)."""
    SNAPSHOT = "snapshot"
    """The default configurations of all domains, once (NetarchiveSuite's full harvest)."""


class Harvest(Base):
    """A harvest definition says what is harvested, when, and up to which limits."""

    __tablename__ = "harvests"

    id: Mapped[Key]
    name: Mapped[Name] = mapped_column(unique=True)
    kind: Mapped[HarvestKind] = mapped_column(chosen(HarvestKind))
    comments: Mapped[Words]
    audience: Mapped[Words]
    collection: Mapped[Name]
    """The collection that the harvest's captures go to."""
    channel_id: Mapped[int | None] = mapped_column(ForeignKey("channels.id"), index=True)
    """None is the default channel of this kind of harvest."""
    is_active: Mapped[bool] = mapped_column(default=False)
    why_inactive: Mapped[Words]
    """Why the scheduler deactivated the harvest; empty when a person did."""
    schedule_id: Mapped[int | None] = mapped_column(ForeignKey("schedules.id"), index=True)
    first_run: Mapped[Moment | None]
    """The moment from which the schedule's runs are counted."""
    next_run: Mapped[Moment | None] = mapped_column(index=True)
    runs_made: Mapped[Number] = mapped_column(default=0)
    run_now: Mapped[bool] = mapped_column(default=False)
    """A person asked for one run outside the schedule."""
    max_bytes: Mapped[Limit]
    """Per domain, for snapshots."""
    max_objects: Mapped[Limit]
    max_seconds: Mapped[Number] = mapped_column(default=0)
    """The time that a job may take; 0 is no limit."""
    qa_sample: Mapped[Words]
    """The pages of each run that a QA session judges: a number, or a share such as 10%; empty for no QA."""
    qa_follows: Mapped[bool] = mapped_column(default=False)
    """A QA session judges all pages while the run goes on."""
    previous_id: Mapped[int | None] = mapped_column(ForeignKey("harvests.id"))
    """The snapshot harvest that this snapshot harvest continues."""
    is_index_ready: Mapped[bool] = mapped_column(default=True)
    facts: Mapped[Document] = mapped_column(default=dict)
    """Extended metadata for warcinfo, such as {"operator": "…"}."""
    permission: Mapped[Name] = mapped_column(default="", server_default="")
    """The sites that the harvest leaves out, as curation.harvest_permission says; empty follows the setting."""
    created: Mapped[Moment]
    created_by: Mapped[Name]
    edition: Mapped[Edition]

    schedule: Mapped[Schedule | None] = relationship()
    channel: Mapped[Channel | None] = relationship()
    previous: Mapped[Harvest | None] = relationship(remote_side="Harvest.id")
    configurations: Mapped[list[Configuration]] = relationship(secondary=HARVEST_CONFIGURATIONS)
    traps: Mapped[list[CrawlerTrap]] = relationship(
        cascade="all, delete-orphan", order_by="CrawlerTrap.position", foreign_keys="CrawlerTrap.harvest_id"
    )
    runs: Mapped[list[HarvestRun]] = relationship(
        back_populates="harvest", cascade="all, delete-orphan", order_by="HarvestRun.number"
    )


class HarvestRun(Base):
    """A run of a harvest is the series of jobs that were generated at one time."""

    __tablename__ = "harvest_runs"
    __table_args__ = (UniqueConstraint("harvest_id", "number"),)

    id: Mapped[Key]
    harvest_id: Mapped[int] = mapped_column(ForeignKey("harvests.id", ondelete="CASCADE"))
    number: Mapped[Number]
    """0 for the first run, as NetarchiveSuite counts."""
    started: Mapped[Moment]
    jobs: Mapped[Number] = mapped_column(default=0)
    configurations: Mapped[Number] = mapped_column(default=0)
    left_out: Mapped[Document] = mapped_column(default=dict)
    """How many configurations were left out, by reason: {"alias": 3, "no-seeds": 1}."""
    dates_skipped: Mapped[Number] = mapped_column(default=0)
    """How many dates of the schedule had passed before the scheduler came to this run."""
    is_extra: Mapped[bool] = mapped_column(default=False)
    """A person asked for the run, outside the schedule."""

    harvest: Mapped[Harvest] = relationship(back_populates="runs")


class Channel(Base):
    """A channel is a queue of jobs; harvesters take their jobs from one channel."""

    __tablename__ = "channels"

    id: Mapped[Key]
    name: Mapped[Name] = mapped_column(unique=True)
    comments: Mapped[Words]
    takes_snapshots: Mapped[bool] = mapped_column(default=False)
    """The channel is for snapshot harvests; otherwise it is for selective ones."""
    is_default: Mapped[bool] = mapped_column(default=False)
    """The channel takes harvests of its kind that name no channel."""
    edition: Mapped[Edition]
