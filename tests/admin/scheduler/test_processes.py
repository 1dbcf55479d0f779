"""Real scheduler processes: two at a time, and one killed in the middle of a run."""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy import func, insert, select
from support.admin.harvest_world import World
from support.admin.scheduler_process import SchedulerProcess
from support.processes.waiting import until

from admin.models.database import Database
from admin.models.domain_tables import CONFIGURATION_SEED_LISTS, Configuration, Domain, SeedList
from admin.models.harvest_tables import HarvestRun
from admin.models.job_tables import HarvestJob, JobConfiguration, JobStatus
from admin.models.transaction import COMMAND_LINE

DOMAINS = 1_500


def many_domains(database: Database) -> None:
    """Domains with default configurations, made at once."""
    numbers: Sequence[int] = range(1, DOMAINS + 1)
    with database.transaction(COMMAND_LINE) as transaction:
        session = transaction.session
        session.execute(
            insert(Domain),
            [
                {"id": n, "name": f"d{n:05}.org", "unicode_name": f"d{n:05}.org", "tld": "org", "created": 0}
                for n in numbers
            ],
        )
        session.execute(
            insert(Configuration),
            [{"id": n, "domain_id": n, "name": "default", "template_id": 1} for n in numbers],
        )
        session.execute(
            insert(SeedList),
            [{"id": n, "domain_id": n, "name": "default", "seeds": f"http://d{n:05}.org/"} for n in numbers],
        )
        session.execute(insert(CONFIGURATION_SEED_LISTS), [{"configuration_id": n, "seed_list_id": n} for n in numbers])
        for row in session.scalars(select(Domain)):
            row.default_configuration_id = row.id


def count(database: Database, status: JobStatus) -> int:
    with database.reading(COMMAND_LINE) as reading:
        return reading.session.scalar(select(func.count(HarvestJob.id)).where(HarvestJob.status == status)) or 0


def test_a_scheduler_that_is_killed_within_a_run_is_replaced_and_the_run_is_whole(world: World) -> None:
    many_domains(world.database)
    harvest_id = world.snapshot()
    url = world.database._url
    with SchedulerProcess(url, "first") as first:
        until(lambda: count(world.database, JobStatus.DRAFT) > 2, what="drafts of the first scheduler", within=60)
        first.kill()
    assert 0 < count(world.database, JobStatus.DRAFT) < DOMAINS / 10
    assert count(world.database, JobStatus.NEW) == 0
    with SchedulerProcess(url, "second") as second:
        until(lambda: count(world.database, JobStatus.NEW), what="the run of the second scheduler", within=90)
        until(lambda: "jobs of interrupted runs were removed" in second.log, what="word of the drafts")
        assert "second works as the scheduler, with fencing number 2" in second.log
        assert second.end() == 0
    assert count(world.database, JobStatus.DRAFT) == 0
    assert count(world.database, JobStatus.NEW) == DOMAINS / 10
    with world.database.reading(COMMAND_LINE) as reading:
        session = reading.session
        run = session.scalars(select(HarvestRun)).one()
        assert (run.harvest_id, run.jobs, run.configurations) == (harvest_id, DOMAINS / 10, DOMAINS)
        assert session.scalar(select(func.count(JobConfiguration.id))) == DOMAINS
        assert session.scalar(select(func.count(func.distinct(JobConfiguration.domain_name)))) == DOMAINS


def test_the_second_of_two_schedulers_says_for_whom_it_waits_and_takes_over(sqlite_world: World) -> None:
    world = sqlite_world
    world.domain("a.org")
    url = world.database._url
    # The lease is so long that the first scheduler loses it only by giving it back.
    with SchedulerProcess(url, "first", lease_seconds=60) as first:
        until(lambda: "first works as the scheduler" in first.log, what="the first scheduler", within=60)
        with SchedulerProcess(url, "second", lease_seconds=60) as second:
            until(lambda: "another scheduler works: first; this one (second) waits" in second.log, what="its words")
            assert first.end() == 0
            until(lambda: "second works as the scheduler" in second.log, what="the second scheduler")
            harvest_id = world.snapshot()
            until(lambda: world.jobs(harvest_id), what="a job")
