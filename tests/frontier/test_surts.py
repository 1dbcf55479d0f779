"""SURT prefixes as curators write them, and the look-up of many."""

from __future__ import annotations

import pytest

from frontier.definition.rules.surts import SurtPrefixes, coerced, read_domain, read_host, read_surt


@pytest.mark.parametrize(
    ("written", "prefix"),
    [
        ("http://(org,example,)/a", "org,example)/a"),
        ("https://(org,example,www,)/A", "org,example)/A"),
        ("+http://(org,example,", "org,example"),
        ("org,example)/", "org,example)/"),
        ("org,", "org"),
        ("example.org", "org,example"),
        ("http://example.org", "org,example"),
        ("www.example.org", "org,example)"),
        ("http://(org,example,www,", "org,example)"),
        ("http://www.example.org/", "org,example)/"),
        ("http://example.org/a/b.html?x=/y", "org,example)/a/"),
        ("http://(org,example,:8080)/x", "org,example:8080)/x"),
        ("example.org:8080", "org,example:8080)"),
        ("http://(org,example,:80)/", "org,example)/"),
        ("127.0.0.1", "127.0.0.1"),
        ("[::1]", "[::1]"),
    ],
)
def test_a_prefix_is_read_as_curators_write_it(written: str, prefix: str) -> None:
    assert read_surt(written) == (False, prefix)
    assert read_surt(f"-{written.removeprefix('+')}") == (True, prefix)


@pytest.mark.parametrize("text", ["", "-", "com,a)x", "a b", "http://", "(", "ftp://example.org/", "x" * 5000])
def test_what_is_no_prefix_is_refused(text: str) -> None:
    with pytest.raises(ValueError):  # noqa: PT011 - each message is another one
        read_surt(text)


def test_the_longest_prefix_decides() -> None:
    prefixes = SurtPrefixes(map(read_surt, ["example.org", "-http://(org,example,)/b", "http://(org,example,)/b/c"]))
    found = {url: prefixes.prefix_of(coerced(url)) for url in (
        "http://a.example.org:81/", "http://example.org/a", "http://example.org/b/x", "https://www.example.org/b/c",
    )}  # fmt: skip
    assert list(found.values()) == ["org,example", "org,example", None, "org,example)/b/c"]


def test_domains_and_hosts_are_names() -> None:
    assert (read_domain("Example.org."), read_host("www.example.org")) == ("org,example", "org,example)")
    with pytest.raises(ValueError, match="is no host name"):
        read_domain("example.org/a")
