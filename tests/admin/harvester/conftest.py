"""Fixtures of the harvester's tests."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from chain_site import ChainSite
from harvesters import Admin

from archive.settings.load import Settings


@pytest.fixture
def admin(settings: Settings) -> Iterator[Admin]:
    """The admin's database in the home of `settings`."""
    found = Admin(settings)
    yield found
    found.database.close()


@pytest.fixture
def site() -> Iterator[ChainSite]:
    """Six pages, each with an image, in a chain."""
    with ChainSite(6) as started:
        yield started
