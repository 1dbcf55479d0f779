"""Which contexts wait for another visit, how many, and for how long. No browser is needed."""

from __future__ import annotations

import time
from dataclasses import replace

import pytest

from archive.ended_exchange import EndedExchange, ExchangeEnd
from browsers.engines.interface import Device, Engine, WindowOptions
from browsers.engines.traffic import AskedExchange, BrowserRequest, MainAnswer
from browsers.ghosts.page import PageSnapshot
from browsers.ghosts.site_caches import (
    MOST_CONTEXTS,
    MOST_VISITS,
    OLDEST_SECONDS,
    PORT_SECONDS,
    SiteCache,
    SiteCaches,
    SiteKey,
    is_archived,
    is_finished,
    is_given_back,
)
from browsers.logins.browser_profile import BrowserProfile
from browsers.page_quality.flaws import PageFlaw, PageFlawType
from browsers.proxying.control_client import Control, ProxySession, SessionCounts, SessionExchanges
from browsers.visit import VisitOrder

ORDER = VisitOrder("https://site.test/one", "collection", "job")
OPTIONS = WindowOptions("127.0.0.1:1")
KEY = SiteKey.of(ORDER, OPTIONS, None)


class Context:
    """A context that does nothing."""

    def is_usable_in(self, engine: Engine) -> bool:
        return True

    async def settle(self) -> bool:
        return True

    async def close(self) -> None:
        """Do nothing."""


def cache_of(host: str = "site.test", **changes: object) -> SiteCache:
    """The context of a host after a visit that has just ended."""
    now = time.monotonic()
    control, session = Control("127.0.0.1:1", ""), ProxySession("id", "token", "127.0.0.1", 1)
    made = SiteCache(replace(KEY, host=host), Context(), control, session, began=now, left=now)
    return replace(made, **changes)  # type: ignore[arg-type]


def test_a_context_goes_to_one_visit_of_its_site() -> None:
    caches, mine = SiteCaches(lambda _: None), cache_of()
    caches.keep(mine)

    assert caches.take(replace(KEY, host="other.test")) is None
    assert caches.take(KEY) is mine
    assert caches.take(KEY) is None


def test_the_newest_context_of_a_site_is_taken_first() -> None:
    caches, older, newer = SiteCaches(lambda _: None), cache_of(), cache_of()
    for each in (older, newer):
        caches.keep(each)

    assert [caches.take(KEY), caches.take(KEY)] == [newer, older]


def test_the_context_that_waits_longest_is_closed_for_a_further_one() -> None:
    dropped = list[SiteCache]()
    caches, made = SiteCaches(dropped.append), [cache_of(str(number)) for number in range(MOST_CONTEXTS + 2)]
    for each in made:
        caches.keep(each)

    assert (dropped, len(caches)) == (made[:2], MOST_CONTEXTS)
    caches.clear()
    assert (dropped, len(caches)) == (made, 0)


@pytest.mark.parametrize(
    ("name", "value"),
    [("visits", MOST_VISITS), ("began", -OLDEST_SECONDS - 1), ("left", -PORT_SECONDS - 1)],
)
def test_a_context_that_is_used_up_or_old_is_closed(name: str, value: float) -> None:
    dropped = list[SiteCache]()
    caches = SiteCaches(dropped.append)
    old = cache_of(**{name: value if name == "visits" else time.monotonic() + value})
    caches.keep(old)

    assert (dropped, caches.take(KEY)) == ([old], None)


@pytest.mark.parametrize(
    "other",
    [
        SiteKey.of(replace(ORDER, url="http://site.test/one"), OPTIONS, None),
        SiteKey.of(replace(ORDER, url="https://site.test:8443/one"), OPTIONS, None),
        SiteKey.of(replace(ORDER, url="https://www.site.test/one"), OPTIONS, None),
        SiteKey.of(replace(ORDER, collection="other"), OPTIONS, None),
        SiteKey.of(replace(ORDER, job="other"), OPTIONS, None),
        SiteKey.of(ORDER, replace(OPTIONS, device=Device(390, 844)), None),
        SiteKey.of(ORDER, replace(OPTIONS, headers={"X-Job": "1"}), None),
        SiteKey.of(ORDER, replace(OPTIONS, passes_by_service_workers=True), None),
        SiteKey.of(ORDER, OPTIONS, BrowserProfile("member", "https://site.test/login", 1)),
    ],
)
def test_visits_that_could_see_another_site_share_no_context(other: SiteKey) -> None:
    assert other != KEY
    assert SiteKey.of(replace(ORDER, url="https://site.test/two?x=1"), OPTIONS, None) == KEY


