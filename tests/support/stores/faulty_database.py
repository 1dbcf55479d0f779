"""The admin's database as one process sees it: at any statement or commit the process dies, or the database is away.

Points are counted from 0 within one piece of work: the begin of a transaction, each statement, the commit, and the
moment after the commit, at which everything is stored and only the answer is lost. A fault can name a statement too:
then only points before statements that begin with these words count, which several threads of a process do not shift.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

import psycopg
from sqlalchemy import event
from sqlalchemy.exc import OperationalError

from admin.models.database import Database
from admin.models.transaction import Actor, Transaction
from archive.dates import Micros
from archive.settings.load import Settings
from support.processes.waiting import until


class Killed(BaseException):
    """The process is dead. No `except Exception` keeps it alive."""


class Ill(StrEnum):
    """What happens at a point."""

    KILL = "kill"
    AWAY = "away"
    OTHER = "other"
    """Another process does something at this moment."""


@dataclass
class Fault:
    """Something that happens once, at the point `at`."""

    ill: Ill
    at: int
    other: Callable[[], None] = lambda: None
    statement: str = ""


class FaultyDatabase(Database):
    """Belongs to one process. `fault` is what happens to it next; `is_dead` ends the process for good."""

    def __init__(self, url: str, clock: Callable[[], Micros], settings: Settings) -> None:
        super().__init__(url, clock, settings)
        self.is_dead = False
        self.is_cut_off = False
        """Whether the network between the process and the database is cut."""
        self.fault: Fault | None = None
        self._point = 0
        self._lock = threading.Lock()
        self._backends: list[int] = []
        """Process ids of the server's ends of the connections to PostgreSQL."""
        self._interleaves = self.engine.dialect.name != "sqlite"
        """Whether others can write while a transaction of this process is open."""
        event.listen(self.engine, "connect", _without_disk)
        event.listen(self.engine, "connect", self._note_backend)
        event.listen(self.engine, "before_cursor_execute", self._at_statement)
        event.listen(self.engine, "commit", lambda _: self._pass(is_open=True))

    def suffer(self, fault: Fault | None) -> None:
        """Let this happen in the next piece of work, and count its points from 0."""
        self.fault, self._point = fault, 0

    def close(self) -> None:
        """Close all connections. After a kill, wait until the server has ended them and their locks are free."""
        super().close()
        if self.is_dead and self._backends:
            url = self.engine.url.set(drivername="postgresql", database="postgres")
            with psycopg.connect(url.render_as_string(hide_password=False), autocommit=True) as connection:
                until(lambda: not _running(connection, self._backends), what="the connections of a dead process to end")

    def _note_backend(self, connection: Any, _: Any) -> None:
        if hasattr(connection, "pgconn"):
            self._backends.append(connection.info.backend_pid)

    @contextmanager
    def transaction(self, actor: Actor) -> Iterator[Transaction]:
        """As a process has it: the commit may have happened although it hears of none."""
        with self._explained():
            self._pass(is_open=False)
        with super().transaction(actor) as transaction:
            yield transaction
        with self._explained():
            self._pass(is_open=False)

    @contextmanager
    def reading(self, actor: Actor) -> Iterator[Transaction]:
        """As a process has it."""
        with self._explained():
            self._pass(is_open=False)
        with super().reading(actor) as transaction:
            yield transaction

    def _at_statement(self, connection: Any, cursor: Any, statement: str, *_: Any) -> None:
        if not statement.startswith(("PRAGMA", "BEGIN")):
            self._pass(is_open=True, statement=statement)

    def _pass(self, *, is_open: bool, statement: str = "") -> None:
        if self.is_dead:
            raise Killed
        if self.is_cut_off:
            raise OperationalError("", None, Exception("the network is cut"))
        with self._lock:
            point, fault = self._point, self.fault
            if fault is not None and not statement.startswith(fault.statement):
                return
            self._point += 1
            if fault is None or point < fault.at:
                return
            if fault.ill is Ill.OTHER and is_open and not self._interleaves:
                return  # SQLite has one writer: the other comes before this transaction, or after it
            self.fault = None
        if fault.ill is Ill.KILL:
            self.is_dead = True
            raise Killed
        if fault.ill is Ill.AWAY:
            raise OperationalError("", None, Exception("the database is gone"))
        fault.other()


def _running(connection: psycopg.Connection, backends: list[int]) -> bool:
    """Return whether the server still has one of these processes."""
    query = "SELECT 1 FROM pg_stat_activity WHERE pid = ANY(%s) LIMIT 1"
    return connection.execute(query, (backends,)).fetchone() is not None


def _without_disk(connection: Any, _: Any) -> None:
    """Make tests fast: nobody pulls the plug, and nobody waits long for a lock."""
    if hasattr(connection, "autocommit") and hasattr(connection, "pgconn"):
        connection.autocommit = True
        connection.execute("SET lock_timeout = '30ms'")
        connection.execute("SET synchronous_commit = off")
        connection.autocommit = False
    else:
        connection.execute("PRAGMA synchronous=OFF")
        connection.execute("PRAGMA busy_timeout=5000")
