"""robots.txt by RFC 9309: what is allowed, and what a broken one means."""

from __future__ import annotations

import tracemalloc

import pytest

from frontier.robots.rules import MAX_BYTES, UNANSWERED_SECONDS, UNREACHABLE_SECONDS, Robots, product_token, robots_url

AGENT = "Mozilla/5.0 (compatible; ghostfleet/0.1; +http://archive.example/)"
SITE = "http://example.org"


def rules(text: str | bytes) -> Robots:
    return Robots(200, text if isinstance(text, bytes) else text.encode())


@pytest.mark.parametrize(
    ("path", "allowed"),
    [
        ("/", True),
        ("/private/x", False),
        ("/private/open/x", True),
        ("/a.pdf", False),
        ("/a.pdf?x", True),
        ("/shop/basket/7", False),
        ("/caf%C3%A9", False),
        ("/%63losed", False),
        ("/robots.txt", True),
    ],
)
def test_the_longest_match_decides_with_wildcards_and_escapes(path: str, allowed: bool) -> None:
    robots = rules(
        "User-agent: *\nDisallow: /private/\nAllow: /private/open/\nDisallow: /*.pdf$\nDisallow: /*/basket/\n"
        "Disallow: /café\nDisallow: /closed\nDisallow: /robots.txt\n"
    )
    assert robots.allows(SITE + path, AGENT) is allowed


def test_a_group_of_our_own_replaces_the_common_one() -> None:
    robots = rules("User-agent: *\nDisallow: /\n\nUser-agent: GhostFleet\nCrawl-delay: 7\nDisallow: /x\n")
    assert robots.allows(SITE + "/y", AGENT)
    assert not robots.allows(SITE + "/x", AGENT)
    assert robots.crawl_delay(AGENT) == 7
    assert robots.crawl_delay("other/1.0") is None


def test_another_robot_s_group_is_not_ours() -> None:
    robots = rules("User-agent: fleet\nDisallow: /\nUser-agent: Mozilla\nDisallow: /\n")
    assert robots.allows(SITE + "/", AGENT)


@pytest.mark.parametrize(
    ("agent", "name", "is_bound"),
    [
        ("bl.uk_lddc_bot/3.4.0", "bl.uk_lddc_bot", True),
        ("bl.uk_lddc_bot/3.4.0", "BL", True),
        (AGENT, "GhostFleet/0.1", True),
        (AGENT, "ghostfleet2", True),
        (AGENT, "ghostfleet*", True),
        (AGENT, "*", True),
        (AGENT, "* all", True),
        (AGENT, "ghost", False),
        (AGENT, "ghostfleet-images", False),
        (AGENT, "other # ghostfleet", False),
        (AGENT, "2", False),
        ("archive-bot/1.0", "archive", False),
        ("archive-bot/1.0", "bot", False),
        ("", "2", False),
    ],
)
@pytest.mark.parametrize("field", ["User-agent:", " USER AGENT : ", "useragent "])
def test_product_tokens_are_compared(field: str, agent: str, name: str, is_bound: bool) -> None:
    """Section 2.2.1 of RFC 9309."""
    assert rules(f"{field}{name}\nDisallow: /\n").allows(SITE + "/", agent) is not is_bound


@pytest.mark.parametrize(
    ("agent", "name", "is_bound"),
    [
        (AGENT, "Mozilla/5.0 (compatible; Ghostfleet/1.0)", True),
        ("ghostfleet/0.1", "Mozilla/5.0 (compatible; Ghostfleet/1.0; +https://archive.example/)", True),
        ("Mozilla/5.0 (X11) ghostfleet (+https://archive.example/)", "Mozilla/5.0 (compatible; AhrefsBot/7.0)", False),
        ("Mozilla/5.0 (X11) ghostfleet (+https://archive.example/)", "Mozilla/4.0 (compatible; MSIE 6.0)", False),
        ("Mozilla/5.0 (X11) ghostfleet (+https://archive.example/)", "Mozilla", True),
        (AGENT, "Mozilla/5.0 # compatible; ghostfleet", False),
    ],
)
def test_a_robot_that_is_named_by_its_whole_user_agent_is_its_product(agent: str, name: str, is_bound: bool) -> None:
    assert rules(f"User-agent: {name}\nDisallow: /\n").allows(SITE + "/", agent) is not is_bound


