"""This module has the tables of the capture index, maps a Capture to a row, and opens the database.

`captures` has a row for each indexed record, which (collection, filename, offset) identify. `positions` has the
position up to which each source was read. It is written in the same transaction as the rows from that source.
"""

from __future__ import annotations

import hashlib
import json
import sqlite3
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from sqlalchemy import (
    BigInteger,
    Column,
    Connection,
    Dialect,
    Engine,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    Row,
    Table,
    Text,
    TypeDecorator,
    UniqueConstraint,
    create_engine,
    event,
    inspect,
    text,
)
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.schema import CreateIndex, CreateTable
from sqlalchemy.types import TypeEngine

from archive.capture import OWN_BUCKET, Capture, Original
from archive.home_access import make_private
from archive.json_text import compact_json
from archive.settings.values.extra_libraries import missing_library
from archive.settings.values.redacted import without_secrets
from archive.warc.records.request_query import asked_key

METADATA: Final = MetaData()
# Keys sort by bytes, as CDX files do; that is SQLite's own order, and PostgreSQL's only in the "C" collation.
_NAME: Final = Text().with_variant(postgresql.TEXT(collation="C"), "postgresql")
_LONGEST_KEY: Final = 2000
"""Characters of a key in PostgreSQL, whose index entries have at most 2,704 bytes."""
_CUT: Final = "#"
"""A character that no key has: a digest of the whole key follows."""


class _Key(TypeDecorator[str]):
    """This is the type of the keys. PostgreSQL gets the beginning of a very long key, and a digest of the whole."""

    impl = Text
    cache_ok = True

    def load_dialect_impl(self, dialect: Dialect) -> TypeEngine[Any]:
        return dialect.type_descriptor(postgresql.TEXT(collation="C") if dialect.name == "postgresql" else Text())

    def process_bind_param(self, value: str | None, dialect: Dialect) -> str | None:
        if value is None or dialect.name != "postgresql" or len(value) <= _LONGEST_KEY:
            return value
        digest = hashlib.sha256(value.encode("utf-8", "replace")).hexdigest()
        return f"{value[: _LONGEST_KEY - len(digest) - 1]}{_CUT}{digest}"


_ID: Final = BigInteger().with_variant(Integer(), "sqlite")

CAPTURES: Final = Table(
    "captures",
    METADATA,
    Column("id", _ID, primary_key=True),
    Column("collection", _NAME, nullable=False),
    Column("key", _Key, nullable=False),
    Column("date", BigInteger, nullable=False, comment="microseconds since 1970, UTC"),
    Column("url", Text, nullable=False),
    Column("mime", Text, nullable=False),
    Column("status", Integer),
    Column("digest", Text, comment="of the payload, labelled; SHA-1 without its label, base32"),
    Column("kind", Text, nullable=False),
    Column("filename", Text, nullable=False),
    Column("offset", BigInteger, nullable=False),
    Column("length", BigInteger, nullable=False),
    Column("record_id", Text, nullable=False),
    Column("method", Text, nullable=False),
    Column("job", Text),
    Column("page_id", Text),
    Column("refers_to_id", Text),
    Column("refers_to_url", Text),
    Column("refers_to_date", BigInteger),
    Column("payload_length", BigInteger, nullable=False),
    Column("sha256", LargeBinary, comment="SHA-256 of the payload, 32 raw bytes"),
    Column("truncated", Text),
    Column("buckets", Text, comment="dedup buckets that it fills, as JSON; null is the collection's own"),
    Column("request_body", Text, comment="of POST and PUT, as a query; null without a body"),
    UniqueConstraint("collection", "filename", "offset", name="captures_place"),
    Index("captures_key", "collection", "key", "date"),
    Index("captures_sha256", "collection", "sha256", "payload_length", "date"),
    Index("captures_record", "collection", "record_id"),
    Index("captures_digest", "collection", "digest"),
)

POSITIONS: Final = Table(
    "positions",
    METADATA,
    Column("source", _NAME, primary_key=True),
    Column("mark", Text, nullable=False),
)

