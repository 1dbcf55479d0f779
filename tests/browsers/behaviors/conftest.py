"""One ghost with time enough for a slow machine serves the tests of the folder."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from support.browsers.visits import Fleet

from browsers.ghosts.ghost import Ghost


@pytest.fixture(scope="session")
def patient_ghost(_fleet: Fleet) -> Iterator[Ghost]:
    settings = _fleet.settings(
        page_seconds=115, load_seconds=80, behavior_seconds=100, scroll_seconds=60, close_seconds=20, sandbox=False
    )
    visitor = Ghost(settings, [_fleet.control], _fleet.trusted)
    yield visitor
    visitor.close()
