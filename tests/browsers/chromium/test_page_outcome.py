"""What a ghost's sighting comes to; no browser needed."""

from __future__ import annotations

import json
from typing import Any

import pytest

from browsers.found import Found
from browsers.page import Look
from browsers.pageinfo import Sighting, derived_records, fetched_urls, found_links
from browsers.proxyclient import SessionReport
from browsers.traffic import Asked, MainAnswer
from browsers.verdict import visit_of
from browsers.visit import FleetUnavailable, FoundLink, Visit, VisitOrder

URL = "http://site.test/"
HTML = {"content-type": "text/html; charset=utf-8"}


def sighting(look: Look, **asked: Asked) -> Sighting:
    urls = {URL if name == "main" else f"http://site.test/{name}": value for name, value in asked.items()}
    return Sighting(VisitOrder(URL, "c"), "page-1", 1_000_000, look, urls, len(urls), "Chromium/156", 1280, 1024)


def verdict(look: Look, report: SessionReport | None = None, **asked: Asked) -> Visit:
    return visit_of(sighting(look, **asked), Found(URL), report, 7)


def test_a_page_has_its_status_and_the_bytes_of_all_it_fetched() -> None:
    look = Look(main=MainAnswer(URL, 200, HTML))

    visit = verdict(look, SessionReport(bytes=99), main=Asked(200, "text/html", "document", None, True))

    assert visit == Visit(200, 7, 99, "text/html")


@pytest.mark.parametrize(
    ("failure", "errors", "code", "word"),
    [
        ("ERR_TUNNEL_CONNECTION_FAILED", {"-6": 1}, -6, "dns"),
        ("ERR_TUNNEL_CONNECTION_FAILED", {}, -2, "refused"),
        ("ERR_EMPTY_RESPONSE", {}, -3, "lost"),
        ("ERR_TIMED_OUT", {}, -4, "timeout"),
        ("ERR_INVALID_RESPONSE", {}, -7, "unreadable"),
        ("ERR_SOMETHING_NEW", {}, -5, "err_something_new"),
        ("", {}, -4, "timeout"),
    ],
)
def test_without_a_document_the_proxy_knows_best_and_then_the_browser(
    failure: str, errors: dict[str, int], code: int, word: str
) -> None:
    visit = verdict(Look(failure=failure), SessionReport(errors=errors))

    assert (visit.code, visit.error) == (code, word)


@pytest.mark.parametrize(
    ("failure", "reason"),
    [
        ("ERR_PROXY_CONNECTION_FAILED", "proxy-unreachable"),
        ("ERR_CERT_AUTHORITY_INVALID", "proxy-not-trusted"),
    ],
)
def test_failures_of_the_proxy_say_nothing_of_the_site(failure: str, reason: str) -> None:
    with pytest.raises(FleetUnavailable, match=reason):
        verdict(Look(failure=failure), SessionReport())


def test_a_page_with_holes_of_our_making_is_visited_again() -> None:
    look = Look(main=MainAnswer(URL, 200, HTML))

    with pytest.raises(FleetUnavailable, match="not-kept") as caught:
        verdict(look, SessionReport(errors={"not-kept": 1}))

    assert caught.value.may_be_the_page


def test_captures_that_are_not_durable_yet_are_noted() -> None:
    assert verdict(Look(main=MainAnswer(URL, 200, HTML)), None).annotations == ("captures-in-flight",)


def test_a_download_is_a_status_and_no_failure() -> None:
    look = Look(main=MainAnswer(URL, 200, {"content-type": "application/zip"}), failure="ERR_ABORTED")

    visit = verdict(look, SessionReport(), main=Asked(200, "application/zip", "document", "net::ERR_ABORTED"))

    assert (visit.code, visit.error, visit.annotations) == (200, None, ("not-rendered",))


def test_a_document_that_broke_off_is_a_failure() -> None:
    look = Look(main=MainAnswer(URL, 200, HTML))

    visit = verdict(look, SessionReport(), main=Asked(200, "text/html", "document", "net::ERR_CONTENT_LENGTH_MISMATCH"))

    assert (visit.code, visit.error) == (-3, "short")


def test_an_answer_of_the_proxy_is_the_failure_that_it_names() -> None:
    headers = {"ghostfleet-error": "-6 dns"}

    visit = verdict(Look(main=MainAnswer(URL, 502, headers, is_sites=False)), SessionReport())

    assert (visit.code, visit.error) == (-6, "dns")


def test_fetched_is_what_came_whole_by_the_name_the_frontier_uses() -> None:
    asked = {
        URL: Asked(200, "text/html", "document", None, True),
        "http://SITE.test:80/a b": Asked(200, "image/png", "image", None, True),
        "http://site.test/half": Asked(200, "image/png", "image", "net::ERR_ABORTED"),
        "http://site.test:0/": Asked(200, "", "image", None, True),
    }

    assert fetched_urls(URL, asked) == {"http://site.test/a%20b"}


def test_links_of_the_frames_come_first_and_fetched_embeds_are_left_out() -> None:
    dom = "<base href=/b/><a href=x></a><img src=seen.png><img src=new.png><meta http-equiv=refresh content='1;url=/r'>"
    look = Look(links=[("http://site.test/b/x", "a/@href")], dom=dom, final_url=URL)

    found = found_links(URL, look, frozenset({"http://site.test/b/seen.png"}))

    assert found.links == (
        FoundLink("http://site.test/b/x", "L", "a/@href"),
        FoundLink("http://site.test/b/new.png", "E", "img/@src"),
        FoundLink("http://site.test/r", "R", "meta/@content"),
    )


def test_page_info_sums_up_what_the_page_asked_for() -> None:
    look = Look(main=MainAnswer(URL, 200, HTML), title="T", final_url=URL, dom="<html>\ud800", text="t")
    seen = sighting(look, main=Asked(200, "text/html", "document"), gone=Asked(404, "text/html", "image"))

    records = {record.uri.split(":")[1]: record for record in derived_records(seen, ())}

    assert list(records) == ["text", "dom", "pageinfo"]
    info: dict[str, Any] = json.loads(records["pageinfo"].block)
    assert info["ts"] == "1970-01-01T00:00:01.000000Z"
    assert info["urls"]["http://site.test/gone"] == {"status": 404, "mime": "text/html", "type": "image"}
    assert info["counts"] == {"requests": 2, "urls": 2, "failed": 1, "links": 0}
