"""The admin's database is SQLite in the home, or PostgreSQL by `database.url`; only our version is opened."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final

from sqlalchemy import Connection, Engine, ExceptionContext, create_engine, event, inspect, make_url, text
from sqlalchemy.exc import ArgumentError, DataError, IntegrityError, InvalidatePoolError, SQLAlchemyError
from sqlalchemy.orm import Session
from sqlalchemy.orm.exc import StaleDataError
from sqlalchemy.pool import ConnectionPoolEntry

from admin.models.clock import clock_of
from admin.models.database_clock import DatabaseClock
from admin.models.errors import DatabaseRefused, InvalidInput, Problem, UseCaseError
from admin.models.migration_files import FOLDER, known_versions, newest_version
from admin.models.transaction import Actor, Transaction
from archive.dates import Micros, now_micros
from archive.program_name import command
from archive.settings.load import Settings
from archive.settings.values.extra_libraries import missing_library
from archive.settings.values.redacted import without_secrets
from dedupdb.captures.schema import keep_private

if TYPE_CHECKING:
    from alembic.config import Config

VERSION_TABLE: Final = "admin_version"
FILE_NAME: Final = "admin.db"
_POSTGRESQL: Final = "postgresql+psycopg://"
_READS: Final = "ghostfleet_reads"
_BUSY_SECONDS: Final = 30.0
_TRUSTED_SECONDS: Final = 1.0
"""A connection that was used so shortly before is used again without asking whether the database is still there."""
_RETURNED: Final = "ghostfleet_returned"
_POSTGRESQL_LIMITS: Final = {"connect_timeout": 10, "tcp_user_timeout": 30_000}


def database_url(settings: Settings) -> str:
    """Return the address of the admin's database as SQLAlchemy names it.

    SQLite has one writer at a time, so the admin has a file apart from the capture index.
    """
    return settings.database.url or f"sqlite:///{settings.home / FILE_NAME}"


class Database:
    """A database opens transactions. Safe to share between threads."""

    def __init__(self, url: str, clock: Callable[[], Micros] = now_micros, settings: Settings | None = None) -> None:
        """Open the database without looking at it. `clock` tells the time of transactions: PostgreSQL's own time
        unless another clock is given, since programs on other machines use the same database.

        Use cases find `settings` in their transactions; without, every setting has its default.
        """
        self._url = url
        self.settings = settings or Settings()
        self.engine = _open_engine(url)
        self.clock = clock if clock is not now_micros or self._is_sqlite else DatabaseClock(self.engine)
        self._readers = _readers(self.engine)
        self._glancers = (
            self._readers if self._is_sqlite else self.engine.execution_options(isolation_level="AUTOCOMMIT")
        )
        self._changes = 0

    @property
    def changes(self) -> int:
        """The number of changes to the database that this object knows of: its own, and those of `note_change`."""
        return self._changes

    def note_change(self) -> None:
        """Note that another program has changed the database."""
        self._changes += 1

    @contextmanager
    def transaction(self, actor: Actor) -> Iterator[Transaction]:
        """Commit at the end of the block; undo everything when the block raises.

        Raises UseCaseError, and DatabaseRefused when the database is away.
        """
        try:
            with self._explained(), Session(self.engine, expire_on_commit=False) as session, session.begin():
                yield Transaction(session, actor, self.clock(), self.settings)
        finally:  # the changes may be there even when the database went away before its answer to the commit
            self.note_change()

    @contextmanager
    def reading(self, actor: Actor) -> Iterator[Transaction]:
        """Show the database as it is at one moment. The block may take long: it holds no writer up.

        What the block changes is dropped at the end; SQLite refuses to write at all.

        Raises UseCaseError, and DatabaseRefused when the database is away.
        """
        with self._explained(), Session(self._readers, expire_on_commit=False) as session:
            yield Transaction(session, actor, self.clock(), self.settings)
            session.expunge_all()  # a rollback would expire the rows, which pages read after the block
            session.rollback()

    @contextmanager
    def glance(self, actor: Actor) -> Iterator[Transaction]:
        """Do the same as `reading` for a block that reads by one statement.

        PostgreSQL answers without being told of the beginning and the end of a transaction. Several statements may see
        the database at different moments.

        Raises UseCaseError, and DatabaseRefused when the database is away.
        """
        with self._explained(), Session(self._glancers, expire_on_commit=False, autoflush=False) as session:
            yield Transaction(session, actor, self.clock(), self.settings)
            session.expunge_all()
            session.rollback()

    @contextmanager
    def _explained(self) -> Iterator[None]:
        try:
            yield
        except UseCaseError:
            raise
        except StaleDataError as error:
            raise UseCaseError("somebody else changed the same thing at the same moment; repeat your change") from error
        except IntegrityError as error:
            raise UseCaseError(
                f"the database refused the change: {str(error.orig).strip().splitlines()[0][:300]}; repeat it"
            ) from error
        except (DataError, OverflowError, UnicodeEncodeError) as error:
            why = str(getattr(error, "orig", None) or error).strip().splitlines()[0][:300]
            raise InvalidInput(Problem("", f"the database can't keep a value: {why}; correct the value")) from error
        except SQLAlchemyError as error:
            raise DatabaseRefused(self._why(error)) from error

    def upgrade(self) -> tuple[str | None, str]:
        """Bring the tables to the version of this program. Return the versions before and after."""
        from alembic import command as alembic

        before = self.version()
        with self.engine.connect() as connection:
            config = _alembic_config()
            config.attributes["connection"] = connection
            try:
                alembic.upgrade(config, "head")
            except SQLAlchemyError as error:
                raise DatabaseRefused(self._why(error)) from error
        return before, newest_version()

    def version(self) -> str | None:
        """Return the version of the tables that are there; None when there are none."""
        try:
            with self.engine.connect() as connection:
                if not inspect(connection).has_table(VERSION_TABLE):
                    return None
                found = connection.execute(text(f"SELECT version_num FROM {VERSION_TABLE}")).scalar()
                return str(found) if found is not None else None
        except SQLAlchemyError as error:
            raise DatabaseRefused(self._why(error)) from error

    def check(self) -> None:
        """Raise DatabaseRefused unless the tables are those of this program. An empty database gets them."""
        here, ours = self.version(), newest_version()
        if here is None and not self._has_tables():
            self.upgrade()
            return
        if here == ours:
            return
        if here in known_versions():
            raise DatabaseRefused(
                f"the database {self.shown} has version {here}, this program needs {ours};"
                f" run `{command('database upgrade')}`"
            )
        raise DatabaseRefused(
            f"the database {self.shown} has version {here}, which this program does not know (it knows {ours});"
            " it was made by a newer version: install that version"
        )

    @property
    def shown(self) -> str:
        """The address as messages may have it, without its password."""
        return without_secrets(self._url)

    def close(self) -> None:
        """Close all connections."""
        self.engine.dispose()

    @property
    def _is_sqlite(self) -> bool:
        return self.engine.dialect.name == "sqlite"

    def _has_tables(self) -> bool:
        return "domains" in inspect(self.engine).get_table_names()

    def _why(self, error: SQLAlchemyError) -> str:
        cause = getattr(error, "orig", None) or error
        return f"the database {self.shown} can't be used: {str(cause).strip().splitlines()[0][:300]}"


def open_database(settings: Settings, clock: Callable[[], Micros] | None = None) -> Database:
    """Return the admin's database, ready for use. Raises DatabaseRefused."""
    settings.home.mkdir(parents=True, exist_ok=True)
    database = Database(database_url(settings), clock or clock_of(settings), settings)
    database.check()
    return database


