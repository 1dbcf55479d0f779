"""One database of PostgreSQL with the admin's tables, which many tests use one after the other.

A new database for each test costs a copy of 50 tables with their indexes. Deleting a test's rows costs a few
milliseconds.
"""

from __future__ import annotations

import itertools
from contextlib import suppress
from typing import Any, Final

import psycopg

from support.admin.harvest_database import make_tables
from support.stores.postgres_server import PostgresServer

_NAMES: Final = "SELECT array_agg(relname ORDER BY relname) FROM pg_class WHERE relnamespace = 'public'::regnamespace"
_LARGEST: Final = "SELECT max(pg_relation_size(oid)) FROM pg_class WHERE relnamespace = 'public'::regnamespace"
_MOST_BYTES: Final = 2_000_000
"""The space of deleted rows would make later tests slow in a larger table."""
_EMPTY: Final = """
SET lock_timeout = '10s';
SET session_replication_role = replica;
DO $$
DECLARE
    each record;
BEGIN
    PERFORM pg_terminate_backend(pid, 10000) FROM pg_stat_activity
        WHERE datname = current_database() AND pid <> pg_backend_pid() AND backend_type = 'client backend';
    FOR each IN SELECT tablename FROM pg_tables WHERE schemaname = 'public' AND tablename <> 'admin_version' LOOP
        EXECUTE format('DELETE FROM public.%I', each.tablename);
    END LOOP;
    PERFORM setval(format('public.%I', sequencename), start_value, false) FROM pg_sequences
        WHERE schemaname = 'public' AND last_value IS NOT NULL;
END $$;
"""


class PostgresTables:
    """Gives each test a database with the tables and no rows."""

    def __init__(self, server: PostgresServer) -> None:
        self._server, self._numbers = server, itertools.count()
        self._url = ""
        self._connection: psycopg.Connection[Any] | None = None
        make_tables(server.url("tables"))

    def new(self, name: str) -> str:
        """Return the address of a database that no other test gets."""
        return self._server.url(name, template="tables")

    def url(self) -> str:
        """Return the address of the database that tests share, which is empty."""
        if self._connection is None:
            self._url = self.new(f"shared{next(self._numbers)}")
            self._connection = psycopg.connect(self._url, autocommit=True)
            self._look = self._looked()
        return self._url

    def empty(self) -> None:
        """Delete the rows of a test, and end its connections. A database that a test has changed is used no more."""
        assert self._connection is not None
        with suppress(psycopg.Error):  # a test has removed a table
            self._connection.execute(_EMPTY)
            largest = self._connection.execute(_LARGEST).fetchone()
            if largest is not None and largest[0] <= _MOST_BYTES and self._looked() == self._look:
                return
        self.close()

    def close(self) -> None:
        """End the connection to the shared database."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def _looked(self) -> Any:
        """Return the names of tables and indexes, and the version of the tables."""
        assert self._connection is not None
        return [self._connection.execute(asked).fetchall() for asked in (_NAMES, "SELECT * FROM admin_version")]
