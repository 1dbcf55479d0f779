"""`ghostfleet up`, as scripts start it: on free ports, with a home of its own."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from support.admin.harvesters import FAST
from support.processes.ghostfleet_command import Command

FREE_PORTS = ("--port", "0", "--proxy-port", "0", "--replay-port", "0", "--view-port", "0")
QUICK = {**FAST, "GHOSTFLEET_GENERATION__PERIOD_SECONDS": "0.5", "GHOSTFLEET_GENERATION__LEASE_SECONDS": "2"}


@pytest.fixture
def start_up(tmp_path: Path) -> Callable[..., Command]:
    """Starts `ghostfleet up --json` in a home that is fresh for the test."""

    def start(*flags: str, ports: tuple[str, ...] = FREE_PORTS, **environment: str) -> Command:
        return Command("up", "--json", *ports, *flags, home=tmp_path / "home", **{**QUICK, **environment})

    return start
