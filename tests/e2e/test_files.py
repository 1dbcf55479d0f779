"""The WARC files of a crawl by ghosts: what outside checkers and our own say of them."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.browsers.finished_crawl import Harvest
from support.browsers.garden_crawl import archive_dir, captures, fetched

from archive.warc.reading.reader import read_record
from archive.warc.upkeep.check import check

pytestmark = pytest.mark.browser


def files(harvest: Harvest) -> list[Path]:
    found = sorted(archive_dir(harvest.home).iterdir())
    assert found
    return found


def test_every_file_has_its_final_name(harvest: Harvest) -> None:
    assert {path.name[-8:] for path in files(harvest)} == {".warc.gz"}


def test_our_checker_finds_nothing(harvest: Harvest) -> None:
    assert list(check(archive_dir(harvest.home))) == []


def test_every_index_line_leads_to_its_record(harvest: Harvest) -> None:
    lines = captures(harvest.home)

    for capture in lines:
        with read_record(archive_dir(harvest.home) / capture.filename, capture.offset, capture.length) as record:
            assert (record.record_id, record.url, record.date) == (capture.record_id, capture.url, capture.date)


def test_every_revisit_resolves_to_an_earlier_record_with_the_same_payload(harvest: Harvest) -> None:
    lines = captures(harvest.home)
    originals = {capture.record_id: capture for capture in lines if capture.kind == "response"}

    revisits = [capture for capture in lines if capture.kind == "revisit"]

    assert revisits
    for revisit in revisits:
        assert revisit.refers_to is not None
        original = originals[revisit.refers_to.record_id]
        assert (original.digest, original.payload_length) == (revisit.digest, revisit.payload_length)
        assert (original.url, original.date) == (revisit.refers_to.url, revisit.refers_to.date)
        assert (original.filename, original.offset) < (revisit.filename, revisit.offset)


def test_everything_a_page_fetched_carries_its_page_id(harvest: Harvest) -> None:
    pages = {line.page_id for line in captures(harvest.home) if line.url.startswith("urn:view:")}

    embeds = [line for line in fetched(harvest.home) if line.url.endswith(".css")]

    assert embeds
    assert {line.page_id for line in embeds} <= pages
