"""The browser's list and the proxy's are compared, and each difference has a name."""

from __future__ import annotations

import pytest

from archive.ended_exchange import EndedExchange, ExchangeEnd
from browsers.engines.traffic import AskedExchange, BrowserRequest
from browsers.page_records.comparison import MAX_NAMED, TrafficComparison, TrafficDifference, bare_url, compare
from browsers.page_records.page_info import asked_urls
from browsers.proxying.control_client import SessionExchanges

URL = "http://site.test/a"


def asked(url: str = URL, method: str = "GET", error: str = "", status: int = 200) -> AskedExchange:
    return AskedExchange(BrowserRequest(url, method, "image"), 0, status, error=error)


def kept(url: str = URL, end: ExchangeEnd = ExchangeEnd.KEPT, method: str = "GET", **changed: object) -> EndedExchange:
    return EndedExchange(method, url, **{"status": 200, "end": end, **changed})  # type: ignore[arg-type]


def differences(asked_for: list[AskedExchange], held: list[EndedExchange]) -> list[tuple[str, str]]:
    found = compare(asked_for, SessionExchanges(tuple(held)))
    return [(each.difference.value, each.detail) for each in found.named]


@pytest.mark.parametrize(
    ("browser", "proxy"),
    [
        ([], []),
        ([asked()], [kept()]),
        ([asked()], [kept(end=ExchangeEnd.REVISIT)]),
        ([asked(URL + "#part")], [kept()]),
        ([asked("ws://site.test/a", status=0)], [kept()]),
        ([asked("http://user:secret@site.test/a")], [kept()]),
        ([asked(), asked()], [kept()]),
        ([asked(error="net::ERR_ABORTED"), asked()], [kept()]),
        ([asked()], [kept(truncated="time"), kept()]),
        ([asked("blob:http://site.test/1"), asked("chrome://x/"), asked("about:blank")], []),
    ],
)
def test_lists_that_agree_have_no_difference(browser: list[AskedExchange], proxy: list[EndedExchange]) -> None:
    """The second request of a URL may come from the browser's cache."""
    assert differences(browser, proxy) == []


@pytest.mark.parametrize(
    ("browser", "proxy", "difference", "detail"),
    [
        ([asked()], [], "asked-not-kept", ""),
        ([asked(error="net::ERR_FAILED")], [], "asked-not-kept", "net::ERR_FAILED"),
        ([asked(method="POST")], [kept()], "asked-not-kept", ""),
        ([], [kept(method="POST")], "kept-not-asked", ""),
        ([], [kept(method="OPTIONS")], "kept-not-asked", "preflight"),
        ([asked(error="net::ERR_ABORTED")], [], "aborted", "net::ERR_ABORTED"),
        ([asked(error="net::ERR_ABORTED")], [kept()], "aborted", "net::ERR_ABORTED; kept"),
        ([asked()], [kept(truncated="length")], "truncated", "length"),
        ([], [kept(truncated="time")], "truncated", "time"),
        ([asked(error="net::ERR_BLOCKED_BY_CSP")], [], "blocked", "net::ERR_BLOCKED_BY_CSP"),
        ([asked(error="csp")], [], "blocked", "csp"),
        ([asked()], [kept(end=ExchangeEnd.FAILED, status=-5002, reason="blocked")], "blocked", "blocked"),
        ([asked()], [kept(end=ExchangeEnd.FAILED, status=-6, reason="dns")], "failed", "dns"),
        ([], [kept(end=ExchangeEnd.FAILED, status=-2, reason="refused")], "failed", "refused"),
        ([asked()], [kept(end=ExchangeEnd.NOT_ARCHIVED)], "not-archived", "not-archived"),
        ([asked()], [kept(end=ExchangeEnd.LOST, reason="not-kept")], "lost", "not-kept"),
    ],
)
def test_each_difference_has_a_name_and_a_reason(
    browser: list[AskedExchange], proxy: list[EndedExchange], difference: str, detail: str
) -> None:
    assert [pair for pair in differences(browser, proxy) if pair[0] == difference] == [(difference, detail)]


def test_what_the_cache_answered_is_no_difference_and_is_marked() -> None:
    """An earlier visit kept it. A URL of which the proxy got a request is not marked."""
    both, first = asked(URL + "b"), asked()
    first.is_cached = both.is_cached = True
    entries = asked_urls([first, both], [kept(URL + "b")])

    assert differences([first, both], [kept(URL + "b")]) == []
    assert entries[URL] == {"status": 200, "mime": "", "type": "image", "fromCache": True}
    assert "fromCache" not in entries[URL + "b"]


def test_many_differences_are_counted_and_some_are_named() -> None:
    browser = [asked(f"http://site.test/{number}") for number in range(MAX_NAMED + 7)]

    found = compare(browser, SessionExchanges(unlisted=2, in_flight=1))

    assert found.counts == {TrafficDifference.ASKED_NOT_KEPT: MAX_NAMED + 7}
    assert len(found.named) == MAX_NAMED
    assert (found.unlisted, found.in_flight, found.kept) == (2, 1, 0)
    assert TrafficComparison().named == ()


@pytest.mark.parametrize("url", ["http://[", "http://a:b:c/", "", "#", "http://a\udc80/"])
def test_an_odd_url_is_compared_as_it_is(url: str) -> None:
    assert isinstance(bare_url(url), str)
    assert differences([], [kept(url)]) == [("kept-not-asked", "")]
