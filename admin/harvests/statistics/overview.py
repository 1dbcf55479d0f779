"""The overview says what runs now, what needs attention, what runs next, and how much room the disks have."""

from __future__ import annotations

import shutil
from typing import Final

from sqlalchemy import exists, func, not_, or_, select, text

from admin.harvests.dispatch.channels import ChannelView, is_of_harvest, list_channels
from admin.harvests.dispatch.harvesters import HarvesterView, list_harvesters
from admin.harvests.dispatch.listing import JobLine, count_by_status, lines_of, list_jobs
from admin.harvests.dispatch.steering import was_cancelled
from admin.models.domain_tables import Domain
from admin.models.harvest_tables import Channel, Harvest
from admin.models.job_tables import HarvesterState, HarvestJob, JobStatus
from admin.models.operation import OutputModel
from admin.models.people_tables import SchedulerLease
from admin.models.plain_text import comparable
from admin.models.transaction import Right, Transaction
from archive.dates import Micros

_SHOWN: Final = 20
_RECENT: Final[Micros] = 30 * 86_400_000_000
"""Upload errors and dead domains of jobs that are done are shown for so long."""
_MOST_LOOKED_AT: Final = 1_000
"""The jobs that are done are looked for among so many jobs with such trouble, the newest ones."""
_SCHEDULER_LEASE: Final = "scheduler"
_LATE: Final[Micros] = 60_000_000
"""The clocks of the database and of this machine may differ by so much."""


class HarvestNote(OutputModel):
    """The output names a harvest, with its next run or the reason why it has none."""

    name: str
    next_run: Micros | None
    run_now: bool
    why_inactive: str


class ChannelTrouble(OutputModel):
    """The output names a channel that no harvester serves."""

    name: str
    waiting: bool
    """Jobs wait in the channel."""


class Disk(OutputModel):
    """The output says how much room a disk has, of the admin's machine or of a harvester."""

    where: str
    free: int
    total: int | None
    """None when it is not known."""
    is_low: bool


class OverviewView(OutputModel):
    """The output has everything that the overview shows."""

    counts: dict[JobStatus, int]
    """Jobs in each state; a state with more than 10,000 jobs is counted to 10,001."""
    running: list[JobLine]
    more_running: bool
    failed: list[JobLine]
    more_failed: bool
    upload_errors: list[JobLine]
    """Jobs that are done though files were not uploaded, of the last 30 days."""
    unanswered: list[JobLine]
    """Jobs of the last 30 days that are done though domains gave no good answer."""
    deactivated: list[HarvestNote]
    """Harvests that the scheduler has deactivated."""
    unserved: list[ChannelTrouble]
    troubled: list[HarvesterView]
    """Harvesters that are silent, or take no jobs."""
    coming: list[HarvestNote]
    harvesters: list[HarvesterView]
    disks: list[Disk]
    has_scheduler: bool
    """A scheduler works, so that jobs are made and handed out."""
    has_domains: bool
    has_harvests: bool

    @property
    def needs_attention(self) -> bool:
        """Return whether anything needs attention."""
        lists = (self.failed, self.upload_errors, self.unanswered, self.deactivated, self.unserved, self.troubled)
        return not self.has_scheduler or any(lists) or any(disk.is_low for disk in self.disks)


def show_overview(transaction: Transaction) -> OverviewView:
    """Return what the overview shows."""
    transaction.require(Right.READ)
    session = transaction.session
    running = list_jobs(transaction, status=JobStatus.STARTED, limit=_SHOWN)
    failed = _failed(transaction)
    harvesters = list_harvesters(transaction)
    return OverviewView(
        counts=count_by_status(transaction),
        running=running.items,
        more_running=running.next is not None,
        failed=failed[:_SHOWN],
        more_failed=len(failed) > _SHOWN,
        upload_errors=_recent_with(transaction, "jobs.upload_error <> ''"),
        unanswered=_recent_with(transaction, "jobs.unanswered_domains > 0"),
        deactivated=_deactivated(transaction),
        unserved=_unserved(transaction, list_channels(transaction), harvesters),
        troubled=[each for each in harvesters if each.is_silent or each.state is HarvesterState.DORMANT],
        coming=_coming(transaction),
        harvesters=harvesters,
        disks=_disks(transaction, harvesters),
        has_scheduler=has_scheduler(transaction),
        has_domains=session.scalar(select(Domain.id).limit(1)) is not None,
        has_harvests=session.scalar(select(Harvest.id).limit(1)) is not None,
    )


def count_active_harvests(transaction: Transaction) -> int:
    """Return the number of harvests that the scheduler makes jobs of."""
    query = select(func.count()).select_from(Harvest).where(Harvest.is_active.is_(True))
    return transaction.session.scalar(query) or 0