_SAME_NAMES: Final = (
    *("collection", "key", "date", "url", "mime", "status", "digest", "kind", "filename", "offset", "length"),
    *("record_id", "method", "job", "page_id", "payload_length", "truncated", "request_body"),
)
_BUSY_SECONDS: Final = 60
_POSTGRESQL: Final = "postgresql+psycopg://"
"""The driver of a PostgreSQL address that names none; SQLAlchemy would take an older one."""
_AGAIN_SECONDS: Final = 0.005
_CACHE_KIB: Final = 8_000
_LOG_PAGES: Final = 8_000
"""Length at which the write-ahead log goes into the file: 32 MB."""
_PRIMARY_CODE: Final = 0xFF
"""An SQLite result code without its extension."""
_SCHEMA_LOCK: Final = 0x67686F7374
"""PostgreSQL advisory lock under which the tables are made."""


class CapturesError(Exception):
    """The database of the index can't be used. The message names the database and the reason in one line."""


def open_engine(url: str) -> Engine:
    """Return an engine for the database with our tables in it. Several processes may do this at once.

    Raises CapturesError.
    """
    try:
        engine = new_engine(url)
    except ImportError as error:
        raise CapturesError(missing_library("database.url", url, error)) from error
    except SQLAlchemyError as error:
        address = without_secrets(url).rpartition("://")[2]
        raise CapturesError(f"the capture index at {address} can't be opened: {_first_line(error)}") from error
    try:
        with writing(engine) as connection:
            _create_tables(connection)
    except BaseException:
        engine.dispose()
        raise
    return engine


@contextmanager
def reading(engine: Engine) -> Iterator[Connection]:
    """Return a connection for reading. Raises CapturesError for an error of the database."""
    with _translated(engine), engine.connect() as connection:
        yield connection


@contextmanager
def writing(engine: Engine) -> Iterator[Connection]:
    """Return a transaction. Raises CapturesError for an error of the database."""
    with _translated(engine), engine.begin() as connection:
        yield connection


@contextmanager
def _translated(engine: Engine) -> Iterator[None]:
    try:
        yield
    except SQLAlchemyError as error:
        raise CapturesError(
            f"the capture index at {without_secrets(engine.url.render_as_string())}: {_first_line(error)}"
        ) from error


def _first_line(error: BaseException) -> str:
    return str(error).partition("\n")[0]


def new_engine(url: str) -> Engine:
    """Return an engine for the database, which is not connected to yet."""
    is_sqlite = url.startswith("sqlite")
    engine = create_engine(
        url.replace("postgresql://", _POSTGRESQL, 1) if url.startswith("postgresql://") else url,
        connect_args={"timeout": _BUSY_SECONDS} if is_sqlite else {},
        pool_pre_ping=not is_sqlite,
    )
    if is_sqlite:
        event.listen(engine, "do_connect", keep_private)
        event.listen(engine, "connect", _prepare_sqlite)
    return engine


def keep_private(_dialect: object, _record: object, arguments: Sequence[Any], _options: Mapping[str, Any]) -> None:
    """Let nobody but the owner read the file of a SQLite database, before SQLite opens or makes the file."""
    if arguments and (name := str(arguments[0])) and name != ":memory:" and not name.startswith("file:"):
        make_private(Path(name))


def insert_for(engine: Engine) -> Callable[[Table], Any]:
    """Return the INSERT of the engine's dialect, which has ON CONFLICT."""
    return postgresql.insert if engine.dialect.name == "postgresql" else sqlite.insert


def insert_new(connection: Connection, table: Table, rows: Sequence[Mapping[str, Any]], unique: Sequence[str]) -> int:
    """Insert the rows whose `unique` columns are new. Return how many rows were inserted."""
    statement = insert_for(connection.engine)(table).on_conflict_do_nothing(index_elements=unique)
    if connection.dialect.name == "sqlite":
        # Thousands a minute: the rows go to the driver as they are, past the toolkit's work on each of them.
        compiled = statement.compile(dialect=connection.dialect)
        order = compiled.positiontup or ()
        return connection.exec_driver_sql(compiled.string, [tuple(map(row.get, order)) for row in rows]).rowcount
    # PostgreSQL's driver counts no rows of a statement that was run for many: they have to come back.
    return len(connection.execute(statement.returning(table.c.id), rows).all())


