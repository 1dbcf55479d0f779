"""Fixtures of all tests of the admin: its database, on SQLite and PostgreSQL, and a clock that tests move."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.admin.harvest_database import MovableClock
from support.stores.postgres_server import PostgresServer
from support.web.mail_receiver import MailReceiver
from support.web.webhook_receiver import WebhookReceiver

from admin.models.database import Database
from archive.settings.load import Settings

_NUMBERS = itertools.count()


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[PostgresServer]:
    """One server for all tests of a process; each test has a database of its own."""
    with PostgresServer() as server:
        yield server


@pytest.fixture
def clock() -> MovableClock:
    """The clock of `database`."""
    return MovableClock()


@pytest.fixture(params=["sqlite", "postgresql"])
def database_url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The address of an empty database. A test that asks for it runs on both kinds."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path / 'admin.db'}"
    server: PostgresServer = request.getfixturevalue("postgres_server")
    return server.url(f"admin{next(_NUMBERS)}")


@pytest.fixture
def database(database_url: str, clock: MovableClock, settings: Settings) -> Iterator[Database]:
    """The admin's database with its tables. A test that asks for it runs on both kinds."""
    database = Database(database_url, clock, settings)
    database.check()
    yield database
    database.close()


@pytest.fixture
def sqlite_database(tmp_path: Path, clock: MovableClock, settings: Settings) -> Iterator[Database]:
    """The admin's database on SQLite alone, where the kind does not matter."""
    database = Database(f"sqlite:///{tmp_path / 'admin.db'}", clock, settings)
    database.check()
    yield database
    database.close()


@pytest.fixture
def mail() -> Iterator[MailReceiver]:
    """A mail server that keeps what it gets."""
    with MailReceiver() as server:
        yield server


@pytest.fixture
def hook() -> Iterator[WebhookReceiver]:
    """A server for webhooks that keeps what it gets."""
    with WebhookReceiver() as server:
        yield server
