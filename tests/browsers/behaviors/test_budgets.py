"""The budget of clicks is shared out over the controls of a page, and what is given up is named."""

from __future__ import annotations

import json

import pytest
from support.browsers.visits import Fleet, document, page
from support.origins.raw_origin import RawOrigin

from browsers.behaviors import clicks
from browsers.ghosts.ghost import Ghost

pytestmark = pytest.mark.browser

ENDLESS = """<div id=feed></div><button type=button id=more>Load more</button><button type=button id=map>Map</button>
<script>
let at = 0;
more.onclick = async () => { feed.textContent = await fetch(`/item?at=${++at}`).then(r => r.text()); };
map.onclick = () => fetch('/map');
</script>"""


def test_an_endless_control_is_given_up_and_named_and_the_others_have_their_turns(
    patient_ghost: Ghost, fleet: Fleet, origin: RawOrigin, monkeypatch: pytest.MonkeyPatch
) -> None:
    most = 24
    monkeypatch.setattr(clicks, "MOST_REPEATS", most)
    origin.script("/", page(ENDLESS))
    origin.script("/map", document(b"map", "text/plain"))
    origin.otherwise(lambda _: [document(b"item", "text/plain")])
    order = fleet.order(origin.url("/"))

    visit = patient_ghost.visit(order)

    kept = fleet.proxy.records(order.collection)
    (record,) = kept.of(f"urn:pageinfo:{order.url}")
    info = json.loads(record.block)
    (click,) = (each for each in info["behaviors"] if each["id"] == "click")
    assert click["ended"] == "budget"
    assert click["givenUp"] == [{"reason": "endless", "count": 1, "names": ["Load more"]}]
    assert info["flaws"] == [{"type": "budget", "rule": "click", "detail": "1 endless: Load more"}]
    assert {"page:budget:click", "click-budget"} <= set(visit.annotations)
    asked = [each.url.rpartition("/")[2] for each in kept.kinds("response", "revisit")]
    assert sum(name.startswith("item") for name in asked) == most
    assert asked.index("map") < asked.index("item?at=5")
