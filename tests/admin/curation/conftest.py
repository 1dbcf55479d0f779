"""A database of harvests on SQLite, for tests of curation."""

from __future__ import annotations

import pytest
from support.admin.harvest_world import World

from admin.models.database import Database
from archive.settings.load import Settings


@pytest.fixture
def world(sqlite_database: Database, settings: Settings) -> World:
    return World(sqlite_database, settings)
