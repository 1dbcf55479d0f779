"""A ghost keeps what a later comparison needs: what moves by itself, and where resources stand."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator

import pytest
from PIL import Image
from support.browsers.visits import Fleet, document, page, visited_together
from support.origins.raw_origin import RawOrigin

from browsers.ghosts.ghost import Ghost
from browsers.ghosts.resource_boxes import MAX_BOXES, boxes_of

STYLE = """<style>
  body {margin: 0; height: 3000px} img, iframe, video, object, svg, i {position: absolute; border: 0}
  #moving {position: absolute; left: 400px; top: 100px; width: 50px; height: 50px}
</style>"""
BODY = """<div id=moving></div>
<img src=/photo.png style="left: 10px; top: 20px; width: 30px; height: 40px">
<picture><source srcset=/chosen.png>
<img src=/other.png style="left: 50px; top: 20px; width: 30px; height: 40px"></picture>
<img src=/hidden.png hidden>
<img src=/clear.png style="opacity: 0; width: 5px; height: 5px">
<img src="data:image/gif;base64,R0lGODlhAQABAAAAACwAAAAAAQABAAA=">
<i style="left: 0; top: 2000px; width: 100px; height: 60px; background: url('/back(1).png')"></i>
<iframe src=/frame style="left: 10px; top: 200px; width: 300px; height: 100px"></iframe>
<video src=/film.mp4 poster=/poster.png style="left: 10px; top: 400px; width: 320px; height: 180px"></video>
<div id=host></div><script>
  host.attachShadow({mode: 'open'}).innerHTML = '<svg style="position: absolute; left: 9px; top: 8px" width=7 height=6>'
    + '<image href="/drawn.png" width=7 height=6 /></svg>';
  let turn = 0;
  const turned = () => { moving.style.background = `hsl(${turn += 7} 90% 50%)`; requestAnimationFrame(turned); };
  turned();
</script>"""


@pytest.fixture(scope="module")
def ghost(engine_fleet: Fleet) -> Iterator[Ghost]:
    limits = {"page_seconds": 60, "close_seconds": 20, "behaviors": "scroll", "page_records": "text,volatile"}
    visitor = Ghost(engine_fleet.settings(sandbox=False, **limits), [engine_fleet.control], engine_fleet.trusted)
    yield visitor
    visitor.close()


@pytest.mark.browser
def test_a_visit_keeps_what_moves_by_itself_and_the_places_of_resources(
    ghost: Ghost, fleet: Fleet, origin: RawOrigin
) -> None:
    origin.script("/", page(BODY, head=STYLE))
    origin.script("/still", page("<script>0</script>still"))
    origin.script("/frame", page("in the frame"))
    for name in ("photo", "chosen", "hidden", "clear", "poster", "drawn", "back(1)"):
        origin.script(f"/{name}.png", document(b"no picture", "image/png"))
    origin.script("/film.mp4", document(b"no film", "video/mp4"))
    order = fleet.order(origin.url("/"))
    still = fleet.order(origin.url("/still"), collection=order.collection)

    visited_together(ghost, [order, still])

    kept = fleet.proxy.records(order.collection)
    (mask,) = kept.of(f"urn:volatile:{order.url}")
    with Image.open(io.BytesIO(mask.block)) as picture:
        assert (picture.mode, picture.size, picture.getbbox()) == ("1", (1280, 1024), (391, 91, 459, 159))
    assert kept.of(f"urn:volatile:{still.url}") == []
    boxes = json.loads(kept.of(f"urn:pageinfo:{order.url}")[0].block)["boxes"]
    film = next(box for box in boxes if box["url"].endswith(".mp4"))
    assert (film.pop("readyState"), film.pop("error")) == (0, 4), "MEDIA_ERR_SRC_NOT_SUPPORTED"
    assert {
        (box["url"].removeprefix(origin.url("/")), box["kind"], *box["box"], box["isVisible"]) for box in boxes
    } == {
        ("photo.png", "image", 10, 20, 30, 40, True),
        ("chosen.png", "image", 50, 20, 30, 40, True),
        ("hidden.png", "image", 0, 0, 0, 0, False),
        ("clear.png", "image", *next(box["box"] for box in boxes if "clear" in box["url"]), False),
        ("back(1).png", "image", 0, 2000, 100, 60, True),
        ("frame", "document", 10, 200, 300, 100, True),
        ("film.mp4", "media", 10, 400, 320, 180, True),
        ("poster.png", "image", 10, 400, 320, 180, True),
        ("drawn.png", "image", 9, 8, 7, 6, True),
    }


@pytest.mark.browser
def test_the_boxes_of_a_page_are_bounded(ghost: Ghost, fleet: Fleet, origin: RawOrigin) -> None:
    """The worst page has many elements with long URLs. None of these pictures is fetched."""
    script = """
      const many = document.createElement('div');
      many.hidden = true;
      for (let at = 0; at < 12000; at++)
        many.insertAdjacentHTML('beforeend', `<img loading=lazy src="/${'x'.repeat(at % 2500)}">`);
      document.body.append(many);
    """
    origin.script("/", page(f"<script>{script}</script>"))
    order = fleet.order(origin.url("/"))

    ghost.visit(order)

    info = json.loads(fleet.proxy.records(order.collection).of(f"urn:pageinfo:{order.url}")[0].block)
    assert "boxes-failed" not in info["notes"]
    assert 100 < len(info["boxes"]) <= MAX_BOXES
    assert sum(len(box["url"]) for box in info["boxes"]) <= 500_000


def test_boxes_of_another_form_are_left_out() -> None:
    good = {"url": "http://site.test/a", "kind": "media", "box": [1, 2.4, 3, 4], "isVisible": True, "readyState": 4}
    bad = [{**good, **wrong} for wrong in ({"kind": "x"}, {"box": [1, 2, 3]}, {"box": [0, 0, 1, 1e300]}, {"url": 1})]

    found = boxes_of([*bad, {**good, "error": "none", "more": 1}, {**good, "box": [0, 0, 0, float("nan")]}, "x"])

    assert found == [{**good, "box": [1, 2, 3, 4]}]
    assert len(boxes_of([good] * (MAX_BOXES + 1))) == MAX_BOXES
