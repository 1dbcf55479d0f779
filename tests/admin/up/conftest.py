"""`ghostfleet up`, as scripts start it: on free ports, with a home of its own."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from support.admin.harvesters import FAST
from support.processes.ghostfleet_command import Command

from admin.models.database import FILE_NAME

FREE_PORTS = ("--port", "0", "--proxy-port", "0", "--replay-port", "0", "--view-port", "0")
QUICK = {
    **FAST,
    "GHOSTFLEET_BROWSERS__WORKERS": "1",
    "GHOSTFLEET_GENERATION__PERIOD_SECONDS": "0.5",
    "GHOSTFLEET_GENERATION__LEASE_SECONDS": "2",
}


@pytest.fixture
def start_up(tmp_path: Path, sqlite_tables: Path) -> Callable[..., Command]:
    """Starts `ghostfleet up --json` in a home that is fresh for the test. But for the demo, its database has tables."""
    home = tmp_path / "home"

    def start(*flags: str, ports: tuple[str, ...] = FREE_PORTS, **environment: str) -> Command:
        if "--demo" not in flags and not home.exists():
            home.mkdir(mode=0o700)
            shutil.copy(sqlite_tables, home / FILE_NAME)
        return Command("up", "--json", *ports, *flags, home=home, **{**QUICK, **environment})

    return start