def to_row(capture: Capture) -> dict[str, Any]:
    """Return the row of a capture. Raises ValueError when its SHA-256 is not hexadecimal."""
    row = {name: getattr(capture, name) for name in _SAME_NAMES}
    original = capture.refers_to
    row["refers_to_id"] = original.record_id if original else None
    row["refers_to_url"] = original.url if original else None
    row["refers_to_date"] = original.date if original else None
    row["sha256"] = bytes.fromhex(capture.sha256) if capture.sha256 else None
    row["buckets"] = None if capture.buckets == OWN_BUCKET else compact_json(capture.buckets)
    return row


def to_capture(row: Row[Any]) -> Capture:
    """Return the capture of a row."""
    facts = {name: getattr(row, name) for name in _SAME_NAMES}
    if row.refers_to_url is not None:
        facts["refers_to"] = Original(row.refers_to_id, row.refers_to_url, row.refers_to_date)
    if row.buckets is not None:
        facts["buckets"] = tuple(json.loads(row.buckets))
    if _CUT in row.key:
        facts["key"] = asked_key(row.url, row.method, row.request_body)
    return Capture(**facts, sha256=row.sha256.hex() if row.sha256 else None)


def _create_tables(connection: Connection) -> None:
    _one_at_a_time(connection)
    for table in METADATA.sorted_tables:
        connection.execute(CreateTable(table, if_not_exists=True))
        _add_new_columns(connection, table)
        for index in sorted(table.indexes, key=lambda index: str(index.name)):
            connection.execute(CreateIndex(index, if_not_exists=True))


def _add_new_columns(connection: Connection, table: Table) -> None:
    """Add the columns of this release to a table of an older release. All of them may be null."""
    known = {column["name"] for column in inspect(connection).get_columns(table.name)}
    for column in table.columns:
        if column.name not in known:
            kind = column.type.compile(connection.dialect)
            connection.execute(text(f"ALTER TABLE {table.name} ADD COLUMN {column.name} {kind}"))


def _one_at_a_time(connection: Connection) -> None:
    """Let one process at a time create tables.

    IF NOT EXISTS alone fails in PostgreSQL when two processes create a table at once. SQLite has one writer at a time.
    """
    if connection.dialect.name == "postgresql":
        connection.execute(text("SELECT pg_advisory_xact_lock(:number)"), {"number": _SCHEMA_LOCK})


def _prepare_sqlite(connection: sqlite3.Connection, _record: object) -> None:
    """Set the write-ahead log, with which readers never wait, and the size of the cache.

    A power cut may undo the last commits; the sidecars have them. Digests and record ids are spread over their indexes:
    a row changes five pages of 4 KiB. Pages that several rows change are written once when they stay in memory and in
    the log for a while. This saves a third of the CPU time of a row.
    """
    _switch_to_write_ahead(connection, time.monotonic() + _BUSY_SECONDS)
    connection.execute("PRAGMA synchronous=NORMAL")
    connection.execute(f"PRAGMA cache_size=-{_CACHE_KIB}")
    connection.execute(f"PRAGMA wal_autocheckpoint={_LOG_PAGES}")


def _switch_to_write_ahead(connection: sqlite3.Connection, deadline: float) -> None:
    """Switch the file to write-ahead logging.

    SQLite refuses one of two processes that switch a new file at the same time, since they would wait for each other.
    Its own timeout does not count for this (sqlite.org/c3ref/busy_handler.html), so the refused process tries again.
    """
    while True:
        try:
            connection.execute("PRAGMA journal_mode=WAL")
            return
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode & _PRIMARY_CODE != sqlite3.SQLITE_BUSY or time.monotonic() > deadline:
                raise
        time.sleep(_AGAIN_SECONDS)  # noqa: TID251 - another process holds it, and nothing tells of its end
