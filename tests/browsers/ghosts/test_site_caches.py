"""With `browsers.cache = site`, the pages of a site share the browser's cache, and each request has the right page."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, Final
from urllib.parse import parse_qs, urlsplit

import psutil
import pytest
from support.browsers.visits import Fleet, document, page
from support.browsers.watched_garden import WatchedGarden
from support.origins.raw_origin import RawOrigin, Send, Wait
from support.processes.waiting import until
from support.proxy.running_proxy import RunningProxy

from archive.settings.load import Settings
from browsers.engines.chromium.browser import ChromiumEngine
from browsers.engines.interface import BrowserWindow, NavigationFailed
from browsers.ghosts.ghost import Ghost
from browsers.ghosts.site_caches import MOST_CONTEXTS
from browsers.proxying.control_client import SessionRequest
from browsers.visit import FleetUnavailable, VisitOrder

pytestmark = pytest.mark.browser

FRESH: Final = "Cache-Control: max-age=3600\r\n"
NEVER: Final = "Cache-Control: no-store\r\n"
QUICK: Final = {"settle_seconds": 0.2, "settle_max_seconds": 0.5, "patience_seconds": 0}
PARTS: Final = "<link rel=stylesheet href=/style.css><img src=/always.png><script src=/script.js></script>"
WORKER: Final = (
    "const ask = () => fetch('/tick?by=KIND&from=' + name).then(again, again);"
    "const again = () => setTimeout(ask, 20); ask();"
)
RESTLESS: Final = """<script>
const from = location.pathname.slice(1);
new Worker('/worker.js', {name: from});
new SharedWorker('/shared.js', {name: from});
navigator.serviceWorker.register('/service.js?from=' + from);
addEventListener('pagehide', () => {
  navigator.sendBeacon('/beacon?from=' + from, 'x');
  for (let i = 0; i < 20; i++) fetch('/late?i=' + i + '&from=' + from, {keepalive: true});
});
</script>"""
SERVICE: Final = """
const from = new URL(location).searchParams.get('from');
oninstall = () => skipWaiting();
onactivate = event => { event.waitUntil(clients.claim()); ask(); };
const ask = () => fetch('/tick?by=service&from=' + from).then(again, again);
const again = () => setTimeout(ask, 20);
"""


@pytest.fixture(autouse=True)
def _patient_contexts(monkeypatch: pytest.MonkeyPatch) -> None:
    """On a busy machine, the ends of requests are told late. No context of these tests is closed for that."""
    monkeypatch.setattr("browsers.ghosts.visit_place._CALM_SECONDS", 60.0)
    monkeypatch.setattr("browsers.engines.chromium.devtools.kept_context._SETTLE_SECONDS", 60.0)


@pytest.fixture(scope="module")
def visitor(_fleet: Fleet) -> Iterator[Ghost]:
    """A ghost with kept caches, which several tests use. Each of them has a collection of its own."""
    with_caches = ghost(_fleet)
    yield with_caches
    with_caches.close()


def ghost(fleet: Fleet, **settings: Any) -> Ghost:
    """A ghost with kept caches, which leaves as few records as it can."""
    return Ghost(settings_of(fleet, **settings), [fleet.control], fleet.trusted)


def settings_of(fleet: Fleet, **settings: Any) -> Settings:
    """The settings of a ghost with kept caches."""
    values = {"sandbox": False, "cache": "site", "behaviors": "", "page_records": "text", **QUICK, **settings}
    return fleet.settings(**values)


def engine_of(visitor: Ghost) -> ChromiumEngine:
    """The running browser of a ghost."""
    assert visitor._engines._current is not None
    engine = visitor._engines._current.engine
    assert isinstance(engine, ChromiumEngine)
    return engine


def of_one_job(fleet: Fleet, origin: RawOrigin, *paths: str) -> list[VisitOrder]:
    """Orders of one job, in a new collection."""
    first = fleet.order(origin.url(paths[0]))
    return [first, *(fleet.order(origin.url(path), collection=first.collection, job=first.job) for path in paths[1:])]


def infos(fleet: Fleet, order: VisitOrder) -> list[Any]:
    """The page infos of the order's collection, in their order."""
    records = fleet.proxy.records(order.collection).kinds("resource")
    return [json.loads(record.block) for record in records if record.url.startswith("urn:pageinfo:")]


def asked(origin: RawOrigin) -> list[str]:
    """The paths that the origin was asked for, without the icon."""
    return [seen.path for seen in origin.visits if seen.path != "/favicon.ico"]


