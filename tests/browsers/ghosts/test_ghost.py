"""The ghost, in a real Chromium, through a real proxy."""

from __future__ import annotations

import io
import json
import os
import socket
import tempfile
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import psutil
import pytest
import trustme
from PIL import Image
from support.browsers.browser_engines import firefox
from support.browsers.visits import CUT_SHORT, Fleet, document, page, redirect, visited_together
from support.browsers.watched_garden import WatchedGarden
from support.origins.raw_origin import Close, Drip, RawOrigin, Send, Wait
from support.origins.routed_site import Asked, Routed, RoutedSite
from support.processes.ends import is_at_work
from support.processes.waiting import until
from support.proxy.running_proxy import RunningProxy

from browsers.engines.choice import ProxyTrust
from browsers.engines.chromium.trust import spki_hash
from browsers.engines.files import sweep
from browsers.engines.interface import BrowserMissing
from browsers.ghosts.ghost import Ghost
from browsers.ghosts.render import MAX_FRAMES
from browsers.visit import FleetUnavailable, GhostTrouble, Visit
from frontier.definition.scope import MAX_CHAIN

pytestmark = pytest.mark.browser

LIMITS: dict[str, Any] = {
    "page_seconds": 90,
    "load_seconds": 60,
    "settle_seconds": 0.3,
    "settle_max_seconds": 30,
    "popup_seconds": 60,
    "scroll_seconds": 5,
    "close_seconds": 30,
    "sandbox": False,
}
PNG = b"\x89PNG\r\n\x1a\n"


def ghost_of(fleet: Fleet, **browsers: Any) -> Ghost:
    """A ghost that leaves small pages soon, and whose limits a busy machine does not reach."""
    return Ghost(fleet.settings(**{**LIMITS, **browsers}), [fleet.control], fleet.trusted)


@pytest.fixture(scope="module")
def shared_ghost(engine_fleet: Fleet) -> Iterator[Ghost]:
    visitor = ghost_of(engine_fleet)
    yield visitor
    visitor.close()


@pytest.fixture
def ghost(shared_ghost: Ghost) -> Ghost:
    """A ghost that other tests use, too: whatever a page did to it, it must still work."""
    return shared_ghost


@pytest.fixture(scope="module")
def scrolling_ghost(engine_fleet: Fleet) -> Iterator[Ghost]:
    """A ghost that scrolls for a short time, and leaves records of other kinds and names."""
    visitor = ghost_of(
        engine_fleet,
        behaviors="scroll",
        scroll_seconds=2,
        page_records=["full-page", "full-page-final", "har", "pdf", "image-map", "dom"],
        record_names=["brozzler", "ukwa"],
    )
    yield visitor
    visitor.close()


def urls(visit: Visit, hop: str = "L") -> list[str]:
    """The links of a visit with that hop."""
    return [link.url for link in visit.links if link.hop == hop]


def browsers_of(process: psutil.Process, kind: str = "") -> list[psutil.Process]:
    """The browsers below this process, or their processes of a kind: `renderer`, or `utility` for the network."""
    found: list[psutil.Process] = []
    for child in process.children(recursive=True):  # parents come before their children
        with suppress(psutil.Error):
            if child.ppid() in {each.pid for each in found}:
                continue  # it has the command line of its browser until its own program begins
            words = " ".join(child.cmdline()).split()  # a renderer of Chromium has one long word
            if any(word.startswith("--user-data-dir=") and "ghostfleet-ghost-" in word for word in words):
                types = [word.partition("=")[2] for word in words if word.startswith("--type=")]
                found += [child] if types == ([kind] if kind else []) else []
            elif "--profile" in words and any("ghostfleet-ghost-" in word for word in words):
                found += [child] if not kind else _parts_of_firefox(child, kind)
    return found


def _parts_of_firefox(browser: psutil.Process, kind: str) -> list[psutil.Process]:
    """The processes of a Firefox that show pages, or that use the network for it."""
    name = {"renderer": "tab", "utility": "socket"}[kind]
    return [part for part in browser.children(recursive=True) if part.cmdline()[-1:] == [name]]


