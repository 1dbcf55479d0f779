"""The time of all parts is that of the database, also where a machine's own clock is wrong."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from sqlalchemy import create_engine
from support.admin.harvest_database import HOUR, MINUTE, SECOND, MovableClock
from support.admin.job_rows import add_channel, add_domain, add_harvest, add_job
from support.stores.postgres_server import PostgresServer

from admin.harvester.dispatch_link import DispatchLink
from admin.harvests.dispatch.queue import submit_jobs
from admin.harvests.dispatch.reports import fail_silent_jobs
from admin.models.database import Database
from admin.models.database_clock import DatabaseClock
from admin.models.job_tables import HarvesterState
from admin.models.transaction import COMMAND_LINE, SCHEDULER
from archive.dates import Micros, now_micros

_NUMBERS = itertools.count()


def skewed(by: Micros) -> Callable[[], Micros]:
    return lambda: now_micros() + by


@pytest.fixture
def opened(url: str) -> Iterator[Callable[..., Database]]:
    """Opens databases, which are closed at the end."""
    found: list[Database] = []

    def opened(*arguments: Any) -> Database:
        found.append(Database(url, *arguments))
        return found[-1]

    yield opened
    for each in found:
        each.close()


@pytest.fixture
def url(postgres_server: PostgresServer) -> str:
    return postgres_server.url(f"clock{next(_NUMBERS)}")


@pytest.mark.parametrize("by", [0, HOUR, -HOUR, -10 * MINUTE])
def test_a_wrong_clock_is_put_right(
    opened: Callable[..., Database], by: Micros, caplog: pytest.LogCaptureFixture
) -> None:
    clock = DatabaseClock(opened().engine, skewed(by))
    assert abs(clock() - now_micros()) < 60 * SECOND
    assert ("whose time holds" in caplog.text) is bool(by)


def test_a_clock_that_is_set_is_measured_again(opened: Callable[..., Database]) -> None:
    local = MovableClock(now_micros())
    clock = DatabaseClock(opened().engine, local)
    for moved in (0, HOUR, -3 * HOUR):
        local.move(moved)
        assert abs(clock() - now_micros()) < 60 * SECOND


def test_the_last_measurement_holds_while_the_database_is_away(url: str) -> None:
    engine = create_engine(url.replace("postgresql:", "postgresql+psycopg:"))
    local = MovableClock(now_micros() - HOUR)
    clock = DatabaseClock(engine, local)
    before = clock()
    engine.dispose()
    clock._engine = create_engine("postgresql+psycopg://me@127.0.0.1:1/none?connect_timeout=2")
    clock._measured_at = float("-inf")
    assert clock() == before
    clock._engine.dispose()


def test_postgresql_has_its_own_time_and_sqlite_this_machines(opened: Callable[..., Database]) -> None:
    assert isinstance(opened().clock, DatabaseClock)
    assert Database("sqlite://").clock is now_micros
    given = MovableClock()
    assert opened(given).clock is given


@pytest.mark.parametrize("by", [10 * MINUTE, -10 * MINUTE, -48 * HOUR])
def test_a_harvester_and_a_scheduler_with_different_clocks_work_together(
    opened: Callable[..., Database], by: Micros
) -> None:
    scheduler, machine = opened(), opened()
    scheduler.check()
    machine.clock = DatabaseClock(machine.engine, skewed(by))
    with scheduler.transaction(COMMAND_LINE) as transaction:
        add_domain(transaction, "example.org")
        add_job(transaction, add_harvest(transaction, add_channel(transaction)))
    link = DispatchLink(machine, "h1", "FOCUSED")
    link.register(0)
    link.announce(HarvesterState.READY, 0)
    with scheduler.transaction(SCHEDULER) as transaction:
        assert submit_jobs(transaction) == 1, "the harvester counts as one that was heard"
    assert link.claim() is not None
    with scheduler.transaction(SCHEDULER) as transaction:
        assert fail_silent_jobs(transaction, 5 * MINUTE) == [], "it was heard just now"