def _open_engine(url: str) -> Engine:
    try:
        return _engine(url)
    except ImportError as error:
        raise DatabaseRefused(missing_library("database.url", url, error)) from error
    except ArgumentError as error:
        shown = without_secrets(url)
        why = f"setting database.url = {shown!r} is no address of a database; write such as postgresql://db/ghostfleet"
        raise DatabaseRefused(why) from error


def _engine(url: str) -> Engine:
    url = url.replace("postgresql://", _POSTGRESQL, 1) if url.startswith("postgresql://") else url
    # A PostgreSQL that can't be reached is away after this time, instead of after the quarter of an hour of TCP.
    limits = _POSTGRESQL_LIMITS if make_url(url).get_backend_name() == "postgresql" else {}
    given = make_url(url).query
    arguments = {name: value for name, value in limits.items() if name not in given}
    engine = create_engine(url, connect_args=arguments)
    event.listen(engine, "handle_error", _close_cursor)
    event.listen(engine, "checkin", _note_return)
    event.listen(engine, "checkout", _checks_of_idle_connections(engine))
    if engine.dialect.name == "sqlite":
        event.listen(engine, "do_connect", keep_private)
        event.listen(engine, "connect", _prepare_sqlite)
        event.listen(engine, "begin", _begin_at_once)
    return engine


def _readers(engine: Engine) -> Engine:
    """Return the same engine for transactions that only read."""
    if engine.dialect.name == "sqlite":
        return engine.execution_options(**{_READS: True})
    # The transaction is not declared read-only: use cases that lock the row that they show would fail in it.
    return engine.execution_options(isolation_level="REPEATABLE READ")


def _close_cursor(context: ExceptionContext) -> None:
    """Close the cursor of a lost connection, which SQLAlchemy leaves open, so that psycopg would warn about it."""
    statement = context.execution_context
    if context.is_disconnect and statement is not None and statement.cursor is not None:
        statement.cursor.close()


def _note_return(_: Any, record: ConnectionPoolEntry) -> None:
    record.info[_RETURNED] = time.monotonic()


def _checks_of_idle_connections(engine: Engine) -> Callable[[Any, ConnectionPoolEntry, Any], None]:
    """Return the function that tells the pool to open connections anew when the database has ended them.

    The pool's own check asks the database before each use, which is a round trip for each page.
    """

    def check(connection: Any, record: ConnectionPoolEntry, _: Any) -> None:
        returned = record.info.get(_RETURNED)
        if returned is None or time.monotonic() - returned < _TRUSTED_SECONDS:
            return
        try:
            is_there = engine.dialect.do_ping(connection)
        except engine.dialect.loaded_dbapi.Error:
            is_there = False
        if not is_there:
            raise InvalidatePoolError("the database has ended the connection")

    return check


def _prepare_sqlite(connection: sqlite3.Connection, _: Any) -> None:
    connection.isolation_level = None  # transactions are begun by `_begin_at_once`
    connection.execute("PRAGMA journal_mode=WAL")
    connection.execute("PRAGMA synchronous=FULL")
    connection.execute("PRAGMA foreign_keys=ON")
    connection.execute(f"PRAGMA busy_timeout={int(_BUSY_SECONDS * 1000)}")


def _begin_at_once(connection: Connection) -> None:
    """Take SQLite's write lock at the start: a reader that becomes a writer half-way fails instead of waiting."""
    reads = bool(connection.get_execution_options().get(_READS))
    connection.exec_driver_sql(f"PRAGMA query_only={int(reads)}")
    connection.exec_driver_sql("BEGIN" if reads else "BEGIN IMMEDIATE")


def _alembic_config() -> Config:
    from alembic.config import Config

    config = Config()
    config.set_main_option("script_location", str(FOLDER))
    config.set_main_option("path_separator", "os")
    return config