def test_the_next_page_of_a_site_asks_for_no_fresh_part_again(
    plain_fleet: Fleet, origin: RawOrigin, visitor: Ghost
) -> None:
    for path in ("/one", "/two"):
        origin.script(path, page(PARTS, headers=FRESH))
    origin.script("/style.css", document(b"p { color: red }", "text/css", headers=FRESH))
    origin.script("/script.js", document(b"1", "text/javascript", headers=FRESH))
    origin.script("/always.png", document(b"x", "image/png", headers=NEVER))
    orders = of_one_job(plain_fleet, origin, "/one", "/two", "/one")

    visits = [visitor.visit(order) for order in orders]

    assert sorted(asked(origin)) == sorted(
        ["/one", "/style.css", "/script.js", "/always.png", "/two", "/always.png", "/one", "/always.png"]
    )
    kept = plain_fleet.proxy.records(orders[0].collection)
    assert [record.kind for record in kept.of(orders[0].url, "response", "revisit")] == ["response", "revisit"]
    first, second, third = infos(plain_fleet, orders[0])
    assert not any("fromCache" in entry for entry in first["urls"].values())
    for info in (second, third):
        from_cache = {url for url, entry in info["urls"].items() if entry.get("fromCache")}
        assert from_cache == {origin.url("/style.css"), origin.url("/script.js")}
        assert info["proxy"]["differences"] == {}
    assert [visit.code for visit in visits] == [200, 200, 200]


def test_a_page_behind_a_redirect_is_fetched_although_the_cache_has_it(
    plain_fleet: Fleet, origin: RawOrigin, visitor: Ghost
) -> None:
    origin.script("/two", page("<p>two", headers=FRESH))
    origin.script("/old", document(b"", "text/html", status="301 Moved", headers=f"Location: /two\r\n{FRESH}"))
    orders = of_one_job(plain_fleet, origin, "/old", "/old")

    codes = [visitor.visit(order).code for order in orders]

    assert codes == [200, 200]
    assert asked(origin) == ["/old", "/two", "/old", "/two"]


def test_a_part_that_is_stale_in_the_cache_is_captured_whole(
    plain_fleet: Fleet, origin: RawOrigin, visitor: Ghost
) -> None:
    part = document(b"p { color: red }", "text/css", headers='ETag: "a"\r\nCache-Control: no-cache\r\n')
    unchanged = Send(b'HTTP/1.1 304 Not Modified\r\nETag: "a"\r\n\r\n')
    for path in ("/one", "/two"):
        origin.script(path, page("<link rel=stylesheet href=/style.css>"))
    origin.answer("/style.css", lambda told: (unchanged if b"If-None-Match" in told else part,))
    orders = of_one_job(plain_fleet, origin, "/one", "/two")

    for order in orders:
        visitor.visit(order)

    found = plain_fleet.proxy.records(orders[0].collection).of(origin.url("/style.css"), "response", "revisit")
    assert [record.block.partition(b"\r\n")[0] for record in found] == [b"HTTP/1.1 200 OK"] * 2
    assert "fromCache" not in infos(plain_fleet, orders[0])[1]["urls"][origin.url("/style.css")]


def test_tunnels_of_https_have_the_page_of_their_time(
    plain_fleet: Fleet, garden: WatchedGarden, visitor: Ghost
) -> None:
    first = plain_fleet.order("https://www.garden.test/members.html")
    ports = []
    for _ in range(2):
        visitor.visit(first)
        ports += [
            each.session.port for each in visitor._places.caches._waiting if each.key.collection == first.collection
        ]

    assert len(set(ports)) == 1
    found = plain_fleet.proxy.records(first.collection).of(first.url, "response", "revisit")
    assert [record.field("WARC-Page-ID") for record in found] == [info["pageid"] for info in infos(plain_fleet, first)]
    assert len(garden.requests) >= len(found) == 2


