"""The general pass reaches what stands behind each feature: the proxy has it in the collection."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from itertools import batched
from pprint import pformat
from typing import Any
from urllib.parse import urlsplit

import pytest
from support.browsers.behavior_site import PAGES, Feature, FeatureSite
from support.browsers.visits import Fleet, visited_together

from browsers.ghosts.ghost import Ghost
from browsers.visit import Visit, VisitOrder

pytestmark = pytest.mark.browser

PARTS = {"frame-scrolled", "frame-watched", "opened"}
"""Pages that others embed or open."""
FEATURES = sorted({path.stem for path in PAGES.glob("*.html")} - PARTS)
QUICK = frozenset(
    (
        *("details", "tabs", "carousel", "shadow-button", "frame-click", "load-more", "pagination", "inner-box"),
        *("frame-scroll", "scroll-again", "consent-label", "consent-reload", "age-window", "dialog", "new-window"),
        *("hover-script", "hover-style", "drag", "keys", "press", "get-form", "select", "list-fetched", "push-state"),
        *("navigation-api", "download", "media", "late-timer", "never", "observer"),
    )
)
"""Pages of each kind of behaviour; the others, which vary a kind, run with --slow."""
assert set(FEATURES) > QUICK
EACH = 14
"""Pages of one test."""
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


def groups() -> list[Any]:
    """Return the pages in groups, those of the normal suite first."""
    chosen = [(sorted(QUICK), ()), (sorted(set(FEATURES) - QUICK), (pytest.mark.slow,))]
    return [
        pytest.param(group, id=f"{group[0]} to {group[-1]}", marks=marks)
        for names, marks in chosen
        for group in batched(names, EACH)
    ]


@pytest.mark.timeout(300)
@pytest.mark.parametrize("names", groups())
def test_visits_fetch_what_stands_behind_the_features(
    ghost: Ghost, fleet: Fleet, site: FeatureSite, names: Sequence[str]
) -> None:
    orders = {name: fleet.order(site.url(f"/{name}.html")) for name in names}
    visits = dict(zip(orders, visited_together(ghost, list(orders.values())), strict=True))

    found = {name: lacking(fleet, site, orders[name], visit) for name, visit in visits.items()}
    wrong = {name: lacks for name, lacks in found.items() if lacks}
    assert not wrong, pformat(wrong, width=200)


def lacking(fleet: Fleet, site: FeatureSite, order: VisitOrder, visit: Visit) -> dict[str, Any]:
    """Return what a visit did not do and what the visit did wrongly, with the outcomes of its behaviours."""
    feature = Feature.read(urlsplit(order.url).path.removeprefix("/").removesuffix(".html"))
    kept = fleet.proxy.records(order.collection)
    paths = {urlsplit(record.url).path for record in kept.kinds("response", "revisit")}
    (info,) = kept.of(f"urn:pageinfo:{order.url}")
    told = json.loads(info.block)
    found = {
        "not fetched": set(feature.expects) - paths,
        "forbidden": set(feature.forbids) & paths,
        "no links": {site.url(path) for path in feature.links} - {link.url for link in visit.links},
        "other page": {told["finalUrl"]} - {order.url},
    }
    return {**found, "outcomes": told["behaviors"]} if any(found.values()) else {}
