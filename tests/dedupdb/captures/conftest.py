"""A capture index in a new database of each kind."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.stores.postgres_server import PostgresServer

from dedupdb.captures.capture_index import Captures


@pytest.fixture(params=["sqlite", "postgresql"])
def database_url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Return the URL of a new, empty database, since every test of the index holds for both kinds."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path / 'index.db'}"
    server: PostgresServer = request.getfixturevalue("postgres_server")
    return server.url(f"t{uuid.uuid4().hex}")


@pytest.fixture
def captures(database_url: str) -> Iterator[Captures]:
    with Captures(database_url) as index:
        yield index
