"""A world with a schedule."""

from __future__ import annotations

import pytest
from support.admin.harvest_world import World

from admin.models.database import Database


@pytest.fixture
def world(database: Database) -> World:
    return _with_schedule(database)


@pytest.fixture
def sqlite_world(sqlite_database: Database) -> World:
    return _with_schedule(sqlite_database)


def _with_schedule(database: Database) -> World:
    world = World(database)
    world.template("default")
    world.schedule()
    return world