def test_a_visit_leaves_pictures_text_dom_and_links(ghost: Ghost, fleet: Fleet, origin: RawOrigin) -> None:
    script = "document.title='The pond'; document.body.append('made by a script')"
    origin.script("/", page(f"<a href=/next>on</a><img src=/i.png><script>{script}</script>"))
    origin.script("/i.png", document(b"no picture", "image/png"))
    order = fleet.order(origin.url("/"))

    visit = ghost.visit(order)

    assert (visit.code, visit.error, visit.content_type) == (200, None, "text/html")
    assert urls(visit) == [origin.url("/next")]
    assert origin.url("/i.png") in visit.fetched
    kept = fleet.proxy.records(order.collection)
    (response,) = kept.of(order.url, "response")
    resources = {record.url.split(":")[1]: record for record in kept.kinds("resource")}
    assert set(resources) == {"view", "thumbnail", "fullPage", "text", "dom", "pageinfo"}
    assert {record.field("WARC-Concurrent-To") for record in resources.values()} == {response.id}
    assert {record.field("WARC-Date") for record in resources.values()} == {response.field("WARC-Date")}
    facts = {record.field("WARC-JSON-Metadata") for record in resources.values()}
    assert facts == {'{"viewport":{"width":1280,"height":1024},"scale":1.0}'}
    assert len({record.field("WARC-Page-ID") for record in (*resources.values(), response)}) == 1
    assert resources["view"].block.startswith(PNG)
    assert resources["fullPage"].block.startswith(PNG)
    assert Image.open(io.BytesIO(resources["view"].block)).size == (1280, 1024)
    assert Image.open(io.BytesIO(resources["thumbnail"].block)).width == 640
    assert b"made by a script" in resources["dom"].block
    assert "made by a script" in resources["text"].block.decode()
    info = json.loads(resources["pageinfo"].block)
    assert (info["url"], info["title"], info["urls"][order.url]["status"]) == (order.url, "The pond", 200)
    (links,) = kept.of(order.url, "metadata")
    assert f"outlink: {origin.url('/next')} L a/@href\r\n".encode() in links.block


def test_records_are_of_two_moments_when_scrolling_changes_the_page(
    ghost: Ghost, fleet: Fleet, origin: RawOrigin
) -> None:
    """T: peers take text and picture before behaviours, and what these brought again afterwards."""
    script = "onscroll = () => { onscroll = null; document.body.append('came by scrolling') }"
    origin.script("/", page(f"<div style='height:3000px'>first</div><script>{script}</script>"))
    order = fleet.order(origin.url("/"))

    ghost.visit(order)

    kept = fleet.proxy.records(order.collection)
    (text,), (final_text) = kept.of(f"urn:text:{order.url}"), kept.of(f"urn:textFinal:{order.url}")
    assert b"came by scrolling" not in text.block
    assert [b"came by scrolling" in record.block for record in final_text] == [True]
    assert len(kept.of(f"urn:fullPage:{order.url}")) == len(kept.of(f"urn:fullPageFinal:{order.url}")) == 1
    assert b"came by scrolling" in kept.of(f"urn:dom:{order.url}")[0].block


def test_har_pdf_and_image_map_are_made_by_setting_and_named_as_others_name_them(
    scrolling_ghost: Ghost, fleet: Fleet, origin: RawOrigin
) -> None:
    """The page fetches one of the two sizes of its picture, and the other size is a link."""
    origin.script("/", page("<a href=/next>on</a><img src=/i.png srcset='/i.png 1x, /large.png 3x'>"))
    origin.script("/i.png", document(b"x", "image/png"))
    order = fleet.order(origin.url("/"))

    visit = scrolling_ghost.visit(order)

    assert urls(visit, "E") == [origin.url("/large.png")]
    assert origin.url("/i.png") in visit.fetched
    resources = {
        record.url.removesuffix(f":{order.url}"): record
        for record in fleet.proxy.records(order.collection).kinds("resource")
    }
    ours = {f"urn:{name}" for name in ("fullPage", "dom", "har", "pdf", "imageMap", "pageinfo")}
    theirs = {"screenshot", "thumbnail", "onreadydom", "har", "pdf", "imagemap"}
    assert set(resources) - {"urn:fullPageFinal"} == ours | theirs
    assert resources["pdf"].block.startswith(b"%PDF-")
    entries = json.loads(resources["har"].block)["log"]["entries"]
    assert [entry["request"]["url"] for entry in entries[:2]] == [order.url, origin.url("/i.png")]
    assert {"name": "content-type", "value": "image/png"} in entries[1]["response"]["headers"]
    assert f'href="{origin.url("/next")}"'.encode() in resources["imagemap"].block


