"""The plain crawler passes cookie walls: it keeps the cookies of one chain of redirects, and of no more."""

from __future__ import annotations

from collections import Counter
from contextlib import closing
from itertools import count

import pytest
import redis
from support.browsers.visits import Fleet
from support.browsers.worker_runs import harvest, opened, quick
from support.origins.routed_site import Asked, Routed, RoutedSite

from archive.settings.frontier import FrontierSettings
from browsers.plain.chain_cookies import MAX_COOKIES, MAX_TEXT, ChainCookies
from browsers.plain.job_cookies import JobCookies
from browsers.visit import Visit
from frontier.definition.job import Job, Profile
from frontier.definition.scope import MAX_CHAIN
from frontier.shards import drop_job, frontier_for

PAGE = Routed(b"<a href=/behind>on</a>")


def to(target: str, *cookies: str) -> Routed:
    return Routed(status=302, headers=(("Location", target), *(("Set-Cookie", cookie) for cookie in cookies)))


def test_walls_of_all_kinds_are_passed_and_each_page_begins_without_cookies(fleet: Fleet, redis_url: str) -> None:
    numbers, elsewhere = count(), [""]

    def routes(asked: Asked) -> Routed | None:
        match asked.path:
            case "/itself":
                return PAGE if "seen=1" in asked.cookie else to("/itself", "seen=1; Path=/; HttpOnly")
            case "/back":
                return PAGE if "seen=2" in asked.cookie else to("/check", "seen=2")
            case "/check":
                return to("/back")
            case "/away":
                return PAGE if "token=7" in asked.cookie else to(elsewhere[0])
            case "/return?token=7":
                return to("/away", "token=7; Path=/")
            case "/session":
                return to("/session;jsessionid=0123456789ABCDEF", "JSESSIONID=0123456789ABCDEF")
            case "/session;jsessionid=0123456789ABCDEF":
                return Routed(b"<img src=/picture>")
            case "/picture":
                return Routed(b"GIF89a", "image/gif") if "p=1" in asked.cookie else to("/picture", "p=1")
            case "/same":
                return to("/same", "always=1")
            case "/ever-new":
                return to("/ever-new", f"n={next(numbers)}")
            case "/robots.txt":
                rules = Routed(b"User-agent: *\nDisallow: /forbidden", "text/plain")
                return rules if "robot=1" in asked.cookie else to("/robots.txt", "robot=1")
            case "/behind":
                return Routed(b"<a href=/forbidden>at last</a>")
        return None

    def other(asked: Asked) -> Routed | None:
        if asked.path == "/login":
            return to("/granted", "who=nobody")
        return to(site.url("/return?token=7")) if "who=nobody" in asked.cookie else None

    settings = quick(fleet)
    seeds = ["/itself", "/back", "/away", "/session", "/same", "/ever-new"]
    with RoutedSite(routes) as site, RoutedSite(other, "127.0.1.18") as second:
        elsewhere[0] = second.url("/login")
        frontier = opened(settings, redis_url, [site.url(path) for path in seeds])
        harvest(settings, fleet, redis_url)
        asked, behind = Counter(site.paths), [each for each in site.requests if each.path == "/behind"]

    assert asked == {
        "/itself": 2,
        "/back": 2,
        "/check": 1,
        "/away": 2,
        "/return?token=7": 1,
        "/session": 1,
        "/session;jsessionid=0123456789ABCDEF": 1,
        "/picture": 2,
        "/same": 2,
        "/ever-new": 1 + MAX_CHAIN,
        "/behind": 1,
    }
    assert [each.cookie for each in behind] == [""]
    assert frontier.reports.progress().rejected["redirect-chain"] == 1


def test_a_cookie_goes_to_its_site_and_path_only() -> None:
    cookies = ChainCookies().after("https://www.a.test/in/x", ["here=1", "all=2; Domain=a.test; Path=/", "s=3; Secure"])

    assert cookies.header("https://www.a.test/in/y") == "here=1; s=3; all=2"
    assert cookies.header("http://www.a.test/in/y") == "here=1; all=2"
    assert cookies.header("https://shop.a.test/") == cookies.header("https://below.www.a.test/in/x") == "all=2"
    assert cookies.header("https://b.test/in/x") == ""
    assert ChainCookies.read(cookies.text()) == cookies
    assert ChainCookies().after("https://www.a.test/", ["x=1; Domain=b.test"]).rows == ()


