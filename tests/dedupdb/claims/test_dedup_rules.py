"""What the settings of `[dedup]` take and leave."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError
from support.archive.capture_rows import capture

from archive.capture import Original
from archive.settings import DedupSettings
from archive.settings.dedup import read_statuses
from dedupdb.claims.claims import PayloadKey
from dedupdb.claims.dedup_rules import DedupRules, is_text

SHA256 = bytes(32)
URL = "http://Example.org/a?b"


def eligible(**settings: Any) -> DedupRules:
    return DedupRules(DedupSettings(**settings))


@pytest.mark.parametrize(
    ("settings", "status", "mime", "length", "taken"),
    [
        ({}, 200, "text/html", 1, True),
        ({}, 200, None, 1, True),
        ({}, 200, "text/html", 0, False),
        ({}, 206, "text/html", 5, False),
        ({}, 304, "text/html", 5, False),
        ({}, 404, "text/html", 5, False),
        ({}, None, "text/html", 5, False),
        ({"statuses": "2xx, 404"}, 404, "text/html", 5, True),
        ({"statuses": "200"}, 203, "text/html", 5, False),
        ({"statuses": "2xx,3xx"}, 304, None, 5, False),
        ({"min_bytes": 5}, 200, "text/html", 4, False),
        ({"min_text_bytes": 5}, 200, "text/html", 4, False),
        ({"min_text_bytes": 5}, 200, "text/html", 5, True),
        ({"min_text_bytes": 5}, 200, "image/png", 1, True),
        ({"min_binary_bytes": 5}, 200, "image/png", 4, False),
        ({"min_binary_bytes": 5}, 200, None, 4, False),
        ({"min_binary_bytes": 5}, 200, "application/json", 1, True),
        ({"min_binary_bytes": 5, "min_bytes": 9}, 200, "image/png", 8, False),
        ({"mime_filter": "text/.*"}, 200, "text/html", 5, False),
        ({"mime_filter": "text/.*"}, 200, "image/png", 5, True),
        ({"mime_filter": "text/.*"}, 200, None, 5, True),
        ({"mime_filter": "text"}, 200, "text/html", 5, True),
        ({"mime_filter": "image/.*", "mime_filter_mode": "whitelist"}, 200, "image/png", 5, True),
        ({"mime_filter": "image/.*", "mime_filter_mode": "whitelist"}, 200, "text/html", 5, False),
        ({"mime_filter": "image/.*", "mime_filter_mode": "whitelist"}, 200, None, 5, False),
    ],
)
def test_a_payload_is_taken_by_status_type_and_length(
    settings: dict[str, Any], status: int | None, mime: str | None, length: int, taken: bool
) -> None:
    assert eligible(**settings).takes(status, mime, length) is taken


@pytest.mark.parametrize(
    ("mime", "text"),
    [
        ("text/css", True),
        ("application/xhtml+xml", True),
        ("image/svg+xml", True),
        ("application/ld+json", True),
        ("application/javascript", True),
        ("image/png", False),
        ("application/pdf", False),
        ("", False),
    ],
)
def test_text_is_what_people_could_read(mime: str, text: bool) -> None:
    assert is_text(mime) is text


@pytest.mark.parametrize(
    ("buckets", "filled", "searched"),
    [
        ((), ("",), ()),
        ((("a", "rw"),), ("a",), ()),
        ((("a", "rw"), ("b", "ro"), ("c", "rw")), ("a", "c"), ("b",)),
        ((("b", "ro"),), (), ("b",)),
    ],
)
def test_a_want_has_the_buckets_of_its_request(
    buckets: tuple[tuple[str, str], ...], filled: tuple[str, ...], searched: tuple[str, ...]
) -> None:
    assert eligible().payload_key("news", URL, SHA256, 5, buckets) == PayloadKey("news", SHA256, 5, filled, searched)


def test_without_a_bucket_there_is_no_want_where_one_is_asked_for() -> None:
    strict = eligible(only_with_bucket=True)

    assert strict.payload_key("news", URL, SHA256, 5) is None
    assert strict.payload_key("news", URL, SHA256, 5, (("a", "rw"),)) == PayloadKey("news", SHA256, 5, ("a",))
    assert strict.original(capture()) is None
    assert strict.original(capture(buckets=("a",))) is not None


@pytest.mark.parametrize(
    ("match", "other", "same"),
    [
        ("digest", "http://elsewhere.org/", True),
        ("url", URL, True),
        ("url", "https://Example.org/a?b", False),
        ("equivalent", "https://example.org/a?b", True),
        ("equivalent", "http://example.org/a?c", False),
    ],
)
def test_the_same_bytes_are_the_same_within_a_border(match: str, other: str, same: bool) -> None:
    rules = eligible(match=match)
    one, two = rules.payload_key("news", URL, SHA256, 5), rules.payload_key("news", other, SHA256, 5)

    assert one is not None
    assert two is not None
    assert (one.field == two.field) is same


def test_a_copy_soon_after_its_original_is_in_the_blackout_when_the_url_is_the_same() -> None:
    original = Original("11112222-3333-4444-5555-666677778888", URL, 1_700_000_000_000_000)
    rules = eligible(blackout_seconds=10)

    assert rules.in_blackout(URL, original.date + 10_000_000, original)
    assert not rules.in_blackout(URL, original.date + 10_000_001, original)
    assert not rules.in_blackout(URL + "c", original.date + 1, original)
    assert not eligible().in_blackout(URL, original.date, original)


def test_statuses_are_read_as_they_are_written() -> None:
    assert read_statuses("200") == {200}
    assert read_statuses("2XX, 404") == {*range(200, 300), 404} - {206}
    assert 304 not in read_statuses("3xx")


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"statuses": "2xx,"}, "'' is not a status"),
        ({"statuses": "1xx"}, "'1xx' is not a status"),
        ({"statuses": "ok"}, "'ok' is not a status"),
        ({"mime_filter": "("}, "it is not a regular expression"),
        ({"match": "both"}, "match"),
    ],
)
def test_settings_that_make_no_sense_are_refused_by_name(settings: dict[str, Any], said: str) -> None:
    with pytest.raises(ValidationError) as caught:
        DedupSettings(**settings)
    assert said in str(caught.value)
