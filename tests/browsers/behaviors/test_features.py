"""The general pass reaches what stands behind each feature: the proxy has it in the collection."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlsplit

import pytest
from support.browsers.behavior_site import PAGES, Feature, FeatureSite
from support.browsers.visits import Fleet

from browsers.ghosts.ghost import Ghost

pytestmark = pytest.mark.browser

PARTS = {"frame-scrolled", "frame-watched", "opened"}
"""Pages that others embed or open."""
FEATURES = sorted({path.stem for path in PAGES.glob("*.html")} - PARTS)
QUICK = frozenset(
    (
        *("accordion", "details", "tabs", "css-tabs", "carousel", "tree-icons", "shadow-button", "frame-click"),
        *("load-more", "next-button", "pagination", "inner-box", "wheel", "frame-scroll", "scroll-again"),
        *("consent-label", "consent-reload", "consent-shadow", "age-window", "dialog", "popup", "new-window"),
        *("hover-script", "hover-style", "drag", "double-click", "keys", "press", "first-move"),
        *("get-form", "script-form", "select", "list-fetched", "push-state", "navigation-api", "download"),
        *("media", "play-button", "late-timer", "visibility", "never", "observer", "drawn-later"),
    )
)
"""Pages of each kind of behaviour; the others, which vary a kind, run with --slow."""
assert set(FEATURES) > QUICK
LIMITS: dict[str, Any] = {"page_seconds": 90, "load_seconds": 15, "close_seconds": 20, "sandbox": False}


@pytest.fixture(scope="module")
def site() -> Iterator[FeatureSite]:
    with FeatureSite() as site:
        yield site


@pytest.fixture(scope="module")
def ghost(_fleet: Fleet) -> Iterator[Ghost]:
    visitor = Ghost(_fleet.settings(**LIMITS), [_fleet.control], _fleet.trusted)
    yield visitor
    visitor.close()


@pytest.mark.parametrize(
    "name", [name if name in QUICK else pytest.param(name, marks=pytest.mark.slow) for name in FEATURES]
)
def test_a_visit_fetches_what_stands_behind_the_feature(
    ghost: Ghost, fleet: Fleet, site: FeatureSite, name: str
) -> None:
    feature = Feature.read(name)
    order = fleet.order(site.url(f"/{name}.html"))

    visit = ghost.visit(order)

    kept = fleet.proxy.records(order.collection)
    paths = {urlsplit(record.url).path for record in kept.kinds("response", "revisit")}
    (info,) = kept.of(f"urn:pageinfo:{order.url}")
    outcomes = json.loads(info.block)["behaviors"]
    assert set(feature.expects) - paths == set(), outcomes
    assert set(feature.forbids) & paths == set(), outcomes
    assert {site.url(path) for path in feature.links} - {link.url for link in visit.links} == set()
    assert json.loads(info.block)["finalUrl"] == order.url
