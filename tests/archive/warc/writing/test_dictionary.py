"""archive/warc/writing/dictionary.py: a dictionary is made, used, and read by programs that follow the convention."""

from __future__ import annotations

import struct
from pathlib import Path

import pytest
import zstandard
from support.archive.exchanges import exchange, keep, response

from archive.capture import Capture
from archive.names.warc_paths import warc_files
from archive.settings.load import Settings, SettingsError, load
from archive.warc import cdxj
from archive.warc.compression.zstd_frame import DICTIONARY_MAGIC, checked_dictionary
from archive.warc.reading.reader import read_record, records
from archive.warc.upkeep.check import check
from archive.warc.upkeep.repair import RepairOutcome, repair
from archive.warc.writing import dictionary
from archive.warc.writing.dictionary import save, train
from archive.warc.writing.writer import WarcWriter


def page(number: int) -> bytes:
    words = " ".join(f"word{(number * 7 + place * 13) % 97}" for place in range(60))
    return f"<!doctype html><title>Page {number}</title><nav>Home About Contact</nav><p>{words}".encode()


def written(settings: Settings, count: int, collection: str = "news") -> list[Capture]:
    writer = WarcWriter(settings, collection)
    captures = [keep(writer, exchange(f"/{number}", response(page(number)))) for number in range(count)]
    writer.close()
    return captures


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> dictionary.Trained:
    """Made from a gzip collection."""
    settings = load({"home": str(tmp_path_factory.mktemp("learned"))}, environment={})
    written(settings, 300)
    return train(warc_files(settings.archive_dir("news")), level=3, size=8_192)


@pytest.fixture
def settings(home: Path, tmp_path: Path, trained: dictionary.Trained) -> Settings:
    path = tmp_path / "my.zdict"
    save(trained.data, path)
    return load(
        {"home": str(home), "archive.compression": "zstd", "archive.zstd_dictionary": str(path)}, environment={}
    )


def unpacked(path: Path) -> list[bytes]:
    """The file's frames unpacked as the convention says, by the library alone."""
    data = path.read_bytes()
    assert data.startswith(DICTIONARY_MAGIC)
    (length,) = struct.unpack_from("<I", data, 4)
    known = zstandard.ZstdCompressionDict(data[8 : 8 + length])
    frames, data = [], data[8 + length :]
    while data:
        facts = zstandard.get_frame_parameters(data)
        assert facts.dict_id == known.dict_id() != 0
        assert facts.has_checksum
        frame = zstandard.ZstdDecompressor(dict_data=known).decompressobj()
        frames.append(frame.decompress(data))
        assert len(frames[-1]) == facts.content_size
        data = frame.unused_data
    return frames


def test_what_it_learned_makes_records_smaller(trained: dictionary.Trained) -> None:
    assert 32_768 <= trained.number < 1 << 31
    assert checked_dictionary(trained.data) == trained.data
    assert trained.gain > 0.3, "WARC headers alone are much alike"
    assert zstandard.ZstdCompressionDict(trained.data).dict_id() == trained.number


def test_a_file_written_with_it_follows_the_convention(settings: Settings) -> None:
    captures = written(settings, 20)
    (path,) = warc_files(settings.archive_dir("news"))

    frames = unpacked(path)

    assert len(frames) == 1 + 2 * len(captures)
    assert {frame[:10] for frame in frames} == {b"WARC/1.1\r\n"}
    assert list(check(path.parent)) == []
    assert list(cdxj.captures_of(path)) == captures
    for number, capture in enumerate(captures):
        with read_record(path, capture.offset, capture.length) as record:
            assert b"".join(record.payload()) == page(number)


def test_it_saves_what_it_promised(settings: Settings, home: Path, trained: dictionary.Trained) -> None:
    with_it = sum(capture.length for capture in written(settings, 50))
    bare = load({"home": str(home), "archive.compression": "zstd"}, environment={})
    without = sum(capture.length for capture in written(bare, 50, "bare"))

    assert with_it < 0.8 * without


