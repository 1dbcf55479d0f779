"""Options of clients, and how those of a session and of a request are merged."""

from __future__ import annotations

from typing import Any

import pytest

from archive.capture import Context
from proxy.refusal import Refused
from proxy.sessions.request_options import NO_META, NOTHING, RequestOptions, parse_meta, parse_options
from proxy.sessions.stats_buckets import Bucket, names_of, parse_limits, parse_stats


@pytest.mark.parametrize(
    ("value", "buckets"),
    [
        ({"dedup-buckets": {"a": "rw", "b": "ro", "c": ""}}, (("a", "rw"), ("b", "ro"), ("c", "rw"))),
        ({"captures-bucket": "a"}, (("a", "rw"),)),
        ({"dedup-bucket": "a"}, (("a", "rw"),)),
        ({"dedup-buckets": {"a": "ro"}, "dedup-bucket": "b"}, (("a", "ro"),)),
        ({}, ()),
    ],
)
def test_dedup_buckets_in_all_their_forms(value: dict[str, Any], buckets: tuple[tuple[str, str], ...]) -> None:
    assert parse_options(value).buckets == buckets
    assert Context("news", buckets=buckets).buckets == buckets


@pytest.mark.parametrize(
    ("value", "word"),
    [
        ({"dedup-buckets": {"a": "wo"}}, "'wo' must be rw or ro"),
        ({"dedup-buckets": {"": "rw"}}, "dedup-buckets '' must have 1 to 256 characters"),
        ({"dedup-bucket": ""}, "dedup-buckets '' must have 1 to 256 characters"),
        ({"dedup-buckets": {"x" * 257: "rw"}}, "must have 1 to 256 characters"),
        ({"dedup-buckets": {str(number): "rw" for number in range(65)}}, "names 65 buckets; at most 64"),
        ({"dedup-buckets": {"\ud800": "rw"}}, "dedup-buckets"),
        ({"conditional": "yes"}, "conditional = 'yes' must be true or false"),
        ({"conditional": 1}, "conditional = '1' must be true or false"),
        ({"dedup-buckets": {"a\n": "rw"}}, "dedup-buckets"),
        ({"dedup-buckets": ["a"]}, "dedup-buckets"),
        ({"captures-bucket": 5}, "dedup-buckets"),
        ({"accept": "all"}, "accept"),
        ({"stats": {"buckets": "x"}}, "stats"),
        ({"stats": {"buckets": [{"tally-domains": ["a.test"]}]}}, "bucket of stats"),
        ({"stats": {"buckets": [{"bucket": "b", "tally-domains": ["a b"]}]}}, "tally-domains"),
        ({"limits": {"b/total/urls": -1}}, "whole number"),
        ({"limits": {"b/total/urls": True}}, "whole number"),
        ({"soft-limits": ["b/total/urls"]}, "soft-limits"),
    ],
)
def test_that_can_not_be_used_are_refused_by_name(value: dict[str, Any], word: str) -> None:
    with pytest.raises(Refused, match=word) as refused:
        parse_options(value)
    assert refused.value.status == 400


def test_a_client_without_options_shares_the_empty_ones() -> None:
    assert parse_meta(b'{"unknown": 1}').options is NOTHING
    assert NOTHING.merged_with(NOTHING) is NO_META.options


def test_options_of_session_and_request_are_merged() -> None:
    session = parse_options(
        {
            "warc-prefix": "s",
            "dedup-buckets": {"s": "rw"},
            "blocks": [{"domain": "s.test"}],
            "soft-limits": {"s/new/urls": 1},
        }
    )
    asked = parse_options(
        {"warc-prefix": "r", "dedup-ok": False, "blocks": [{"domain": "r.test"}], "limits": {"r/new/urls": 1}}
    )

    both = session.merged_with(asked)

    assert (both.prefix, both.dedup, both.buckets) == ("r", False, (("s", "rw"),))
    assert [rule.definition["domain"] for rule in both.blocks] == ["s.test", "r.test"]
    assert [limit.bucket for limit in both.limits] == ["r", "s"]
    assert session.merged_with(NOTHING) is session
    assert NOTHING.merged_with(asked) is asked
    assert isinstance(both, RequestOptions)


def test_domains_are_tallied_by_suffix_in_any_case() -> None:
    buckets = parse_stats({"buckets": ["a", {"bucket": "b", "tally-domains": ["FOO.test", "þzz.test", "bar.test"]}]})

    assert buckets[1] == Bucket("b", ("foo.test", "xn--zz-2ka.test", "bar.test"))
    assert names_of(buckets, "www.foo.test") == ("a", "b", "b:foo.test")
    assert names_of(buckets, "xn--zz-2ka.test") == ("a", "b", "b:xn--zz-2ka.test")


def test_a_limits_key_names_its_domain_as_urls_do() -> None:
    (limit,) = parse_limits({"a/b:FOO.test/new/wire_bytes": 7}, is_soft=True)

    assert (limit.key, limit.bucket) == ("a/b:foo.test/new/wire_bytes", "a/b:foo.test")
    assert (limit.counter, limit.most, limit.is_soft) == ("new/wire_bytes", 7, True)