def test_only_a_changed_cookie_gives_a_seen_target_another_visit() -> None:
    first = ChainCookies().after("http://a.test/", ["a=1"])
    again = first.after("http://a.test/", ["a=1"])
    gone = first.after("http://a.test/", ["a=; Max-Age=0"])

    assert (first.is_new, again.is_new, gone.rows) == (True, False, ())
    assert ChainCookies.read(gone.text()).is_new, "a site may remove a cookie and send the visitor to the same page"
    later = first
    for _ in range(5):
        later = later.after("http://a.test/", [])
    assert (first.may_revisit, again.may_revisit, later.may_revisit) == (True, True, False)
    assert ChainCookies().after("http://a.test/", []).text() == ""


def test_cookies_are_bounded_and_junk_is_none() -> None:
    many = ChainCookies().after("http://a.test/", [f"n{number}={'x' * 900}" for number in range(500)])
    junk = ["", ";", "=", "ü=1", "a\x00b=1", "x" * 100_000]

    assert 0 < len(many.rows) <= MAX_COOKIES
    assert len(many.text()) < 2 * MAX_TEXT
    assert len(ChainCookies().after("http://a.test/", junk).text()) < 2 * MAX_TEXT
    assert all(ChainCookies.read(text) == ChainCookies() for text in ("x", "[]", "[1]", '[1,["a"]]', "{}", "null"))


def test_a_job_may_keep_cookies_of_a_site_for_all_its_visits_or_none(fleet: Fleet, redis_url: str) -> None:
    asked: list[tuple[str, str]] = []

    def routes(request: Asked) -> Routed | None:
        asked.append((request.path, request.cookie))
        match request.path:
            case "/":
                cookies = ("a=1; Path=/", "p=2; Path=/two")
                return Routed(b"<a href=/one>", headers=tuple(("Set-Cookie", each) for each in cookies))
            case "/one":
                return to("/two", "a=3; Path=/")
            case "/two":
                return Routed(b"<a href=/three>", headers=(("Set-Cookie", "p=; Max-Age=0; Path=/two"),))
            case "/three":
                return Routed(b"<a href=/expired>")
            case "/expired" if request.cookie:
                return to("/expired", "a=; Max-Age=0; Path=/")
            case "/robots.txt":
                return to("/robots.txt", "robot=1; Path=/robots.txt")
        return Routed(b"end")

    expected = {
        "job": [
            ("/", ""),
            ("/one", "a=1"),
            ("/two", "a=3; p=2"),
            ("/three", "a=3"),
            ("/expired", "a=3"),
            ("/expired", ""),
        ],
        "off": [("/", ""), ("/one", ""), ("/two", ""), ("/three", ""), ("/expired", "")],
    }
    settings = quick(fleet)
    with RoutedSite(routes) as site:
        for policy, cookies in expected.items():
            asked.clear()
            opened(settings, redis_url, [site.url("/")], cookies=policy).close()
            harvest(settings, fleet, redis_url)
            found = [(path, "; ".join(sorted(cookie.split("; ")))) for path, cookie in asked if path != "/robots.txt"]
            assert found == cookies, policy
            sent = {cookie for path, cookie in asked if path == "/robots.txt"}
            assert sent == ({""} if policy == "off" else {"", "robot=1"})


