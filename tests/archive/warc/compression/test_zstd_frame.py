"""archive/warc/compression/zstd_frame.py, and `.warc.zst` files as written, read, checked, repaired and indexed."""

from __future__ import annotations

import hashlib
import io
import struct
import tracemalloc
from pathlib import Path

import pytest
import zstandard
from support.archive.exchanges import exchange, keep, message, response
from support.archive.oracles import fastwarc_zstd_kinds, warcio_kinds

from archive.capture import Body, Capture, Message
from archive.settings.load import Settings, load
from archive.warc import cdxj
from archive.warc.compression.zstd_frame import DICTIONARY_MAGIC, Unpacker, ZstdFrameWriter
from archive.warc.reading.member_reader import MemberReader, WarcError
from archive.warc.reading.reader import read_record, records
from archive.warc.upkeep.check import check
from archive.warc.upkeep.repair import RepairOutcome, repair
from archive.warc.writing.writer import WarcWriter


@pytest.fixture
def settings(home: Path) -> Settings:
    return load({"home": str(home), "archive.compression": "zstd"}, environment={})


def written(settings: Settings, count: int = 5) -> tuple[Path, list[Capture]]:
    writer = WarcWriter(settings, "news")
    captures = [keep(writer, exchange(f"/{number}", response(b"page %d " % number * 50))) for number in range(count)]
    writer.close()
    (path,) = settings.archive_dir("news").iterdir()
    return path, captures


def test_every_record_is_one_frame_with_its_checksum(settings: Settings) -> None:
    path, captures = written(settings)
    assert path.name.endswith(".warc.zst")

    data, frames = path.read_bytes(), []
    while data:
        facts = zstandard.get_frame_parameters(data)
        assert facts.has_checksum
        frame = zstandard.ZstdDecompressor().decompressobj()
        frames.append(frame.decompress(data))
        data = frame.unused_data

    assert len(frames) == 1 + 2 * len(captures)
    assert {frame[:10] for frame in frames} == {b"WARC/1.1\r\n"}


def test_frames_of_large_records_tell_their_length_too(settings: Settings) -> None:
    writer = WarcWriter(settings, "news")
    capture = keep(writer, exchange("/large", response(bytes(3_000_000))))
    writer.close()

    data = (settings.archive_dir("news") / capture.filename).read_bytes()[capture.offset :]
    assert 3_000_000 < zstandard.get_frame_parameters(data).content_size < 3_001_000


def test_captures_lead_to_their_records(settings: Settings) -> None:
    path, captures = written(settings)

    for number, capture in enumerate(captures):
        with read_record(path, capture.offset, capture.length) as record:
            assert b"".join(record.payload()) == b"page %d " % number * 50
            assert record.finish() == capture.offset + capture.length


def test_ourselves_and_others_who_know_zstd_find_nothing_wrong(settings: Settings, tmp_path: Path) -> None:
    path, captures = written(settings)
    kinds = ["warcinfo", *["response", "request"] * len(captures)]
    plain = tmp_path / "unpacked.warc"
    with path.open("rb") as file:
        plain.write_bytes(zstandard.ZstdDecompressor().stream_reader(file, read_across_frames=True).read())

    assert list(check(path.parent)) == []
    assert fastwarc_zstd_kinds(path) == kinds
    assert warcio_kinds(plain) == kinds


def test_the_file_alone_tells_what_its_sidecar_does(settings: Settings) -> None:
    path, captures = written(settings)

    assert list(cdxj.captures_of(path)) == captures


def test_a_large_body_from_a_spool_file_comes_back(settings: Settings) -> None:
    data = hashlib.shake_128(b"seed").digest(3_000_000) + bytes(1_000_000)
    head = message("HTTP/1.1 200 OK", f"Content-Length: {len(data)}").head
    made = exchange("/large", response(data))
    writer = WarcWriter(settings, "news")

    capture = keep(
        writer, exchange("/large", Message(head, Body((), io.BytesIO(data), len(data))), digests=made.digests)
    )
    writer.close()

    with read_record(settings.archive_dir("news") / capture.filename, capture.offset) as record:
        assert b"".join(record.payload()) == data


def test_a_torn_file_is_repaired_to_its_last_whole_pair(settings: Settings) -> None:
    writer = WarcWriter(settings, "news")
    first, second = keep(writer, exchange("/1")), keep(writer, exchange("/2"))
    writer.sync()
    (left,) = settings.archive_dir("news").glob("*.open")
    content = left.read_bytes()
    writer.close()
    (closed,) = settings.archive_dir("news").glob("*.warc.zst")
    closed.unlink()
    left.write_bytes(content[:-5])

    (repaired,) = repair(settings, "news")

    assert (repaired.outcome, repaired.records) == (RepairOutcome.CLOSED, 3)
    assert [capture.record_id for capture in cdxj.captures_of(closed)] == [first.record_id]
    assert closed.stat().st_size == second.offset
    assert list(check(closed.parent)) == []


def test_a_closed_file_without_sidecar_gets_one(settings: Settings) -> None:
    path, captures = written(settings)
    sidecar = settings.index_dir("news") / f"{path.name}.cdxj"
    sidecar.unlink()

    repair(settings, "news")

    assert sorted(cdxj.read(sidecar, "news"), key=lambda capture: capture.offset) == captures


def test_damage_is_named_with_its_offset_and_does_not_hide_what_comes_before(settings: Settings) -> None:
    path, captures = written(settings)
    data = bytearray(path.read_bytes())
    data[captures[2].offset + captures[2].length - 1] ^= 1
    path.write_bytes(data)

    (problem, *_) = check(path)

    assert problem.offset == captures[2].offset
    assert "the zstd frame is damaged" in problem.message


