"""Captures that could lead a reader astray, or break a database, are refused."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from support.archive.capture_rows import capture

from archive.capture import Original
from dedupdb.captures.validation import acceptable


@pytest.mark.parametrize(
    "changed",
    [
        {},
        {"kind": "revisit", "refers_to": Original("id", "http://example.org/\u00e4", 5), "sha256": None},
        {"filename": "daily/2026/11/a.warc.gz"},
        {"status": None, "digest": None, "job": "daily", "offset": 2**62},
        {"record_id": "\U0001f984" * 600, "digest": "\U0001f984" * 600},
        {"filename": "REC-20200101000000-host,name.warc"},
    ],
)
def test_an_acceptable_capture_is_handed_on(changed: dict[str, Any]) -> None:
    assert acceptable(capture(**changed)) == capture(**changed)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("collection", "../news"),
        ("collection", ""),
        ("filename", ""),
        ("filename", ".."),
        ("filename", "../../etc/passwd"),
        ("filename", "/etc/passwd"),
        ("filename", "2026/../../a.warc.gz"),
        ("filename", "2026/./a.warc.gz"),
        ("filename", "2026//a.warc.gz"),
        ("filename", "2026/"),
        ("filename", "a\\b.warc.gz"),
        ("filename", "http://example.org/a.warc.gz"),
        ("filename", "a\0.warc.gz"),
        ("sha256", "00"),
        ("sha256", "G" * 64),
        ("url", None),
        ("url", "http://example.org/\0"),
        ("url", "http://example.org/\ud800"),
        ("request_body", "a=\0"),
        ("record_id", 5),
        ("record_id", "u" * 601),
        ("digest", "A" * 601),
        ("filename", f"{'a/' * 8}{'a' * 600}.warc.gz"),
        ("job", ["daily"]),
        ("offset", -1),
        ("offset", 2**63),
        ("offset", "0"),
        ("length", 1.5),
        ("payload_length", -1),
        ("date", -1),
        ("status", 2**31),
        ("refers_to", Original("id", "http://example.org/\0", 5)),
        ("refers_to", Original("id", "http://example.org/", -5)),
    ],
)
def test_what_can_not_be_trusted_is_refused_with_its_field(name: str, value: object) -> None:
    with pytest.raises(ValueError, match=f"^{name}"):
        acceptable(replace(capture(), **{name: value}))
