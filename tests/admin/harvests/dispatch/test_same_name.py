"""Two harvesters of one name: a restart is the same harvester, one of another home is refused while the first works."""

from __future__ import annotations

from dataclasses import replace

import pytest
from support.admin.harvest_database import MINUTE, MovableClock
from support.admin.job_rows import add_channel, add_domain, add_harvest, add_job

from admin.harvester.dispatch_link import DispatchLink
from admin.harvests.dispatch.queue import submit_jobs
from admin.models.database import Database
from admin.models.errors import IllegalState, NotFound
from admin.models.job_tables import HarvesterState
from admin.models.transaction import COMMAND_LINE


@pytest.fixture
def link(database: Database) -> DispatchLink:
    with database.transaction(COMMAND_LINE) as transaction:
        add_channel(transaction)
    return DispatchLink(database, "h1", "FOCUSED", "home-of-the-first")


def test_a_second_home_gets_no_job_of_the_first(link: DispatchLink, database: Database) -> None:
    with database.transaction(COMMAND_LINE) as transaction:
        add_domain(transaction, "example.org")
        channel = add_channel(transaction, "OTHER")
        job = add_job(transaction, add_harvest(transaction, channel))
    link = replace(link, channel="OTHER")
    link.register(0)
    link.announce(HarvesterState.READY, 0)
    with database.transaction(COMMAND_LINE) as transaction:
        submit_jobs(transaction)
    claimed = link.claim()
    assert claimed is not None
    with pytest.raises(IllegalState, match=r"a harvester h1 of another home works on .*; give this one another --name"):
        replace(link, home="home-of-the-second").register(0)
    assert [each.id for each in link.unfinished()] == [job.id]


def test_a_harvester_that_was_killed_registers_again_at_once(link: DispatchLink) -> None:
    link.register(0)
    link.announce(HarvesterState.WORKING, 0)
    link.register(0)


def test_a_second_home_is_refused_while_the_first_is_starting(link: DispatchLink) -> None:
    link.register(0)
    with pytest.raises(IllegalState, match="another home"):
        replace(link, home="home-of-the-second").register(0)
    link.register(0)


def test_a_home_that_lost_its_name_while_it_was_silent_leaves_the_jobs_of_the_next_one_alone(
    link: DispatchLink, database: Database, clock: MovableClock
) -> None:
    with database.transaction(COMMAND_LINE) as transaction:
        add_domain(transaction, "example.org")
        job = add_job(transaction, add_harvest(transaction, add_channel(transaction, "OTHER")))
    first = replace(link, channel="OTHER")
    first.register(0)
    clock.move(6 * MINUTE)
    second = replace(first, home="home-of-the-second")
    second.register(0)
    second.announce(HarvesterState.READY, 0)
    with database.transaction(COMMAND_LINE) as transaction:
        submit_jobs(transaction)
    assert second.claim() is not None
    with pytest.raises(NotFound, match="h1"):
        first.announce(HarvesterState.STOPPED, 0)
    with pytest.raises(NotFound, match="h1"):
        first.claim()
    with pytest.raises(IllegalState, match="another home"):
        first.register(0)
    assert first.unfinished() == []
    assert [each.id for each in second.unfinished()] == [job.id]


@pytest.mark.parametrize("ended", [True, False])
def test_another_home_takes_the_name_over_when_the_first_has_ended_or_is_silent(
    link: DispatchLink, clock: MovableClock, ended: bool
) -> None:
    link.register(0)
    link.announce(HarvesterState.STOPPED if ended else HarvesterState.READY, 0)
    if not ended:
        clock.move(6 * MINUTE)
    second = replace(link, home="home-of-the-second")
    second.register(0)
    second.announce(HarvesterState.READY, 0)
    with pytest.raises(IllegalState, match="another home"):
        link.register(0)
