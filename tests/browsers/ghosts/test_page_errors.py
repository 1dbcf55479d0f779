"""A ghost keeps the errors of a page's scripts, and the places from which the page asked for its parts."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from support.browsers.visits import Fleet, document, page
from support.origins.raw_origin import RawOrigin

from browsers.ghosts.ghost import Ghost
from browsers.ghosts.page_errors import MAX_ERROR_TEXT, MAX_ERRORS, errors_of
from browsers.visit import Visit

ERRORS = """<script>
console.error('told', 7, new TypeError('of a type'), {secret: 1});
for (let turn = 0; turn < 3; turn++) console.error('again');
Promise.reject(new Error('rejected'));
Promise.reject('with a text');
dispatchEvent(new ErrorEvent('error', {message: 'made up by the page'}));
</script>
<script src=/app.js></script><img src=/none.png>
<iframe src=/frame></iframe>"""
HOSTILE = """<script>
EventTarget.prototype.dispatchEvent = () => { throw 1; };
String.prototype.slice = () => { throw 2; };
Array.prototype.toJSON = () => 'prototype.js';
Object.defineProperty(ErrorEvent.prototype, 'message', {get: () => 'a lie'});
window.CustomEvent = null;
console.error(new Proxy({}, {getPrototypeOf: () => { console.error('seen'); return null; }}));
console.error({get message() { console.error('seen'); }});
console.error('x'.repeat(1e6));
for (let number = 0; number < 5000; number++) console.error('flood ' + number);
throw new Error('the truth');
</script>"""


@pytest.fixture(scope="module")
def ghost(engine_fleet: Fleet) -> Iterator[Ghost]:
    limits = {"page_seconds": 60, "close_seconds": 20, "behaviors": "scroll", "page_records": "text"}
    visitor = Ghost(engine_fleet.settings(sandbox=False, **limits), [engine_fleet.control], engine_fleet.trusted)
    yield visitor
    visitor.close()


def visited(ghost: Ghost, fleet: Fleet, url: str) -> tuple[Visit, dict[str, Any]]:
    """The visit of a page, and the page information."""
    order = fleet.order(url)
    visit = ghost.visit(order)
    (record,) = fleet.proxy.records(order.collection).of(f"urn:pageinfo:{url}")
    return visit, json.loads(record.block)


@pytest.mark.browser
def test_exceptions_rejections_and_console_errors_are_kept_once_with_their_number(
    ghost: Ghost, fleet: Fleet, origin: RawOrigin
) -> None:
    origin.script("/", page(ERRORS))
    origin.script("/app.js", document(b"\n\nmissing_function();", "text/javascript"))
    origin.script("/frame", page("<script>throw new Error('in a frame')</script>"))
    errors = visited(ghost, fleet, origin.url("/"))[1]["errors"]
    counts = {each["text"].removeprefix("Uncaught "): (each["count"], each.get("at", "")) for each in errors}
    assert counts["told 7 of a type [object]"] == (1, "")
    assert counts["again"] == (3, "")
    assert {"(in promise) rejected", "(in promise) with a text"} <= {*counts}
    script = next(text for text in counts if "missing_function" in text)
    assert counts[script] == (1, f"{origin.url('/app.js')}:3")
    assert any("in a frame" in text for text in counts)
    assert not any("made up" in text for text in counts)


@pytest.mark.browser
def test_a_page_can_neither_flood_nor_hide_nor_see_the_account_and_keeps_its_links(
    ghost: Ghost, fleet: Fleet, origin: RawOrigin
) -> None:
    origin.script("/", page("<a href=/next>next</a><script>onerror = () => true;</script>" + HOSTILE))
    visit, info = visited(ghost, fleet, origin.url("/"))
    texts = [each["text"] for each in info["errors"]]
    assert len(texts) == MAX_ERRORS
    assert max(map(len, texts)) == MAX_ERROR_TEXT
    assert not {"seen", "a lie"} & {*texts}
    assert [link.url for link in visit.links] == [origin.url("/next")]


@pytest.mark.browser
def test_what_asked_for_a_part_of_the_page_is_kept(ghost: Ghost, fleet: Fleet, origin: RawOrigin, engine: str) -> None:
    origin.script("/", page("<p class=set>text<script src=/app.js></script>", head="<link rel=stylesheet href=/s.css>"))
    origin.script("/app.js", document(b"\nconst load = () =>\n  fetch('/data.json');\nload();", "text/javascript"))
    origin.script("/s.css", document(b".set {background: url(/back.png)}", "text/css"))
    origin.script("/data.json", document(b"{}", "application/json"))
    origin.script("/back.png", document(b"no picture", "image/png"))
    urls = visited(ghost, fleet, origin.url("/"))[1]["urls"]
    names = ("", "app.js", "s.css", "data.json", "back.png")
    found = {name: urls[origin.url(f"/{name}")].get("initiator", "") for name in names}
    if engine != "chromium":
        assert not any(found.values()), "this engine does not tell"
        return
    assert found == {
        "": "",
        "app.js": f"document {origin.url('/')}:1",
        "s.css": f"document {origin.url('/')}:1",
        "data.json": f"script {origin.url('/app.js')}:3",
        "back.png": f"stylesheet {origin.url('/s.css')}",
    }


def test_errors_of_another_form_are_left_out() -> None:
    assert errors_of([7, {}, {"text": 7}, {"text": "a", "count": -1}, {"text": "b", "at": None}]) == []
    assert errors_of([{"text": "x" * 9999, "count": 10**30}]) == [{"text": "x" * MAX_ERROR_TEXT, "count": 10**9}]
    assert len(errors_of({"text": str(number)} for number in range(10**6))) == MAX_ERRORS
