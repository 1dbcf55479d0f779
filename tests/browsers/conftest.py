"""A real proxy for all tests of the visitors, and origins to visit through it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from support.browsers.visits import Fleet
from support.origins.raw_origin import RawOrigin
from support.proxy.running_proxy import RunningProxy

from admin.demo.garden import GardenSite


@pytest.fixture(scope="session", autouse=True)
def _patient_pings() -> Iterator[None]:
    """A browser that answers late on a busy machine does not hang. No test has a browser that hangs."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("browsers.engines.running_browser.STOP_SECONDS", 90.0)
        yield


@pytest.fixture(scope="session")
def _fleet(_garden: GardenSite, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Fleet]:
    home: Path = tmp_path_factory.mktemp("fleet") / "home"
    names = {
        "proxy.resolve": ",".join(f"{name}={address}" for name, address in _garden.resolve.items()),
        "proxy.upstream_ca": str(_garden.ca_pem),
        "proxy.orphan_seconds": 2,
    }
    with RunningProxy(home, names) as proxy, Fleet(proxy) as fleet:
        yield fleet


@pytest.fixture
def fleet(_fleet: Fleet) -> Fleet:
    """A running proxy that knows the garden's names, and its control port."""
    return _fleet


@pytest.fixture
def origin() -> Iterator[RawOrigin]:
    """An origin that answers as scripted."""
    with RawOrigin("127.0.1.9") as origin:
        yield origin
