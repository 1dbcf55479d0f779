"""Each test of the ghosts runs with both engines. Firefox runs with `--slow`, but for a few tests of the whole."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import pytest
from support.browsers.browser_engines import ENGINES, firefox
from support.browsers.visits import EngineFleet, Fleet

QUICK: Final = frozenset(
    (
        "test_a_visit_leaves_pictures_text_dom_and_links[firefox]",
        "test_a_visit_leaves_pictures_text_dom_and_links[playwright:chromium]",
    )
)
"""Tests that run with Firefox or Playwright in the normal suite too, by their names and parameters."""
GAPS: Final = {
    "test_service_workers_run_or_not_or_answer_nothing[firefox-refetched-sent-True]": "BiDi passes no service worker",
    **dict.fromkeys(
        (
            "test_a_login_by_http_is_answered_and_not_recorded[playwright:chromium-basic]",
            "test_a_login_by_http_is_answered_and_not_recorded[playwright:chromium-digest]",
            "test_a_login_by_http_is_for_its_own_origin_and_goes_there_once[playwright:chromium-basic]",
        ),
        "Playwright does not tell by which scheme a site asks",
    ),
    "test_a_browser_that_does_not_start_is_named_in_one_line[playwright:chromium-library]": "Playwright adds lines",
    "test_a_frame_of_another_process_that_ends_costs_only_the_frame[playwright:chromium]": "the visit is repeated",
}
"""Why a test fails with Firefox or Playwright, by its name and parameters. docs/reference/engines.md has more."""


@pytest.fixture(scope="module", params=ENGINES)
def engine(request: pytest.FixtureRequest) -> str:
    """The name of the engine, for the setting browsers.engine. Skips the test when it is not installed."""
    name: str = request.param
    if name == "firefox":
        firefox()
    return name


@pytest.fixture
def plain_fleet(_fleet: Fleet) -> Fleet:
    """The running proxy for tests without a browser, which run once."""
    return _fleet


@pytest.fixture(scope="module")
def engine_fleet(_fleet: Fleet, engine: str) -> Iterator[Fleet]:
    """The running proxy for a module, and settings with the engine."""
    with EngineFleet(_fleet.proxy, engine) as fleet:
        yield fleet


@pytest.fixture
def fleet(engine_fleet: Fleet) -> Fleet:
    """A running proxy that knows the garden's names, its control port, and settings with the engine."""
    return engine_fleet


def pytest_itemcollected(item: pytest.Item) -> None:
    """Mark the tests with Firefox and Playwright, and those that fail with them."""
    callspec = getattr(item, "callspec", None)
    if not isinstance(item, pytest.Function) or callspec is None or callspec.params.get("engine") in (None, "chromium"):
        return
    if item.name not in QUICK:
        item.add_marker(pytest.mark.slow)
    if reason := GAPS.get(item.originalname) or GAPS.get(item.name):
        item.add_marker(pytest.mark.xfail(strict=True, reason=reason))