def test_a_renewed_login_has_a_context_of_its_own() -> None:
    first, second = (
        SiteKey.of(ORDER, OPTIONS, BrowserProfile("member", "https://site.test/login", moment)) for moment in (1, 2)
    )

    assert first != second


REPORT = SessionCounts(urls=1, kept_port=True)
ENDED = EndedExchange("GET", "https://site.test/a", 200, ExchangeEnd.KEPT)
ASKED = AskedExchange(BrowserRequest(ENDED.url, "GET", "image"), 0, 200)
SECURED = replace(ASKED, headers={"strict-transport-security": "max-age=60"})


@pytest.mark.parametrize(
    ("kept", "report"),
    [
        (SessionExchanges((ENDED,)), None),
        (SessionExchanges((ENDED,)), replace(REPORT, kept_port=False)),
        (SessionExchanges((ENDED,)), replace(REPORT, in_flight=1)),
        (SessionExchanges((ENDED,)), replace(REPORT, errors={"not-kept": 1})),
        (SessionExchanges((ENDED,), unlisted=1), REPORT),
        (SessionExchanges((ENDED,), in_flight=1), REPORT),
        (SessionExchanges((replace(ENDED, end=ExchangeEnd.LOST),)), REPORT),
        (SessionExchanges((replace(ENDED, end=ExchangeEnd.NOT_ARCHIVED),)), REPORT),
        (SessionExchanges((replace(ENDED, truncated="length"),)), REPORT),
    ],
)
def test_a_context_whose_answers_are_not_all_in_the_archive_is_not_kept(
    kept: SessionExchanges, report: SessionCounts | None
) -> None:
    assert not is_archived(KEY, (ASKED,), kept, report)


@pytest.mark.parametrize("end", [ExchangeEnd.KEPT, ExchangeEnd.REVISIT, ExchangeEnd.FAILED])
def test_a_context_whose_answers_are_in_the_archive_is_kept(end: ExchangeEnd) -> None:
    assert is_archived(KEY, (ASKED,), SessionExchanges((replace(ENDED, end=end),)), REPORT)


def test_a_site_that_wants_https_is_not_asked_by_http_with_the_same_context() -> None:
    by_http = replace(KEY, scheme="http")

    assert is_archived(by_http, (ASKED,), SessionExchanges((ENDED,)), REPORT)
    assert not is_archived(by_http, (SECURED,), SessionExchanges((ENDED,)), REPORT)
    assert is_archived(KEY, (SECURED,), SessionExchanges((ENDED,)), REPORT)


def snapshot(**changes: object) -> PageSnapshot:
    """The snapshot of a page that was shown."""
    made = PageSnapshot(main=MainAnswer("https://site.test/one", 200, {}))
    for name, value in changes.items():
        setattr(made, name, value)
    return made


def test_only_a_page_that_was_shown_to_its_end_leaves_a_context() -> None:
    assert is_finished(snapshot())
    assert is_finished(snapshot(notes=["never-settled"]))
    for changes in ({"main": None}, {"crashed": True}, {"hangs": True}, {"notes": ["page-timeout"]}):
        assert not is_finished(snapshot(**changes))


def test_a_page_that_may_be_given_back_leaves_no_context() -> None:
    flaw = PageFlaw(PageFlawType.WAF, "cloudflare")

    assert is_given_back(snapshot(), (flaw,), ("waf", "hang"))
    assert is_given_back(snapshot(notes=["never-settled"]), (), ("never-settled",))
    assert not is_given_back(snapshot(notes=["never-settled"]), (flaw,), ("hang",))
