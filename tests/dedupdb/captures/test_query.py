"""Query strings become questions, or one line that names the parameter at fault."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from archive import url as urls
from archive.dates import iso_date, parse_date
from dedupdb.captures import query as queries
from dedupdb.captures.query import KeyRange, QueryError, end_of, key_ranges


@pytest.mark.parametrize(
    ("given_", "ranges"),
    [
        ({"url": "http://example.org/a?b"}, [("org,example)/a?b", None)]),
        ({"url": "example.org"}, [("org,example)/", None)]),
        ({"url": "HTTP://Example.ORG:80"}, [("org,example)/", None)]),
        ({"url": "https://example.org:8080/"}, [("org,example:8080)/", None)]),
        ({"url": "urn:view:http://example.org/"}, [("urn:view:http://example.org/", None)]),
        ({"url": "example.org/a*"}, [("org,example)/a", "org,example)/b")]),
        ({"url": "http://example.org/*"}, [("org,example)/", "org,example)0")]),
        ({"url": "example.org/a*", "matchType": "exact"}, [("org,example)/a*", None)]),
        ({"url": "example.org/a", "matchType": "prefix"}, [("org,example)/a", "org,example)/b")]),
        (
            {"url": "example.org/a", "matchType": "host"},
            [("org,example)", "org,example*"), ("org,example:", "org,example;")],
        ),
        ({"url": "example.org:81/a", "matchType": "host"}, [("org,example:81)", "org,example:81*")]),
        (
            {"url": "*.example.org"},
            [("org,example)", "org,example*"), ("org,example,", "org,example-"), ("org,example:", "org,example;")],
        ),
        ({"url": "192.0.2.1", "matchType": "domain"}, [("192.0.2.1)", "192.0.2.1*"), ("192.0.2.1:", "192.0.2.1;")]),
    ],
)
def test_a_url_and_its_match_are_ranges_of_keys(given_: dict[str, str], ranges: list[tuple[str, str | None]]) -> None:
    assert queries.parse("news", given_).ranges == tuple(KeyRange(low, high) for low, high in ranges)


@pytest.mark.parametrize(
    ("given_", "said"),
    [
        ({}, "parameter url: is missing"),
        ({"url": ""}, "parameter url: is missing"),
        ({"url": "*"}, "parameter url: "),
        ({"url": "*."}, "parameter url: "),
        ({"url": "http://"}, "parameter url: "),
        ({"url": "ftp://example.org/"}, "parameter url: "),
        ({"url": "http://exa mple.org/"}, "parameter url: "),
        ({"url": "http://[::1/"}, "parameter url: "),
        ({"url": "http://example.org/\0"}, "parameter url: has a NUL"),
        ({"url": "http://example.org/" + "a" * 70_000}, "parameter url: "),
        ({"url": "urn:x", "matchType": "domain"}, "parameter url: 'urn:x' has no host"),
        (
            {"url": "a.org", "matchType": "fuzzy"},
            "parameter matchType: 'fuzzy' is unknown; use one of exact, prefix, host, domain",
        ),
        ({"url": "a.org", "from": "yesterday"}, "parameter from: 'yesterday' is no date"),
        ({"url": "a.org", "from": "20261301"}, "parameter from: '20261301' is no date"),
        ({"url": "a.org", "to": "20260"}, "parameter to: '20260' is no date"),
        ({"url": "a.org", "to": "9999"}, "parameter to: '9999' is no date"),
        ({"url": "a.org", "to": "0000"}, "parameter to: '0000' is no date"),
        ({"url": "a.org", "to": "٢٠٢٦"}, "parameter to: "),
        ({"url": "a.org", "from": "2027", "to": "2026"}, "parameter from: '2027' is later than to='2026'"),
        ({"url": "a.org", "limit": "many"}, "parameter limit: 'many' is not a whole number"),
        ({"url": "a.org", "limit": "1" * 30}, "parameter limit: "),
        ({"url": "a.org", "limit": "1" * 19}, "parameter limit: "),
        ({"url": "a.org", "limit": "--1"}, "parameter limit: "),
        ({"url": "a.org", "limit": "-10001"}, "parameter limit: -10001 asks for more than the last 10000"),
        ({"url": "a.org", "limit": "-1", "sort": "closest"}, "parameter limit: can't be negative"),
        ({"url": "a.org", "sort": "random"}, "parameter sort: 'random' is unknown"),
        ({"url": "a.org/*", "sort": "closest"}, "parameter sort: closest needs matchType=exact"),
        ({"url": "a.org", "closest": "noon"}, "parameter closest: 'noon' is no date"),
    ],
)
def test_a_bad_parameter_is_named_in_one_line(given_: dict[str, str], said: str) -> None:
    with pytest.raises(QueryError) as caught:
        queries.parse("news", given_)
    assert str(caught.value).startswith(said)
    assert "\n" not in str(caught.value)


def test_a_bad_filter_is_named() -> None:
    with pytest.raises(QueryError, match=r"^parameter filter: there is no field 'colour'"):
        queries.parse("news", {"url": "a.org"}, ["mime:html", "colour:red"])
    with pytest.raises(QueryError, match=r"^parameter filter: is given 21 times, more than 20"):
        queries.parse("news", {"url": "a.org"}, ["mime:html"] * 21)


@pytest.mark.parametrize(
    ("digits", "end"),
    [
        ("2025", "2025-12-31T23:59:59.999999Z"),
        ("202402", "2024-02-29T23:59:59.999999Z"),
        ("202512", "2025-12-31T23:59:59.999999Z"),
        ("20250228", "2025-02-28T23:59:59.999999Z"),
        ("2025022823", "2025-02-28T23:59:59.999999Z"),
        ("202502282359", "2025-02-28T23:59:59.999999Z"),
        ("20250228235958", "2025-02-28T23:59:58.999999Z"),
    ],
)
def test_a_moment_lasts_to_its_end(digits: str, end: str) -> None:
    assert iso_date(end_of(digits)) == end


def test_empty_parameters_count_as_not_given() -> None:
    query = queries.parse("news", {"url": "a.org", "limit": "", "from": "", "closest": "now", "sort": "closest"})
    assert (query.limit, query.since, query.closest, query.sort) == (None, None, None, "closest")
    assert queries.parse("news", {"url": "a.org", "closest": "2026"}).closest == parse_date("2026")


HOSTS = st.lists(
    st.text("ab-0", min_size=1, max_size=3).filter(lambda label: label.strip("-") == label), min_size=1, max_size=3
)


@given(HOSTS, HOSTS, st.sampled_from(["", ":81"]), st.sampled_from(["host", "domain"]))
def test_host_and_domain_are_what_their_names_say(asked: list[str], found: list[str], port: str, match: str) -> None:
    asked, found = [*asked, "org"], [*found, "org"]
    key = urls.key(f"http://{'.'.join(found)}{port}/x")
    within = any(low.low <= key < (low.high or "") for low in key_ranges(f"http://{'.'.join(asked)}/", match))
    assert within is (found == asked or (match == "domain" and found[-len(asked) :] == asked))
