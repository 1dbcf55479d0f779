"""The answer of a site to a URL that does not exist is asked for once in a job."""

from __future__ import annotations

import pytest
from support.stores.real_frontier import Bench

from frontier.store import FrontierLost


def test_one_worker_asks_and_all_know_the_answer(bench: Bench) -> None:
    first = bench.frontier()
    second = bench.again(first)
    assert first.missing_pages.get("plain", "http://example.org/") is None
    assert second.missing_pages.get("plain", "http://example.org/") == ""
    assert second.missing_pages.get("browser", "http://example.org/") is None
    first.missing_pages.put("plain", "http://example.org/", "ab 3 Gone ä")
    assert second.missing_pages.get("plain", "http://example.org/") == "ab 3 Gone ä"


def test_a_job_that_is_gone_leaves_no_answer(bench: Bench) -> None:
    frontier = bench.frontier()
    frontier.missing_pages.put("plain", "http://example.org/", "-")
    frontier.forget()
    with pytest.raises(FrontierLost):
        frontier.missing_pages.put("plain", "http://example.org/", "-")
    assert not bench.client.exists(bench.key("missing"))
