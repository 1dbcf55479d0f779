"""Fixtures of the harvester's tests."""

from __future__ import annotations

import itertools
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.admin.harvesters import Admin
from support.admin.postgres_tables import PostgresTables
from support.origins.chain_site import ChainSite

from admin.models.database import FILE_NAME
from archive.settings.load import Settings, load

_NUMBERS = itertools.count()


@pytest.fixture(params=["sqlite", pytest.param("postgresql", marks=pytest.mark.slow)])
def settings(request: pytest.FixtureRequest, home: Path, monkeypatch: pytest.MonkeyPatch) -> Settings:
    """Settings of a home whose admin has its database in SQLite, and with --slow in PostgreSQL too.

    Commands that a test starts get the address of the database from the environment.
    """
    values: dict[str, object] = {"home": str(home)}
    if request.param == "sqlite":
        shutil.copy(request.getfixturevalue("sqlite_tables"), home / FILE_NAME)
    else:
        tables: PostgresTables = request.getfixturevalue("postgres_tables")
        values["database.url"] = tables.new(f"harvester{next(_NUMBERS)}")
        monkeypatch.setenv("GHOSTFLEET_DATABASE__URL", str(values["database.url"]))
    return load(values, environment={})


@pytest.fixture(autouse=True)
def _one_visit_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let each crawl have one worker: a chain of pages has one visit at a time, and another process costs its start."""
    monkeypatch.setenv("GHOSTFLEET_BROWSERS__WORKERS", "1")


@pytest.fixture
def admin(settings: Settings) -> Iterator[Admin]:
    """The admin's database of `settings`."""
    found = Admin(settings)
    yield found
    found.database.close()


@pytest.fixture
def site() -> Iterator[ChainSite]:
    """Six pages, each with an image, in a chain."""
    with ChainSite(6) as started:
        yield started
