"""The metadata file of a job: its records, their addresses, and how it comes into the archive."""

from __future__ import annotations

import gzip
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest
from support.archive.oracles import fastwarc_check, warcio_kinds
from warcio.archiveiterator import ArchiveIterator

from admin.harvester.documents.metadata_file import (
    JSON,
    TEXT,
    MetadataOwner,
    MetadataPart,
    free_name,
    publish_metadata,
    write_metadata,
)
from archive.names.warc_paths import WarcPaths
from archive.settings.load import Settings
from archive.warc import cdxj
from archive.warc.upkeep.check import check

OWNER = MetadataOwner("kb.example", "news", 3, 4, "h3-4-20261121081500")
DATE = 1_800_000_000_000_000


def parts(folder: Path) -> list[MetadataPart]:
    (folder / "crawl.log").write_text("a line\n" * 100_000)
    query = {"majorversion": 1, "minorversion": 0, "harvestid": 3, "harvestnum": 0, "jobid": 4}
    return [
        MetadataPart("setup", "duplicatereductionjobs", TEXT, b"1,2", query),
        MetadataPart("logs", "crawl.log", TEXT, folder / "crawl.log"),
        MetadataPart("reports", "r\u00e4ports & more.txt", TEXT, b""),
        MetadataPart("logs", "local-errors.log", TEXT, folder / "there-is-none"),
        MetadataPart("setup", "harvestInfo.json", JSON, b"{}\n"),
    ]


def written(settings: Settings, tmp_path: Path) -> Path:
    path = tmp_path / "4-metadata-1.warc"
    write_metadata(path, path.name, OWNER, parts(tmp_path), settings, DATE)
    return path


def told(path: Path) -> list[tuple[str, str | None, bytes]]:
    def found() -> Iterator[tuple[str, str | None, bytes]]:
        with path.open("rb") as file:
            for record in ArchiveIterator(file):
                content = record.content_stream().read()
                yield record.rec_type, record.rec_headers.get_header("WARC-Target-URI"), content

    return list(found())


def test_its_records_are_sorted_by_address_behind_the_warcinfo(settings: Settings, tmp_path: Path) -> None:
    first, *rest = told(written(settings, tmp_path))
    assert first[0] == "warcinfo"
    addresses = [str(address) for _, address, _ in rest]
    assert addresses == sorted(addresses)
    assert [urlsplit(address).path for address in addresses] == [
        "/crawl/logs/crawl.log",
        "/crawl/logs/local-errors.log",
        "/crawl/reports/r%C3%A4ports%20%26%20more.txt",
        "/crawl/setup/duplicatereductionjobs",
        "/crawl/setup/harvestInfo.json",
    ]
    assert {urlsplit(address).netloc for address in addresses} == {"kb.example"}
    assert addresses[3] == (
        "metadata://kb.example/crawl/setup/duplicatereductionjobs"
        "?majorversion=1&minorversion=0&harvestid=3&harvestnum=0&jobid=4"
    )
    assert parse_qs(urlsplit(addresses[0]).query).keys() == {"heritrixVersion", "harvestid", "jobid"}
    contents = [content for _, _, content in rest]
    assert contents[0] == b"a line\n" * 100_000
    assert contents[1] == b""
    assert contents[3] == b"1,2"


@pytest.mark.parametrize("compressed", [False, True])
def test_three_programs_find_it_valid(settings: Settings, tmp_path: Path, compressed: bool) -> None:
    harvester = settings.harvester.model_copy(update={"metadata_compressed": compressed})
    settings = settings.model_copy(update={"harvester": harvester})
    name = free_name(settings.collection("news"), 4, compressed=compressed)
    assert name == ("4-metadata-1.warc.gz" if compressed else "4-metadata-1.warc")
    path, place = tmp_path / name, WarcPaths(settings.collection("news"), name)
    write_metadata(path, name, OWNER, parts(tmp_path), settings, DATE)
    publish_metadata(path, place, "news")
    assert list(check(place.warc.parent)) == []
    fastwarc_check(place.warc)
    assert warcio_kinds(place.warc) == ["warcinfo", *["resource"] * 5]
    captures = list(cdxj.read(place.sidecar, "news"))
    assert [capture.kind for capture in captures] == ["resource"] * 5
    with place.warc.open("rb") as file:
        for capture in captures:
            file.seek(capture.offset)
            piece = file.read(capture.length)
            head = gzip.decompress(piece) if compressed else piece
            assert f"WARC-Target-URI: {capture.url}\r\n".encode() in head


def test_it_comes_into_the_archive_once_and_whole(settings: Settings, tmp_path: Path) -> None:
    path = written(settings, tmp_path)
    place = WarcPaths(settings.collection("news"), path.name)
    content = path.read_bytes()
    publish_metadata(path, place, "news")
    publish_metadata(path, place, "news")
    assert place.warc.read_bytes() == content
    assert not path.exists()
    assert free_name(settings.collection("news"), 4, compressed=False) == "4-metadata-2.warc"
    assert free_name(settings.collection("news"), 5, compressed=False) == "5-metadata-1.warc"


def test_a_draft_that_was_cut_off_is_written_anew(settings: Settings, tmp_path: Path) -> None:
    (tmp_path / ".4-metadata-1.warc.new").write_bytes(b"half a fi")
    assert len(told(written(settings, tmp_path))) == 6
    assert list(check(tmp_path / "4-metadata-1.warc")) == []


def test_an_odd_name_can_not_break_a_header(settings: Settings, tmp_path: Path) -> None:
    path = tmp_path / "4-metadata-1.warc"
    odd = [MetadataPart("logs", 'a\r\nWARC-Type: "x" \u202e/../b', TEXT, b"x", {"name": "a b\r\n&c"})]
    write_metadata(path, path.name, OWNER, odd, settings, DATE)
    assert list(check(path)) == []
    assert len(told(path)) == 2
