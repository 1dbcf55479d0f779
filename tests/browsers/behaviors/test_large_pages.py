"""A tall page is scrolled through, and a page of many megabytes ends with its records and says what was cut."""

from __future__ import annotations

import json

import pytest
from support.browsers.visits import Fleet, document, page
from support.origins.raw_origin import RawOrigin
from support.pages.feature import png

from browsers.ghosts.ghost import Ghost

pytestmark = pytest.mark.browser

WATCHER = """<script>
const watcher = new IntersectionObserver(entries => {
  for (const entry of entries) if (entry.isIntersecting && entry.target.dataset.at % 50 === 49) {
    const image = new Image();
    image.src = `/seen-${entry.target.dataset.at}.png`;
    entry.target.append(image);
  }
});
document.querySelectorAll('div').forEach(each => watcher.observe(each));
</script>"""
PARAGRAPH = "the pond is full of newts and the newts are full of ponds " * 40


@pytest.mark.parametrize("count", [60, pytest.param(300, marks=pytest.mark.slow)])
def test_a_page_of_many_thousand_pixels_is_scrolled_to_its_end(
    patient_ghost: Ghost, fleet: Fleet, origin: RawOrigin, count: int
) -> None:
    parts = "".join(f"<div data-at={at} style='height:1000px'>Part {at}</div>" for at in range(count))
    origin.script("/", page(f"{parts}{WATCHER}"))
    names = [f"/seen-{at}.png" for at in range(49, count, 50)]
    for name in names:
        origin.script(name, document(png(name, (8, 8)), "image/png"))
    order = fleet.order(origin.url("/"))

    visit = patient_ghost.visit(order)

    kept = fleet.proxy.records(order.collection)
    (info,) = kept.of(f"urn:pageinfo:{order.url}")
    assert json.loads(info.block)["scroll"]["ended"] == "bottom"
    assert visit.annotations == ()
    assert [name for name in names if not kept.of(origin.url(name), "response", "revisit")] == []


@pytest.mark.parametrize("megabytes", [5, pytest.param(20, marks=pytest.mark.slow)])
def test_a_page_of_many_megabytes_has_its_records_and_says_what_was_cut(
    fleet: Fleet, origin: RawOrigin, megabytes: int
) -> None:
    count = megabytes * 1_000_000 // 2_400
    body = "".join(f"<p>{at} {PARAGRAPH}</p>\n" for at in range(count))
    origin.script("/", document(f"<!doctype html><title>Ponds</title>{body}".encode(), "text/html; charset=utf-8"))
    settings = fleet.settings(
        page_seconds=115,
        load_seconds=80,
        behavior_seconds=3,
        sandbox=False,
        max_page_bytes=4_000_000,
        page_memory_bytes=500_000_000 + megabytes * 45_000_000,  # a layout for a picture of the whole needs more
    )
    order = fleet.order(origin.url("/"))
    visitor = Ghost(settings, [fleet.control], fleet.trusted)
    try:
        visit = visitor.visit(order)
    finally:
        visitor.close()

    assert visit.code == 200
    assert {"full-page-cut", "text-cut", "dom-too-large"} <= set(visit.annotations)
    kept = fleet.proxy.records(order.collection)
    for name in ("view", "thumbnail", "fullPage", "text", "pageinfo"):
        assert len(kept.of(f"urn:{name}:{order.url}")) == 1, name
    assert len(kept.of(order.url, "response")) == 1