def test_visits_at_the_same_time_keep_the_cookies_of_each_other_until_the_job_is_forgotten(redis_url: str) -> None:
    job = Job.of("harvest", "bench", ["http://a.test/"], Profile(cookies="job"))
    settings = FrontierSettings(shards=2)
    with closing(frontier_for(redis_url, job, settings)) as frontier:
        frontier.open_job()
        cookies = JobCookies(frontier, is_on=True)
        # Both visits began without cookies.
        cookies.keep("http://www.a.test/", Visit(200, 1, set_cookies=("session=1; Domain=a.test", "here=1")))
        cookies.keep("http://img.a.test/x", Visit(200, 1, set_cookies=("seen=2; Domain=a.test", "wide=3; Domain=test")))
        cookies.keep("http://b.test/", Visit(200, 1, set_cookies=("b=1",)))
        assert ChainCookies.read(cookies.before("http://shop.a.test/", "")).header("http://shop.a.test/") == (
            "session=1; seen=2"
        )
        chain = ChainCookies().after("http://b.test/", ["b=1", "c=2"]).text()
        merged = ChainCookies.read(cookies.before("http://www.a.test/", chain))
        left = cookies.without_known(
            Visit(302, 1, cookies=merged.after("http://www.a.test/", ["new=1"]).text()), merged.text()
        )
        assert [row[:2] for row in ChainCookies.read(left.cookies).rows] == [("new", "1")], (
            "what is known is not queued"
        )
        cookies.keep("http://a.test/", Visit(200, 1, set_cookies=("session=; Domain=a.test; Max-Age=0",)))
        assert ChainCookies.read(cookies.before("http://a.test/", "")).header("http://a.test/") == "seen=2"
    drop_job(redis_url, job.name, settings, timeout_seconds=10)
    with closing(redis.Redis.from_url(redis_url)) as client:
        assert not [key for key in client.scan_iter() if key.endswith(b":cookies")]


def test_a_cookie_of_a_job_is_sent_until_its_date() -> None:
    former = '[0,[["a","1","a.test",false,false,"/",false]]]'
    over = '[0,[["a","1","a.test",false,false,"/",false,1000000000],["b","2","a.test",false,false,"/",false,0]]]'
    assert ChainCookies.read(former).header("http://a.test/") == "a=1"
    assert ChainCookies.read(over).header("http://a.test/") == "b=2"
    first = ChainCookies.read(former).after("http://a.test/", ["a=1; Max-Age=3600"])
    assert not first.is_new, "another date gives a seen target no further visit"
    assert ChainCookies.read(first.text()) == first
    assert first.is_like(ChainCookies().after("http://a.test/", ["a=1; Max-Age=3605"]))
    assert not first.is_like(ChainCookies().after("http://a.test/", ["a=1; Max-Age=7200"]))
    assert not first.is_like(ChainCookies.read(former))
    assert [row[0] for row in ChainCookies.read(over).after("http://a.test/", ["c=3"]).rows] == ["b", "c"]


def test_a_job_keeps_the_cookies_of_a_bounded_number_of_domains(
    redis_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("frontier.queue._MOST_DOMAINS", 3)
    job = Job.of("harvest", "bench", ["http://a.test/"], Profile(cookies="job"))
    with closing(frontier_for(redis_url, job, FrontierSettings())) as frontier:
        frontier.open_job()
        cookies = JobCookies(frontier, is_on=True)
        for number in range(9):
            for value in (1, 2):
                cookies.keep(f"http://site{number}.test/", Visit(200, 1, set_cookies=(f"a={value}",)))
            assert cookies.before(f"http://site{number}.test/", ""), "the last domain stays"
        assert sum(bool(cookies.before(f"http://site{number}.test/", "")) for number in range(9)) == 3
        frontier.forget()


def test_cookies_of_a_job_are_those_of_the_domain_and_bounded() -> None:
    kept = ChainCookies().after("https://www.a.test/", ["here=1", "all=2; Domain=a.test"])
    chain = ChainCookies().after("https://b.test/", ["other=5"]).after("https://www.a.test/", ["here=0"])
    assert [row[:3:2] for row in chain.of_domain("a.test").rows] == [("here", "www.a.test")]
    both = chain.with_kept(kept.of_domain("a.test"))
    assert sorted(row[:2] for row in both.rows) == [("all", "2"), ("here", "1"), ("other", "5")]
    assert both.is_new, "the chain has changed a cookie, so that its target may be visited again"
    assert not ChainCookies().with_kept(kept.of_domain("a.test")).may_revisit
    many = ChainCookies().after("https://a.test/", [f"n{number}=1" for number in range(MAX_COOKIES)])
    assert len(many.with_kept(kept).rows) == MAX_COOKIES
    assert {row[0] for row in kept.rows} <= {row[0] for row in many.with_kept(kept).rows}
