"""A harvest's next date is found when the harvest is made, changed or activated; runs set the dates after that."""

from __future__ import annotations

from sqlalchemy import func, select

from admin.harvests.schedules.dates import first_date, next_date
from admin.harvests.schedules.rules import rule_of
from admin.models.errors import IllegalState
from admin.models.harvest_tables import Harvest, HarvestKind, HarvestRun, Schedule
from admin.models.transaction import Transaction
from archive.dates import Micros


def anchor_of(schedule: Schedule | None, first_run: Micros | None, now: Micros) -> Micros:
    """Return the moment from which a harvest's dates are counted."""
    anchor = now if first_run is None else first_run
    starts = schedule.starts if schedule is not None else None
    return anchor if starts is None else max(anchor, starts)


def scheduled_runs(transaction: Transaction, harvest: Harvest) -> int:
    """Return how many runs were made by the schedule, without those that a person asked for."""
    extra = transaction.session.scalar(
        select(func.count()).where(HarvestRun.harvest_id == harvest.id, HarvestRun.is_extra.is_(True))
    )
    return harvest.runs_made - (extra or 0)


def check_next_run(harvest: Harvest) -> None:
    """Refuse a selective harvest to be active without a next date. Raises IllegalState."""
    if harvest.kind != HarvestKind.SELECTIVE:
        return
    if harvest.schedule is None:
        raise IllegalState(f"harvest {harvest.name!r} has no schedule; choose one, or ask for one run now")
    if harvest.next_run is None:
        raise IllegalState(
            f"the schedule {harvest.schedule.name!r} has no further date for harvest {harvest.name!r}; choose another"
            " one"
        )


def planned_date(transaction: Transaction, harvest: Harvest) -> Micros | None:
    """Return the next date of a harvest by its schedule; None when there is none."""
    if harvest.kind == HarvestKind.SNAPSHOT:
        return harvest.first_run if harvest.runs_made == 0 else None
    if harvest.schedule is None:
        return None
    anchor = anchor_of(harvest.schedule, harvest.first_run, transaction.now)
    made = scheduled_runs(transaction, harvest)
    if made == 0:
        return first_date(rule_of(harvest.schedule), anchor)
    return next_date(rule_of(harvest.schedule), anchor, transaction.now, made)
