"""Each request of a page is in the page's account, and none holds a visit for longer than the request takes."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any, Final

import pytest
from support.browsers.visits import Fleet, document, page, visited_together
from support.origins.raw_origin import RawOrigin, Send, Step

from browsers.ghosts.ghost import Ghost

pytestmark = pytest.mark.browser


UNREPORTED = {"firefox": ("SharedWorker", "serviceWorker"), "playwright:chromium": ("SharedWorker",)}
"""Workers of whose requests an engine does not tell well, so that their pages are left out of the tests with it.

Firefox does not report the requests. With Playwright, the page of a shared worker does not settle.
"""


@pytest.fixture(scope="module")
def ghost(engine_fleet: Fleet) -> Iterator[Ghost]:
    """A ghost that waits so long for a page to settle that a test would fail."""
    times = {
        "page_seconds": 40,
        "load_seconds": 25,
        "settle_max_seconds": 20,
        "scroll_seconds": 5,
        "sandbox": False,
    }
    visitor = Ghost(engine_fleet.settings(**times), [engine_fleet.control], engine_fleet.trusted)
    yield visitor
    visitor.close()


def page_info(fleet: Fleet, collection: str, url: str) -> dict[str, Any]:
    """The record of what the page asked for."""
    (record,) = fleet.proxy.records(collection).of(f"urn:pageinfo:{url}")
    info: dict[str, Any] = json.loads(record.block)
    return info


SCRIPT = "text/javascript"
WORKERS = {
    "/shared.js": document(b"fetch('/by-worker'); onconnect = e => e.ports[0].postMessage(1)", SCRIPT),
    "/worker.js": document(b"fetch('/by-worker')", SCRIPT),
    "/sw.js": document(b"oninstall = e => e.waitUntil(caches.open('c').then(c => c.addAll(['/by-worker'])))", SCRIPT),
}
UNAUTHORIZED = Send(
    b"HTTP/1.1 401 Unauthorized\r\nWWW-Authenticate: Basic realm=x\r\nContent-Type: text/html\r\n"
    b"Content-Length: 2\r\n\r\nno"
)


BODIES: Final = {
    "<script>new SharedWorker('/shared.js')</script>": ["/shared.js", "/by-worker"],
    "<script>navigator.serviceWorker.register('/sw.js')</script>": ["/sw.js", "/by-worker"],
    "<script>fetch('/post', {method: 'POST', body: 'x', keepalive: true})</script>": ["/post"],
    "<iframe src=/secret></iframe>": ["/secret"],
    "<link rel=prefetch href=/data><link rel=preload as=fetch href=/data>": ["/data"],
    "<script>fetch('/data', {signal: AbortSignal.timeout(1)}).catch(() => {})</script>": [],
    "<script>const f = document.createElement('iframe'); f.src = '/data'; document.body.append(f);"
    "setTimeout(() => f.remove(), 20)</script>": [],
    "<script type=module>import('/worker.js')</script>": ["/worker.js", "/by-worker"],
}
ALIKE: Final = {
    "<script>new Worker('/worker.js')</script>": ["/worker.js", "/by-worker"],
    "<script>navigator.sendBeacon('/post', 'x')</script>": ["/post"],
    "<a id=a href=/x ping=/post>x</a>": [],
    "<img src=/secret>": ["/secret"],
    "<script>fetch('/secret')</script>": ["/secret"],
    "<script>fetch('/data').then(r => 0)</script>": ["/data"],
    "<video src=/data></video>": ["/data"],
    "<object data=/data></object><embed src=/data type=text/html>": ["/data"],
}
"""Requests whose kinds differ little from others."""


@pytest.mark.parametrize("bodies", [BODIES, pytest.param(ALIKE, marks=pytest.mark.slow)], ids=["all kinds", "alike"])
def test_a_page_settles_whatever_kind_its_requests_have(
    ghost: Ghost, fleet: Fleet, origin: RawOrigin, bodies: Mapping[str, list[str]], engine: str
) -> None:
    told = [body for body in bodies if not any(word in body for word in UNREPORTED.get(engine, ()))]
    for number, body in enumerate(told):
        origin.script(f"/{number}", page(f"<p>A text{body}"))
    answers: dict[str, Step] = {**WORKERS, "/secret": UNAUTHORIZED}
    for path in ("/by-worker", "/post", "/data"):
        answers[path] = document(b"x" * 3000, "text/plain")
    for path, answer in answers.items():
        origin.script(path, answer)
    orders = [fleet.order(origin.url(f"/{number}")) for number in range(len(told))]

    visits = visited_together(ghost, orders)

    for body, order, visit in zip(told, orders, visits, strict=True):
        assert (visit.code, visit.annotations) == (200, ()), body
        urls = page_info(fleet, order.collection, order.url)["urls"]
        without_bodies = {url.partition("?__wb_method=")[0] for url in urls}
        assert without_bodies >= {order.url, *map(origin.url, bodies[body])}, body
        assert fleet.proxy.records(order.collection).of(order.url, "response"), body