def test_large_records_are_packed_with_it_too(settings: Settings) -> None:
    body = b"".join(map(page, range(10_000)))
    writer = WarcWriter(settings, "news")
    capture = keep(writer, exchange("/large", response(body)))
    writer.close()
    (path,) = warc_files(settings.archive_dir("news"))

    assert len(unpacked(path)) == 3
    with read_record(path, capture.offset) as record:
        assert b"".join(record.payload()) == body


def test_a_torn_file_is_repaired_and_keeps_its_dictionary(settings: Settings) -> None:
    writer = WarcWriter(settings, "news")
    first, second = keep(writer, exchange("/1")), keep(writer, exchange("/2"))
    writer.sync()
    (left,) = settings.archive_dir("news").glob("*.open")
    content = left.read_bytes()
    writer.close()
    (closed,) = warc_files(settings.archive_dir("news"))
    closed.unlink()
    left.write_bytes(content[:-5])

    (repaired,) = repair(settings, "news")

    assert (repaired.outcome, repaired.records) == (RepairOutcome.CLOSED, 3)
    assert [capture.record_id for capture in cdxj.captures_of(closed)] == [first.record_id]
    assert closed.stat().st_size == second.offset
    assert list(check(closed)) == []


def test_a_frame_of_another_dictionary_is_named(settings: Settings, trained: dictionary.Trained) -> None:
    written(settings, 1)
    (path,) = warc_files(settings.archive_dir("news"))
    data = path.read_bytes()
    other = struct.pack("<I", trained.number ^ 1)
    path.write_bytes(data[:12] + other + data[16:])

    problems = [problem.message for problem in check(path)]

    assert "Dictionary mismatch" in problems[0]


def test_learning_from_files_written_with_a_dictionary_works_as_well(settings: Settings) -> None:
    written(settings, 300)

    again = train(warc_files(settings.archive_dir("news")), level=3, size=4_096, samples=200)

    assert again.samples == 180
    assert again.gain > 0.2


def test_too_few_records_are_refused(home: Path) -> None:
    settings = load({"home": str(home)}, environment={})
    written(settings, 5)

    with pytest.raises(ValueError, match="11 records are too few to learn from"):
        train(warc_files(settings.archive_dir("news")), level=3)


@pytest.mark.parametrize(
    ("content", "says"),
    [(None, "No such file"), (b"no dictionary", "it is not a zstd dictionary"), (b"", "it is not a zstd dictionary")],
)
def test_a_dictionary_that_cant_be_used_is_refused_in_one_line(
    home: Path, tmp_path: Path, content: bytes | None, says: str
) -> None:
    path = tmp_path / "bad.zdict"
    if content is not None:
        path.write_bytes(content)
    settings = load(
        {"home": str(home), "archive.compression": "zstd", "archive.zstd_dictionary": str(path)}, environment={}
    )

    with pytest.raises(SettingsError) as refused:
        WarcWriter(settings, "news")

    assert str(refused.value) == str(refused.value).partition("\n")[0]
    assert f"setting archive.zstd_dictionary = {str(path)!r} can't be used: " in str(refused.value)
    assert says in str(refused.value)


def test_a_packed_dictionary_of_others_is_read(settings: Settings, tmp_path: Path) -> None:
    written(settings, 3)
    (path,) = warc_files(settings.archive_dir("news"))
    data = path.read_bytes()
    (length,) = struct.unpack_from("<I", data, 4)
    packed = zstandard.ZstdCompressor(write_checksum=True).compress(data[8 : 8 + length])
    foreign = tmp_path / "foreign.warc.zst"
    foreign.write_bytes(DICTIONARY_MAGIC + struct.pack("<I", len(packed)) + packed + data[8 + length :])

    assert list(check(foreign)) == []
    assert [record.kind for record in records(foreign)] == ["warcinfo", *["response", "request"] * 3]
