"""What visits left is kept for a bounded number of hosts."""

from __future__ import annotations

from browsers.engines.interface import BrowserCookie
from browsers.logins.browser_profile import BrowserProfile
from browsers.logins.site_data import MOST_HOSTS, SiteData


def state(value: str) -> BrowserProfile:
    return BrowserProfile("x", "http://site.test/", 1, (BrowserCookie("seat", value, "site.test"),))


def seats(data: SiteData, host: str) -> list[str]:
    left = data.left_by(host)
    return [cookie.value for cookie in left.cookies] if left is not None else []


def test_the_last_visit_of_a_host_counts_and_other_hosts_see_nothing_of_it() -> None:
    data = SiteData()
    data.keep("site.test", state("1"))
    data.keep("site.test", state("2"))

    assert seats(data, "site.test") == ["2"]
    assert data.left_by("other.test") is None
    data.forget()
    assert data.left_by("site.test") is None


def test_the_host_that_was_visited_longest_ago_is_forgotten_first() -> None:
    data = SiteData()
    for number in range(MOST_HOSTS):
        data.keep(f"host{number}.test", state("1"))
    data.keep("host0.test", state("2"))
    data.keep("new.test", state("1"))

    assert data.left_by("host1.test") is None
    assert seats(data, "host0.test") == ["2"]
