"""What a ghost's page_visit comes to; no browser needed."""

from __future__ import annotations

import pytest

from browsers.engines.traffic import MainAnswer, PageRequest
from browsers.ghosts.page import PageSnapshot
from browsers.ghosts.page_outcome import fetched_urls, found_links, unsearched_frames, visit_of
from browsers.ghosts.page_records import PageVisit
from browsers.ghosts.render import MAX_FRAMES
from browsers.links.collector import LinkCollector
from browsers.proxying.control_client import SessionCounts
from browsers.visit import FleetUnavailable, FoundLink, Visit, VisitOrder

URL = "http://site.test/"
HTML = {"content-type": "text/html; charset=utf-8"}


def page_visit(snapshot: PageSnapshot, **asked: PageRequest) -> PageVisit:
    urls = {URL if name == "main" else f"http://site.test/{name}": value for name, value in asked.items()}
    return PageVisit(VisitOrder(URL, "c"), "page-1", 1_000_000, snapshot, urls, len(urls), "Chromium/156", 1280, 1024)


def answered(asked: dict[str, PageRequest], snapshot: PageSnapshot | None = None) -> PageVisit:
    return PageVisit(VisitOrder(URL, "c"), "page-1", 1_000_000, snapshot or PageSnapshot(), asked, 0, "", 1280, 1024)


def verdict(snapshot: PageSnapshot, report: SessionCounts | None = None, **asked: PageRequest) -> Visit:
    return visit_of(page_visit(snapshot, **asked), LinkCollector(URL), report, 7)


def test_a_page_has_its_status_and_the_bytes_of_all_it_fetched() -> None:
    snapshot = PageSnapshot(main=MainAnswer(URL, 200, HTML))

    visit = verdict(snapshot, SessionCounts(bytes=99), main=PageRequest(200, "text/html", "document", None, True))

    assert visit == Visit(200, 7, 99, "text/html")


def test_the_digest_of_a_page_is_that_of_its_visible_text() -> None:
    def digest(**parts: str) -> str:
        snapshot = PageSnapshot(main=MainAnswer(URL, 200, HTML), **parts)
        return verdict(snapshot, SessionCounts(), main=PageRequest(200, "text/html", "document", None, True)).digest

    assert len(digest(text="one")) == 16
    assert digest(text="one", dom="<p>1") == digest(text="one", dom="<p>2")
    assert digest(text="one") != digest(text="one", text_final="two") == digest(text="two")
    assert digest(dom="<p>1") != digest(dom="<p>2")
    assert digest() == ""


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
    visit = verdict(PageSnapshot(failure=failure), SessionCounts(errors=errors))

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
        verdict(PageSnapshot(failure=failure), SessionCounts())


def test_a_page_with_holes_of_our_making_is_visited_again() -> None:
    snapshot = PageSnapshot(main=MainAnswer(URL, 200, HTML))

    with pytest.raises(FleetUnavailable, match="not-kept") as caught:
        verdict(snapshot, SessionCounts(errors={"not-kept": 1}))

    assert caught.value.may_be_the_page


def test_captures_that_are_not_durable_yet_are_noted() -> None:
    assert verdict(PageSnapshot(main=MainAnswer(URL, 200, HTML)), None).annotations == ("captures-in-flight",)


def test_a_download_is_a_status_and_no_failure() -> None:
    snapshot = PageSnapshot(main=MainAnswer(URL, 200, {"content-type": "application/zip"}), failure="ERR_ABORTED")

    visit = verdict(snapshot, SessionCounts(), main=PageRequest(200, "application/zip", "document", "net::ERR_ABORTED"))

    assert (visit.code, visit.error, visit.annotations) == (200, None, ("not-rendered",))


def test_a_document_that_broke_off_is_a_failure() -> None:
    snapshot = PageSnapshot(main=MainAnswer(URL, 200, HTML))

    visit = verdict(
        snapshot, SessionCounts(), main=PageRequest(200, "text/html", "document", "net::ERR_CONTENT_LENGTH_MISMATCH")
    )

    assert (visit.code, visit.error) == (-3, "short")


def test_an_answer_of_the_proxy_is_the_failure_that_it_names() -> None:
    headers = {"ghostfleet-error": "-6 dns"}

    visit = verdict(PageSnapshot(main=MainAnswer(URL, 502, headers, is_sites=False)), SessionCounts())

    assert (visit.code, visit.error) == (-6, "dns")


def test_fetched_is_what_came_whole_by_the_name_the_frontier_uses() -> None:
    asked = {
        URL: PageRequest(200, "text/html", "document", None, True),
        "http://SITE.test:80/a b": PageRequest(200, "image/png", "image", None, True),
        "http://site.test/half": PageRequest(200, "image/png", "image", "net::ERR_ABORTED"),
        "http://site.test:0/": PageRequest(200, "", "image", None, True),
    }

    assert fetched_urls(answered(asked)) == {"http://site.test/a%20b"}


