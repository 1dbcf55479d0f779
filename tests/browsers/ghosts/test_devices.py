"""A ghost looks like the device of its settings, shows each page at a second size, and has service workers or not."""

from __future__ import annotations

import threading
from typing import Any, Final

import pytest
from support.browsers.visits import Fleet, document, page
from support.origins.raw_origin import RawOrigin, Wait

from browsers.ghosts.ghost import Ghost
from browsers.ghosts.page import second_device_of
from browsers.visit import Visit

pytestmark = pytest.mark.browser

RESPONSIVE: Final = page(
    "<picture><source media='(max-width: 500px)' srcset='small.png 1x, small3.png 3x'><img src=large.png></picture>"
    "<img srcset='plain1.png 1x, plain3.png 3x' src=plain1.png><div class=box>box</div>"
    "<script>onresize = () => { if (innerWidth === 390) fetch('seen.json'); }</script>",
    head="<meta name=viewport content='width=device-width'>"
    "<style>@media (max-width: 500px) { .box { background: url(narrow.png); } }</style>",
)
WORKER: Final = (
    "onactivate = event => event.waitUntil(clients.claim());"
    "onfetch = event => { if (event.request.url.includes('made')) event.respondWith(new Response('made')); };"
)
REGISTERS: Final = """<script>
fetch('/held');  // The page is not settled until it has shown something.
const append = text => { document.body.append(text); fetch('/release'); };
const show = async () => append(await (await fetch('/made.txt')).text());
if (!('serviceWorker' in navigator)) append('without');
else navigator.serviceWorker.register('/worker.js').then(() => navigator.serviceWorker.ready).then(async () => {
  if (!navigator.serviceWorker.controller) {
    await new Promise(done => {
      const most = setTimeout(done, 3000);
      navigator.serviceWorker.oncontrollerchange = () => { clearTimeout(most); done(); };
    });
  }
  await show();
});
</script>"""


def visited(fleet: Fleet, url: str, **settings: Any) -> tuple[Visit, str, str]:
    """The visit of one page with these settings, its collection, and the text of the page."""
    settings = {"sandbox": False, "behaviors": "", "page_records": ["text-final", "text"], **settings}
    visitor = Ghost(fleet.settings(**settings), [fleet.control], fleet.trusted)
    order = fleet.order(url)
    try:
        visit = visitor.visit(order)
    finally:
        visitor.close()
    kept = fleet.proxy.records(order.collection)
    texts = [*kept.of(f"urn:textFinal:{url}"), *kept.of(f"urn:text:{url}")]
    return visit, order.collection, texts[0].block.decode() if texts else ""


def test_a_page_fetches_what_it_shows_on_the_second_device_and_gets_its_own_size_back(
    fleet: Fleet, origin: RawOrigin
) -> None:
    origin.script("/", RESPONSIVE)
    origin.otherwise(lambda asked: (document(b"x", "image/png"),))
    url = origin.url("/")

    visit, _, _ = visited(fleet, url, second_device="390x844@3")

    paths = {seen.path for seen in origin.visits}
    assert {"/small3.png", "/plain3.png", "/narrow.png", "/seen.json", "/large.png"} <= paths
    assert visit.annotations == ()


def test_without_a_second_device_the_page_keeps_to_its_size(fleet: Fleet, origin: RawOrigin) -> None:
    origin.script("/", RESPONSIVE)
    origin.otherwise(lambda asked: (document(b"x", "image/png"),))

    visited(fleet, origin.url("/"))

    assert not {"/small3.png", "/narrow.png", "/seen.json"} & {seen.path for seen in origin.visits}


@pytest.mark.parametrize(
    ("choice", "shown", "asks_for_worker"),
    [
        pytest.param("on", "made", True, marks=pytest.mark.slow),
        ("off", "without", False),
        ("refetched", "sent", True),
    ],
)
def test_service_workers_run_or_not_or_answer_nothing(
    fleet: Fleet, origin: RawOrigin, choice: str, shown: str, asks_for_worker: bool
) -> None:
    over = threading.Event()
    origin.script("/", page(REGISTERS))
    origin.script("/held", Wait(over), document(b"", "text/plain"))
    origin.answer("/release", lambda _: over.set() or [document(b"", "text/plain")])
    origin.script("/worker.js", document(WORKER.encode(), "text/javascript"))
    origin.script("/made.txt", document(b"sent", "text/plain"))

    _, _, text = visited(fleet, origin.url("/"), service_workers=choice, settle_max_seconds=60)

    assert text.strip() == shown
    assert ("/worker.js" in {seen.path for seen in origin.visits}) is asks_for_worker


@pytest.mark.parametrize(
    ("storage", "seen"), [pytest.param("nothing", "first", marks=pytest.mark.slow), ("site-data", "again7")]
)
def test_a_visit_finds_what_the_last_one_left_when_that_is_wished(
    fleet: Fleet, origin: RawOrigin, storage: str, seen: str
) -> None:
    script = (
        "<script>document.body.append((document.cookie.includes('been=1') ? 'again' : 'first')"
        " + (localStorage.seat || '')); document.cookie = 'been=1'; localStorage.seat = '7'</script>"
    )
    origin.script("/one", page(script))
    origin.script("/two", page(script))
    settings = fleet.settings(sandbox=False, storage=storage, behaviors="", page_records="text")
    visitor = Ghost(settings, [fleet.control], fleet.trusted)
    order = fleet.order(origin.url("/two"))
    try:
        visitor.visit(fleet.order(origin.url("/one")))
        visitor.visit(order)
    finally:
        visitor.close()

    (text,) = fleet.proxy.records(order.collection).of(f"urn:text:{order.url}")
    assert text.block.decode().strip() == seen


def test_the_text_of_a_device_has_width_height_and_scale() -> None:
    assert second_device_of("390x844@3") == (390, 844, 3.0)
    assert second_device_of("800x600") == (800, 600, 1.0)
