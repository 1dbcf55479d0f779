"""archive/warc/writing/writer.py: batches, roll-over, and what happens when the disk says no."""

from __future__ import annotations

import io
import os
import re
import resource
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from support.archive.exchanges import DATE, digests, exchange, keep, request, response
from support.archive.oracles import fastwarc_check, warcio_kinds
from support.stores.few_files import FewFiles, room_for_few_files

from archive.capture import Body, Capture, Context, Exchange, Message, Original
from archive.digest import Algorithm
from archive.settings.load import Settings, load
from archive.warc import cdxj
from archive.warc.reading.reader import read_record
from archive.warc.records.derived import resource_record
from archive.warc.records.record import exchange_records
from archive.warc.upkeep.check import check
from archive.warc.upkeep.repair import repair
from archive.warc.writing.writer import KeepError, WarcWriter


def files(settings: Settings, collection: str = "news") -> list[Path]:
    return sorted(settings.archive_dir(collection).iterdir())


def sidecar(settings: Settings, name: str) -> list[Capture]:
    return list(cdxj.read(settings.index_dir("news") / f"{name}.cdxj", "news"))


@pytest.fixture
def writer(settings: Settings) -> WarcWriter:
    return WarcWriter(settings, "news")


def test_nothing_is_opened_before_the_first_record(settings: Settings, writer: WarcWriter) -> None:
    writer.sync()
    writer.close()
    assert not settings.archive_dir("news").exists()


def test_file_is_open_while_written_and_final_afterwards(settings: Settings, writer: WarcWriter) -> None:
    capture = keep(writer, exchange())
    writer.sync()
    assert [path.name for path in files(settings)] == [capture.filename + ".open"]
    writer.close()
    assert [path.name for path in files(settings)] == [capture.filename]
    assert re.fullmatch(r"news-\d{17}-00000-[A-Za-z0-9.]+-0-[0-9a-f]{8}\.warc\.gz", capture.filename)


def test_file_begins_with_its_warcinfo(settings: Settings, writer: WarcWriter) -> None:
    capture = keep(writer, exchange())
    writer.close()
    with read_record(settings.archive_dir("news") / capture.filename, 0) as record:
        assert record.kind == "warcinfo"
        assert record.fields.get("WARC-Filename") == capture.filename
        assert b"isPartOf: news\r\n" in b"".join(record.block())


def test_captures_tell_where_the_records_are(settings: Settings, writer: WarcWriter) -> None:
    captures = [keep(writer, exchange(f"/{number}", response(b"x" * number))) for number in range(1, 30)]
    writer.close()
    for number, capture in enumerate(captures, 1):
        path = settings.archive_dir("news") / capture.filename
        with read_record(path, capture.offset, capture.length) as record:
            assert (record.url, record.record_id) == (capture.url, capture.record_id)
            assert b"".join(record.payload()) == b"x" * number
            assert record.finish() == capture.offset + capture.length


@pytest.mark.parametrize("algorithm", ["sha1", "sha256", "blake3"])
def test_files_satisfy_warcio_fastwarc_and_ourselves(home: Path, algorithm: Algorithm) -> None:
    settings = load({"home": str(home), "archive.digest": algorithm}, environment={})
    writer = WarcWriter(settings, "news")
    first = keep(writer, digested(algorithm, "/first"))
    writer.sync()
    keep(writer, digested(algorithm, "/again", started=DATE + 9), Original(first.record_id, first.url, first.date))
    keep(writer, digested(algorithm, "/empty", response(b"")))
    keep(writer, digested(algorithm, "/image", response(os.urandom(3000), mime="image/png"), incompressible=True))
    writer.close()
    (path,) = files(settings)
    assert list(check(path)) == []
    assert sidecar(settings, first.filename) == sorted(cdxj.captures_of(path), key=lambda capture: capture.key)
    if algorithm == "blake3":
        return  # which the others don't know: warcio raises, FastWARC calls every such digest wrong
    assert warcio_kinds(path) == ["warcinfo", "response", "request", "revisit", "request", *["response", "request"] * 2]
    fastwarc_check(path)


