"""A small world of domains and harvests, on both kinds of database or on SQLite alone."""

from __future__ import annotations

import pytest
from support.admin.harvest_world import World

from admin.models.database import Database


@pytest.fixture
def world(database: Database) -> World:
    return World(database)


@pytest.fixture
def sqlite_world(sqlite_database: Database) -> World:
    return World(sqlite_database)
