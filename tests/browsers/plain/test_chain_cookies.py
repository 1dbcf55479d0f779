"""The plain crawler passes cookie walls: it keeps the cookies of one chain of redirects, and of no more."""

from __future__ import annotations

from collections import Counter
from itertools import count

from support.browsers.visits import Fleet
from support.browsers.worker_runs import harvest, opened, quick
from support.origins.routed_site import Asked, Routed, RoutedSite

from browsers.plain.chain_cookies import MAX_COOKIES, MAX_TEXT, ChainCookies
from frontier.definition.scope import MAX_CHAIN

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
    assert cookies.header("https://shop.a.test/") == "all=2"
    assert cookies.header("https://b.test/in/x") == ""
    assert ChainCookies.read(cookies.text()) == cookies
    assert ChainCookies().after("https://www.a.test/", ["x=1; Domain=b.test"]).rows == ()


def test_only_a_changed_cookie_gives_a_seen_target_another_visit() -> None:
    first = ChainCookies().after("http://a.test/", ["a=1"])
    again = first.after("http://a.test/", ["a=1"])
    gone = first.after("http://a.test/", ["a=; Max-Age=0"])

    assert (first.is_new, again.is_new, gone.rows) == (True, False, ())
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
        return Routed(b"end")

    expected = {
        "job": [("/", ""), ("/one", "a=1"), ("/two", "a=3; p=2"), ("/three", "a=3")],
        "off": [("/", ""), ("/one", ""), ("/two", ""), ("/three", "")],
    }
    settings = quick(fleet)
    with RoutedSite(routes) as site:
        for policy, cookies in expected.items():
            asked.clear()
            opened(settings, redis_url, [site.url("/")], cookies=policy).close()
            harvest(settings, fleet, redis_url)
            found = [(path, "; ".join(sorted(cookie.split("; ")))) for path, cookie in asked if path != "/robots.txt"]
            assert found == cookies, policy


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
