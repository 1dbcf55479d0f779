"""The database is away for a while: pages say so, the scheduler catches up, and nothing is doubled or lost."""

from __future__ import annotations

import logging
import sqlite3
import threading
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from support.admin.harvest_database import HOUR, START, MovableClock
from support.admin.harvest_world import World, settings_with
from support.processes.waiting import until
from support.stores.postgres_server import PostgresServer
from support.web.site_server import running_site

from admin.harvester.dispatch_link import DispatchLink
from admin.models import database as database_module
from admin.models.database import Database
from admin.models.errors import DatabaseRefused
from admin.models.job_tables import HarvesterState, JobStatus
from admin.models.people_tables import Role
from admin.scheduler.assembly import installed_scheduler

AGAIN = "The site tries again each time you load the page. Nothing that was saved is lost."


@pytest.fixture
def server() -> Iterator[PostgresServer]:
    """A server of this test's own, which it may stop."""
    with PostgresServer() as started:
        yield started


def test_postgresql_that_is_stopped_and_started_again(
    server: PostgresServer,
    clock: MovableClock,
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
    request: pytest.FixtureRequest,
) -> None:
    settings = settings_with(period_seconds=0.1, lease_seconds=1)
    database = Database(server.url("away"), clock, settings)
    request.addfinalizer(database.close)
    database.check()
    world = World(database, settings)
    world.schedule()
    harvest = world.harvest(configurations=[world.domain("a.org")], schedule="hourly")
    link = DispatchLink(database, "h1", "focused")
    link.register(0)
    link.announce(HarvesterState.READY, 0)
    stop = threading.Event()
    scheduler = threading.Thread(target=installed_scheduler(database, settings).run, args=(stop,))
    with running_site(database, tmp_path / "home") as site, site.client(Role.ADMINISTRATOR) as client:
        scheduler.start()
        try:
            until(lambda: [each.status for each in world.jobs(harvest)] == [JobStatus.SUBMITTED], what="the first job")
            server.stop()
            away = client.get("/jobs")
            assert (away.status_code, away.headers["Retry-After"]) == (503, "10")
            assert AGAIN in away.text
            assert "can&#39;t be used" in away.text
            assert "Traceback" not in away.text
            by_api = client.get("/api/v1/jobs")
            assert (by_api.status_code, by_api.headers["Content-Type"]) == (503, "application/problem+json")
            assert by_api.headers["Retry-After"] == "10"
            with pytest.raises(DatabaseRefused):
                link.claim()
            until(lambda: "goes on when the database is back" in caplog.text, what="word of the scheduler")
            clock.move(2 * HOUR)
            server.start()
            assert client.get("/jobs").status_code == 200
            until(lambda: world.row(harvest).runs_made == 2, what="the run that was due meanwhile", within=60)
            link.announce(HarvesterState.READY, 0)
            until(lambda: link.claim(), what="a job for the harvester", within=60)
        finally:
            stop.set()
            scheduler.join(60)
    # The server ends one connection after the other, so that one may serve a moment after another was closed.
    told = caplog.text.count("goes on when the database is back")
    assert 1 <= told <= 2
    assert caplog.text.count("the database is back after") == told
    assert [each.run_number for each in world.jobs(harvest)] == [0, 1], "both dates in one run, none doubled"
    assert world.row(harvest).next_run == START - HOUR // 60 + 3 * HOUR


def test_sqlite_that_somebody_has_locked(
    tmp_path: Path, clock: MovableClock, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    monkeypatch.setattr(database_module, "_BUSY_SECONDS", 0.2)
    path = tmp_path / "admin.db"
    settings = settings_with(lease_seconds=30)
    database = Database(f"sqlite:///{path}", clock, settings)
    database.check()
    world = World(database, settings)
    harvest = world.harvest(configurations=[world.domain("a.org")])
    scheduler = installed_scheduler(database, settings)
    with running_site(database, tmp_path / "home") as site, site.client(Role.ADMINISTRATOR) as client:
        other = sqlite3.connect(path, isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(DatabaseRefused, match="database is locked"):
            scheduler.tick()
        clock.move(HOUR)  # the site notes once a minute that a session is in use
        locked: httpx.Response = client.get("/jobs")
        assert locked.status_code == 503
        assert "database is locked" in locked.text
        assert AGAIN in locked.text
        other.execute("ROLLBACK")
        other.close()
        # From here on only writers of this test wait for each other, which may take long on a busy machine.
        monkeypatch.setattr(database_module, "_BUSY_SECONDS", 60.0)
        database.engine.dispose()
        assert client.get("/jobs").status_code == 200
    scheduler.tick()
    assert scheduler.wait(60)
    scheduler.close()
    assert [each.run_number for each in world.jobs(harvest)] == [0]
    database.close()
