"""Fixtures of commands: a runner on an empty database, of both kinds."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from support.processes.command_lines import Run, runner

from admin.models.database import FILE_NAME


@pytest.fixture
def run(home: Path, tables_url: str) -> Run:
    """Runs commands on both kinds of database."""
    return runner(home, tables_url)


@pytest.fixture(scope="session")
def stocked_database(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The database that the first command in a home makes, which tests copy."""
    home = tmp_path_factory.mktemp("stocked")
    assert runner(home, "")("domain", "list").code == 0
    return home / FILE_NAME


@pytest.fixture
def sqlite_run(home: Path, stocked_database: Path) -> Run:
    """Runs commands on the home's own database, where the kind does not matter."""
    shutil.copy(stocked_database, home / FILE_NAME)
    return runner(home, "")