def digested(algorithm: Algorithm, path: str, answer: Message | None = None, **changed: Any) -> Exchange:
    answer = answer or response()
    return exchange(path, answer, digests=digests(answer, algorithm), **changed)


def test_sidecar_has_a_line_for_every_durable_capture(settings: Settings, writer: WarcWriter) -> None:
    first = keep(writer, exchange("/b"))
    assert sidecar(settings, first.filename) == []
    writer.sync()
    assert sidecar(settings, first.filename) == [first]
    second = keep(writer, exchange("/a"))
    writer.sync()
    assert sidecar(settings, first.filename) == [first, second]
    writer.close()
    assert sidecar(settings, first.filename) == [second, first], "a published sidecar is sorted by key"


@pytest.mark.parametrize("gone", ["file", "folder"])
def test_sidecar_that_somebody_removed_is_there_again_once_its_file_is_closed(
    settings: Settings, writer: WarcWriter, gone: str
) -> None:
    kept = [keep(writer, exchange(f"/{number}", id=f"exchange-{number}")) for number in range(3)]
    writer.sync()
    if gone == "folder":
        shutil.rmtree(settings.index_dir("news"))
    else:
        (settings.index_dir("news") / f"{kept[0].filename}.cdxj").unlink()
    writer.close()
    assert [path.name for path in files(settings)] == [kept[0].filename]
    assert sidecar(settings, kept[0].filename) == kept


def test_sidecar_can_be_told_from_the_file_alone(settings: Settings, writer: WarcWriter) -> None:
    first = keep(writer, exchange("/é"))
    keep(writer, exchange("/again", started=DATE + 9), Original(first.record_id, first.url, first.date))
    keep(writer, exchange("/form", method="POST", request=request("/form", "POST", b"a=b")))
    keep(writer, exchange("/cut", truncated="time"))
    keep(writer, exchange("/untyped", response(b"?", mime=""), mime=None))
    thumbnail = resource_record(
        "resource", "urn:thumbnail:http://example.org/", "image/png", Body((b"png",), None, 3),
        date=DATE, context=Context("news"), warcinfo_id=writer.warcinfo_id, concurrent_to=first.record_id,
    )  # fmt: skip
    writer.append([thumbnail])
    writer.close()
    (path,) = files(settings)
    told = list(cdxj.captures_of(path))
    assert sorted(map(cdxj.line, told)) == sorted(map(cdxj.line, sidecar(settings, path.name)))
    assert len(told) == 6


def test_roll_over_comes_at_the_end_of_a_batch(home: Path) -> None:
    settings = load({"home": home, "archive.warc_max_bytes": 20_000}, environment={})
    writer = WarcWriter(settings, "news")
    batches = [
        [keep(writer, exchange(f"/{batch}/{i}", response(os.urandom(3000)))) for i in range(9)]
        for batch in range(3)
        if not writer.sync()
    ]
    writer.close()
    assert [len({capture.filename for capture in batch}) for batch in batches] == [1, 1, 1]
    assert len({batch[0].filename for batch in batches}) == 3
    assert [path.suffix for path in files(settings)] == [".gz"] * 3
    assert [warcio_kinds(path).count("response") for path in files(settings)] == [9, 9, 9]
    assert list(check(settings.archive_dir("news"))) == []


def test_records_built_for_another_file_are_refused(writer: WarcWriter) -> None:
    before = writer.warcinfo_id
    keep(writer, exchange("/1"))
    writer.close()
    with pytest.raises(ValueError, match="not this file's"):
        writer.append(exchange_records(exchange("/2"), warcinfo_id=before))
    keep(writer, exchange("/3"))
    writer.close()


