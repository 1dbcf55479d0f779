"""The parts of the dispatch, each with a connection of its own: schedulers, harvesters, operators, and an onlooker.

The database has domains with different templates, so that every domain gets a job of its own, and one harvest of each
kind. A trigger writes down every change of a job's status that was committed.
"""

from __future__ import annotations

import itertools
import shutil
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from sqlalchemy import text

from admin.harvester.dispatch_link import DispatchLink
from admin.harvests.generation.run import FenceLost
from admin.models.database import Database
from admin.models.errors import DatabaseRefused, UseCaseError
from admin.scheduler.assembly import installed_scheduler
from admin.scheduler.scheduler import Scheduler, TickReport
from support.admin.harvest_database import START, MovableClock
from support.admin.harvest_world import World, settings_with
from support.admin.modelled_harvester import Crawls, Message, Messages, ModelledHarvester
from support.stores.faulty_database import Fault, FaultyDatabase, Killed
from support.stores.postgres_server import PostgresServer

_NUMBERS: Final = itertools.count()
SILENT_SECONDS: Final = 1800
DOMAINS: Final = ("a.org", "b.org", "c.org")
NEWS: Final = "news"
ALL: Final = "all"
ASKED: Final = "asked"
DOMAINS_OF: Final = {NEWS: ("a.org", "b.org"), ALL: DOMAINS, ASKED: ("c.org",)}
SETTINGS: Final = settings_with(job_silent_seconds=SILENT_SECONDS, lease_seconds=600, threads=2)
_LOG_OF_STATUS: Final = (
    "CREATE TABLE status_log (number INTEGER PRIMARY KEY AUTOINCREMENT, job INTEGER, before TEXT, after TEXT)",
    "CREATE TRIGGER status_changes AFTER UPDATE OF status ON jobs WHEN old.status <> new.status BEGIN"
    " INSERT INTO status_log (job, before, after) VALUES (old.id, old.status, new.status); END",
)
_LOG_OF_STATUS_POSTGRESQL: Final = (
    "CREATE TABLE status_log (number BIGSERIAL PRIMARY KEY, job BIGINT, before TEXT, after TEXT)",
    "CREATE FUNCTION note_status() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN"
    " INSERT INTO status_log (job, before, after) VALUES (old.id, old.status, new.status); RETURN NULL; END $$",
    "CREATE TRIGGER status_changes AFTER UPDATE OF status ON jobs FOR EACH ROW"
    " WHEN (old.status IS DISTINCT FROM new.status) EXECUTE FUNCTION note_status()",
)


def prepare(url: str) -> None:
    """Fill an empty database with the domains and harvests, and have changes of status noted."""
    database = Database(url, MovableClock(), SETTINGS)
    database.check()
    world = World(database, SETTINGS)
    world.schedule()
    configurations = {}
    for number, name in enumerate(DOMAINS):
        world.template(f"t{number}")
        configurations[name] = world.domain(name, template=f"t{number}")
    world.harvest(NEWS, [configurations[name] for name in DOMAINS_OF[NEWS]], schedule="hourly")
    world.snapshot(ALL, is_active=False)
    world.harvest(ASKED, [configurations[name] for name in DOMAINS_OF[ASKED]], is_active=False, next_run=None)
    with database.engine.begin() as connection:
        is_sqlite = connection.dialect.name == "sqlite"
        for statement in _LOG_OF_STATUS if is_sqlite else _LOG_OF_STATUS_POSTGRESQL:
            connection.exec_driver_sql(statement)
    database.close()


@dataclass
class SqliteCopies:
    """New databases of SQLite, each a copy of one that was prepared."""

    folder: Path
    made: int = 0

    def __post_init__(self) -> None:
        self._original = self.folder / "original.db"
        prepare(f"sqlite:///{self._original}")

    def new(self) -> str:
        """The address of a fresh copy."""
        self.made += 1
        path = self.folder / f"copy{self.made}.db"
        shutil.copy(self._original, path)
        return f"sqlite:///{path}"

    def drop(self, url: str) -> None:
        """Remove a copy."""
        for path in self.folder.glob(f"{Path(url.removeprefix('sqlite:///')).name}*"):
            path.unlink()


@dataclass
class PostgresCopies:
    """New databases of PostgreSQL, each a copy of one that was prepared."""

    server: PostgresServer
    made: int = 0

    def __post_init__(self) -> None:
        self._prefix = f"model{next(_NUMBERS)}"
        url = self.server.url(self._prefix)
        prepare(url)

    def new(self) -> str:
        """The address of a fresh copy."""
        self.made += 1
        return self.server.url(f"{self._prefix}_{self.made}", template=self._prefix)

    def drop(self, url: str) -> None:
        """Remove a copy."""
        self.server.drop(f"{self._prefix}_{self.made}")