@pytest.mark.parametrize("pages", [3, pytest.param(60, marks=(pytest.mark.slow, pytest.mark.timeout(600)))])
def test_requests_that_outlive_their_page_have_their_own_page_id(
    plain_fleet: Fleet, origin: RawOrigin, visitor: Ghost, pages: int
) -> None:
    """Workers that never rest, a service worker, a beacon and fetches that are sent when the page ends.

    Each page loads until its three workers have sent requests.
    """
    names = [f"p{number}" for number in range(pages)]
    ticking = {name: set[str]() for name in names}
    all_tick = {name: threading.Event() for name in names}

    def answer(told: bytes) -> tuple[Send]:
        if told.startswith(b"GET /service.js"):
            return (document(SERVICE.encode(), "text/javascript"),)
        query = parse_qs(urlsplit(told.split(b" ")[1].decode()).query)
        for kind in query.get("by", ()):
            (name,) = query["from"]
            ticking[name].add(kind)
            if len(ticking[name]) == 3:
                all_tick[name].set()
        return (document(b"x", "text/plain", headers=NEVER),)

    for kind in ("worker", "shared"):
        script = WORKER.replace("KIND", kind).encode()
        origin.script(f"/{kind}.js", document(script, "text/javascript", headers=FRESH))
    origin.otherwise(answer)
    for name in names:
        origin.script(f"/{name}", page(f"{RESTLESS}<img src=/held/{name}>", headers=FRESH))
        origin.script(f"/held/{name}", Wait(all_tick[name]), document(b"x", "image/png", headers=NEVER))
    orders = of_one_job(plain_fleet, origin, *(f"/{name}" for name in names))

    for order in orders:
        visitor.visit(order)

    visited = {info["pageid"]: info["url"].rpartition("/")[2] for info in infos(plain_fleet, orders[0])}
    kinds = set()
    for record in plain_fleet.proxy.records(orders[0].collection).kinds("response", "revisit"):
        query = parse_qs(urlsplit(record.url).query)
        if "from" in query:
            assert [visited[record.field("WARC-Page-ID") or ""]] == query["from"], record.url
            kinds.add((urlsplit(record.url).path, *query.get("by", ())))
    assert kinds == {
        *(("/beacon",), ("/late",), ("/service.js",)),
        *(("/tick", "worker"), ("/tick", "shared"), ("/tick", "service")),
    }


def test_a_request_that_does_not_end_with_its_page_costs_the_cache(plain_fleet: Fleet, origin: RawOrigin) -> None:
    never = threading.Event()
    script = "<script>onpagehide = () => fetch('/late', {keepalive: true})</script>"
    origin.script("/one", page(script))
    origin.script("/two", page(""))
    origin.script("/late", Wait(never), document(b"late", "text/plain"))
    orders = of_one_job(plain_fleet, origin, "/one", "/two")
    visitor = ghost(plain_fleet, close_seconds=1)
    try:
        visits = [visitor.visit(orders[0])]
        waiting = [len(visitor._places.caches)]
        visitor._settings = settings_of(plain_fleet, close_seconds=60)
        visits.append(visitor.visit(orders[1]))
        waiting.append(len(visitor._places.caches))
    finally:
        never.set()
        visitor.close()

    assert ([visit.code for visit in visits], waiting) == ([200, 200], [0, 1])


@pytest.mark.parametrize(
    ("storage", "found"), [("nothing", "first///0"), pytest.param("site-data", "again/7//0", marks=pytest.mark.slow)]
)
def test_the_next_page_finds_no_data_but_what_browsers_storage_keeps(
    plain_fleet: Fleet, origin: RawOrigin, storage: str, found: str
) -> None:
    look = """<script>
const databases = indexedDB.databases().then(all => all.map(one => one.name).join());
const workers = navigator.serviceWorker.getRegistrations().then(all => all.length);
Promise.all([databases, workers]).then(([names, count]) => {
  const been = document.cookie.includes('been=1') ? 'again' : 'first';
  document.body.append([been, localStorage.seat || '', names, count].join('/'));
  document.cookie = 'been=1';
  localStorage.seat = '7';
  indexedDB.open('store');
  navigator.serviceWorker.register('/worker.js');
});
</script>"""
    origin.script("/one", page(look))
    origin.script("/two", page(look))
    origin.script("/worker.js", document(b"1", "text/javascript", headers=FRESH))
    orders = of_one_job(plain_fleet, origin, "/one", "/two")
    visitor = ghost(plain_fleet, storage=storage)
    try:
        for order in orders:
            visitor.visit(order)
            assert len(visitor._places.caches) == 1
    finally:
        visitor.close()

    (text,) = plain_fleet.proxy.records(orders[0].collection).of(f"urn:text:{orders[1].url}")
    assert text.block.decode().strip() == found


