"""admin/harvests/domains/names.py: the registered domain of whatever people type, and its first seeds."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.each_value import each_value

from admin.harvests.domains.names import (
    IP,
    DomainName,
    DomainNameError,
    first_seeds,
    registered_domain,
    stored_name,
    unicode_name,
)


@each_value(
    ("text", "name", "tld"),
    [
        ("example.org", "example.org", "org"),
        ("www.example.org", "example.org", "org"),
        ("a.b.c.example.co.uk", "example.co.uk", "co.uk"),
        ("HTTP://WWW.Example.ORG:8080/path?query#fragment", "example.org", "org"),
        ("https://user:password@example.org/", "example.org", "org"),
        ("//example.org/path", "example.org", "org"),
        ("example.org:8080/path", "example.org", "org"),
        ("  example.org.  ", "example.org", "org"),
        ("\ufeffexample.org", "example.org", "org"),
        ("BÜCHER.de", "xn--bcher-kva.de", "de"),
        ("xn--bcher-kva.de", "xn--bcher-kva.de", "de"),
        ("faß.de", "xn--fa-hia.de", "de"),
        ("例え。jp", "xn--r8jz45g.jp", "jp"),
        ("www.例え.jp", "xn--r8jz45g.jp", "jp"),
        ("www.gov.pl", "www.gov.pl", "gov.pl"),
        ("someone.github.io", "someone.github.io", "github.io"),
        ("127.0.0.1", "127.0.0.1", IP),
        ("http://127.0.0.1./", "127.0.0.1", IP),
        ("http://192.0.2.7:8080/", "192.0.2.7", IP),
        ("2001:DB8:0::1", "2001:db8::1", IP),
        ("http://[2001:db8::1]:8080/", "2001:db8::1", IP),
        ("shop.site1.test", "site1.test", "test"),
    ],
)
def test_any_input_gives_the_registered_domain(text: str, name: str, tld: str) -> None:
    assert registered_domain(text, ("test",)) == DomainName(name, tld)


@each_value(
    ("text", "reason"),
    [
        ("", "is empty; write a domain name"),
        ("   ", "is empty"),
        ("org", "is a public suffix"),
        ("co.uk", "is a public suffix"),
        ("localhost", "no known top-level domain"),
        ("example.ogr", "add the top-level domain to the setting harvests.tlds"),
        ("me@example.org", "is an e-mail address"),
        ("mailto:me@example.org", "has the scheme mailto"),
        ("ftp://example.org/", "has the scheme ftp"),
        ("javascript:alert(1)", "has the scheme javascript"),
        ("two words.org", "a space"),
        ("example\0.org", "a null character"),
        ("gro.elp\u202emaxe.org", "right-to-left override"),
        ("exam\u200fple.org", "right-to-left mark"),
        ("a..org", "not a host name"),
        ("..", "not a host name"),
        ("-example.org", "begins or ends with a hyphen"),
        ("<a href='x'>", "a space"),
        ("<html>", "is no domain name"),
        ("'; --", "is no domain name|a space"),
        ("1.2.3", "an IPv4 address has four numbers"),
        ("http://0x7f.1/", "an IPv4 address has four numbers"),
        ("2130706433", "an IPv4 address has four numbers"),
        ("010.1.2.3", "an IPv4 address has four numbers"),
        ("1.2.3.4.5", "not an IPv4 address"),
        ("999.1.1.1", "not an IPv4 address"),
        ("fe80::1%eth0", "has a zone"),
        ("http://", "has no host"),
        (f"{'a' * 64}.org", "is no domain name"),
        (f"{'a.' * 200}org", "is no domain name"),
        ("x" * 10_000, "has a name of 10000 characters"),
        ("ü" * 1_000_000, "has 1000000 characters"),
    ],
)
def test_what_is_no_domain_is_refused_with_the_reason(text: str, reason: str) -> None:
    with pytest.raises(DomainNameError, match=reason) as caught:
        registered_domain(text, ("test",))
    assert len(str(caught.value)) < 600


def test_a_top_level_domain_of_the_setting_is_not_known_without_it() -> None:
    with pytest.raises(DomainNameError, match="no known top-level domain"):
        registered_domain("site1.test")


@pytest.mark.parametrize(
    ("name", "tld", "one", "four"),
    [
        (
            "example.org",
            "org",
            ["http://www.example.org"],
            ["http://www.example.org", "http://example.org", "https://www.example.org", "https://example.org"],
        ),
        ("www.gov.pl", "gov.pl", ["http://www.gov.pl"], ["http://www.gov.pl", "https://www.gov.pl"]),
        ("192.0.2.7", IP, ["http://192.0.2.7"], ["http://192.0.2.7", "https://192.0.2.7"]),
        ("2001:db8::1", IP, ["http://[2001:db8::1]"], ["http://[2001:db8::1]", "https://[2001:db8::1]"]),
    ],
)
def test_www_is_put_before_names_alone_and_never_twice(name: str, tld: str, one: list[str], four: list[str]) -> None:
    assert first_seeds(DomainName(name, tld), "one") == one
    assert first_seeds(DomainName(name, tld), "four") == four


@pytest.mark.parametrize(
    ("name", "shown"),
    [("example.org", "example.org"), ("xn--bcher-kva.de", "bücher.de"), ("xn--n3h.net", "xn--n3h.net")],
)
def test_names_are_shown_in_unicode_where_idna_allows_it(name: str, shown: str) -> None:
    assert unicode_name(name) == shown


def test_a_stored_name_loses_nothing_in_front() -> None:
    assert stored_name(" WWW.Bücher.de. ") == "www.xn--bcher-kva.de"
    assert stored_name("[2001:DB8::1]") == "2001:db8::1"
    with pytest.raises(DomainNameError):
        stored_name("a/b")


@given(st.text(max_size=300))
def test_any_text_gives_a_domain_or_a_reason(text: str) -> None:
    try:
        found = registered_domain(text)
    except DomainNameError:
        return
    assert found.name.isascii()
    assert registered_domain(found.name) == found
    assert registered_domain(first_seeds(found, "one")[0]) == found
