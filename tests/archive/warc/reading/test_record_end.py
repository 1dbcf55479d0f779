"""record_end.py and mend.py: a record whose end is a few bytes off is read, reported and mended."""

from __future__ import annotations

import errno
import gzip
import os
from collections.abc import Iterator
from pathlib import Path

import pytest
import zstandard
from support.archive.foreign_warcs import http
from support.archive.imported_collection import ImportedShelf, made

from admin.collections.transfer.importing import ImportOutcome
from archive.capture import OWN_BUCKET
from archive.settings.load import Settings
from archive.warc import cdxj
from archive.warc.reading.member_reader import WarcError
from archive.warc.reading.reader import records
from archive.warc.reading.record_end import LOOKED_AT
from archive.warc.upkeep.check import check
from archive.warc.upkeep.mend import mend
from archive.warc.upkeep.repair import RepairOutcome, whole_part
from dedupdb.index.sidecars import Sidecars, source_of

URL = "http://hill.example/1"
NEXT = "http://hill.example/2"
BODY = b"<p>one"
BLOCK = http(BODY, "200 OK", f"Content-Length: {len(BODY)}")
UNTOLD = http(BODY)


@pytest.fixture
def shelf(settings: Settings) -> Iterator[ImportedShelf]:
    with ImportedShelf(settings) as opened:
        yield opened


def ending(end: bytes, off: int = 0, block: bytes = BLOCK) -> bytes:
    """A response that ends so, and whose Content-Length is so many bytes off."""
    whole, _ = made("response", URL, block)
    head, _, rest = whole.partition(b"\r\n\r\n")
    assert rest == block + b"\r\n\r\n"
    head = head.replace(b"Content-Length: %d" % len(block), b"Content-Length: %d" % (len(block) + off))
    return head + b"\r\n\r\n" + block + end


TWO = b"\r\n\r\n"
ENDS = {
    "length 1 too large": ending(TWO, 1),
    "length 2 too large": ending(TWO, 2),
    "length 3 too large": ending(TWO, 3),
    "length 4 too large": ending(TWO, 4),
    "length 1 too large, untold by the message": ending(TWO, 1, UNTOLD),
    "length 1 too small": ending(TWO, -1),
    "length 2 too small": ending(TWO, -2),
    "no line end": ending(b""),
    "one line end": ending(b"\r\n"),
    "three line ends": ending(TWO + b"\r\n"),
    "many line ends": ending(TWO * 20),
    "bare line feeds": ending(b"\n\n"),
    "one bare line feed": ending(b"\n"),
    "other bytes behind the record": ending(TWO + b"-- next --\r\n"),
}
FORMS = ("plain", "gzip", "one gzip stream", "zstd")


def packed(form: str, parts: list[bytes]) -> tuple[str, bytes]:
    if form == "plain":
        return "a.warc", b"".join(parts)
    if form == "gzip":
        return "a.warc.gz", b"".join(map(gzip.compress, parts))
    if form == "zstd":
        return "a.warc.zst", b"".join(map(zstandard.ZstdCompressor(write_checksum=True).compress, parts))
    return "a.warc.gz", gzip.compress(b"".join(parts))


@pytest.mark.parametrize(("form", "is_last"), [*((form, False) for form in FORMS), ("plain", True), ("gzip", True)])
def test_every_wrong_end_is_read_and_reported_and_mended(
    form: str, is_last: bool, settings: Settings, tmp_path: Path
) -> None:
    is_quick = form in ("plain", "gzip") and not is_last
    for number, (what, wrong) in enumerate(list(ENDS.items())[:: 1 if is_quick else 3]):
        right, _ = made("response", NEXT, http(b"<p>two"))
        name, data = packed(form, [right, wrong] if is_last else [wrong, right])
        path = tmp_path / str(number) / name
        path.parent.mkdir()
        path.write_bytes(data)
        if is_last and what == "other bytes behind the record":
            continue  # bytes behind the last record may be a record that was cut off
        told = {record.url: b"".join(record.payload()) for record in records(path)}
        assert told == {URL: BODY, NEXT: b"<p>two"}, what

        home = tmp_path / f"home{number}"
        home.mkdir()
        with ImportedShelf(settings.model_copy(update={"home": home})) as shelf:
            refused = shelf.take_file(path, strict=True)
            assert refused.outcome is ImportOutcome.REFUSED, what
            done = shelf.take_file(path)
            assert (done.outcome, done.captures) == (ImportOutcome.IMPORTED, 2), what
            assert any("taken" in line or "left out" in line for line in done.first_problems), (
                what, done.first_problems,
            )  # fmt: skip
            assert [shelf.ask(URL), shelf.ask(NEXT)] == [(200, BODY), (200, b"<p>two")], what

            found = list(mend(shelf.settings, "old"))
            if form != "one gzip stream" or found:  # records that share a member were written anew by the import
                assert [each.outcome for each in found] == [RepairOutcome.MENDED], (what, found)
            shelf.captures.drop_file("old", done.name, source_of("old", done.name))
            Sidecars(shelf.settings.home, shelf.captures).reconcile("old")
            assert [shelf.ask(URL), shelf.ask(NEXT)] == [(200, BODY), (200, b"<p>two")], what
            left = [each.message for each in check(shelf.settings.archive_dir("old"))]
            assert not [each for each in left if "begins with" not in each and "zstd frame" not in each], (what, left)
            assert list(mend(shelf.settings, "old")) == []


