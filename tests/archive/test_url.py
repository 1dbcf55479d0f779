"""archive/url.py: what browsers make of a URL, and the one key it gets."""

from __future__ import annotations

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from archive.url import UrlError, ascii_host, canonical, host_of, key

CANONICAL = [
    ("http://example.com", "http://example.com/"),
    ("HTTP://EXAMPLE.Com/Path", "http://example.com/Path"),
    ("  http://example.com/ \n", "http://example.com/"),
    ("ht\ntp://exa\tmple.com/a\r\nb", "http://example.com/ab"),
    ("http:example.com/a", "http://example.com/a"),
    ("http:///example.com/a", "http://example.com/a"),
    ("http:\\\\example.com\\a\\b?c\\d", "http://example.com/a/b?c\\d"),
    ("http://example.com:80/", "http://example.com/"),
    ("https://example.com:443/", "https://example.com/"),
    ("https://example.com:80/", "https://example.com:80/"),
    ("http://example.com:/", "http://example.com/"),
    ("http://example.com:00080/", "http://example.com/"),
    ("http://example.com:8080", "http://example.com:8080/"),
    ("http://user:pass@example.com/", "http://example.com/"),
    ("http://user:p@ss@example.com/", "http://example.com/"),
    ("http://example.com./", "http://example.com/"),
    ("http://ex%41mple.com/", "http://example.com/"),
    ("http://bücher.example/", "http://xn--bcher-kva.example/"),
    ("http://BÜCHER.example/", "http://xn--bcher-kva.example/"),
    ("http://faß.de/", "http://xn--fa-hia.de/"),
    ("http://☃.net/", "http://xn--n3h.net/"),
    ("http://例え。テスト/", "http://xn--r8jz45g.xn--zckzah/"),
    ("http://foo-.tumblr.com/", "http://foo-.tumblr.com/"),
    ("http://my_host.example/", "http://my_host.example/"),
    ("http://127.0.0.1/", "http://127.0.0.1/"),
    ("http://127.0.0.1./", "http://127.0.0.1/"),
    ("http://0x7f.1/", "http://127.0.0.1/"),
    ("http://0X7F.0.0.1/", "http://127.0.0.1/"),
    ("http://0177.0.0.1/", "http://127.0.0.1/"),
    ("http://2130706433/", "http://127.0.0.1/"),
    ("http://0x7f000001/", "http://127.0.0.1/"),
    ("http://127.1/", "http://127.0.0.1/"),
    ("http://1.2.3/", "http://1.2.0.3/"),
    ("http://0/", "http://0.0.0.0/"),
    ("http://0x/", "http://0.0.0.0/"),
    ("http://１２７.0.0.1/", "http://127.0.0.1/"),
    ("http://[::1]/", "http://[::1]/"),
    ("http://[0:0:0:0:0:0:0:1]:8080/", "http://[::1]:8080/"),
    ("http://[2001:DB8::0:1]/", "http://[2001:db8::1]/"),
    ("http://[::ffff:127.0.0.1]/", "http://[::ffff:7f00:1]/"),
    ("http://example.com/a/./b/../c", "http://example.com/a/c"),
    ("http://example.com/a/%2e%2E/b/.%2e/c/%2e", "http://example.com/c/"),
    ("http://example.com/../..", "http://example.com/"),
    ("http://example.com/a/..", "http://example.com/"),
    ("http://example.com//a//b//", "http://example.com//a//b//"),
    ("http://example.com/...", "http://example.com/..."),
    ("http://example.com/a b", "http://example.com/a%20b"),
    ("http://example.com/ü", "http://example.com/%C3%BC"),
    ("http://example.com/%c3%bc%7E", "http://example.com/%c3%bc%7E"),
    ("http://example.com/100%", "http://example.com/100%"),
    ("http://example.com/%2525252e%252e/%25%32%65", "http://example.com/%2525252e%252e/%25%32%65"),
    ("http://example.com/\"<>`{}^|'", "http://example.com/%22%3C%3E%60%7B%7D%5E|'"),
    ("http://example.com/?\"<>`{}^|'", "http://example.com/?%22%3C%3E`{}^|%27"),
    ("http://example.com/\x00\x1f\x7f", "http://example.com/%00%1F%7F"),
    ("http://example.com/\ud800", "http://example.com/%EF%BF%BD"),
    ("http://example.com?", "http://example.com/?"),
    ("http://example.com?a=b#c?d", "http://example.com/?a=b"),
    ("http://example.com#a", "http://example.com/"),
    ("http://example.com/a;b=c?d&e=f=g", "http://example.com/a;b=c?d&e=f=g"),
    ("http://example.com/http://other.example//x", "http://example.com/http://other.example//x"),
]