def test_a_file_that_ends_within_a_frame_says_so(settings: Settings) -> None:
    path, captures = written(settings)
    path.write_bytes(path.read_bytes()[: captures[-1].offset + 20])

    with pytest.raises(WarcError, match="the zstd frame is cut off"):
        list(records(path))


def test_what_is_no_frame_after_one_is_named(settings: Settings) -> None:
    path, _ = written(settings)
    with path.open("ab") as file:
        file.write(b"garbage behind")

    with pytest.raises(WarcError, match="not the beginning of a zstd frame"):
        list(records(path))


def with_dictionary(path: Path, *, pack: bool) -> list[int]:
    """Packs the file anew with a dictionary at its start; where the records are now."""
    blocks = [b"".join((source.read(1 << 20),)) for source in _members(path)]
    plain = zstandard.train_dictionary(2000, [block[i : i + 64] for block in blocks for i in range(0, 512, 8)] * 4)
    stored = zstandard.ZstdCompressor().compress(plain.as_bytes()) if pack else plain.as_bytes()
    data, offsets = DICTIONARY_MAGIC + struct.pack("<I", len(stored)) + stored, []
    packer = zstandard.ZstdCompressor(dict_data=plain, write_checksum=True)
    for block in blocks:
        offsets.append(len(data))
        data += packer.compress(block)
    path.write_bytes(data)
    return offsets


def _members(path: Path) -> list[MemberReader]:
    found = []
    with path.open("rb") as file:
        source = MemberReader(file, path)
        offsets = [source.offset]
        while source.next_member():
            offsets.append(source.offset)
    for offset in offsets:
        found.append(MemberReader(io.BytesIO(path.read_bytes()), path, offset))
    return found


@pytest.mark.parametrize("pack", [False, True])
def test_files_of_others_with_a_dictionary_are_read(settings: Settings, pack: bool) -> None:
    path, captures = written(settings)

    offsets = with_dictionary(path, pack=pack)

    assert list(check(path)) == []
    assert [record.offset for record in records(path)] == offsets
    with read_record(path, offsets[1]) as record:
        assert record.record_id == captures[0].record_id
        assert b"".join(record.payload()) == b"page 0 " * 50


EXTENSION = struct.pack("<II", 0x184D2A50, 5) + b"hello"
EMPTY = zstandard.ZstdCompressor(write_checksum=True).compress(b"")


def in_frames(path: Path, *, sizes: tuple[int, ...], between: bytes = b"") -> list[int]:
    """Packs the file anew, each record in several frames; where the records are now."""
    data, offsets, packer = b"", [], zstandard.ZstdCompressor(write_checksum=True)
    for source in _members(path):
        block = source.read(1 << 20)
        offsets.append(len(data))
        for size in (*sizes, len(block)):
            if block:
                data += packer.compress(block[:size]) + between
            block = block[size:]
    path.write_bytes(data)
    return offsets


@pytest.mark.parametrize("between", [b"", EMPTY, EXTENSION, EXTENSION + EMPTY + EXTENSION * 2])
@pytest.mark.parametrize("sizes", [(), (5,), (100, 1), (500, 200)])
def test_records_in_several_frames_with_others_between_are_read(
    settings: Settings, sizes: tuple[int, ...], between: bytes
) -> None:
    path, captures = written(settings)

    in_frames(path, sizes=sizes, between=between)

    assert list(check(path)) == []
    found = list(cdxj.captures_of(path))
    assert [each.record_id for each in found] == [each.record_id for each in captures]
    for number, capture in enumerate(found):
        with read_record(path, capture.offset, capture.length) as record:
            assert b"".join(record.payload()) == b"page %d " % number * 50
            assert record.finish() == capture.offset + capture.length


def test_frames_that_lack_what_the_convention_demands_are_named(settings: Settings) -> None:
    path, _ = written(settings, 1)
    packer = zstandard.ZstdCompressor(write_content_size=False)
    path.write_bytes(b"".join(packer.compress(source.read(1 << 20)) for source in _members(path)))

    problems = [problem.message for problem in check(path)]

    assert problems == ["the zstd frame has no content size", "the zstd frame has no checksum"] * 3


def test_an_extension_frame_larger_than_what_is_read_at_once_is_passed_over(settings: Settings) -> None:
    path, captures = written(settings)
    in_frames(path, sizes=(50,), between=struct.pack("<II", 0x184D2A5F, 200_000) + bytes(200_000))

    assert list(check(path)) == []
    assert [each.record_id for each in cdxj.captures_of(path)] == [each.record_id for each in captures]


@pytest.mark.parametrize("length", [100, 1 << 30])
def test_a_dictionary_that_is_not_there_is_damage(tmp_path: Path, length: int) -> None:
    path = tmp_path / "a.warc.zst"
    path.write_bytes(DICTIONARY_MAGIC + struct.pack("<I", length) + b"short")

    with pytest.raises(WarcError, match="dictionary"):
        list(records(path))


def test_a_frame_that_stands_for_very_much_is_unpacked_in_bounded_memory() -> None:
    packed = ZstdFrameWriter(19).packed_stream((bytes(1 << 20) for _ in range(256)), 1 << 28)
    data, length, reader = b"".join(packed), 0, Unpacker().frame()
    tracemalloc.start()
    try:
        while data and not reader.eof:
            length += len(reader.decompress(data, 1 << 16))
            data = reader.unconsumed_tail
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()

    assert length == 1 << 28
    assert peak < 1 << 26