@dataclass
class SchedulerPart:
    """A scheduler that can die and be started again under another owner's name, as real ones are."""

    name: str
    open_database: Callable[[], FaultyDatabase]
    starts: int = 0
    scheduler: Scheduler | None = None
    database: FaultyDatabase = field(init=False)

    def tick(self, fault: Fault | None = None) -> TickReport | None:
        """One look, to its end; None when it dies, or when the database is away."""
        if self.scheduler is None:
            self.starts += 1
            self.database = self.open_database()
            self.scheduler = installed_scheduler(self.database, SETTINGS, owner=f"{self.name}, start {self.starts}")
        self.database.suffer(fault)
        report = None
        try:
            report = self.scheduler.tick()
        except (DatabaseRefused, UseCaseError, FenceLost):
            pass
        except Killed:
            assert self.database.is_dead
        assert self.scheduler.wait(60), "the jobs of a harvest are not made in a minute"
        self.database.suffer(None)
        if self.database.is_dead:
            self.stop()
            return None
        return report

    def stop(self) -> None:
        """End, or bury what is dead."""
        if self.scheduler is not None:
            with suppress(Killed):
                self.scheduler.close()
            self.database.close()
            self.scheduler = None


@dataclass
class HarvesterPart:
    """A harvester with its connection. `wandering` are calls that may still arrive, whoever sent them lives or not."""

    model: ModelledHarvester
    channel: str
    open_database: Callable[[], FaultyDatabase]
    database: FaultyDatabase = field(init=False)
    wandering: list[tuple[str, Message]] = field(default_factory=list)
    life: Messages[None] | None = None
    pending: Message | None = None
    is_cut_off: bool = False
    is_busy: bool = False

    def start(self) -> None:
        """Begin a life, when there is none."""
        if self.life is None:
            self.database = self.open_database()
            self.database.is_cut_off = self.is_cut_off
            self.life = self.model.messages()
            self.pending = next(self.life)

    def cut_off(self, is_cut_off: bool) -> None:
        """Cut the network, or mend it."""
        self.is_cut_off = is_cut_off
        if self.life is not None:
            self.database.is_cut_off = is_cut_off

    def kill(self) -> None:
        """End the life without a word."""
        if self.life is not None:
            self.life.close()
            self.database.close()
            self.life = self.pending = None
            self.model.die()

    def step(
        self,
        fault: Fault | None = None,
        *,
        is_delayed: bool = False,
        is_repeated: bool = False,
        is_unanswered: bool = False,
    ) -> None:
        """Let the pending message have this fate, and the harvester go on with the answer."""
        if self.life is None or self.pending is None or self.is_busy:
            return
        if is_delayed or is_repeated:
            self.wandering.append((self.model.name, self.pending))
        self.is_busy = True
        try:
            self._step(self.pending, fault, is_delayed, is_unanswered)
        finally:
            self.is_busy = False

    def _step(self, message: Message, fault: Fault | None, is_delayed: bool, is_unanswered: bool) -> None:
        assert self.life is not None
        try:
            try:
                if is_delayed:
                    raise DatabaseRefused("no answer came in time")
                self.database.suffer(fault)
                answer = message.call(self.link(self.database))
                if is_unanswered:
                    raise DatabaseRefused("the answer was lost")
            except (DatabaseRefused, UseCaseError) as error:
                self.pending = self.life.throw(error)
            else:
                self.pending = self.life.send(answer)
        except (Killed, DatabaseRefused, UseCaseError):  # those that the harvester does not survive
            self.kill()
        else:
            self.database.suffer(None)

    def arrive(self, number: int, database: FaultyDatabase) -> None:
        """Let a wandering call arrive; nobody hears the answer."""
        _, message = self.wandering.pop(number % len(self.wandering))
        with suppress(DatabaseRefused, UseCaseError):
            message.call(self.link(database))

    def link(self, database: Database) -> DispatchLink:
        """The real link of this harvester."""
        return DispatchLink(database, self.model.name, self.channel)


@dataclass
class Parts:
    """All parts over one database."""

    url: str
    clock: MovableClock = field(default_factory=MovableClock)
    crawls: Crawls = field(default_factory=Crawls)
    schedulers: Sequence[SchedulerPart] = field(init=False)
    harvesters: Sequence[HarvesterPart] = field(init=False)
    people: FaultyDatabase = field(init=False)
    """The connection of operators, of wandering calls, and of the onlooker."""

    def __post_init__(self) -> None:
        self.clock.now = START
        self.people = self._open()
        self.schedulers = [SchedulerPart(f"s{number}", self._open) for number in range(2)]
        self.harvesters = [
            HarvesterPart(ModelledHarvester(name, self.crawls), channel, self._open)
            for name, channel in (("h0", "focused"), ("h1", "focused"), ("h2", "snapshots"))
        ]

    def lose_lease(self) -> None:
        """Let the time of the scheduler's lease be over."""
        with self.people.engine.begin() as connection:
            connection.execute(text("UPDATE leases SET until = 0"))

    def rows(self, query: str, **values: Any) -> list[tuple[Any, ...]]:
        """What a query gives."""
        with self.people.engine.connect() as connection:
            return [tuple(row) for row in connection.execute(text(query), values)]

    def close(self) -> None:
        """End everything."""
        for harvester in self.harvesters:
            harvester.kill()
        for scheduler in self.schedulers:
            scheduler.stop()
        self.people.close()

    def _open(self) -> FaultyDatabase:
        return FaultyDatabase(self.url, self.clock, SETTINGS)
