"""The scheduler's looks: what they start, what they wait for, and what they survive."""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from sqlalchemy import func, select, update
from sqlalchemy.exc import OperationalError
from support.admin.harvest_database import DAY, HOUR, MINUTE, START, MovableClock
from support.admin.harvest_world import World, settings_with
from support.processes.waiting import until

from admin.harvests.generation import jobs as jobs_module
from admin.harvests.generation.ready import due, is_ready
from admin.harvests.generation.run import Generator
from admin.models.database import Database
from admin.models.errors import DatabaseRefused
from admin.models.harvest_tables import Harvest, HarvestKind, HarvestRun
from admin.models.job_tables import HarvestJob, JobStatus
from admin.models.people_tables import SchedulerLease
from admin.models.transaction import COMMAND_LINE, Actor, Transaction
from admin.scheduler.scheduler import PeriodicTask, Scheduler
from archive.settings.load import Settings


@contextmanager
def scheduler_of(
    database: Database, settings: Settings | None = None, tasks: tuple[PeriodicTask, ...] = ()
) -> Iterator[Scheduler]:
    scheduler = Scheduler(database, settings or Settings(), tasks=tasks)
    yield scheduler
    scheduler.close()


def runs(database: Database) -> int:
    with database.transaction(COMMAND_LINE) as transaction:
        return transaction.session.scalar(select(func.count(HarvestRun.id))) or 0


def row(**values: Any) -> Harvest:
    present = {"kind": HarvestKind.SELECTIVE, "is_active": True, "next_run": START, "runs_made": 0, "run_now": False}
    return Harvest(**{**present, "is_index_ready": True, **values})


@pytest.mark.parametrize(
    ("values", "ready"),
    [
        ({"next_run": START + 1}, False),
        ({"next_run": START}, False),
        ({"next_run": START - 1}, True),
        ({"next_run": None}, False),
        ({"next_run": START - 1, "is_active": False}, False),
        ({"next_run": START + 1, "run_now": True}, True),
        ({"next_run": None, "run_now": True, "is_active": False}, True),
        ({"kind": HarvestKind.SNAPSHOT, "next_run": None}, True),
        ({"kind": HarvestKind.SNAPSHOT, "next_run": None, "runs_made": 1}, False),
        ({"kind": HarvestKind.SNAPSHOT, "next_run": None, "is_active": False}, False),
        ({"kind": HarvestKind.SNAPSHOT, "next_run": None, "is_index_ready": False}, False),
        ({"kind": HarvestKind.SNAPSHOT, "next_run": START}, False),
        ({"kind": HarvestKind.SNAPSHOT, "next_run": START - 1}, True),
        ({"kind": HarvestKind.SNAPSHOT, "next_run": None, "is_active": False, "run_now": True}, False),
    ],
)
def test_a_harvest_is_ready_when_its_date_is_in_the_past(
    sqlite_world: World, values: dict[str, Any], ready: bool
) -> None:
    assert is_ready(row(**values), START) == ready
    sqlite_world.harvest(**values)
    with sqlite_world.database.reading(COMMAND_LINE) as reading:
        assert bool(due(reading.session, START)) == ready


@pytest.mark.parametrize(("moved", "started"), [(-1, ()), (0, ()), (1, ("news",))])
def test_a_look_before_at_and_after_the_date(
    world: World, clock: MovableClock, moved: int, started: tuple[str, ...]
) -> None:
    world.schedule()
    world.harvest(configurations=[world.domain("a.org")], schedule="hourly", next_run=START + HOUR, first_run=START)
    clock.move(HOUR + moved)
    with scheduler_of(world.database) as scheduler:
        assert scheduler.tick().started == started
        assert scheduler.wait(30)


def test_a_harvest_runs_each_hour_and_counts(world: World, clock: MovableClock) -> None:
    world.schedule()
    harvest_id = world.harvest(configurations=[world.domain("a.org")], schedule="hourly")
    with scheduler_of(world.database) as scheduler:
        for _ in range(3 * 60):
            scheduler.tick()
            scheduler.wait(30)
            clock.move(MINUTE)
    assert world.row(harvest_id).runs_made == 3
    assert [job.run_number for job in world.jobs(harvest_id)] == [0, 1, 2]