def test_idle_file_is_closed(home: Path) -> None:
    settings = load({"home": home, "archive.warc_idle_seconds": 60}, environment={})
    writer = WarcWriter(settings, "news")
    keep(writer, exchange())
    later = time.monotonic() + 61
    assert not writer.idle_close(later), "a batch is under way"
    writer.sync()
    assert not writer.idle_close()
    assert writer.idle_close(later)
    assert [path.suffix for path in files(settings)] == [".gz"]
    assert not writer.idle_close(later)


def test_writers_never_share_a_name(settings: Settings) -> None:
    writers = [WarcWriter(settings, "news") for _ in range(20)]
    names = {keep(writer, exchange()).filename for writer in writers}
    for writer in writers:
        writer.close()
    assert len(names) == len(files(settings)) == 20


def test_prefix_and_process_are_in_the_name(settings: Settings) -> None:
    writer = WarcWriter(settings, "news", prefix="daily", process="3")
    assert re.match(r"daily-\d{17}-00000-.*-3-", keep(writer, exchange()).filename)
    writer.close()


@pytest.mark.parametrize("name", ["", "../up", "a/b", "a b", ".hidden", "x" * 65, "a\n"])
def test_names_that_are_no_file_names_are_refused(settings: Settings, name: str) -> None:
    with pytest.raises(ValueError, match="can't be part of a file name"):
        WarcWriter(settings, name)
    with pytest.raises(ValueError, match="can't be part of a file name"):
        WarcWriter(settings, "news", prefix=name)


def test_large_and_spooled_bodies_are_written_piece_by_piece(settings: Settings, writer: WarcWriter) -> None:
    text, noise = b"All work and no play. " * 200_000, os.urandom(3_000_000)
    for body, packed in ((text, False), (noise, True)):
        answer = response(body)
        spooled = replace(answer, body=Body((), io.BytesIO(body), len(body)))
        keep(writer, exchange("/large", spooled, incompressible=packed))
    writer.close()
    (path,) = files(settings)
    assert warcio_kinds(path).count("response") == 2
    assert len(noise) < path.stat().st_size < len(noise) + 200_000
    assert list(check(path)) == []


def test_body_that_lacks_bytes_fails_the_batch(settings: Settings, writer: WarcWriter) -> None:
    kept = keep(writer, exchange("/kept"))
    writer.sync()
    keep(writer, exchange("/lost"))
    short = Message(b"HTTP/1.1 200 OK\r\n\r\n", Body((b"abc",), None, 4))
    with pytest.raises(KeepError, match="lacks 1 of 23 bytes"):
        keep(writer, exchange("/short", short))
    with pytest.raises(KeepError):
        writer.sync()
    writer.close()
    assert [capture.url for capture in sidecar(settings, kept.filename)] == ["http://example.org/kept"]
    assert warcio_kinds(files(settings)[0]) == ["warcinfo", "response", "request"]


def test_closed_spool_fails_the_batch_and_nothing_else(settings: Settings, writer: WarcWriter) -> None:
    spool = io.BytesIO(b"abc")
    answer = Message(b"HTTP/1.1 200 OK\r\n\r\n", Body((), spool, 3))
    exchanged = exchange("/", answer)
    spool.close()
    with pytest.raises(KeepError, match="closed file"):
        keep(writer, exchanged)
    keep(writer, exchange("/next"))
    writer.close()
    assert warcio_kinds(files(settings)[0]) == ["warcinfo", "response", "request"]


def test_lost_batch_stays_lost_until_sync_has_said_so(settings: Settings, writer: WarcWriter) -> None:
    keep(writer, exchange("/lost"))
    with pytest.raises(KeepError):
        keep(writer, exchange("/", Message(b"HTTP/1.1 200 OK\r\n\r\n", Body((), None, 1))))
    with pytest.raises(KeepError, match="lost already"):
        keep(writer, exchange("/too-late"))
    with pytest.raises(KeepError):
        writer.sync()
    assert files(settings) == []
    keep(writer, exchange("/new-batch"))
    writer.close()
    assert warcio_kinds(files(settings)[0]) == ["warcinfo", "response", "request"]


