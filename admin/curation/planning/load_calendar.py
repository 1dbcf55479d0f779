"""The calendar says which harvests run on the days to come, and how much they will probably fetch.

The expectation of a run is the mean of the harvest's last three runs. A harvest that has not run is expected to fetch
what the settings of generation expect of domains without history. Days are those of UTC.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from itertools import batched
from typing import Final

from sqlalchemy import case, func, select

from admin.harvests.schedules.dates import preview
from admin.harvests.schedules.rules import rule_of
from admin.models.domain_tables import Configuration
from admin.models.errors import InvalidInput, Problem
from admin.models.harvest_tables import HARVEST_CONFIGURATIONS, Harvest
from admin.models.job_tables import HarvestJob, JobStatus
from admin.models.operation import OutputModel
from admin.models.transaction import Right, Transaction
from archive.dates import Micros
from archive.settings.curation import CurationSettings
from archive.settings.generation import GenerationSettings

MOST_DAYS: Final = 366
MOST_HARVESTS: Final = 2_000
MOST_RUNS: Final = 100_000
_RUNS_LOOKED_AT: Final = 3
_TOGETHER: Final = 500
_SHOWN_RUNS: Final = 100
_DAY: Final = 86_400_000_000
_EPOCH: Final = date(1970, 1, 1)


@dataclass(frozen=True, slots=True)
class ExpectedLoad:
    """The expectation says how much one run of a harvest will probably fetch."""

    objects: int
    bytes: int
    is_guess: bool = False
    """The harvest has no earlier run that tells."""


@dataclass(frozen=True, slots=True)
class ComingRun:
    """A run of a harvest comes at a moment."""

    harvest: str
    moment: Micros
    expectation: ExpectedLoad


class CalendarRun(OutputModel):
    """The output is one run to come."""

    harvest: str
    moment: Micros
    objects: int
    bytes: int
    is_guess: bool
    """The harvest has no earlier run that tells how much it fetches."""


class DayLoad(OutputModel):
    """The output says what one day will probably bring."""

    day: date
    runs: int
    objects: int
    bytes: int
    conflict: str
    """The reason why the day is a conflict; empty when it is none."""
    first_runs: list[CalendarRun]
    """The runs of the day by their moment; at most 100."""


class LoadCalendar(OutputModel):
    """The output has the days with runs, the first one first."""

    days: list[DayLoad]
    runs: int
    objects: int
    bytes: int
    conflicts: int
    is_whole: bool
    """All runs were counted: neither too many harvests nor too many runs were found."""


def show_calendar(transaction: Transaction, *, days: int = 60) -> LoadCalendar:
    """Return the load of the days to come, 1 to 366. Raises InvalidInput."""
    transaction.require(Right.READ)
    if not 1 <= days <= MOST_DAYS:
        raise InvalidInput(Problem("days", f"{days} is no number of days; write 1 to {MOST_DAYS}"))
    query = (
        select(Harvest)
        .where(Harvest.is_active, Harvest.next_run.is_not(None))
        .order_by(Harvest.next_run, Harvest.id)
        .limit(MOST_HARVESTS + 1)
    )
    found = transaction.session.scalars(query).all()
    harvests = found[:MOST_HARVESTS]
    expectations: dict[int, ExpectedLoad] = {}
    for part in batched(harvests, _TOGETHER):
        expectations |= _expectations(transaction, part)
    until = transaction.now + days * _DAY
    runs: list[ComingRun] = []
    for harvest in harvests:
        for moment in moments_of(harvest, transaction.now, until, MOST_RUNS - len(runs)):
            runs.append(ComingRun(harvest.name, moment, expectations[harvest.id]))
    is_whole = len(found) <= MOST_HARVESTS and len(runs) < MOST_RUNS
    loads = list(days_of(runs, transaction.settings.curation))
    return LoadCalendar(
        days=loads,
        runs=len(runs),
        objects=sum(each.objects for each in loads),
        bytes=sum(each.bytes for each in loads),
        conflicts=sum(bool(each.conflict) for each in loads),
        is_whole=is_whole,
    )


def moments_of(harvest: Harvest, now: Micros, until: Micros, most: int) -> Iterator[Micros]:
    """Yield at most so many moments at which the harvest runs before `until`; a run that is due counts as now."""
    due = harvest.next_run
    if due is None or due >= until or most <= 0:
        return
    first = max(due, now)
    yield first
    if harvest.schedule is None:
        return
    rule, anchor = rule_of(harvest.schedule), harvest.first_run if harvest.first_run is not None else due
    left, after, made = most - 1, first, harvest.runs_made + 1
    while left > 0:
        # A few dates at a time, since a schedule may have a date every hour for ever.
        dates = preview(rule, anchor, after, made, min(left, 50))
        for each in dates:
            if each.moment >= until:
                return
            yield each.moment
        if not dates:
            return
        left, after, made = left - len(dates), dates[-1].moment, made + len(dates)


def days_of(runs: Iterable[ComingRun], limits: CurationSettings) -> Iterator[DayLoad]:
    """Yield each day that has runs, with its conflict. Pure."""
    by_day: dict[int, list[ComingRun]] = {}
    for run in runs:
        by_day.setdefault(run.moment // _DAY, []).append(run)
    for number in sorted(by_day):
        own = sorted(by_day[number], key=lambda each: (each.moment, each.harvest))
        objects, size = sum(each.expectation.objects for each in own), sum(each.expectation.bytes for each in own)
        why = [
            f"{value:,} expected {name} are more than the limit {limit:,}"
            for name, value, limit in (
                ("objects", objects, limits.calendar_objects),
                ("bytes", size, limits.calendar_bytes),
            )
            if value > limit
        ]
        yield DayLoad(
            day=_EPOCH + timedelta(days=number),
            runs=len(own),
            objects=objects,
            bytes=size,
            conflict="; ".join(why),
            first_runs=[_view(each) for each in own[:_SHOWN_RUNS]],
        )


def _view(run: ComingRun) -> CalendarRun:
    expectation = run.expectation
    return CalendarRun(
        harvest=run.harvest,
        moment=run.moment,
        objects=expectation.objects,
        bytes=expectation.bytes,
        is_guess=expectation.is_guess,
    )


def _expectations(transaction: Transaction, harvests: Sequence[Harvest]) -> dict[int, ExpectedLoad]:
    """Return what a run of each harvest will probably fetch."""
    session = transaction.session
    ids = [each.id for each in harvests]
    query = (
        select(
            HarvestJob.harvest_id,
            func.sum(HarvestJob.objects),
            func.sum(HarvestJob.bytes),
            func.count(HarvestJob.run_number.distinct()),
        )
        .join(Harvest, Harvest.id == HarvestJob.harvest_id)
        .where(
            HarvestJob.harvest_id.in_(ids),
            HarvestJob.run_number >= Harvest.runs_made - _RUNS_LOOKED_AT,
            HarvestJob.status.in_((JobStatus.DONE, JobStatus.FAILED)),
        )
        .group_by(HarvestJob.harvest_id)
    )
    found = {
        harvest: ExpectedLoad(int(objects or 0) // runs, int(size or 0) // runs)
        for harvest, objects, size, runs in session.execute(query)
    }
    missing = [each for each in ids if each not in found]
    return {**found, **_guesses(transaction, missing, transaction.settings.generation)}


def _guesses(
    transaction: Transaction, harvests: Sequence[int], settings: GenerationSettings
) -> Mapping[int, ExpectedLoad]:
    """Return what runs of harvests without history will probably fetch."""
    limit = Configuration.max_objects
    most = settings.domain_objects
    each = case((limit.between(0, most), limit), else_=most)
    table = HARVEST_CONFIGURATIONS.c
    query = (
        select(table.harvest_id, func.sum(each))
        .join(Configuration, Configuration.id == table.configuration_id)
        .where(table.harvest_id.in_(harvests))
        .group_by(table.harvest_id)
    )
    objects = {harvest: int(total or 0) for harvest, total in transaction.session.execute(query)}
    return {
        harvest: ExpectedLoad(count := objects.get(harvest, 0), count * settings.average_object_bytes, is_guess=True)
        for harvest in harvests
    }