def test_a_snapshot_runs_once(world: World, clock: MovableClock) -> None:
    world.domain("a.org")
    harvest_id = world.snapshot()
    with scheduler_of(world.database) as scheduler:
        for _ in range(3):
            scheduler.tick()
            scheduler.wait(30)
            clock.move(DAY)
    assert len(world.jobs(harvest_id)) == 1


def test_a_slow_snapshot_delays_no_selective_harvest_and_is_not_begun_twice(
    world: World, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    world.schedule()
    for number in range(6):
        world.domain(f"d{number}.org")
    chosen = world.domain("a.org")
    selective = world.harvest(configurations=[chosen], schedule="hourly")
    snapshot = world.snapshot()
    goes_on, is_in = threading.Event(), threading.Event()
    original = jobs_module.canonical

    def slow(seed: str) -> str:
        if threading.current_thread().name.startswith("snapshots"):
            is_in.set()
            assert goes_on.wait(60)
        return original(seed)

    monkeypatch.setattr(jobs_module, "canonical", slow)
    settings = settings_with(chunk_configurations=2, slow_seconds=0.001)
    with scheduler_of(world.database, settings) as scheduler:
        assert set(scheduler.tick().started) == {"news", "snapshot"}
        assert is_in.wait(30)
        until(lambda: world.jobs(selective), what="the selective harvest's job")
        until(lambda: scheduler.tick().in_work == ("snapshot",), what="the end of the selective harvest")
        assert scheduler.tick().started == ()
        assert caplog.text.count("harvest snapshot is being generated for") == 1
        goes_on.set()
        assert scheduler.wait(30)
        assert scheduler.tick().in_work == ()
    assert [len(names) for names in world.domains_by_job(snapshot)] == [2, 2, 2, 1]


@pytest.mark.both_databases
def test_looks_never_overlap(world: World) -> None:
    is_in, goes_on = threading.Event(), threading.Event()

    def slow(_: Transaction) -> None:
        is_in.set()
        assert goes_on.wait(30)

    with scheduler_of(world.database, tasks=(slow,)) as scheduler:
        thread = threading.Thread(target=scheduler.tick)
        thread.start()
        assert is_in.wait(30)
        assert scheduler.tick().overlaps
        goes_on.set()
        thread.join()
        assert not scheduler.tick().overlaps


def test_a_task_that_fails_hinders_neither_the_others_nor_the_harvests(
    sqlite_world: World, caplog: pytest.LogCaptureFixture
) -> None:
    done: list[int] = []

    def broken(_: Transaction) -> None:
        raise ZeroDivisionError

    harvest_id = sqlite_world.harvest(configurations=[sqlite_world.domain("a.org")])
    with scheduler_of(sqlite_world.database, tasks=(broken, lambda transaction: done.append(transaction.now))) as one:
        one.tick()
        one.wait(30)
    assert done == [START]
    assert "broken failed" in caplog.text
    assert len(sqlite_world.jobs(harvest_id)) == 1


def test_first_tasks_are_done_once_by_the_scheduler_that_works(sqlite_world: World) -> None:
    done: list[str] = []

    def first(_: Transaction) -> None:
        done.append("first")

    def each(_: Transaction) -> None:
        done.append("each")

    one, two = (Scheduler(sqlite_world.database, Settings(), first_tasks=(first,), tasks=(each,)) for _ in range(2))
    for scheduler in (one, one, two, one):
        scheduler.tick()
    assert done == ["first", "each", "each", "each"]
    one.close()
    two.tick()
    two.close()
    assert done[4:] == ["first", "each"]


def test_of_two_schedulers_one_works_and_the_other_says_for_whom_it_waits(
    world: World, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "ghostfleet.scheduler")
    with scheduler_of(world.database) as one, scheduler_of(world.database) as two:
        assert one.tick().waits_for == ""
        harvest_id = world.harvest(configurations=[world.domain("a.org")])
        for _ in range(2):
            report = two.tick()
            assert (report.waits_for, report.started) == (one.owner, ())
        assert one.tick().started == ("news",)
        one.wait(30)
        assert len(world.jobs(harvest_id)) == 1
        assert caplog.text.count(f"another scheduler works: {one.owner}; this one ({two.owner}) waits for it") == 1
        one.close()
        assert two.tick().waits_for == ""


@pytest.mark.both_databases
def test_a_scheduler_that_lost_its_lease_writes_nothing_more(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in range(4):
        world.domain(f"d{number}.org")
    harvest_id = world.snapshot()
    is_in, goes_on = threading.Event(), threading.Event()
    original = jobs_module.canonical

    def slow(seed: str) -> str:
        if threading.current_thread() in first_threads:
            is_in.set()
            assert goes_on.wait(60)
        return original(seed)

    first_threads: set[threading.Thread] = set()
    monkeypatch.setattr(jobs_module, "canonical", slow)
    with scheduler_of(world.database) as one, scheduler_of(world.database) as two:
        one._snapshots.submit(lambda: first_threads.add(threading.current_thread())).result()
        assert one.tick().started == ("snapshot",)
        assert is_in.wait(30)
        with world.database.transaction(COMMAND_LINE) as transaction:
            transaction.session.execute(update(SchedulerLease).values(until=0))
        assert two.tick().started == ("snapshot",)
        assert two.wait(30)
        (job,) = world.jobs(harvest_id)
        goes_on.set()
        assert one.wait(30)
        assert [each.id for each in world.jobs(harvest_id)] == [job.id]
    assert runs(world.database) == 1


def test_drafts_of_an_interrupted_run_are_undone_and_the_run_is_generated_again(
    world: World, caplog: pytest.LogCaptureFixture
) -> None:
    world.domain("a.org")
    harvest_id = world.snapshot()
    with world.database.transaction(COMMAND_LINE) as transaction:
        for _ in range(7):
            transaction.session.add(world.job_row(harvest_id, status=JobStatus.DRAFT))
    with scheduler_of(world.database) as scheduler:
        assert scheduler.tick().undone == 7
        scheduler.wait(30)
    assert [job.status for job in world.jobs(harvest_id)] == [JobStatus.NEW]
    assert "7 jobs of interrupted runs were removed" in caplog.text


def test_work_that_began_before_the_database_was_away_does_not_bring_word_of_its_return(
    sqlite_world: World, caplog: pytest.LogCaptureFixture
) -> None:
    """The lease is renewed by a thread beside the looks."""
    scheduler = Scheduler(sqlite_world.database, sqlite_world.settings)

    def renew() -> None:
        raise DatabaseRefused("gone")

    scheduler._unless_away(lambda: scheduler._unless_away(renew))
    assert "the database is back after" not in caplog.text
    scheduler._unless_away(lambda: None)
    assert "the database is back after" in caplog.text
    scheduler.close()


def test_a_database_that_is_away_for_a_while_is_told_of_once_and_nothing_is_doubled(
    sqlite_world: World, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch, clock: MovableClock
) -> None:
    world = sqlite_world
    world.schedule()
    harvest_id = world.harvest(configurations=[world.domain("a.org")], schedule="hourly")
    is_away = threading.Event()
    for way in (Database.transaction, Database.reading):

        @contextmanager
        def sometimes(self: Database, actor: Actor, way: Any = way) -> Iterator[Transaction]:
            if is_away.is_set() and threading.current_thread() is not threading.main_thread():
                cause = OperationalError("", None, Exception("gone"))
                raise DatabaseRefused("the database can't be used: gone") from cause
            with way(self, actor) as transaction:
                yield transaction

        monkeypatch.setattr(Database, way.__name__, sometimes)
    settings = settings_with(period_seconds=0.1, lease_seconds=1)
    scheduler, stop = Scheduler(world.database, settings), threading.Event()
    thread = threading.Thread(target=scheduler.run, args=(stop,))
    thread.start()
    until(lambda: world.row(harvest_id).runs_made == 1, what="the first run")
    is_away.set()
    until(lambda: "goes on when the database is back" in caplog.text, what="word of the database")
    clock.move(HOUR)
    threading.Event().wait(0.5)
    is_away.clear()
    until(lambda: world.row(harvest_id).runs_made == 2, what="the run that was due meanwhile")
    until(lambda: "the database is back after" in caplog.text, what="word of its return")
    stop.set()
    thread.join(30)
    assert caplog.text.count("goes on when the database is back") == 1
    assert [job.run_number for job in world.jobs(harvest_id)] == [0, 1]


def test_a_run_that_loses_the_database_is_generated_when_it_is_back(
    sqlite_world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = sqlite_world
    harvest_id = world.harvest(configurations=[world.domain("a.org")])
    original = Generator._complete
    fails = [True]

    def lost(self: Generator, *arguments: Any) -> Any:
        if fails.pop() if fails else False:
            raise DatabaseRefused("gone") from OperationalError("", None, Exception("gone"))
        return original(self, *arguments)

    monkeypatch.setattr(Generator, "_complete", lost)
    with scheduler_of(world.database) as scheduler:
        scheduler.tick()
        scheduler.wait(30)
        assert [job.status for job in world.jobs(harvest_id)] == [JobStatus.DRAFT]
        assert world.row(harvest_id).is_active
        assert scheduler.tick().undone == 1
        scheduler.wait(30)
    assert [job.status for job in world.jobs(harvest_id)] == [JobStatus.NEW]


def test_a_clock_that_is_set_back_doubles_nothing(world: World, clock: MovableClock) -> None:
    world.schedule()
    harvest_id = world.harvest(configurations=[world.domain("a.org")], schedule="hourly")
    with scheduler_of(world.database) as scheduler:
        for moved in (0, HOUR, -HOUR, MINUTE, HOUR - MINUTE, 0):
            clock.move(moved)
            scheduler.tick()
            scheduler.wait(30)
    assert [job.run_number for job in world.jobs(harvest_id)] == [0, 1]
    assert world.row(harvest_id).next_run == START - MINUTE + 2 * HOUR


def test_a_harvest_that_is_deactivated_before_its_turn_is_not_generated(
    sqlite_world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = sqlite_world
    harvest_id = world.harvest(configurations=[world.domain("a.org")])
    with scheduler_of(world.database, settings_with(threads=1)) as scheduler:
        goes_on = threading.Event()
        scheduler._selective.submit(goes_on.wait, 30)
        assert scheduler.tick().started == ("news",)
        with world.database.transaction(COMMAND_LINE) as transaction:
            transaction.session.get_one(Harvest, harvest_id).is_active = False
        goes_on.set()
        scheduler.wait(30)
    assert world.jobs(harvest_id) == []


def test_all_jobs_of_a_run_become_visible_at_once(world: World) -> None:
    for number in range(40):
        world.domain(f"d{number}.org")
    harvest_id = world.snapshot()
    seen: set[tuple[int, int]] = set()
    finished = threading.Event()

    def look() -> None:
        while not finished.is_set():
            with world.database.reading(COMMAND_LINE) as reading:
                new = reading.session.scalar(
                    select(func.count(HarvestJob.id)).where(HarvestJob.status == JobStatus.NEW)
                )
                counted = reading.session.scalar(select(func.count(HarvestRun.id)))
                seen.add((new or 0, counted or 0))

    watcher = threading.Thread(target=look)
    watcher.start()
    with scheduler_of(world.database, settings_with(job_configurations=2, chunk_configurations=4)) as scheduler:
        scheduler.tick()
        scheduler.wait(60)
    until(lambda: (20, 1) in seen, what="the finished run")
    finished.set()
    watcher.join()
    assert len(world.jobs(harvest_id)) == 20
    assert seen <= {(0, 0), (20, 1)}