def has_scheduler(transaction: Transaction) -> bool:
    """Return whether a scheduler works at the moment."""
    row = transaction.session.get(SchedulerLease, _SCHEDULER_LEASE)
    return row is not None and row.until > transaction.now - _LATE


def _failed(transaction: Transaction) -> list[JobLine]:
    """Return the newest failed jobs, one more than are shown, without those that a person cancelled."""
    numbers = transaction.session.scalars(
        select(HarvestJob.id)
        .where(HarvestJob.status == JobStatus.FAILED, not_(was_cancelled()))
        .order_by(HarvestJob.id.desc())
        .limit(_SHOWN + 1)
    ).all()
    return lines_of(transaction, numbers) if numbers else []


def _recent_with(transaction: Transaction, condition: str) -> list[JobLine]:
    """Return the newest jobs that are done and for which the condition of a partial index holds."""
    # The text of the condition is that of the index, which has no other jobs: with a parameter, SQLite reads all jobs.
    newest = (
        select(HarvestJob.id).where(text(condition)).order_by(HarvestJob.id.desc()).limit(_MOST_LOOKED_AT).subquery()
    )
    numbers = transaction.session.scalars(
        select(HarvestJob.id)
        .join(newest, newest.c.id == HarvestJob.id)
        .where(HarvestJob.status == JobStatus.DONE, HarvestJob.ended > transaction.now - _RECENT)
        .order_by(HarvestJob.id.desc())
        .limit(_SHOWN)
    ).all()
    if not numbers:
        return []
    return lines_of(transaction, numbers)


def _deactivated(transaction: Transaction) -> list[HarvestNote]:
    rows = transaction.session.scalars(
        select(Harvest)
        .where(Harvest.is_active.is_(False), Harvest.why_inactive != "")
        .order_by(Harvest.name)
        .limit(_SHOWN)
    )
    return [HarvestNote.model_validate(row) for row in rows]


def _coming(transaction: Transaction) -> list[HarvestNote]:
    asked = transaction.session.scalars(select(Harvest).where(Harvest.run_now.is_(True)).limit(_SHOWN)).all()
    dated = transaction.session.scalars(
        select(Harvest)
        .where(Harvest.is_active.is_(True), Harvest.next_run.is_not(None), Harvest.run_now.is_(False))
        .order_by(Harvest.next_run)
        .limit(_SHOWN)
    )
    return [HarvestNote.model_validate(row) for row in (*asked, *dated)][:_SHOWN]


def _unserved(
    transaction: Transaction, channels: list[ChannelView], harvesters: list[HarvesterView]
) -> list[ChannelTrouble]:
    """Return the channels without a harvester that is there, when jobs wait in them or an active harvest uses them."""
    served = {each.channel for each in harvesters if _serves(each)}
    unserved = [channel.id for channel in channels if channel.name not in served]
    if not unserved:
        return []
    jobs = exists().where(
        HarvestJob.channel_id == Channel.id, HarvestJob.status.in_((JobStatus.NEW, JobStatus.SUBMITTED))
    )
    uses = exists().where(is_of_harvest(), or_(Harvest.is_active.is_(True), Harvest.run_now.is_(True)))
    rows = transaction.session.execute(
        select(Channel.name, jobs, uses).where(Channel.id.in_(unserved)).order_by(Channel.name)
    )
    return [ChannelTrouble(name=name, waiting=waiting) for name, waiting, used in rows if waiting or used]


def without_harvester(transaction: Transaction, harvest: str) -> str:
    """Return the name of the harvest's channel when no harvester serves it, so that its jobs wait; else nothing."""
    channel = transaction.session.scalar(
        select(Channel.name).join(Harvest, is_of_harvest()).where(Harvest.name == comparable(harvest))
    )
    served = {each.channel for each in list_harvesters(transaction) if _serves(each)}
    return channel if channel is not None and channel not in served else ""


def _serves(harvester: HarvesterView) -> bool:
    return not harvester.is_silent and harvester.state is not HarvesterState.STOPPED


def _disks(transaction: Transaction, harvesters: list[HarvesterView]) -> list[Disk]:
    settings = transaction.settings
    least = max(settings.archive.min_free_bytes, settings.harvester.min_space_left)
    found = []
    try:
        usage = shutil.disk_usage(settings.home)
        found.append(Disk(where="this machine", free=usage.free, total=usage.total, is_low=usage.free < least))
    except OSError:
        found.append(Disk(where="this machine", free=0, total=None, is_low=True))
    for each in harvesters:
        if each.state is not HarvesterState.STOPPED and not each.is_silent:
            is_low = each.state is HarvesterState.DORMANT or each.free_bytes < settings.harvester.min_space_left
            found.append(Disk(where=f"harvester {each.name}", free=each.free_bytes, total=None, is_low=is_low))
    return found
