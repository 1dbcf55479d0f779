"""Rules over URLs and media types, and the bounds of what they may cost."""

from __future__ import annotations

import pytest

from proxy.refusal import Refused
from proxy.sessions.rules import MimeFilter, Subject, first_match, in_domain, is_wanted, parse_filters, parse_rules


@pytest.mark.parametrize(
    ("url", "surt", "ssurt"),
    [
        ("HTTP://www.Example.org", "http://(org,example,www,)/", "org,example,www,//http:/"),
        ("https://a.b:8443/p?q#f", "https://(b,a,:8443)/p?q", "b,a,//8443:https:/p?q"),
        ("https://a.b:443/p", "https://(b,a,)/p", "b,a,//https:/p"),
        ("http://192.0.2.7/x", "http://(192.0.2.7)/x", "192.0.2.7//http:/x"),
        ("http://[2001:db8::1]:81/x", "http://([2001:db8::1]:81)/x", "[2001:db8::1]//81:http:/x"),
        ("http://þzz.example/", "http://(example,xn--zz-2ka,)/", "example,xn--zz-2ka,//http:/"),
    ],
)
def test_the_forms_of_a_url(url: str, surt: str, ssurt: str) -> None:
    subject = Subject(url)

    assert (subject.surt, subject.ssurt) == (surt, ssurt)


@pytest.mark.parametrize(
    ("host", "domain", "is_in"),
    [
        ("a.b.c", "b.c", True),
        ("b.c", "b.c", True),
        ("ab.c", "b.c", False),
        ("192.0.2.7", "2.7", False),
        ("192.0.2.7", "192.0.2.7", True),
    ],
)
def test_a_host_and_its_domain(host: str, domain: str, is_in: bool) -> None:
    assert in_domain(host, domain) is is_in


def test_all_conditions_of_a_rule_must_hold() -> None:
    rules = parse_rules([{"domain": "a.test", "parent_url_regex": "http://b.test/.*"}])

    assert first_match(rules, Subject("http://a.test/", "http://b.test/x")) is rules[0]
    assert first_match(rules, Subject("http://a.test/", "http://c.test/x")) is None
    assert first_match(rules, Subject("http://a.test/")) is None
    assert first_match(rules, Subject("http://c.test/", "http://b.test/x")) is None


def test_a_regex_is_of_the_whole_url() -> None:
    rules = parse_rules([{"regex": "http://a.test/x"}])

    assert first_match(rules, Subject("http://a.test/x")) is not None
    assert first_match(rules, Subject("http://a.test/xy")) is None


def test_text_that_is_not_a_url_is_compared_as_it_is() -> None:
    rules = parse_rules([{"substring": "secret"}])

    assert first_match(rules, Subject("urn:secret:1")) is not None


def test_too_many_rules_are_refused() -> None:
    with pytest.raises(Refused, match="20001 rules"):
        parse_rules([{"domain": "a.test"}] * 20_001)


@pytest.mark.parametrize(
    ("kind", "content_type", "wanted"),
    [
        ("REJECT", "text/html", False),
        ("REJECT", "image/png", True),
        ("REJECT", "", True),
        ("LIMIT", "text/html", True),
        ("LIMIT", "a text/html", False),
        ("LIMIT", "", False),
    ],
)
def test_filters_of_media_types(kind: str, content_type: str, wanted: bool) -> None:
    assert is_wanted(parse_filters([{"type": kind, "regex": "text/"}]), content_type) is wanted


def test_a_filter_that_never_ends_keeps_what_it_should_judge() -> None:
    assert is_wanted((MimeFilter(True, r"(a|a|aa)+(a|aa)+\d"),), "a" * 100)
