"""Fixtures of the tests of domains: the template that new domains use."""

from __future__ import annotations

import pytest
from support.admin.domain_templates import add_template

from admin.models.database import Database
from archive.settings.load import Settings, load


@pytest.fixture
def settings(home: object) -> Settings:
    """Settings with the top-level domain test."""
    return load({"home": str(home), "harvests.tlds": "test"}, environment={})


@pytest.fixture
def domains(database: Database) -> Database:
    """The admin's database with the template `default`, on both kinds."""
    add_template(database, "default")
    return database


@pytest.fixture
def sqlite_domains(sqlite_database: Database) -> Database:
    """The admin's database with the template `default`, on SQLite alone."""
    add_template(sqlite_database, "default")
    return sqlite_database