def test_jobs_collections_and_sites_share_nothing(plain_fleet: Fleet, origin: RawOrigin, visitor: Ghost) -> None:
    origin.script("/one", page(PARTS))
    origin.otherwise(lambda _: (document(b"", "text/css", headers=FRESH),))
    first = plain_fleet.order(origin.url("/one"))
    named = f"http://localhost:{origin.port}/one"

    for order in (first, replace(first, job="other"), plain_fleet.order(first.url), replace(first, url=named)):
        with suppress(FleetUnavailable):
            visitor.visit(order)

    assert asked(origin).count("/style.css") == 3


def test_a_browser_that_is_killed_between_two_visits_costs_the_cache_only(
    plain_fleet: Fleet, origin: RawOrigin
) -> None:
    origin.script("/one", page(PARTS))
    origin.otherwise(lambda _: (document(b"", "text/css", headers=FRESH),))
    orders = of_one_job(plain_fleet, origin, "/one", "/one", "/one")
    visitor = ghost(plain_fleet)
    try:
        visitor.visit(orders[0])
        engine = engine_of(visitor)
        psutil.Process(engine.pid).kill()
        until(engine.lost.is_set, what="the end of the browser to be noticed")
        codes = [visitor.visit(order).code for order in orders[1:]]
    finally:
        visitor.close()

    assert codes == [200, 200]
    assert asked(origin).count("/style.css") == 2


@pytest.mark.slow
@pytest.mark.parametrize("ending", ["killed", "replaced"])
def test_a_proxy_that_ends_between_two_visits_costs_the_cache_only(
    tmp_path: Path, origin: RawOrigin, ending: str
) -> None:
    origin.script("/one", page(PARTS))
    origin.otherwise(lambda _: (document(b"", "text/css", headers=FRESH),))
    with RunningProxy(tmp_path / "home") as proxy, Fleet(proxy) as fleet:
        orders = of_one_job(fleet, origin, "/one", "/one", "/one")
        visitor = ghost(fleet)
        try:
            visitor.visit(orders[0])
            if ending == "killed":
                psutil.Process(proxy.status()["pid"]).kill()
            else:
                assert proxy.command("restart").returncode == 0

            def again() -> int:
                """The proxy has another recording process after a while, which knows no session."""
                with suppress(FleetUnavailable):
                    return visitor.visit(orders[1]).code
                return 0

            assert until(again, what="the proxy to record again") == 200
            assert visitor.visit(orders[2]).code == 200
        finally:
            visitor.close()

    assert asked(origin).count("/style.css") == 2


@pytest.mark.slow
def test_the_browser_has_a_bounded_number_of_contexts(plain_fleet: Fleet, visitor: Ghost) -> None:
    with ExitStack() as origins:
        sites = [origins.enter_context(RawOrigin(f"127.0.1.{number}")) for number in range(20, 24 + MOST_CONTEXTS)]
        for origin in sites:
            origin.script("/", page("<p>here"))
            visitor.visit(plain_fleet.order(origin.url("/")))

    assert len(visitor._places.caches) == MOST_CONTEXTS

    async def contexts() -> int:
        return len((await engine_of(visitor).root.send("Target.getBrowserContexts"))["browserContextIds"])

    assert visitor._loop.run(contexts()) == MOST_CONTEXTS


def test_what_came_from_the_cache_is_there_in_a_replay(plain_fleet: Fleet, origin: RawOrigin, visitor: Ghost) -> None:
    body = "<link rel=stylesheet href=/style.css><p>text"
    for path in ("/one", "/two"):
        origin.script(path, page(body))
    origin.script("/style.css", document(b"p { color: rgb(1, 2, 3) }", "text/css", headers=FRESH))
    orders = of_one_job(plain_fleet, origin, "/one", "/two")
    for order in orders:
        visitor.visit(order)
    assert asked(origin).count("/style.css") == 1

    async def colour(window: BrowserWindow) -> Any:
        await window.navigate(orders[1].url)
        await window.loaded()
        return await window.main_frame.evaluate("() => getComputedStyle(document.querySelector('p')).color")

    request = SessionRequest(orders[0].collection, mode="replay", listen=True)

    def replayed() -> bool:
        """Whether the page has its style; the captures are found when the indexer has read the files."""
        session = plain_fleet.control.open(request)
        try:
            return bool(visitor.in_window(session.address, colour) == "rgb(1, 2, 3)")
        except NavigationFailed:
            return False
        finally:
            plain_fleet.control.finish(session, wait_seconds=10)

    until(replayed, what="the replay to have the style")