@pytest.mark.parametrize(
    ("line", "begins_group"),
    [
        ("user agent policy: see below", False),
        ("User-agent names: # below", False),
        ("useragent policy:", False),
        ("useragent policy:# below", False),
        ("user agent other", True),
        ("user-agent other # such as: these", True),
        ("user agent http://other.example/", True),
        ("user agent : other: this one", True),
    ],
)
def test_a_line_with_another_word_before_its_colon_begins_no_group(line: str, begins_group: bool) -> None:
    robots = rules(f"User-agent: *\nDisallow: /a\n{line}\nDisallow: /b\n")
    assert not robots.allows(f"{SITE}/a", AGENT)
    assert robots.allows(f"{SITE}/b", AGENT) is begins_group


def test_many_robots_and_many_rules_are_not_multiplied() -> None:
    """A copy of each rule for each robot would take 70 megabytes here, and gigabytes in a file of 500 KiB."""
    robots = rules("".join(f"User-agent:{number}\n" for number in range(1000)) + "Allow:/a\n" * 1000)
    tracemalloc.start()
    try:
        assert robots.allows(SITE + "/", AGENT)
        assert tracemalloc.get_traced_memory()[1] < 20_000_000
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize(
    ("status", "verdict", "allowed"),
    [
        (200, "rules", False),
        (404, "open", True),
        (401, "open", True),
        (403, "open", True),
        (301, "open", True),
        (429, "unreachable", False),
        (500, "unreachable", False),
        (503, "unreachable", False),
        (-2, "unreachable", False),
        (-6, "unreachable", False),
    ],
)
def test_the_status_decides_first(status: int, verdict: str, allowed: bool) -> None:
    robots = Robots(status, b"User-agent: *\nDisallow: /\n")
    assert robots.verdict == verdict
    assert robots.allows(SITE + "/x", AGENT) is allowed


def test_an_unreachable_one_is_asked_for_again_soon() -> None:
    assert Robots(503).believed_seconds(86_400) == UNREACHABLE_SECONDS
    assert Robots(404).believed_seconds(86_400) == 86_400
    assert Robots(-6).believed_seconds(86_400) == UNANSWERED_SECONDS
    assert Robots(503).believed_seconds(6) == 6


@pytest.mark.parametrize(
    ("text", "expected"),
    [("60", 60.0), ("0.5", 0.5), ("1e9", 86_400.0), ("-1", None), ("NaN", None), ("inf", None), ("soon", None)],
)
def test_crawl_delay_is_bounded_and_garbage_is_none(text: str, expected: float | None) -> None:
    assert rules(f"User-agent: *\nCrawl-delay: {text}\n").crawl_delay(AGENT) == expected


@pytest.mark.parametrize(
    "text",
    [
        b"\xef\xbb\xbfUser-agent: *\nDisallow: /x\n",
        b"User-agent: *\rDisallow: /x\r",
        b"User-agent: *\r\nDisallow: /x",
        b"user-AGENT : * # all\n disallow: /x # this\n",
        "User-agent: *\nDisallow: /x\n".encode("utf-16"),
        b"\xfe\xff" + "User-agent: *\nDisallow: /x\n".encode("utf-16-be"),
        "User-agent: *\nDisallow: /x\n".encode("utf-16-le"),
        b"\0User-agent: *\nDisallow: /x\xff\n Disallow: /x\n",
    ],
)
def test_odd_files_are_read_all_the_same(text: bytes) -> None:
    assert not rules(text).allows(SITE + "/x", AGENT)
    assert rules(text).allows(SITE + "/y", AGENT)


@pytest.mark.parametrize("body", [b"", b"<!doctype html><p>Disallow: /", bytes(range(256)) * 4])
def test_what_holds_no_rules_allows_everything(body: bytes) -> None:
    assert rules(body).allows(SITE + "/x", AGENT)


def test_rules_beyond_500_kib_do_not_count_and_a_torn_line_is_left_out() -> None:
    first = b"User-agent: *\nDisallow: /first\n"
    padding = b"#" * (MAX_BYTES - len(first) - 14) + b"\n"
    robots = rules(first + padding + b"Disallow: /all-of-it-and-more\nDisallow: /later\n")
    assert not robots.allows(SITE + "/first", AGENT)
    assert robots.allows(SITE + "/all", AGENT)
    assert robots.allows(SITE + "/later", AGENT)