REFUSED = [
    ("", "not an absolute URL"),
    ("example.com", "did you mean http://example.com?"),
    ("//example.com/", "did you mean http://example.com/?"),
    ("/path", "not an absolute URL"),
    ("mailto:someone@example.com", "no http or https scheme"),
    ("javascript:void(0)", "no http or https scheme"),
    ("ftp://example.com/", "no http or https scheme"),
    ("http://", "the URL has no host"),
    ("http://:80/", "the URL has no host"),
    ("http://./", "the URL has no host"),
    ("http://a..b/", "is not a host name"),
    ("http://.a/", "is not a host name"),
    ("http://exa mple.com/", "is not a host name"),
    ("http://a%00b/", "is not a host name"),
    ("http://a,b/", "is not a host name"),
    ("http://" + "a" * 64 + ".com/", "is not a host name"),
    ("http://" + "a." * 130 + "com/", "is not a host name"),
    ("http://\u200b\ufffe/", "is not a host name"),
    ("http://c\u0a97.org\u05d0/", "is not a host name"),
    ("http://\u0301a.org/", "is not a host name"),
    ("http://256.1.1.1/", "is not an IPv4 address"),
    ("http://1.2.3.4.5/", "is not an IPv4 address"),
    ("http://4294967296/", "is not an IPv4 address"),
    ("http://08.1/", "is not an IPv4 address"),
    ("http://example.0x4/", "is not an IPv4 address"),
    ("http://[::1/", "is not a host"),
    ("http://[::1]x/", "is not a host"),
    ("http://[1::2::3]/", "is not an IPv6 address"),
    ("http://[fe80::1%25eth0]/", "has a zone"),
    ("http://example.com:0/", "is not a number from 1 to 65535"),
    ("http://example.com:65536/", "is not a number from 1 to 65535"),
    ("http://example.com:8x/", "is not a number from 1 to 65535"),
    ("http://example.com:²/", "is not a number from 1 to 65535"),
    ("http://example.com/" + "a" * 65_536, "more than 65536"),
]

KEYS = [
    ("http://archive.org/", "org,archive)/"),
    ("http://archive.org", "org,archive)/"),
    ("https://www.archive.org/", "org,archive,www)/"),
    ("http://archive.org:80/goo/", "org,archive)/goo/"),
    ("https://archive.org:443/", "org,archive)/"),
    ("http://archive.org:8080/goo/?a=2&b&a=1", "org,archive:8080)/goo/?a=2&b&a=1"),
    ("http://archive.org?a", "org,archive)/?a"),
    ("http://archive.org/Goo/%7euser/%c3%bc", "org,archive)/Goo/~user/%C3%BC"),
    ("http://archive.org/a%20b", "org,archive)/a%20b"),
    ("http://archive.org/a b", "org,archive)/a%20b"),
    ("http://user@archive.org/", "org,archive)/"),
    ("http://archive.org./", "org,archive)/"),
    ("http://archive.org/#part", "org,archive)/"),
    ("http://127.0.0.1/a", "127.0.0.1)/a"),
    ("http://127.0.0.1:8080/a", "127.0.0.1:8080)/a"),
    ("http://[::1]/a", "[::1])/a"),
    ("http://[::1]:8080/a", "[::1]:8080)/a"),
    (f"http://a.org:{'9' * 5000}/", f"org:{'9' * 5000},a)/"),
    ("urn:view:http://archive.org/a b", "urn:view:http://archive.org/a%20b"),
    ("dns:archive.org", "dns:archive.org"),
    ("urn:uuid:x\ny\x00", "urn:uuid:x%0Ay%00"),
]


@pytest.mark.parametrize(("text", "expected"), CANONICAL)
def test_canonical_is_what_browsers_make_of_it(text: str, expected: str) -> None:
    assert canonical(text) == expected
    assert canonical(expected) == expected


@pytest.mark.parametrize(("text", "reason"), REFUSED)
def test_what_can_not_be_fetched_is_refused_with_the_reason(text: str, reason: str) -> None:
    with pytest.raises(UrlError, match=reason.replace("?", r"\?")):
        canonical(text)


@pytest.mark.parametrize(("url", "expected"), KEYS)
def test_key_is_the_surt(url: str, expected: str) -> None:
    assert key(url) == expected


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("http://example.com/a", "example.com"),
        ("https://example.com:443/", "example.com"),
        ("http://example.com:443/", "example.com:443"),
        ("http://[::1]:8080/?a", "[::1]:8080"),
    ],
)
def test_host_is_the_unit_of_politeness(url: str, expected: str) -> None:
    assert host_of(url) == expected


def test_host_alone_has_one_form_with_and_without_brackets() -> None:
    assert ascii_host("::1") == ascii_host("[0::1]") == "[::1]"


def test_keys_sort_a_host_before_its_subdomains_and_apart_from_others() -> None:
    urls = ["http://b.org/", "http://a.b.org/", "http://b.org/z", "http://bb.org/"]
    assert sorted(map(key, urls)) == ["org,b)/", "org,b)/z", "org,b,a)/", "org,bb)/"]


def test_text_that_holds_more_than_a_host_is_refused() -> None:
    for text in ("a/b", "a?b", "a#b", "a\\b", "u@a", "a b", "a\tb", "a:80", ""):
        with pytest.raises(UrlError):
            ascii_host(text)


TEXT = st.text(alphabet=st.characters(), max_size=30)
HOSTS = st.sampled_from(["example.com", "EXAMPLE.com.", "ü.de", "0x7f.1", "[::1]", "a.b.c:8080", "127.0.0.1", "u@h"])


@given(host=HOSTS, rest=TEXT)
def test_canonical_form_taken_again_is_the_same(host: str, rest: str) -> None:
    once = canonical(f"http://{host}/{rest}")
    assert canonical(once) == once
    assert once.isascii()
    assert once.isprintable()
    assert " " not in once


@given(host=HOSTS, rest=TEXT)
def test_key_has_no_space_no_control_character_and_one_spelling(host: str, rest: str) -> None:
    made = key(canonical(f"http://{host}/{rest}"))
    assert made.isascii()
    assert made.isprintable()
    assert " " not in made
    path = made.partition(")")[2]
    assert key(f"http://example.com{path}") == f"com,example){path}"


@given(st.text(max_size=60))
def test_any_text_gives_a_canonical_url_or_a_reason(text: str) -> None:
    with suppress(UrlError):
        assert canonical(text).startswith(("http://", "https://"))


@given(st.text(max_size=40))
def test_any_identifier_has_a_key_that_fits_an_index_line(text: str) -> None:
    assert not any(char.isspace() for char in key(text))
