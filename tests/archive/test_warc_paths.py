"""archive/names/warc_paths.py, and everything of the archive with files in subfolders."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from support.archive.exchanges import exchange, keep

from archive.names import warc_paths
from archive.names.warc_paths import WarcPaths
from archive.settings.load import Settings, load
from archive.warc import cdxj
from archive.warc.reading.reader import read_record
from archive.warc.upkeep.check import check
from archive.warc.upkeep.repair import RepairOutcome, repair
from archive.warc.writing.writer import WarcWriter


@pytest.fixture
def settings(home: Path) -> Settings:
    return load({"home": str(home), "archive.warc_folder": "{prefix}/{year}/{month}"}, environment={})


def names(places: object) -> list[str]:
    return [each.name for each in places]  # type: ignore[attr-defined]


def test_a_file_and_its_sidecar_lie_in_the_same_subfolder(settings: Settings) -> None:
    writer = WarcWriter(settings, "news", prefix="daily")
    capture = keep(writer, exchange())
    assert re.fullmatch(r"daily/\d{4}/\d\d/daily-[^/]+\.warc\.gz", capture.filename)
    folder = settings.collection("news")
    assert names(warc_paths.growing(folder)) == [capture.filename]
    assert names(warc_paths.closed(folder)) == []

    writer.close()

    assert names(warc_paths.growing(folder)) == []
    assert names(warc_paths.closed(folder)) == names(warc_paths.sidecars(folder)) == [capture.filename]
    kept = WarcPaths(folder, capture.filename)
    assert list(cdxj.read(kept.sidecar, "news")) == [capture]
    with read_record(kept.warc, 0) as record:
        assert record.fields.get("WARC-Filename") == kept.warc.name, "the standard has the name alone"
    assert list(check(folder)) == []


def test_what_a_writer_left_in_a_subfolder_is_repaired(settings: Settings) -> None:
    writer = WarcWriter(settings, "news")
    first, second = keep(writer, exchange("/1")), keep(writer, exchange("/2"))
    writer.sync()
    folder = settings.collection("news")
    (left,) = warc_paths.growing(folder)
    content = left.growing.read_bytes()
    writer.close()
    left.warc.unlink()
    left.sidecar.unlink()
    left.growing.write_bytes(content[:-5])

    (repaired,) = repair(settings, "news")

    assert (repaired.outcome, repaired.filename) == (RepairOutcome.CLOSED, first.filename)
    assert left.warc.stat().st_size == second.offset
    assert list(cdxj.read(left.sidecar, "news")) == [first]
    assert left.tail.read_bytes() == content[second.offset : -5]


def test_a_closed_file_in_a_subfolder_gets_its_sidecar(settings: Settings) -> None:
    writer = WarcWriter(settings, "news")
    capture = keep(writer, exchange())
    writer.close()
    kept = WarcPaths(settings.collection("news"), capture.filename)
    kept.sidecar.unlink()
    kept.sidecar.parent.rmdir()

    (repaired,) = repair(settings, "news")

    assert repaired.outcome is RepairOutcome.INDEXED
    assert list(cdxj.read(kept.sidecar, "news")) == [capture]


def test_a_folder_is_no_file_whatever_its_name(home: Path) -> None:
    settings = load({"home": str(home), "archive.warc_folder": "{prefix}"}, environment={})
    writer = WarcWriter(settings, "news", prefix="a.warc.gz")
    capture = keep(writer, exchange())
    writer.close()

    assert names(warc_paths.closed(settings.collection("news"))) == [capture.filename]
    assert list(check(settings.archive_dir("news"))) == []
    assert repair(settings, "news") == []


def test_a_collection_that_is_not_there_has_no_files(settings: Settings) -> None:
    folder = settings.collection("nothing")
    assert (
        names(warc_paths.closed(folder)),
        names(warc_paths.growing(folder)),
        names(warc_paths.sidecars(folder)),
    ) == ([], [], [])