def test_a_page_that_a_script_or_a_prefetch_asked_for_is_still_to_be_visited() -> None:
    """T4: such a page counted as visited though nobody had looked for links in it."""
    asked = {
        "http://site.test/next": PageRequest(200, "text/html", "fetch", is_whole=True),
        "http://site.test/popup": PageRequest(200, "text/html", "popup", is_whole=True),
        "http://site.test/to-popup": PageRequest(302, "", "popup", is_whole=True),
        "http://site.test/frame": PageRequest(200, "text/html", "document", is_whole=True),
        "http://site.test/i.svg": PageRequest(200, "image/svg+xml", "image", is_whole=True),
    }
    searched = PageSnapshot(searched_frames=[URL, *asked])
    assert fetched_urls(answered(asked, searched)) == {"http://site.test/frame", "http://site.test/i.svg"}


def test_a_frame_that_was_not_searched_is_still_to_be_visited() -> None:
    snapshot = PageSnapshot(
        main=MainAnswer(URL, 200, HTML),
        dom="<iframe src=/frame></iframe><iframe src=/slow></iframe>",
        searched_frames=[URL, "http://site.test/frame"],
        unsearched_frames=["http://SITE.test/slow#x", "http://site.test/inner", "http://site.test:0/"],
    )
    document = PageRequest(200, "text/html", "document", is_whole=True)

    visit = verdict(snapshot, SessionCounts(), frame=document, slow=document, inner=document)

    assert (visit.fetched, visit.annotations) == (("http://site.test/frame",), ("frames-unsearched:3",))
    assert found_links(URL, snapshot, frozenset(visit.fetched), snapshot.unsearched_frames).links == (
        FoundLink("http://site.test/slow", "E", "iframe/@src"),
        FoundLink("http://site.test/inner", "E", "iframe/@src"),
    )


def test_no_frame_counts_as_searched_when_the_page_had_no_time_for_the_search() -> None:
    document = PageRequest(200, "text/html", "document", is_whole=True)
    asked = {
        "http://site.test/moved": PageRequest(302, "text/html", "document", is_whole=True),
        "http://site.test/frame": document,
        "http://elsewhere.test/": document,
        "http://site.test/now": document,
        "http://site.test/i.png": PageRequest(200, "image/png", "image", is_whole=True),
    }
    snapshot = PageSnapshot(main=MainAnswer("http://site.test/now", 200, HTML), hangs=True, notes=["page-timeout"])
    visit = visit_of(answered(asked, snapshot), LinkCollector(URL), SessionCounts(), 7)
    assert visit.fetched == ("http://site.test/i.png", "http://site.test/moved")
    assert unsearched_frames(answered(asked, snapshot)) == ("http://elsewhere.test/", "http://site.test/frame")
    assert "frames-unsearched:2" in visit.annotations


def test_a_page_without_a_search_names_no_more_frames_than_are_searched() -> None:
    document = PageRequest(200, "text/html", "document", is_whole=True)
    asked = {f"http://site.test/poll?t={number}": document for number in range(7_000)}
    assert len(unsearched_frames(answered(asked, PageSnapshot(hangs=True)))) == MAX_FRAMES


def test_a_document_that_left_its_frame_before_the_search_does_not_count_as_visited() -> None:
    document = PageRequest(200, "text/html", "document", is_whole=True)
    names = ("http://site.test/first", "http://site.test/second", "http://ads.test/removed")
    asked = {URL: document, **dict.fromkeys(names, document)}
    snapshot = PageSnapshot(main=MainAnswer(URL, 200, HTML), searched_frames=[URL, "http://site.test/second#x"])
    assert fetched_urls(answered(asked, snapshot)) == {"http://site.test/second"}
    assert unsearched_frames(answered(asked, snapshot)) == ()


def test_links_of_the_frames_come_first_and_fetched_embeds_are_left_out() -> None:
    dom = "<base href=/b/><a href=x></a><img src=seen.png><img src=new.png><meta http-equiv=refresh content='1;url=/r'>"
    snapshot = PageSnapshot(links=[("http://site.test/b/x", "a/@href")], dom=dom, final_url=URL)

    found = found_links(URL, snapshot, frozenset({"http://site.test/b/seen.png"}))

    assert found.links == (
        FoundLink("http://site.test/b/x", "L", "a/@href"),
        FoundLink("http://site.test/b/new.png", "E", "img/@src"),
        FoundLink("http://site.test/r", "R", "meta/@content"),
    )
