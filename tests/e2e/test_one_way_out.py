"""Promise 1: every byte fetched from a site passes the proxy."""

from __future__ import annotations

from collections import Counter

import pytest
from support.browsers.finished_crawl import Harvest
from support.browsers.garden_crawl import fetched

pytestmark = pytest.mark.browser


def test_the_site_was_asked_for_nothing_that_is_not_kept(harvest: Harvest) -> None:
    asked = Counter((request.method, request.url) for request in harvest.asked)

    kept = Counter((capture.method, capture.url) for capture in fetched(harvest.home))

    assert asked - kept == Counter()
    assert kept - asked == Counter()


def test_robots_and_sitemap_came_through_the_proxy_too(harvest: Harvest) -> None:
    kept = {capture.url for capture in fetched(harvest.home)}

    assert {"http://www.garden.test/robots.txt", "http://www.garden.test/sitemap.xml"} <= kept
