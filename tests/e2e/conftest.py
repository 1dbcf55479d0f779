"""The mark of this folder, and one crawl of the garden site by ghosts for the tests that look at what it left."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from support.browsers.finished_crawl import Harvest
from support.browsers.garden_crawl import crawl
from support.browsers.running_viewer import player_tarball
from support.browsers.watched_garden import WatchedGarden
from support.processes.machine_needs import chromium, redis_server


def pytest_itemcollected(item: pytest.Item) -> None:
    """Mark the tests of this folder, which run after the others."""
    item.add_marker("e2e")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Put the tests of the crawl first and together, so that one process of pytest-xdist has them and crawls once."""
    items.sort(key=lambda item: "harvest" not in getattr(item, "fixturenames", ()))


@pytest.fixture(scope="session")
def harvest(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Harvest]:
    """The whole site, visited by two ghosts."""
    chromium()
    redis_server()
    home = tmp_path_factory.mktemp("harvest") / "home"
    with WatchedGarden() as site:
        done = crawl(site, home, "--visitor", "browser", "--workers", "2")
        assert done.returncode == 0, done.stderr[-4000:] + done.stdout[-4000:]
        yield Harvest(site, home, site.requests, done.stdout)


@pytest.fixture(scope="session")
def player(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The npm package of the viewer's player."""
    return player_tarball(tmp_path_factory.mktemp("player"))
