"""A request of a frame that has gone holds no visit, at whatever moment the frame went."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from support.browsers.visits import Fleet, document, page
from support.origins.raw_origin import RawOrigin

from browsers.ghosts.ghost import Ghost

pytestmark = pytest.mark.browser

MOMENTS = """
  let number = 0;
  const one = () => {
    SCRIPT
    if (++number < 60) setTimeout(one, 5);
  };
  one();
"""
REMOVED = """
  const frame = document.createElement('iframe');
  frame.src = `ORIGIN/data?${number}`;
  document.body.append(frame);
  setTimeout(() => frame.remove(), number % 30);
"""
REPLACED = """
  const frame = document.createElement('iframe');
  frame.src = `ORIGIN/data?${number}`;
  document.body.append(frame);
  setTimeout(() => { frame.src = number % 2 ? '/data' : 'about:blank' }, number % 30);
"""
WRITTEN = """
  const frame = document.createElement('iframe');
  document.body.append(frame);
  frame.contentDocument.write(`<img src="ORIGIN/data?${number}">`);
  setTimeout(() => frame.remove(), number % 30);
"""
WORKERS = """
  const code = new Blob([`fetch("ORIGIN/data?${number}")`], {type: 'text/javascript'});
  const worker = new Worker(URL.createObjectURL(code));
  setTimeout(() => worker.terminate(), number % 40);
"""


@pytest.fixture(scope="module")
def ghost(engine_fleet: Fleet) -> Iterator[Ghost]:
    times = {"page_seconds": 90, "load_seconds": 40, "settle_max_seconds": 40, "scroll_seconds": 5, "sandbox": False}
    visitor = Ghost(engine_fleet.settings(**times), [engine_fleet.control], engine_fleet.trusted)
    yield visitor
    visitor.close()


@pytest.mark.parametrize(
    ("script", "site"),
    [
        pytest.param(REMOVED, "", marks=pytest.mark.slow),
        (REMOVED, "another"),
        pytest.param(REPLACED, "another", marks=pytest.mark.slow),
        (WRITTEN, "another"),
        (WORKERS, ""),
    ],
    ids=["removed", "removed-of-another-site", "replaced", "written", "workers"],
)
def test_requests_of_what_a_page_removed_hold_no_visit(
    ghost: Ghost, fleet: Fleet, origin: RawOrigin, script: str, site: str
) -> None:
    with RawOrigin("127.0.1.12") as another:
        start = another.url("").rstrip("/") if site else origin.url("").rstrip("/")
        told = MOMENTS.replace("SCRIPT", script).replace("ORIGIN", start)
        origin.script("/", page(f"<p>A text<script>{told}</script>"))
        for each in (origin, another):
            each.otherwise(lambda _: [document(b"x" * 3000, "text/html")])

        visit = ghost.visit(fleet.order(origin.url("/")))

    assert visit.code == 200
    # Frames beyond the first 50 are visited by themselves.
    assert {note.partition(":")[0] for note in visit.annotations} <= {"frames-unsearched"}


def test_a_frame_of_another_process_that_ends_costs_only_the_frame(fleet: Fleet, origin: RawOrigin) -> None:
    visitor = Ghost(fleet.settings(sandbox=False, page_memory_bytes=300_000_000), [fleet.control], fleet.trusted)
    with RawOrigin("127.0.1.12") as another:
        origin.script("/", page(f"<p>A text<a href=/x>x</a><iframe src='{another.url('/greedy')}'></iframe>"))
        more = "const kept = []; setInterval(() => kept.push(new Uint8Array(20e6).fill(1)), 1)"
        another.script("/greedy", page(f"<script>{more}</script>"))
        order = fleet.order(origin.url("/"))
        try:
            visit = visitor.visit(order)
        finally:
            visitor.close()

    assert visit.code == 200
    assert not [note for note in visit.annotations if note.startswith("ghost:") or note.endswith("-failed")]
    assert [(link.url, link.hop) for link in visit.links] == [(origin.url("/x"), "L"), (another.url("/greedy"), "E")]
    assert fleet.proxy.records(order.collection).of(f"urn:pageinfo:{order.url}")
