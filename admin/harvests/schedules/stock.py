"""A fresh database gets the stock schedules: NetarchiveSuite's four, which have no start and no end, and "once"."""

from __future__ import annotations

from typing import Final

from sqlalchemy import select

from admin.models.harvest_tables import Schedule, ScheduleEnd, TimeUnit
from admin.models.people_tables import InstallationValue
from admin.models.transaction import Right, Transaction

STOCK_SCHEDULES: Final = {
    "hourly": TimeUnit.HOUR,
    "daily": TimeUnit.DAY,
    "weekly": TimeUnit.WEEK,
    "monthly": TimeUnit.MONTH,
}
"""The names of the schedules that repeat, and their units; their dates are anytime."""
ONCE: Final = "once"
_DONE: Final = "stock-schedules"
"""The installation value that keeps a deleted stock schedule from coming back."""


def install_stock(transaction: Transaction) -> tuple[str, ...]:
    """Make the stock schedules, once for each database. Return the names of those that were made."""
    transaction.require(Right.CURATE)
    if transaction.session.get(InstallationValue, _DONE) is not None:
        return ()
    names = (*STOCK_SCHEDULES, ONCE)
    present = set(transaction.session.scalars(select(Schedule.name).where(Schedule.name.in_(names))))
    made = tuple(name for name in names if name not in present)
    for name in made:
        schedule = Schedule(
            name=name,
            comments="as shipped",
            unit=STOCK_SCHEDULES.get(name, TimeUnit.DAY),
            every=1,
            zone="UTC",
            ends=ScheduleEnd.COUNT if name == ONCE else ScheduleEnd.NEVER,
            ends_after=1 if name == ONCE else None,
            edition=1,
        )
        transaction.session.add(schedule)
        transaction.session.flush()
        transaction.audit("schedule.install", "schedule", schedule.id, name, new={"unit": schedule.unit})
    transaction.session.add(InstallationValue(name=_DONE, value=",".join(names)))
    transaction.session.flush()
    return made