def test_page_information_names_what_browser_and_proxy_saw_differently(
    ghost: Ghost, fleet: Fleet, origin: RawOrigin
) -> None:
    """Requests of a shared worker, a beacon and a broken download are in the archive and in the list."""
    script = """
      new SharedWorker('/shared.js'); navigator.sendBeacon('/beacon', 'x');
      const end = new AbortController(); fetch('/aborted', {signal: end.signal}).catch(() => 0);
      setTimeout(() => end.abort(), 200); new Image().src = '/short.png'; new Image().src = 'http://nowhere.invalid/x';
    """
    origin.script("/", page(f"<script>{script}</script>"))
    origin.script("/shared.js", document(b"fetch('/of-worker')", "text/javascript"))
    origin.script("/short.png", Send(b"HTTP/1.1 200 OK\r\nContent-Length: 50\r\n\r\nshort"), Close())
    origin.script("/aborted", Send(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n"), Drip(b"x" * 100, 0.1))
    for path in ("/beacon", "/of-worker"):
        origin.script(path, document(b"ok", "text/plain"))
    order = fleet.order(origin.url("/"))

    ghost.visit(order)

    kept = fleet.proxy.records(order.collection)
    (info,) = kept.of(f"urn:pageinfo:{order.url}")
    proxy = json.loads(info.block)["proxy"]
    urls = {kind: {each["url"] for each in found} for kind, found in proxy["differences"].items()}
    reported = set(json.loads(info.block)["urls"]) | {url for found in urls.values() for url in found}
    assert {origin.url(f"/{name}") for name in ("of-worker", "shared.js", "short.png")} <= reported
    assert origin.url("/short.png") in urls["truncated"]
    assert "http://nowhere.invalid/x" in urls["failed"]
    assert any(url.startswith(origin.url("/aborted")) for url in urls.get("aborted", set()) | urls["truncated"])
    assert "asked-not-kept" not in urls
    assert proxy["inFlight"] == 0


def test_links_come_from_frames_and_shadow_roots_after_scripts_ran(
    ghost: Ghost, fleet: Fleet, origin: RawOrigin
) -> None:
    script = "h.attachShadow({mode:'open'}).innerHTML='<a href=/shadow>s</a>'; late.href='/late'"
    origin.script("/", page(f"<iframe src=/frame></iframe><div id=h></div><a id=late>l</a><script>{script}</script>"))
    origin.script("/frame", page("<a href=/in-frame>f</a>"))

    visit = ghost.visit(fleet.order(origin.url("/")))

    assert set(urls(visit)) == {origin.url(f"/{name}") for name in ("shadow", "late", "in-frame")}
    assert origin.url("/frame") in visit.fetched


@pytest.mark.slow
def test_scrolling_brings_what_loads_late(ghost: Ghost, fleet: Fleet, garden: WatchedGarden) -> None:
    gallery = ghost.visit(fleet.order("http://www.garden.test/gallery.html"))
    journal = ghost.visit(fleet.order("http://www.garden.test/journal.html"))

    assert len([url for url in gallery.fetched if url.endswith(".jpg")]) == 5
    assert "http://www.garden.test/api/journal?batch=3" in journal.fetched


def test_an_endless_page_ends(scrolling_ghost: Ghost, fleet: Fleet, origin: RawOrigin) -> None:
    """The first step of scrolling makes the page grow, so that a slow machine needs no second step for that."""
    more = "for(let i=0;i<n;i++){let p=document.createElement('p');p.style.height='99px';document.body.append(p)}"
    grow = "if(scrollY+innerHeight>document.body.scrollHeight-3000)m(110)"
    script = f"function m(n){{{more}}};m(25);onscroll=()=>{{{grow}}}"
    origin.script("/", page(f"<script>{script}</script>"))
    order = fleet.order(origin.url("/"))

    visit = scrolling_ghost.visit(order)

    assert visit.code == 200
    assert visit.annotations == ("scroll-time", "page:blank:one-colour")
    (picture,) = fleet.proxy.records(order.collection).of(f"urn:fullPageFinal:{order.url}")
    assert Image.open(io.BytesIO(picture.block)).size == (1280, 10_000)


def test_a_page_with_much_of_everything_does_not_fill_the_worker(fleet: Fleet, origin: RawOrigin) -> None:
    """T2: the DOM, the title and the links of a page went into the worker's memory whatever their size."""
    script = (
        "document.title = 't'.repeat(5e6);"
        "for (let i = 0; i < 8; i++) document.links[0].after(Object.assign(document.createElement('a'),"
        " {href: '/long' + i + 'x'.repeat(1e6)}));"
        "document.body.append('y'.repeat(100000));"
    )
    origin.script("/", page(f"<a href=/short>x</a><script>{script}</script>"))
    visitor = ghost_of(fleet, max_page_bytes=50_000, behaviors="", page_records="dom")
    try:
        visit = visitor.visit(fleet.order(origin.url("/")))
    finally:
        visitor.close()

    assert visit.code == 200
    assert "dom-too-large" in visit.annotations
    assert urls(visit) == [origin.url("/short")]


def test_visits_share_nothing(ghost: Ghost, fleet: Fleet, origin: RawOrigin) -> None:
    script = """
      navigator.serviceWorker; const before = [document.cookie, localStorage.seen, sessionStorage.seen].join('|');
      document.title = before; document.cookie = 'seen=1; max-age=9999'; localStorage.seen = 1; sessionStorage.seen = 1;
      document.body.append('state:' + before + ':');
    """
    origin.script("/", page(f"<img src=/i.png><script>{script}</script>"))
    origin.script("/i.png", document(b"x", "image/png", headers="Cache-Control: max-age=9999\r\n"))
    orders = [fleet.order(origin.url("/")) for _ in range(2)]

    for order in orders:
        ghost.visit(order)

    texts = [fleet.proxy.records(order.collection).of(f"urn:text:{order.url}")[0].block for order in orders]
    assert all(b"state:||:" in text for text in texts)
    assert len([seen for seen in origin.visits if seen.path == "/i.png"]) == 2
    assert not any(b"cookie:" in seen.received.lower() for seen in origin.visits if seen.path == "/")


def test_within_a_visit_the_cache_and_cross_origin_requests_work_as_ever(
    ghost: Ghost, fleet: Fleet, origin: RawOrigin
) -> None:
    with RawOrigin("127.0.1.11") as other:
        headers = "Access-Control-Allow-Origin: *\r\nCache-Control: max-age=999\r\n"
        other.script("/data", document(b"{}", "application/json", headers=headers))
        script = f"fetch('{other.url('/data')}').then(() => fetch('{other.url('/data')}'))"
        origin.script("/", page(f"<script>{script}</script>"))

        visit = ghost.visit(fleet.order(origin.url("/")))

        assert [seen.received.split()[0] for seen in other.visits] == [b"GET"]
        assert other.url("/data") in visit.fetched


def test_the_browser_looks_like_one_with_a_window(ghost: Ghost, fleet: Fleet, origin: RawOrigin, engine: str) -> None:
    origin.script("/", page(""))

    ghost.visit(fleet.order(origin.url("/")))

    head = origin.visits[0].received
    assert b"Headless" not in head.partition(b"User-Agent")[2].partition(b"\r\n")[0]
    assert {"chromium": b"Chrome/", "firefox": b"Firefox/"}[engine] in head
    assert b"Accept-Language: en" in head
    assert b"proxy" not in head.lower()


def test_every_request_passes_the_proxy(ghost: Ghost, fleet: Fleet, origin: RawOrigin) -> None:
    script = """
      new RTCPeerConnection({iceServers: [{urls: 'stun:127.0.1.9:3478'}]}).createDataChannel('x');
      navigator.sendBeacon('/beacon', 'x');
    """
    hints = "<link rel=dns-prefetch href=//dns.invalid><link rel=preconnect href=http://pre.invalid>"
    origin.script("/", page(f"<img src=/i.png><script>{script}</script>", head=hints))
    order = fleet.order(origin.url("/"))
    me, over, peers = psutil.Process(), threading.Event(), set[tuple[socket.SocketKind, str]]()

    def look() -> None:
        while not over.wait(0.02):
            for process in browsers_of(me, "utility") + browsers_of(me):
                with suppress(psutil.Error):
                    peers.update((each.type, each.raddr.ip) for each in process.net_connections("inet") if each.raddr)

    with ThreadPoolExecutor(1) as thread:
        looking = thread.submit(look)
        ghost.visit(order)
        over.set()
        looking.result()

    assert peers == {(socket.SOCK_STREAM, "127.0.0.1")}
    kept = fleet.proxy.records(order.collection)
    assert all(kept.of(origin.url(seen.path), "response", "revisit") for seen in origin.visits)


def test_https_is_trusted_through_our_proxy(ghost: Ghost, fleet: Fleet, garden: WatchedGarden) -> None:
    visit = ghost.visit(fleet.order("https://www.garden.test/members.html"))

    assert (visit.code, visit.error) == (200, None)
    assert garden.requests[0].scheme == "https"


def test_no_other_authority_is_trusted(fleet: Fleet, garden: WatchedGarden) -> None:
    other = trustme.CA().cert_pem.bytes()
    visitor = Ghost(fleet.settings(**LIMITS), [fleet.control], ProxyTrust((spki_hash(other),), other))
    try:
        with pytest.raises(FleetUnavailable, match="proxy-not-trusted"):
            visitor.visit(fleet.order("https://www.garden.test/members.html"))
    finally:
        visitor.close()
    assert garden.requests == []


FAILURES = {
    "http://127.0.1.9:9/": (-7, "unfetchable"),
    "http://127.0.1.9:4444/": (-2, "refused"),
    "http://nowhere.invalid/": (-6, "dns"),
    "https://nowhere.invalid/": (-6, "dns"),
}


def test_failures_of_the_site_have_heritrix_codes(ghost: Ghost, fleet: Fleet) -> None:
    orders = [fleet.order(url) for url in FAILURES]

    visits = visited_together(ghost, orders)

    for order, visit in zip(orders, visits, strict=True):
        assert (visit.code, visit.error, visit.links, visit.fetched) == (*FAILURES[order.url], (), ()), order.url
        assert fleet.proxy.records(order.collection).kinds("resource") == []


def test_a_page_that_ends_short_is_a_failure(ghost: Ghost, fleet: Fleet, origin: RawOrigin) -> None:
    origin.script("/", *CUT_SHORT)

    visit = ghost.visit(fleet.order(origin.url("/")))

    assert (visit.code, visit.error) == (-3, "short")


def test_redirects_are_followed_and_reported(ghost: Ghost, fleet: Fleet, origin: RawOrigin) -> None:
    origin.script("/", redirect("/1"))
    origin.script("/1", redirect("/2", "301 Moved"))
    origin.script("/2", page("<a href=rel>x</a>"))

    visit = ghost.visit(fleet.order(origin.url("/")))

    assert visit.code == 200
    assert {origin.url("/1"), origin.url("/2")} <= set(visit.fetched)
    assert urls(visit) == [origin.url("/rel")]


def test_a_redirect_loop_is_its_status(ghost: Ghost, fleet: Fleet, origin: RawOrigin) -> None:
    origin.script("/", redirect("/"))

    visit = ghost.visit(fleet.order(origin.url("/")))

    assert visit.code == 302
    assert "redirect-chain" in visit.annotations


@pytest.mark.parametrize(
    "kind",
    [pytest.param("script", marks=pytest.mark.slow), pytest.param("header", marks=pytest.mark.slow), "both"],
)
def test_a_page_that_goes_on_to_ever_new_addresses_is_left(ghost: Ghost, fleet: Fleet, kind: str) -> None:
    def routes(asked: Asked) -> Routed | None:
        number = int(asked.path[1:]) if asked.path[1:].isdigit() else -1
        if number < 0:
            return None
        if kind == "header" or (kind == "both" and number % 2):
            return Routed(status=302, headers=(("Location", f"/{number + 1}"),))
        return Routed(f"<a href=/link>x</a><script>location = '/{number + 1}'</script>".encode())

    with RoutedSite(routes) as site:
        visit = ghost.visit(fleet.order(site.url("/0")))
        asked = [path for path in site.paths if path[1:].isdigit()]

    assert "redirect-chain" in visit.annotations
    assert visit.links == ()
    assert MAX_CHAIN <= len(asked) < 2 * MAX_CHAIN


DOCUMENTS = {
    "/text": (document(b"hello", "text/plain"), 200, "text/plain"),
    "/picture": (document(PNG, "image/png"), 200, "image/png"),
    "/pdf": (document(b"%PDF-1.4\n", "application/pdf"), 200, "application/pdf"),
    "/zip": (document(b"PK" * 4000, "application/zip"), 200, "application/zip"),
    "/xml": (document(b"<urlset/>", "application/xml"), 200, "application/xml"),
    "/nothing": (Send(b"HTTP/1.1 204 No Content\r\n\r\n"), 204, ""),
    "/gone": (page("gone", status="404 Not Found"), 404, "text/html"),
    "/who": (page("who?", status="401 No", headers='WWW-Authenticate: Basic realm="x"\r\n'), 401, "text/html"),
    "/busy": (page("busy", status="503 Busy", headers="Retry-After: 9\r\n"), 503, "text/html"),
}


def test_documents_of_all_kinds_are_recorded_with_their_status(ghost: Ghost, fleet: Fleet, origin: RawOrigin) -> None:
    for path, (step, _, _) in DOCUMENTS.items():
        origin.script(path, step)
    orders = {path: fleet.order(origin.url(path)) for path in DOCUMENTS}

    visits = dict(zip(orders, visited_together(ghost, list(orders.values())), strict=True))

    for path, (_, code, content_type) in DOCUMENTS.items():
        visit, order = visits[path], orders[path]
        assert (visit.code, visit.content_type, visit.error) == (code, content_type, None), path
        assert fleet.proxy.records(order.collection).of(order.url, "response"), path


MISBEHAVING = (
    "alert(1); confirm(2); prompt(3); print()",
    "onbeforeunload = event => { event.preventDefault(); return 'stay' }",
    "for (let i = 0; i < 20; i++) window.open('/pop' + i)",
    "for (let i = 20; i--;) Object.assign(document.createElement('a'), {href: '/z' + i, download: 1}).click()",
    "location.href = 'file:///etc/passwd'",
    "location.href = 'chrome://crash'",
    'document.body.innerHTML += \'<iframe src="foo:bar"></iframe><iframe src="view-source:http://a/"></iframe>\'',
    "new EventSource('/events')",
    "window.close()",
)
ALIKE = (
    "location.href = 'mailto:a@b.test'",
    "navigator.geolocation.getCurrentPosition(() => {}); Notification.requestPermission()",
    "new WebSocket('ws://' + location.host + '/socket')",
    "throw new Error('x')",
)


@pytest.mark.parametrize("scripts", [MISBEHAVING, pytest.param(ALIKE, marks=pytest.mark.slow)], ids=["all", "alike"])
def test_pages_that_misbehave_are_visited_all_the_same(
    fleet: Fleet, origin: RawOrigin, scripts: tuple[str, ...]
) -> None:
    for number, script in enumerate(scripts):
        origin.script(f"/{number}", page(f"<a href=/x>x</a><script>{script}</script>"))
    origin.script(
        "/events", Send(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n"), Drip(b"\n" * 50, 0.05)
    )

    orders = [fleet.order(origin.url(f"/{number}")) for number in range(len(scripts))]
    # A page that wants to open a mail program has no load event.
    with closing(ghost_of(fleet, load_seconds=20, behaviors="")) as ghost:
        visits = visited_together(ghost, orders)

    for script, visit in zip(scripts, visits, strict=True):
        assert (visit.code, urls(visit)) == (200, [origin.url("/x")]), script


def test_frames_that_are_too_many_to_be_searched_are_counted_and_still_to_be_visited(
    ghost: Ghost, fleet: Fleet, origin: RawOrigin
) -> None:
    frames = [origin.url(f"/frame{number}") for number in range(MAX_FRAMES + 2)]
    for frame in frames:
        origin.script(frame.removeprefix(origin.url("")), page(f"<a href={frame}/link>x</a>"))
    origin.script("/", page("".join(f"<iframe src={frame} width=9 height=9></iframe>" for frame in frames)))

    visit = ghost.visit(fleet.order(origin.url("/")))

    unsearched = {frame for frame in frames if f"{frame}/link" not in urls(visit)}
    assert len(unsearched) == 3
    assert "frames-unsearched:3" in visit.annotations
    assert set(frames) - set(visit.fetched) == unsearched
    assert {link.url for link in visit.links if link.hop == "E"} == unsearched


def test_a_document_counts_as_visited_when_its_frame_was_searched(
    ghost: Ghost, fleet: Fleet, origin: RawOrigin
) -> None:
    origin.script("/", page("<iframe src=/app></iframe><iframe src=/first></iframe><iframe src=/moved></iframe>"))
    origin.script("/app", page("<a href=/from-app>x</a><script>history.pushState(0, '', '/app/route')</script>"))
    origin.script(
        "/first", page("<a href=/from-first>x</a><script>onload = () => location.replace('/second')</script>")
    )
    origin.script("/second", page("<a href=/from-second>x</a>"))
    origin.script("/moved", redirect("/target"))
    origin.script("/target", page("<a href=/from-target>x</a>"))

    visit = ghost.visit(fleet.order(origin.url("/")))

    links = {url for url in urls(visit) if "/from-" in url}
    assert links == {origin.url(f"/from-{name}") for name in ("app", "second", "target")}
    fetched = set(visit.fetched) - {origin.url("/favicon.ico")}
    assert fetched == {origin.url(path) for path in ("/app", "/second", "/moved", "/target")}
    assert urls(visit, "E") == [origin.url("/first")]


def test_a_page_in_a_window_that_a_page_opened_is_still_to_be_visited(
    ghost: Ghost, fleet: Fleet, origin: RawOrigin
) -> None:
    origin.script("/", page("<a href=/popup>x</a><iframe src=/frame></iframe><script>open('/popup')</script>"))
    origin.script("/popup", page("<a href=/on>x</a><iframe src=/inner></iframe><img src=/picture>"))
    for path in ("/frame", "/inner"):
        origin.script(path, page("x"))
    origin.script("/picture", document(b"x", "image/png"))

    visit = ghost.visit(fleet.order(origin.url("/")))

    assert "/inner" in {seen.path for seen in origin.visits}
    fetched = {path for path in ("/frame", "/popup", "/inner", "/picture") if origin.url(path) in visit.fetched}
    assert fetched == {"/frame", "/picture"}


def test_a_step_that_a_page_breaks_is_named_and_the_others_are_taken(
    ghost: Ghost, fleet: Fleet, origin: RawOrigin
) -> None:
    fake = "<script>window[Symbol.for('ghostfleet.tools')] = {questionText: () => 1}</script>"
    origin.script("/", page(f"<p>A text<a href=/x>x</a>{fake}"))
    order = fleet.order(origin.url("/"))

    visit = ghost.visit(order)

    assert "gate-failed" in visit.annotations
    assert urls(visit) == [origin.url("/x")]
    kept = fleet.proxy.records(order.collection)
    assert b"A text" in kept.of(f"urn:dom:{order.url}")[0].block
    assert kept.of(f"urn:fullPage:{order.url}")


@pytest.mark.parametrize(
    "delay",
    [pytest.param("", marks=pytest.mark.slow), "setTimeout(() => {while (1);}, 30);"],
    ids=["at once", "later"],
)
def test_a_page_that_hangs_has_its_time_and_no_more(fleet: Fleet, origin: RawOrigin, delay: str) -> None:
    few = {"behaviors": "", "page_records": "text"}
    visitor = ghost_of(fleet, page_seconds=12, load_seconds=10, **few)
    origin.script("/hang", page(f"<script>{delay or 'while (1);'}</script>"))
    origin.script("/", page("<a href=/x>x</a>"))
    try:
        hung = visitor.visit(fleet.order(origin.url("/hang")))
        visitor._settings = fleet.settings(**LIMITS, **few)
        after = visitor.visit(fleet.order(origin.url("/")))
    finally:
        visitor.close()

    assert hung.code == 200
    assert "ghost:hang" in hung.annotations
    assert "ghost:timeout" not in hung.annotations
    assert urls(after) == [origin.url("/x")]


def test_a_short_time_for_pages_leaves_some_to_settle(
    fleet: Fleet, origin: RawOrigin, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The time is short for a page when the reserve is not shorter."""
    monkeypatch.setattr("browsers.ghosts.page._RESERVE_SECONDS", 60.0)
    visitor = ghost_of(fleet, page_seconds=60, load_seconds=30, behaviors=[])
    origin.script("/", page("<script>setTimeout(() => { new Image().src = '/late.png' }, 1200)</script>"))
    origin.script("/late.png", document(b"no picture", "image/png"))
    try:
        visit = visitor.visit(fleet.order(origin.url("/")))
    finally:
        visitor.close()

    assert origin.url("/late.png") in visit.fetched


def test_a_page_that_takes_its_renderer_down_is_our_trouble_and_the_next_goes_on(
    ghost: Ghost, fleet: Fleet, origin: RawOrigin
) -> None:
    _stalling(origin)
    with ThreadPoolExecutor(1) as thread:
        visiting = thread.submit(ghost.visit, fleet.order(origin.url("/stalls")))
        until(lambda: _asked(origin, "/never"), what="the page to load")
        for process in browsers_of(psutil.Process(), "renderer"):
            with suppress(psutil.NoSuchProcess):
                process.kill()
        with pytest.raises(FleetUnavailable, match="browser-crashed") as caught:
            visiting.result(timeout=60)

    assert caught.value.may_be_the_page
    assert caught.value.trouble is GhostTrouble.CRASH
    assert ghost.visit(fleet.order(origin.url("/"))).code == 200


@pytest.mark.parametrize(
    "script",
    [
        "const kept = []; for (;;) kept.push(new Uint8Array(20e6).fill(1))",
        pytest.param(
            "const kept = []; setInterval(() => kept.push(new Uint8Array(20e6).fill(1)), 1)", marks=pytest.mark.slow
        ),
        pytest.param("const kept = []; for (;;) kept.push({text: 'x' + kept.length})", marks=pytest.mark.slow),
    ],
    ids=["buffers", "buffers in turns", "objects"],
)
def test_a_page_that_allocates_without_end_is_ended_and_no_other(
    fleet: Fleet, origin: RawOrigin, script: str, caplog: pytest.LogCaptureFixture
) -> None:
    """T28: such a page took Chromium to 3.9 GB."""
    visitor = ghost_of(fleet, page_memory_bytes=400_000_000, page_seconds=90, load_seconds=80, page_records="text")
    over = threading.Event()
    origin.script("/waits", page("<img src=/late>"))
    origin.script("/late", Wait(over), document(PNG, "image/png"))
    origin.script("/greedy", page(f"<script>{script}</script>"))
    try:
        with ThreadPoolExecutor(2) as threads:
            try:
                order = fleet.order(origin.url("/waits"))
                other = threads.submit(visitor.visit, order)
                until(lambda: _asked(origin, "/late"), what="the other page to load")
                greedy = threads.submit(visitor.visit, fleet.order(origin.url("/greedy")))
                with pytest.raises(FleetUnavailable, match="out-of-memory") as caught:
                    greedy.result(timeout=100)
            finally:
                over.set()
            assert _result_or_again(other, lambda: visitor.visit(order)).code == 200
    finally:
        visitor.close()

    assert caught.value.trouble is GhostTrouble.OUT_OF_MEMORY
    told = [record.args for record in caplog.records if "browsers.page_memory_bytes" in record.getMessage()]
    sizes = [args[1] for args in told if isinstance(args, tuple)]
    assert all(isinstance(size, int) and size < 3_000_000_000 for size in sizes)


def _result_or_again(visiting: Future[Visit], again: Callable[[], Visit]) -> Visit:
    """The visit, or a second one: Chromium may crash when a page's process ends while its picture is taken."""
    try:
        return visiting.result(timeout=100)
    except FleetUnavailable as error:
        if error.reason != "browser-lost" or error.may_be_the_page:
            raise
        return again()


def test_a_browser_that_dies_is_replaced(fleet: Fleet, origin: RawOrigin) -> None:
    _stalling(origin)
    visitor = ghost_of(fleet)
    try:
        with ThreadPoolExecutor(1) as thread:
            before = set(browsers_of(psutil.Process()))
            visiting = thread.submit(visitor.visit, fleet.order(origin.url("/stalls")))
            until(lambda: _asked(origin, "/never"), what="the page to load")
            (browser,) = set(browsers_of(psutil.Process())) - before
            browser.kill()
            with pytest.raises(FleetUnavailable, match="browser-crashed"):
                visiting.result(timeout=60)
        assert visitor.visit(fleet.order(origin.url("/"))).code == 200
    finally:
        visitor.close()


def test_browsers_are_replaced_after_a_number_of_visits_and_nothing_stays_behind(
    fleet: Fleet, origin: RawOrigin
) -> None:
    origin.script("/", page(""))
    before, folders = _running(), _folders()
    visitor = ghost_of(fleet, contexts_per_browser=2, behaviors="", page_records="text")
    orders = [fleet.order(origin.url("/")) for _ in range(3)]
    used = set[int]()
    for order in orders:
        visitor.visit(order)
        used |= {process.pid for process in browsers_of(psutil.Process()) if process not in before}
    with ThreadPoolExecutor(3) as threads:
        assert [visit.code for visit in threads.map(visitor.visit, orders)] == [200] * 3
    visitor.close()

    assert len(used) >= 2

    def left() -> list[psutil.Process]:
        """Processes that are neither older nor children of older ones, as those of the shared ghost are."""
        found = []
        for process in _running() - before:
            with suppress(psutil.Error):
                if before.isdisjoint(process.parents()):
                    found.append(process)
        return found

    until(lambda: not left(), what="all processes to end")
    until(lambda: _folders() <= folders, what="the folders of the browsers to go")


@pytest.mark.slow
def test_a_proxy_that_dies_mid_page_is_our_fault(tmp_path: Path, origin: RawOrigin) -> None:
    _stalling(origin)
    with RunningProxy(tmp_path / "home") as proxy:
        fleet = Fleet(proxy)
        visitor = ghost_of(fleet)
        try:
            with ThreadPoolExecutor(1) as thread:
                visiting = thread.submit(visitor.visit, fleet.order(origin.url("/stalls")))
                until(lambda: _asked(origin, "/never"), what="the page to load")
                proxy.kill9()
                with pytest.raises(FleetUnavailable):
                    visiting.result(timeout=60)
            with pytest.raises(FleetUnavailable, match="proxy-unreachable"):
                visitor.visit(fleet.order(origin.url("/")))
            proxy.start()
        finally:
            visitor.close()
            fleet.control.close()


def test_a_service_worker_is_recorded_and_forgotten(ghost: Ghost, fleet: Fleet, origin: RawOrigin) -> None:
    origin.script("/sw.js", document(b"self.addEventListener('fetch', () => {})", "text/javascript"))
    origin.script("/", page("<script>navigator.serviceWorker.register('/sw.js')</script>"))
    # Service workers need a secure context; the loopback address is one.
    orders = [fleet.order(origin.url("/")) for _ in range(2)]

    for order in orders:
        ghost.visit(order)
        assert fleet.proxy.records(order.collection).of(origin.url("/sw.js"), "response")


def test_the_sandbox_is_off_only_where_it_must_be(
    fleet: Fleet, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch, engine: str
) -> None:
    """Chromium has none for root, Firefox has."""
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    ghost_of(fleet, sandbox=True).close()
    assert ("root can" in caplog.text) is (engine == "chromium")

    caplog.clear()
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    ghost_of(fleet, sandbox=True).close()
    assert caplog.text == ""


def _stalling(origin: RawOrigin) -> None:
    """A page at /stalls whose picture never comes, and a good one at /."""
    origin.script("/stalls", page("<img src=/never>"))
    origin.script("/never", Wait(threading.Event()))
    origin.script("/", page(""))


def _asked(origin: RawOrigin, path: str) -> int:
    return sum(visit.path == path for visit in origin.visits)


def _running() -> set[psutil.Process]:
    """Children that are at work; whether a dead one was waited for is the parent's matter."""
    return {process for process in psutil.Process().children(recursive=True) if is_at_work(process)}


def _folders() -> set[Path]:
    """The folders of this process that the next start of a browser leaves. A killed one may have written until now."""
    sweep()
    return set(Path(tempfile.gettempdir()).glob(f"ghostfleet-ghost-{os.getpid()}-*"))


@pytest.mark.parametrize(
    ("said", "told"),
    [
        (
            "FATAL: No usable sandbox! If this is a Debian system,",
            "no sandbox .*chromium-sandbox.*sandbox to",
        ),
        ("libnss3.so: cannot open shared object file", "libnss3.so: cannot open"),
    ],
    ids=["sandbox", "library"],
)
def test_a_browser_that_does_not_start_is_named_in_one_line(
    fleet: Fleet, tmp_path: Path, said: str, told: str, engine: str
) -> None:
    program = tmp_path / "browser"
    real = ""
    if engine == "firefox":  # only its beginning fails, so that the trust in the proxy can be prepared
        real = f'[ "$1" = --version ] && exec {firefox()} --version\n'
    program.write_text(f"#!/bin/sh\n{real}echo '{said}' >&2\nexit 1\n")
    program.chmod(0o755)
    names = {"chromium": "executable", "firefox": "firefox_executable"}
    visitor = ghost_of(fleet, **{names[engine]: str(program)})
    try:
        with pytest.raises(BrowserMissing, match=f"^{program} does not start: .*{told}") as caught:
            visitor.open()
    finally:
        visitor.close()
    assert "\n" not in str(caught.value)


def test_a_browser_is_opened_once_out_of_reach_of_ctrl_c_and_sweeps_folders_of_dead_processes(
    fleet: Fleet, origin: RawOrigin
) -> None:
    """A terminal sends Ctrl-C to the whole process group: the worker must be able to end its visits."""
    dead = Path(tempfile.mkdtemp(prefix="ghostfleet-ghost-999999999-"))
    (dead / "profile").mkdir()
    origin.script("/opened", page("<p>opened"))
    visitor, before = ghost_of(fleet), set(browsers_of(psutil.Process()))
    try:
        visitor.open()
        (opened,) = set(browsers_of(psutil.Process())) - before
        assert os.getpgid(opened.pid) != os.getpgid(0)
        assert not dead.exists()
        visitor.visit(fleet.order(origin.url("/opened")))
        assert set(browsers_of(psutil.Process())) - before == {opened}
    finally:
        visitor.close()
