"""Each test of the interface runs with all engines. Firefox and Playwright run with `--slow`, but for a few tests."""

from __future__ import annotations

from typing import Final

import pytest

QUICK: Final = frozenset(("test_scripts_run_in_the_world_that_was_asked_for", "test_keys_and_mouse_arrive"))
"""Tests that run with Firefox and Playwright in the normal suite too."""


def pytest_itemcollected(item: pytest.Item) -> None:
    """Mark the tests with Firefox and Playwright."""
    callspec = getattr(item, "callspec", None)
    if callspec is None or callspec.params.get("opener") in (None, "chromium"):
        return
    if isinstance(item, pytest.Function) and item.originalname not in QUICK:
        item.add_marker(pytest.mark.slow)
