"""The capture index is opened here for reading alone: nothing is made in the database, and nothing can be changed."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final
from urllib.parse import quote

from sqlalchemy import Engine, create_engine, event, inspect
from sqlalchemy.engine import make_url
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.pool import QueuePool

from archive.settings.values.extra_libraries import missing_library
from dedupdb.captures.schema import CAPTURES, POSITIONS, CapturesError, new_engine, reading

_BUSY_SECONDS: Final = 10
_STATEMENT_SECONDS: Final = 30


class IndexMissing(CapturesError):
    """There is no capture index yet: no file, or no tables in the database."""


@contextmanager
def open_read_only(url: str) -> Iterator[Engine]:
    """Yield an engine that refuses to write. Raises IndexMissing, and CapturesError when the database is away."""
    engine = _sqlite(url) if url.startswith("sqlite") else _postgresql(url)
    try:
        with reading(engine) as connection:
            tables = inspect(connection)
            if not all(tables.has_table(table.name) for table in (CAPTURES, POSITIONS)):
                raise IndexMissing("the database has no capture index yet")
        yield engine
    finally:
        engine.dispose()


def _sqlite(url: str) -> Engine:
    path = make_url(url).database or ""

    def connect() -> sqlite3.Connection:
        # mode=rw makes no file where there is none; a reader of a write-ahead log writes to its index file.
        address = f"file:{quote(path)}?mode=rw"
        try:
            connection = sqlite3.connect(address, timeout=_BUSY_SECONDS, uri=True, check_same_thread=False)
        except sqlite3.OperationalError as error:
            raise IndexMissing(f"there is no capture index at {path}") from error
        connection.execute("PRAGMA query_only=ON")
        return connection

    return create_engine(url, creator=connect, poolclass=QueuePool, pool_size=1)


def _postgresql(url: str) -> Engine:
    try:
        engine = new_engine(url)
    except ImportError as error:
        raise CapturesError(missing_library("database.url", url, error)) from error
    except SQLAlchemyError as error:
        raise CapturesError(f"the capture index can't be opened: {str(error).splitlines()[0]}") from error

    def prepare(connection: Any, _record: object) -> None:
        with connection.cursor() as cursor:
            cursor.execute("SET default_transaction_read_only = on")
            cursor.execute(f"SET statement_timeout = '{_STATEMENT_SECONDS}s'")
        connection.commit()

    event.listen(engine, "connect", prepare)
    return engine
