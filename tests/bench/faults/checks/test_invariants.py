"""The invariant of revisits: each has its original here or names another archive."""

from __future__ import annotations

from pathlib import Path

from bench.faults.checks.check_input import CheckInput, Expectations
from bench.faults.checks.home_contents import HomeContents
from bench.faults.checks.invariants import INVARIANTS
from bench.faults.checks.records import WarcRecord


def _complaints(**fields: str) -> list[str]:
    said = {"warc-type": "revisit", "warc-record-id": "<urn:uuid:r>"} | {
        name.replace("_", "-"): value for name, value in fields.items()
    }
    contents = HomeContents(records=[WarcRecord(Path("a.warc.gz"), 0, 1, said, b"")])
    return list(
        INVARIANTS["revisits have their original"](CheckInput(Expectations(Path("home"), "news", ()), contents, {}))
    )


def test_a_missing_original_is_reported() -> None:
    assert _complaints(warc_refers_to="<urn:uuid:o>") == ["the original of r is missing"]
    assert _complaints(warc_refers_to_target_uri="http://example.org/") == ["the original of r is missing"]


def test_an_original_in_another_archive_is_not_missing() -> None:
    assert _complaints(warc_refers_to_container="http://cdx.example.org/cdx") == []
