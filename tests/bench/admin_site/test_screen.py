"""The bench of the steered browser: presses arrive in their turn while the pointer moves all the time."""

from __future__ import annotations

import sys

import pytest
from support.processes.machine_needs import chromium, redis_server

from bench.admin_site.screen import measure

pytestmark = [pytest.mark.browser, pytest.mark.timeout(500)]


@pytest.mark.slow
@pytest.mark.parametrize("presses", [8, 100])
def test_presses_change_the_picture_in_their_turn(presses: int) -> None:
    chromium()
    redis_server()
    found = measure(presses, 125, print)
    sys.stderr.write(f"{found}\n")
    assert found.is_whole, found
    assert 0 < found.p50_ms <= found.p95_ms <= found.max_ms
