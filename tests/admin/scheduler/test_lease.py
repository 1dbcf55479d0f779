"""One process at a time has a lease, by the database's clock."""

from __future__ import annotations

from itertools import count
from types import SimpleNamespace

import pytest
from sqlalchemy import update
from support.processes.waiting import until

from admin.harvests.generation.run import FenceLost
from admin.models.database import Database
from admin.models.people_tables import SchedulerLease
from admin.models.transaction import COMMAND_LINE, SCHEDULER
from admin.scheduler.lease import LeaseFence, ProcessLease

pytestmark = pytest.mark.both_databases

HOUR = 3_600_000_000


def set_until(database: Database, change: int) -> None:
    """Move the lease's end, as a change of the database's clock in the other direction would."""
    with database.transaction(COMMAND_LINE) as transaction:
        transaction.session.execute(update(SchedulerLease).values(until=SchedulerLease.until + change))


def test_the_first_owner_has_the_lease_until_its_end(database: Database) -> None:
    one, two = ProcessLease(database, "work", 30, "one"), ProcessLease(database, "work", 30, "two")
    first = one.hold()
    assert (first.is_ours, first.is_new, first.fence, first.owner) == (True, True, 1, "one")
    second = two.hold()
    assert (second.is_ours, second.owner) == (False, "one")
    again = one.hold()
    assert (again.is_ours, again.is_new, again.fence) == (True, False, 1)

    set_until(database, -HOUR)
    taken = two.hold()
    assert (taken.is_ours, taken.is_new, taken.fence) == (True, True, 2)
    assert one.hold().owner == "two"


def test_only_the_owner_renews_and_renewal_takes_no_free_lease(database: Database) -> None:
    one, two = ProcessLease(database, "work", 30, "one"), ProcessLease(database, "work", 30, "two")
    assert not one.renew()
    one.hold()
    assert one.renew()
    set_until(database, -HOUR)
    assert not two.renew()
    assert one.renew()
    assert not two.hold().is_ours


def test_a_lease_ends_by_itself(database: Database) -> None:
    one, two = ProcessLease(database, "work", 30, "one"), ProcessLease(database, "work", 30, "two")
    one.hold()
    assert not two.hold().is_ours
    set_until(database, -29_800_000)
    until(lambda: two.hold().is_ours, what="the end of the lease")


def test_a_lease_that_is_given_back_is_free_at_once(database: Database) -> None:
    one, two = ProcessLease(database, "work", 30, "one"), ProcessLease(database, "work", 30, "two")
    one.hold()
    two.release()
    assert not two.hold().is_ours
    one.release()
    assert two.hold().is_new


def test_an_owner_that_was_only_slow_keeps_its_lease_when_nobody_took_it(database: Database) -> None:
    one = ProcessLease(database, "work", 30, "one")
    one.hold()
    set_until(database, -HOUR)
    again = one.hold()
    assert (again.is_ours, again.is_new, again.fence) == (True, False, 1)


def test_a_dead_owner_is_replaced_although_the_databases_clock_was_set_back(sqlite_database: Database) -> None:
    ProcessLease(sqlite_database, "work", 0.2, "dead").hold()
    set_until(sqlite_database, HOUR)
    two = ProcessLease(sqlite_database, "work", 0.2, "two")
    assert not two.hold().is_ours
    until(lambda: two.hold().is_ours, what="the silence of the former owner")


def test_a_living_owner_is_not_replaced_when_the_clock_is_set_back(
    sqlite_database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    ticks = count()
    monkeypatch.setattr("admin.scheduler.lease.time", SimpleNamespace(monotonic=lambda: next(ticks) * 12))
    one, two = ProcessLease(sqlite_database, "work", 60, "one"), ProcessLease(sqlite_database, "work", 60, "two")
    one.hold()
    set_until(sqlite_database, HOUR)
    for _ in range(20):
        assert not two.hold().is_ours
        assert one.hold().is_ours


def test_what_a_former_owner_writes_is_refused(database: Database) -> None:
    one, two = ProcessLease(database, "work", 30, "one"), ProcessLease(database, "work", 30, "two")
    fence = LeaseFence(one, one.hold().fence)
    with database.transaction(SCHEDULER) as transaction:
        fence.check(transaction)
    set_until(database, -HOUR)
    two.hold()

    def write() -> None:
        with database.transaction(SCHEDULER) as transaction:
            fence.check(transaction)

    with pytest.raises(FenceLost, match="fencing number 2, ours was 1"):
        write()
    set_until(database, -HOUR)
    one.hold()
    with pytest.raises(FenceLost, match="fencing number 3, ours was 1"):
        write()
