"""Fixtures of commands: a runner on an empty database, of both kinds."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.processes.command_lines import Run, runner


@pytest.fixture
def run(home: Path, tables_url: str) -> Run:
    """Runs commands on both kinds of database."""
    return runner(home, tables_url)


@pytest.fixture
def sqlite_run(home: Path) -> Run:
    """Runs commands on the home's own database, where the kind does not matter."""
    return runner(home, "")
