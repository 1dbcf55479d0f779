"""A full disk and a killed proxy in the middle of a render leave whole records only, and the next visit leaves all."""

from __future__ import annotations

import resource
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest
from support.browsers.visits import EngineFleet, Fleet, page
from support.origins.raw_origin import RawOrigin
from support.processes.waiting import until
from support.proxy.running_proxy import RunningProxy

from browsers.ghosts.ghost import Ghost
from browsers.visit import FleetUnavailable, Visit, VisitOrder

pytestmark = pytest.mark.browser

ADDRESS: Final = "127.0.1.61"
NOISE: Final = page(
    "<canvas width=800 height=900></canvas><script>"
    "const pen = document.querySelector('canvas').getContext('2d'), picture = pen.createImageData(800, 900);"
    "for (let i = 0; i < picture.data.length; i++) picture.data[i] = i % 4 == 3 ? 255 : Math.random() * 256;"
    "pen.putImageData(picture, 0, 0)</script>"
)
"""The picture of this page has two megabytes, whatever the compression."""
ALL: Final = {"view", "thumbnail", "fullPage", "dom", "pageinfo"}


@pytest.fixture
def origin() -> Iterator[RawOrigin]:
    with RawOrigin(ADDRESS) as origin:
        origin.script("/", NOISE)
        yield origin


def visited(fleet: Fleet, order: VisitOrder) -> Visit:
    visitor = Ghost(fleet.settings(sandbox=False, page_seconds=60, behaviors=""), [fleet.control], fleet.trusted)
    try:
        return visitor.visit(order)
    finally:
        visitor.close()


def kinds_by_page(proxy: RunningProxy, collection: str) -> dict[str, set[str]]:
    """The kinds of derived records by page id. Raises when a record is torn."""
    found: dict[str, set[str]] = {}
    for record in proxy.records(collection).kinds("resource"):
        found.setdefault(record.field("WARC-Page-ID") or "", set()).add(record.url.split(":")[1])
    return found


def test_a_disk_that_fills_up_leaves_no_half_record(tmp_path: Path, origin: RawOrigin, engine: str) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    with RunningProxy(tmp_path / "home") as proxy, EngineFleet(proxy, engine) as fleet:
        order = fleet.order(origin.url("/"))
        limited = proxy.pids()
        for pid in limited:
            resource.prlimit(pid, resource.RLIMIT_FSIZE, (1_000_000, hard))
        with pytest.raises(FleetUnavailable):
            visited(fleet, order)
        for pid in limited:
            resource.prlimit(pid, resource.RLIMIT_FSIZE, (soft, hard))

        until(lambda: proxy.get(origin.url("/")).status == 200, what="the proxy to go on")
        assert visited(fleet, order).code == 200
        proxy.stop()
        pages = kinds_by_page(proxy, order.collection)

    assert [kinds for kinds in pages.values() if "pageinfo" in kinds] == [ALL]


def test_a_proxy_that_is_killed_leaves_no_half_record(tmp_path: Path, origin: RawOrigin, engine: str) -> None:
    home = tmp_path / "home"
    with RunningProxy(home) as proxy, EngineFleet(proxy, engine) as fleet:
        order, ended = fleet.order(origin.url("/")), list[FleetUnavailable]()

        def visit() -> None:
            try:
                visited(fleet, order)
            except FleetUnavailable as error:
                ended.append(error)

        visiting = threading.Thread(target=visit)
        visiting.start()
        view = f"urn:view:{order.url}"
        until(
            lambda: proxy.folder(order.collection).exists() and proxy.records(order.collection, growing=True).of(view),
            what="the first record of the page",
            within=60,
        )
        proxy.kill9()
        visiting.join()

    with RunningProxy(home) as proxy, EngineFleet(proxy, engine) as fleet:
        assert visited(fleet, order).code == 200
        proxy.stop()
        pages = kinds_by_page(proxy, order.collection)

    assert all(kinds == ALL for kinds in pages.values() if "pageinfo" in kinds)
    assert ALL in pages.values()
    assert [str(error) for error in ended] == ["proxy-unreachable"] or len(pages) == 2