def test_a_mended_file_has_the_originals_that_it_had(shelf: ImportedShelf) -> None:
    shelf.take(ending(b"\r\n"), made("response", NEXT, http(b"<p>two"))[0])
    before = {capture.url: capture.buckets for url in (URL, NEXT) for capture in shelf.rows(url)}
    assert before == {URL: (), NEXT: OWN_BUCKET}

    assert [each.outcome for each in mend(shelf.settings, "old")] == [RepairOutcome.MENDED]

    sidecar = shelf.settings.index_dir("old") / "a.warc.gz.cdxj"
    assert {capture.url: capture.buckets for capture in cdxj.read(sidecar, "old")} == before


@pytest.mark.parametrize("is_last", [False, True])
def test_the_index_follows_a_mended_file_without_being_told(shelf: ImportedShelf, is_last: bool) -> None:
    """A repair was killed between the files and the index, and the mended record could not be read any more."""
    right = [made("response", f"{NEXT}{number}", http(b"<p>two"))[0] for number in range(3)]
    shelf.take(*([*right, ending(b"\r\n")] if is_last else [ending(b"\r\n"), *right]))
    assert shelf.ask(URL) == (200, BODY)

    assert [each.outcome for each in mend(shelf.settings, "old")] == [RepairOutcome.MENDED]
    Sidecars(shelf.settings.home, shelf.captures).reconcile("old")

    assert shelf.ask(URL) == (200, BODY)
    assert [shelf.ask(f"{NEXT}{number}") for number in range(3)] == [(200, b"<p>two")] * 3


def test_a_full_disk_leaves_the_file_and_its_sidecar(shelf: ImportedShelf, monkeypatch: pytest.MonkeyPatch) -> None:
    shelf.take(ending(b"\r\n"))
    paths = [shelf.settings.archive_dir("old") / "a.warc.gz", shelf.settings.index_dir("old") / "a.warc.gz.cdxj"]
    before = [path.read_bytes() for path in paths]

    def full(_: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", full)
    assert [each.outcome for each in mend(shelf.settings, "old")] == [RepairOutcome.FAILED]
    assert [path.read_bytes() for path in paths] == before


def test_a_body_that_ends_with_a_line_end_keeps_it(shelf: ImportedShelf) -> None:
    """One line end too few, and nothing tells that the length is wrong."""
    shelf.take(ending(b"\r\n", block=http(b"text\r\n")))
    shelf.take(ending(b"", block=http(b"text\r\n\r\n")).replace(URL.encode(), NEXT.encode()), name="b.warc.gz")

    assert [shelf.ask(URL), shelf.ask(NEXT)] == [(200, b"text\r\n"), (200, b"text\r\n\r\n")]


@pytest.mark.parametrize("between", [b"x" * 5, b"x" * 100, TWO + b"x" * (LOOKED_AT + 1), b"\r\n" * LOOKED_AT], ids=len)
def test_damage_beyond_the_bound_is_refused(tmp_path: Path, between: bytes) -> None:
    right, _ = made("response", NEXT, http(b"two"))
    path = tmp_path / "a.warc"
    path.write_bytes(ending(between, block=UNTOLD) + right)

    with pytest.raises(WarcError):
        [record.finish() for record in records(path)]


@pytest.mark.parametrize("gap", [b"\0" * 512, b"garbage", b"\r\n", b"not \x1f\x8b\x08 a member"])
def test_bytes_between_two_members_are_passed_over_and_reported(
    shelf: ImportedShelf, tmp_path: Path, gap: bytes
) -> None:
    parts = [made("response", url, http(b"two"))[0] for url in (URL, NEXT)]
    path = tmp_path / "a.warc.gz"
    path.write_bytes(gap.join(map(gzip.compress, parts)))

    done = shelf.take_file(path)

    assert (done.outcome, done.captures) == (ImportOutcome.IMPORTED, 2)
    assert any("belong to no record" in line for line in done.first_problems)
    assert shelf.ask(NEXT) == (200, b"two")
    assert [each.cut_bytes for each in mend(shelf.settings, "old")] == [len(gap)]
    assert (shelf.settings.collection("old") / "quarantine" / "a.warc.gz.tail").read_bytes() == gap


def test_a_file_of_a_writer_that_was_killed_ends_before_a_wrong_end(tmp_path: Path) -> None:
    """Our own files are never off, so a wrong end there is a record that was torn."""
    path = tmp_path / "a.warc.open"
    path.write_bytes(made("response", NEXT, http(b"two"))[0] + ending(b"\r\n"))
    assert whole_part(path).records == 1
