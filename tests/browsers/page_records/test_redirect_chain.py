"""The redirects that lead from a page's URL to its document."""

from __future__ import annotations

from browsers.engines.traffic import AskedExchange, BrowserRequest
from browsers.page_records.page_info import redirect_chain
from frontier.definition.scope import MAX_CHAIN


def asked(url: str, status: int, *, is_main: bool = True) -> AskedExchange:
    return AskedExchange(BrowserRequest(url, "GET", "document", is_main=is_main), 0, status)


def test_the_chain_ends_with_the_first_answer_that_is_no_redirect() -> None:
    exchanges = [
        asked("http://a.test/old#top", 301),
        asked("http://a.test/frame", 200, is_main=False),
        asked("http://a.test/new", 200),
        asked("http://a.test/by-script", 200),
    ]
    assert redirect_chain(exchanges) == [
        {"url": "http://a.test/old", "status": 301},
        {"url": "http://a.test/new", "status": 200},
    ]
    assert redirect_chain([]) == []


def test_a_chain_without_an_end_is_cut() -> None:
    assert len(redirect_chain([asked(f"http://a.test/{number}", 302) for number in range(1000)])) == MAX_CHAIN + 1