@contextmanager
def file_size_limit(size: int) -> Iterator[None]:
    """No file of this process can grow beyond `size`: writes come back short, then fail with EFBIG."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        signal.signal(signal.SIGXFSZ, handler)


def test_full_disk_loses_the_batch_and_keeps_what_was_durable(settings: Settings, writer: WarcWriter) -> None:
    kept = [keep(writer, exchange(f"/kept/{i}", response(os.urandom(5000)))) for i in range(3)]
    writer.sync()
    size = files(settings)[0].stat().st_size
    with file_size_limit(size + 6000):
        for i in range(5):
            keep(writer, exchange(f"/lost/{i}", response(os.urandom(5000))))
        with pytest.raises(KeepError, match="File too large"):
            writer.sync()
        assert files(settings)[0].stat().st_size == size
    again = keep(writer, exchange("/after"))
    writer.close()
    assert again.filename == kept[0].filename, "the file is used on"
    assert sorted(capture.url for capture in sidecar(settings, again.filename)) == sorted(
        capture.url for capture in [*kept, again]
    )
    assert list(check(settings.archive_dir("news"))) == []


def test_full_disk_while_a_large_body_streams_leaves_whole_records(settings: Settings, writer: WarcWriter) -> None:
    keep(writer, exchange("/kept"))
    writer.sync()
    with file_size_limit(2_000_000), pytest.raises(KeepError, match="File too large"):
        keep(writer, exchange("/large", response(os.urandom(4_000_000)), incompressible=True))
    writer.close()
    assert warcio_kinds(files(settings)[0]) == ["warcinfo", "response", "request"]


def test_first_batch_on_a_full_disk_leaves_no_file(settings: Settings, writer: WarcWriter) -> None:
    before = writer.warcinfo_id
    with file_size_limit(100):
        keep(writer, exchange())
        with pytest.raises(KeepError):
            writer.sync()
    assert files(settings) == []
    assert list(settings.index_dir("news").iterdir()) == []
    assert writer.warcinfo_id != before


def test_sidecar_that_can_not_be_written_loses_the_batch(settings: Settings, writer: WarcWriter) -> None:
    long = "a" * 10_000  # packed well in the WARC, and not at all in the sidecar
    captures = [keep(writer, exchange(f"/{long}{i}")) for i in range(9)]
    writer.sync()
    index = settings.index_dir("news") / f"{captures[0].filename}.cdxj"
    warc = files(settings)[0]
    sizes = warc.stat().st_size, index.stat().st_size
    assert sizes[0] + 2000 < sizes[1], "the limit must hit the sidecar alone"
    keep(writer, exchange("/lost"))
    with file_size_limit(sizes[1] + 100), pytest.raises(KeepError):
        writer.sync()
    assert (warc.stat().st_size, index.stat().st_size) == sizes
    writer.close()
    assert len(sidecar(settings, captures[0].filename)) == 9


def test_archive_folder_that_can_not_be_made_is_an_error_each_time(home: Path, settings: Settings) -> None:
    (home / "collections").write_text("in the way")
    writer = WarcWriter(settings, "news")
    for _ in range(2):
        with pytest.raises(KeepError, match="no file could be opened"):
            keep(writer, exchange())


class FailingSync:
    """os.fsync that fails for files of a folder, as a dying disk does; the real one otherwise."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, suffix: str) -> None:
        self.suffix = suffix
        self.real = os.fsync
        self.is_on = True
        monkeypatch.setattr(os, "fsync", self)

    def __call__(self, fd: int) -> None:
        if self.is_on and os.readlink(f"/proc/self/fd/{fd}").endswith(self.suffix):
            raise OSError(5, "Input/output error")
        self.real(fd)