def test_sitemaps_are_absolute_and_told_once() -> None:
    robots = rules("Sitemap: http://example.org/a.xml\nSitemap: /b.xml\nsitemap: http://example.org/a.xml\n")
    assert robots.sitemaps(SITE + "/robots.txt") == ("http://example.org/a.xml", "http://example.org/b.xml")
    assert Robots(404).sitemaps(SITE + "/robots.txt") == ()


def test_a_sitemap_whose_address_is_none_hides_no_other_one() -> None:
    text = "Sitemap: http://[broken/s.xml\nSitemap: /s.xml\n"
    assert rules(text).sitemaps(SITE + "/robots.txt") == (SITE + "/s.xml",)


def test_each_scheme_host_and_port_has_its_own() -> None:
    assert robots_url("https://example.org:8443/a/b?c") == "https://example.org:8443/robots.txt"


@pytest.mark.parametrize(
    ("agent", "token"),
    [(AGENT, "ghostfleet"), ("ghostfleet/0.1", "ghostfleet"), ("Mozilla/5.0 (X11) Chrome/1", "Mozilla"), ("", "*")],
)
def test_the_product_token_of_a_user_agent(agent: str, token: str) -> None:
    assert product_token(agent) == token


FIVE_ONE = """User-Agent: *
Disallow: *.gif$
Disallow: /example/
Allow: /publications/

User-Agent: foobot
Disallow:/
Allow:/example/page.html
Allow:/example/allowed.gif

User-Agent: barbot
User-Agent: bazbot
Disallow: /example/page.html

User-Agent: quxbot

"""
"""The example of RFC 9309, section 5.1."""


@pytest.mark.parametrize(
    ("agent", "path", "allowed"),
    [
        ("otherbot", "/a.gif", False),
        ("otherbot", "/a.gif?b", True),
        ("otherbot", "/example/", False),
        ("otherbot", "/example", True),
        ("otherbot", "/publications/", True),
        ("otherbot", "/publications/a.gif", True),
        ("foobot", "/", False),
        ("foobot", "/example/page.html", True),
        ("foobot", "/example/allowed.gif", True),
        ("foobot", "/publications/", False),
        ("barbot", "/example/page.html", False),
        ("bazbot", "/example/page.html", False),
        ("bazbot", "/example/other.html", True),
        ("quxbot", "/example/page.html", True),
        ("FooBot/2.1", "/example/page.html", True),
    ],
)
def test_the_simple_example_of_rfc_9309(agent: str, path: str, allowed: bool) -> None:
    assert rules(FIVE_ONE).allows(SITE + path, agent) is allowed


def test_the_longest_match_example_of_rfc_9309() -> None:
    """Section 5.2."""
    robots = rules("User-Agent: foobot\nAllow: /example/page/\nDisallow: /example/page/disallowed.gif\n")
    assert not robots.allows("http://example.com/example/page/disallowed.gif", "foobot")
    assert robots.allows("http://example.com/example/page/allowed.gif", "foobot")


@pytest.mark.parametrize(
    ("rule", "path"),
    [
        ("/foo/bar?baz=quz", "/foo/bar?baz=quz"),
        ("/foo/bar?baz=https://foo.bar", "/foo/bar?baz=https://foo.bar"),
        ("/foo/bar/ツ", "/foo/bar/%E3%83%84"),
        ("/foo/bar/%E3%83%84", "/foo/bar/%E3%83%84"),
        ("/foo/bar/%62%61%7A", "/foo/bar/baz"),
        ("/path/file-with-a-%2A.html", "/path/file-with-a-*.html"),
        ("/path/foo-%24", "/path/foo-$"),
    ],
)
def test_the_escapes_of_rfc_9309(rule: str, path: str) -> None:
    """Sections 2.2.2 and 2.2.3."""
    robots = rules(f"User-Agent: *\nDisallow: {rule}\n")
    assert not robots.allows(SITE + path, AGENT)
    assert robots.allows(f"{SITE}/else", AGENT)


def test_groups_of_one_robot_are_one_and_allow_wins_a_tie() -> None:
    """Sections 2.2.1 and 2.2.2 of RFC 9309."""
    robots = rules(
        "User-Agent: foobot\nDisallow: /foo\nDisallow: /bar\n\nUser-Agent: otherbot\nDisallow: /\n\n"
        "User-Agent: foobot\nDisallow: /baz\nAllow: /baz\n"
    )
    assert [robots.allows(f"{SITE}{path}", "foobot") for path in ("/foo", "/bar", "/baz", "/")] == [
        *(False, False, True, True)
    ]
