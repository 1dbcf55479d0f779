"""Each request of a page is in the page's account, and none holds a visit for longer than the request takes."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from support.browsers.visits import Fleet, document, page
from support.origins.raw_origin import RawOrigin, Send, Step

from browsers.ghosts.ghost import Ghost

pytestmark = pytest.mark.browser


UNREPORTED = ("SharedWorker", "serviceWorker")
"""Firefox does not report the requests of these workers; docs/reference/engines.md says so."""


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


@pytest.mark.parametrize(
    ("body", "asked"),
    [
        ("<script>new SharedWorker('/shared.js')</script>", ["/shared.js", "/by-worker"]),
        pytest.param("<script>new Worker('/worker.js')</script>", ["/worker.js", "/by-worker"], marks=pytest.mark.slow),
        ("<script>navigator.serviceWorker.register('/sw.js')</script>", ["/sw.js", "/by-worker"]),
        ("<script>fetch('/post', {method: 'POST', body: 'x', keepalive: true})</script>", ["/post"]),
        pytest.param("<script>navigator.sendBeacon('/post', 'x')</script>", ["/post"], marks=pytest.mark.slow),
        pytest.param("<a id=a href=/x ping=/post>x</a>", [], marks=pytest.mark.slow),
        pytest.param("<img src=/secret>", ["/secret"], marks=pytest.mark.slow),
        pytest.param("<script>fetch('/secret')</script>", ["/secret"], marks=pytest.mark.slow),
        ("<iframe src=/secret></iframe>", ["/secret"]),
        pytest.param("<script>fetch('/data').then(r => 0)</script>", ["/data"], marks=pytest.mark.slow),
        ("<link rel=prefetch href=/data><link rel=preload as=fetch href=/data>", ["/data"]),
        pytest.param("<video src=/data></video>", ["/data"], marks=pytest.mark.slow),
        ("<script>fetch('/data', {signal: AbortSignal.timeout(1)}).catch(() => {})</script>", []),
        (
            "<script>const f = document.createElement('iframe'); f.src = '/data'; document.body.append(f);"
            "setTimeout(() => f.remove(), 20)</script>",
            [],
        ),
        pytest.param("<object data=/data></object><embed src=/data type=text/html>", ["/data"], marks=pytest.mark.slow),
        ("<script type=module>import('/worker.js')</script>", ["/worker.js", "/by-worker"]),
    ],
)
def test_a_page_settles_whatever_kind_its_requests_have(
    ghost: Ghost,
    fleet: Fleet,
    origin: RawOrigin,
    body: str,
    asked: list[str],
    engine: str,
    request: pytest.FixtureRequest,
) -> None:
    if engine == "firefox" and any(word in body for word in UNREPORTED):
        request.applymarker(pytest.mark.xfail(reason="Firefox does not report these requests", strict=True))
    origin.script("/", page(f"<p>A text{body}"))
    answers: dict[str, Step] = {**WORKERS, "/secret": UNAUTHORIZED}
    for path in ("/by-worker", "/post", "/data"):
        answers[path] = document(b"x" * 3000, "text/plain")
    for path, answer in answers.items():
        origin.script(path, answer)
    order = fleet.order(origin.url("/"))

    visit = ghost.visit(order)

    assert visit.code == 200
    assert visit.annotations == ()
    urls = page_info(fleet, order.collection, order.url)["urls"]
    without_bodies = {url.partition("?__wb_method=")[0] for url in urls}
    assert without_bodies >= {order.url, *map(origin.url, asked)}
    assert fleet.proxy.records(order.collection).of(order.url, "response")
