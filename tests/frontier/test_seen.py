"""The fingerprint: which URLs are one to the seen test."""

from __future__ import annotations

import pytest

from frontier.definition.job import SeenRules
from frontier.seen import BUCKETS, compared_form, fingerprint

SESSION = "a" * 32


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("http://example.org/", "http://example.org/#top"),
        (f"http://example.org/x;jsessionid={SESSION}", "http://example.org/x"),
        (f"http://example.org/x;jsessionid={SESSION}?a=b", "http://example.org/x?a=b"),
        (f"http://example.org/x?PHPSESSID={SESSION}", "http://example.org/x"),
        (f"http://example.org/x?a=b&PHPSESSID={SESSION}", "http://example.org/x?a=b"),
        (f"http://example.org/x?sid={SESSION}&a=b", "http://example.org/x?a=b"),
        (f"http://example.org/x?sid={SESSION}&phpsessid={SESSION}", "http://example.org/x"),
        ("http://example.org/x?CFID=1234&CFTOKEN=5678&a=b", "http://example.org/x?a=b"),
        ("http://example.org/%7Ea", "http://example.org/~a"),
    ],
)
def test_these_are_the_same_url(one: str, other: str) -> None:
    assert fingerprint(one) == fingerprint(other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("http://example.org/", "https://example.org/"),
        ("http://example.org/", "http://www.example.org/"),
        ("http://example.org/x?a=1", "http://example.org/x?a=2"),
        ("http://example.org/x?a=1&", "http://example.org/x?a=1"),
        ("http://example.org/x?", "http://example.org/x"),
        ("http://example.org/X", "http://example.org/x"),
        ("http://example.org/x?sid=7", "http://example.org/x?sid=8"),
        ("http://example.org/x?presid=" + SESSION, "http://example.org/x"),
    ],
)
def test_these_are_different_urls(one: str, other: str) -> None:
    assert fingerprint(one) != fingerprint(other)


def test_a_fingerprint_is_a_signed_64_bit_integer_in_one_of_the_buckets() -> None:
    for number in range(1000):
        mark = fingerprint(f"http://example.org/{number}")
        assert -(2**63) <= int(mark.id) < 2**63
        assert 0 <= int(mark.place) < BUCKETS


def test_a_hundred_thousand_urls_have_as_many_fingerprints() -> None:
    assert len({fingerprint(f"http://example.org/{number}").id for number in range(100_000)}) == 100_000


@pytest.mark.parametrize(
    ("rules", "one", "other"),
    [
        ({"lowercase": "on"}, "http://example.org/A", "http://example.org/a"),
        ({"www": "on"}, "http://www2.example.org/", "http://example.org/"),
        ({"scheme": "on"}, "https://example.org/", "http://example.org/"),
        ({"extra_slashes": "on"}, "http://example.org//a///b/", "http://example.org/a/b"),
        ({"extra_slashes": "on"}, "http://example.org/a?x=//", "http://example.org/a/?x=//"),
        ({"fix_query": "on"}, "http://example.org/a?", "http://example.org/a"),
        ({"fix_query": "on"}, "http://example.org/a?&x=1&&", "http://example.org/a?x=1"),
    ],
)
def test_a_profile_says_which_urls_are_the_same(rules: dict[str, str], one: str, other: str) -> None:
    chosen = SeenRules.model_validate(rules)
    assert fingerprint(one, chosen) == fingerprint(other, chosen)
    assert fingerprint(one) != fingerprint(other)


def test_session_ids_may_make_a_difference() -> None:
    one, other = "http://example.org/a;jsessionid=1", "http://example.org/a;jsessionid=2"
    assert fingerprint(one) == fingerprint(other)
    assert fingerprint(one, SeenRules(session_ids="off")) != fingerprint(other, SeenRules(session_ids="off"))


def test_the_default_rules_change_no_fingerprint() -> None:
    for url in ("http://www.example.org/A//b?&x=1", "https://example.org/?sid=0123456789abcdef0123"):
        number = fingerprint(url).id
        assert fingerprint(url, SeenRules()).id == number
        mixed = SeenRules(lowercase="on").model_copy(update={"lowercase": "off"})
        assert compared_form(url, mixed).startswith(url.partition(":")[0])