def test_file_whose_fsync_failed_is_never_written_again(
    settings: Settings, writer: WarcWriter, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept = keep(writer, exchange("/kept"))
    writer.sync()
    disk = FailingSync(monkeypatch, ".open")
    keep(writer, exchange("/lost"))
    with pytest.raises(KeepError, match=r"left for repair .*Input/output error"):
        writer.sync()
    disk.is_on = False
    after = keep(writer, exchange("/after"))
    writer.close()
    assert after.filename != kept.filename
    assert [path.name for path in files(settings)] == sorted([kept.filename + ".open", after.filename])
    assert [each.outcome for each in repair(settings, "news")] == ["closed"]
    assert [capture.url for capture in sidecar(settings, kept.filename)] == [kept.url]
    assert list(check(settings.archive_dir("news"))) == []


def test_fsync_can_be_switched_off(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    settings = load({"home": home, "archive.fsync": False}, environment={})
    writer = WarcWriter(settings, "news")
    FailingSync(monkeypatch, ".open")
    keep(writer, exchange())
    writer.sync()
    writer.close()
    assert len(files(settings)) == 1


def test_failed_roll_over_keeps_the_batch_and_stops_the_next(home: Path) -> None:
    settings = load({"home": home, "archive.warc_max_bytes": 1000}, environment={})
    writer = WarcWriter(settings, "news")
    kept = keep(writer, exchange("/kept"))
    (settings.archive_dir("news") / kept.filename).write_bytes(b"somebody else's")
    writer.sync()
    with pytest.raises(KeepError, match=r"can't be closed.*exists already"):
        keep(writer, exchange("/refused"))
    after = keep(writer, exchange("/after"))
    writer.close()
    assert (settings.archive_dir("news") / kept.filename).read_bytes() == b"somebody else's"
    assert warcio_kinds(settings.archive_dir("news") / f"{kept.filename}.open") == ["warcinfo", "response", "request"]
    assert warcio_kinds(settings.archive_dir("news") / after.filename) == ["warcinfo", "response", "request"]


def test_failed_roll_over_of_the_last_file_is_told_by_close(home: Path) -> None:
    settings = load({"home": home, "archive.warc_max_bytes": 1000}, environment={})
    writer = WarcWriter(settings, "news")
    kept = keep(writer, exchange("/kept"))
    (settings.archive_dir("news") / kept.filename).write_bytes(b"somebody else's")
    writer.sync()
    with pytest.raises(KeepError, match="exists already"):
        writer.close()
    writer.close()


def test_close_after_a_lost_batch_says_so_and_closes(settings: Settings, writer: WarcWriter) -> None:
    keep_durably(writer, exchange("/kept"))
    keep(writer, exchange("/lost"))
    with pytest.raises(KeepError):
        keep(writer, exchange("/", Message(b"HTTP/1.1 200 OK\r\n\r\n", Body((), None, 1))))
    with pytest.raises(KeepError):
        writer.close()
    assert [warcio_kinds(path) for path in files(settings)] == [["warcinfo", "response", "request"]]


def keep_durably(writer: WarcWriter, exchanged: Exchange) -> Capture:
    capture = keep(writer, exchanged)
    writer.sync()
    return capture


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of one megabyte."""
    folder = tmp_path / "small"
    folder.mkdir()
    done = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(folder)], capture_output=True, check=False
    )
    if done.returncode:
        pytest.skip(f"a small file system can't be mounted here: {done.stderr.decode().strip()}")
    yield folder
    subprocess.run(["umount", "-l", str(folder)], check=True)


def test_writing_goes_on_when_space_returns(small_disk: Path) -> None:
    settings = load({"home": small_disk / "home"}, environment={})
    writer = WarcWriter(settings, "news")
    kept = [keep(writer, exchange("/kept", response(os.urandom(50_000))))]
    writer.sync()
    ballast = small_disk / "ballast"
    ballast.write_bytes(b"x" * 850_000)
    for i in range(5):
        with pytest.raises(KeepError, match="No space left"):
            keep_durably(writer, exchange(f"/lost/{i}", response(os.urandom(200_000))))
    ballast.unlink()
    kept.append(keep(writer, exchange("/after", response(os.urandom(200_000)))))
    writer.close()
    assert sorted(map(cdxj.line, sidecar(settings, kept[0].filename))) == sorted(map(cdxj.line, kept))
    assert list(check(settings.archive_dir("news"))) == []


@pytest.fixture
def few_files(tmp_path: Path) -> Iterator[FewFiles]:
    with room_for_few_files(tmp_path / "few") as folder:
        yield folder


def test_a_file_that_could_not_be_closed_for_want_of_inodes_is_closed_later(few_files: FewFiles) -> None:
    """T15: it stayed `.open` until somebody called `repair`, and nothing but the log said so."""
    settings = load({"home": few_files.folder}, environment={})
    writer = WarcWriter(settings, "news")
    kept = keep_durably(writer, exchange("/kept"))
    few_files.use_up()
    with pytest.raises(KeepError, match=r"complete, but can't be closed: .*No space left"):
        writer.close()
    assert "No space left" in writer.trouble
    writer.try_again()
    assert "No space left" in writer.trouble
    with pytest.raises(KeepError, match="No space left"):
        writer.close()

    few_files.give_back()
    writer.try_again()

    assert writer.trouble == ""
    assert [path.name for path in files(settings)] == [kept.filename]
    assert [capture.url for capture in sidecar(settings, kept.filename)] == [kept.url]
    assert list(check(settings.archive_dir("news"))) == []
    writer.close()


def test_a_roll_over_that_succeeds_late_harms_no_batch(few_files: FewFiles) -> None:
    settings = load({"home": few_files.folder, "archive.warc_max_bytes": 1000}, environment={})
    writer = WarcWriter(settings, "news")
    keep(writer, exchange("/kept"))
    few_files.use_up()
    writer.sync()
    assert writer.trouble
    few_files.give_back()
    writer.try_again()
    keep(writer, exchange("/next"))
    writer.close()
    assert [path.suffix for path in files(settings)] == [".gz", ".gz"]


def test_trouble_with_opening_a_file_lasts_until_one_could_be_opened(few_files: FewFiles) -> None:
    settings = load({"home": few_files.folder}, environment={})
    writer = WarcWriter(settings, "news")
    keep_durably(writer, exchange("/first"))
    writer.close()
    few_files.use_up()
    with pytest.raises(KeepError, match="No space left"):
        keep(writer, exchange("/refused"))
    writer.try_again()
    assert writer.trouble.startswith(f"can't open a file in {settings.archive_dir('news')}: ")

    few_files.give_back()
    writer.try_again()
    assert writer.trouble == ""
    keep_durably(writer, exchange("/second"))
    writer.close()
    assert len(files(settings)) == 2


def test_a_file_in_an_immutable_folder_is_closed_when_the_folder_is_not(settings: Settings) -> None:
    writer = WarcWriter(settings, "news")
    keep_durably(writer, exchange("/kept"))
    folder = settings.archive_dir("news")
    if subprocess.run(["chattr", "+i", str(folder)], capture_output=True, check=False).returncode:
        pytest.skip("no folder can be made immutable here")
    try:
        with pytest.raises(KeepError, match="can't be closed"):
            writer.close()
        with pytest.raises(KeepError):
            keep(writer, exchange("/refused"))
        writer.try_again()
        assert writer.trouble
    finally:
        subprocess.run(["chattr", "-i", str(folder)], check=True)
    writer.try_again()
    assert writer.trouble == ""
    assert [path.suffix for path in files(settings)] == [".gz"]


def test_a_file_that_somebody_removed_just_before_it_is_closed_is_left(settings: Settings, writer: WarcWriter) -> None:
    keep(writer, exchange())
    writer.sync()
    assert writer._file is not None
    writer._file.path.unlink()  # behind the look that `close` takes before it closes
    writer._publish(writer._file)
    assert files(settings) == []
    assert writer.left_open == []
