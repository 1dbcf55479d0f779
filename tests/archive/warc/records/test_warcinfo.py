"""archive/warc/records/warcinfo.py: the record that opens a file."""

from __future__ import annotations

import pytest
from support.archive.exchanges import DATE, fields

from archive.http.http_message import parse_head
from archive.settings.load import Settings, load
from archive.warc.records.warcinfo import warcinfo_record

INFO = "6f1a7c1e-0000-4000-8000-000000000001"


def test_warcinfo_says_who_wrote_the_file() -> None:
    settings = load({"archive.operator": "A Library"}, environment={})
    record = warcinfo_record(
        "a.warc.gz", settings, "news", record_id=INFO, date=DATE, hostname="host", software="ghostfleet/1"
    )
    said = fields(record)
    assert (said.get("WARC-Type"), said.get("WARC-Filename")) == ("warcinfo", "a.warc.gz")
    assert said.get("WARC-Warcinfo-ID") is None
    assert said.get("Content-Type") == "application/warc-fields"
    block = parse_head(b"\r\n" + b"".join(record.chunks())).fields
    assert block.get("software") == "ghostfleet/1"
    assert block.get("format") == "WARC File Format 1.1"
    assert block.get(
        "conformsTo",
    ).startswith("http://iipc.github.io/warc-specifications/")  # type: ignore[union-attr]
    assert block.get("hostname") == "host"
    assert block.get("operator") == "A Library"
    assert block.get("isPartOf") == "news"
    assert block.get("robots") == "obey"
    assert "ghostfleet" in (block.get("http-header-user-agent") or "")


def test_operator_with_a_line_end_is_refused() -> None:
    with pytest.raises(ValueError, match="control characters"):
        warcinfo_record(
            "a.warc.gz", load({"archive.operator": "A\r\nB"}, environment={}), "news",
            record_id=INFO, date=DATE, hostname="host", software="x",
        )  # fmt: skip


def test_empty_operator_is_left_out(settings: Settings) -> None:
    record = warcinfo_record("a", settings, "news", record_id=INFO, date=DATE, hostname="host", software="x")
    assert b"operator" not in b"".join(record.chunks())
