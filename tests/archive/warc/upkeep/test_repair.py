"""archive/warc/upkeep/repair.py: whatever a dead writer left becomes whole, and a second look finds nothing to do."""

from __future__ import annotations

import errno
import gzip
import os
import random
import shutil
import signal
import subprocess
import sys
import threading
from dataclasses import dataclass
from pathlib import Path

import pytest
from support.archive.exchanges import exchange, keep, response
from support.archive.foreign_warcs import http
from support.archive.imported_collection import made
from support.archive.oracles import fastwarc_check, warcio_kinds
from support.processes.python_code import PLACES, code_command

from archive.capture import Capture
from archive.settings.load import Settings
from archive.warc import cdxj
from archive.warc.reading.member_reader import READ_SIZE
from archive.warc.reading.reader import read_record, records
from archive.warc.records.header import MAX_HEADER
from archive.warc.upkeep.check import check
from archive.warc.upkeep.repair import Repaired, RepairOutcome, repair, whole_part
from archive.warc.writing.writer import WarcWriter
from dedupdb.index.sidecar_repair import repair_sidecars


@dataclass(frozen=True)
class Leftover:
    """A file as a killed writer leaves it."""

    settings: Settings
    captures: list[Capture]

    @property
    def name(self) -> str:
        return self.captures[0].filename

    @property
    def open(self) -> Path:
        return self.final.with_name(f"{self.name}.open")

    @property
    def final(self) -> Path:
        return self.settings.archive_dir("news") / self.name

    @property
    def index(self) -> Path:
        return self.settings.index_dir("news") / f"{self.name}.cdxj"

    @property
    def tail(self) -> Path:
        return self.settings.collection("news") / "quarantine" / f"{self.name}.tail"

    def indexed(self) -> list[str]:
        return sorted(capture.url for capture in cdxj.read(self.index, "news"))

    def repair(self) -> Repaired:
        (only,) = repair(self.settings, "news")
        assert repair(self.settings, "news") == []
        assert list(check(self.settings.archive_dir("news"))) == []
        return only


@pytest.fixture
def leftover(settings: Settings) -> Leftover:
    """Three exchanges, published, then given back their open name."""
    writer = WarcWriter(settings, "news")
    left = Leftover(settings, [keep(writer, exchange(f"/{i}", response(os.urandom(900)))) for i in range(3)])
    writer.close()
    left.final.rename(left.open)
    return left


def test_whole_file_is_only_closed(leftover: Leftover) -> None:
    data = leftover.open.read_bytes()
    assert leftover.repair() == Repaired(leftover.name, RepairOutcome.CLOSED, 7)
    assert leftover.final.read_bytes() == data
    assert len(leftover.indexed()) == 3


def test_every_cut_leaves_whole_exchanges_and_keeps_the_rest_aside(leftover: Leftover) -> None:
    """The whole table of torn tails: a file cut at any of its bytes."""
    data = leftover.open.read_bytes()
    ends = [0] + [record.finish() for record in records(leftover.open)]
    sets = [0, *ends[1::2]]
    for cut in sorted(
        {*range(0, len(data), 111), *ends[1:-1], *(end - 1 for end in ends[1:]), *(end + 1 for end in ends[:-1])}
    ):
        leftover.open.write_bytes(data[:cut])
        kept = max(end for end in sets if end <= cut)
        done = leftover.repair()
        if kept <= ends[1]:
            assert (done.outcome, leftover.final.exists(), leftover.index.exists()) == ("removed", False, False)
        else:
            assert (done.outcome, leftover.final.read_bytes()) == ("closed", data[:kept])
            assert len(leftover.indexed()) == sets.index(kept) - 1
            leftover.final.unlink()
        if cut > kept:
            assert leftover.tail.read_bytes() == data[kept:cut], cut
            assert done.quarantined == leftover.tail
            assert done.cut_bytes == cut - kept
            leftover.tail.unlink()
        assert not leftover.open.exists()


def test_response_without_its_request_goes_too(leftover: Leftover) -> None:
    last = leftover.captures[-1]
    os.truncate(leftover.open, last.offset + last.length)
    done = leftover.repair()
    assert done.reason == "the last response lacks its request"
    assert (done.records, done.cut_bytes) == (5, last.length)
    assert leftover.indexed() == ["http://example.org/0", "http://example.org/1"]


def test_zeros_of_a_lost_page_are_cut_off(leftover: Leftover) -> None:
    whole = leftover.open.read_bytes()
    leftover.open.write_bytes(whole + bytes(4096))
    assert leftover.repair().cut_bytes == 4096
    assert leftover.final.read_bytes() == whole
    assert leftover.tail.read_bytes() == bytes(4096)


def test_damage_in_the_middle_cuts_off_everything_after_it(leftover: Leftover) -> None:
    data = bytearray(leftover.open.read_bytes())
    second = leftover.captures[1]
    data[second.offset + second.length // 2] ^= 0xFF
    leftover.open.write_bytes(data)
    assert leftover.repair().records == 3
    assert leftover.indexed() == ["http://example.org/0"]
    assert leftover.tail.read_bytes() == data[second.offset :]


def test_file_with_a_complete_record_that_can_not_be_read_stays_as_it_is(leftover: Leftover) -> None:
    """Only a torn record shows that its writer was killed: complete ones were durable, and so is all before them."""
    data, (_, second, _) = leftover.open.read_bytes(), leftover.captures
    refused = gzip.compress(b"WARC/1.1\r\nA: " + b"x" * (MAX_HEADER + 2 * READ_SIZE) + b"\r\n\r\n")
    whole = data[: second.offset] + refused + data[second.offset :]
    leftover.open.write_bytes(whole)
    (left,) = repair(leftover.settings, "news")
    assert left.outcome == RepairOutcome.FAILED
    assert f"the record at {second.offset} is complete, but can't be read: the head has more than" in left.reason
    assert leftover.open.read_bytes() == whole
    assert not leftover.tail.exists()
    told = [problem.message for problem in check(leftover.open)]
    assert told[0] == "the file was left open by a writer that has ended; `ghostfleet repair` can't close it"
    assert "the head has more than" in told[-1]
    (sidecar,) = repair_sidecars(leftover.settings.collection("news"))
    assert "cuts off" not in sidecar.reason

    leftover.open.write_bytes(data[: second.offset] + refused[:-1])
    assert leftover.repair().cut_bytes == len(refused) - 1
    assert leftover.final.read_bytes() == data[: second.offset]


def test_file_whose_sync_fails_is_copied(leftover: Leftover, monkeypatch: pytest.MonkeyPatch) -> None:
    """The kernel tells of a failed write once: that the next sync succeeds proves nothing."""
    whole = leftover.open.read_bytes()
    leftover.open.write_bytes(whole + b"torn")
    inode, sync = leftover.open.stat().st_ino, os.fsync

    def fails_once(fd: int) -> None:
        if os.fstat(fd).st_ino == inode:
            raise OSError(errno.EIO, "Input/output error")
        sync(fd)

    monkeypatch.setattr(os, "fsync", fails_once)
    assert leftover.repair().outcome == RepairOutcome.CLOSED
    assert leftover.final.read_bytes() == whole
    assert leftover.final.stat().st_ino != inode
    assert [path.name for path in leftover.final.parent.iterdir()] == [leftover.name]
    assert len(leftover.indexed()) == 3


def test_index_is_told_anew_from_the_file(leftover: Leftover) -> None:
    before = leftover.index.read_text()
    for damaged in ("", before[:-30], "not an index\n"):
        leftover.index.write_text(damaged)
        leftover.repair()
        assert leftover.index.read_text() == before
        leftover.final.rename(leftover.open)


def test_index_that_is_missing_is_made(leftover: Leftover) -> None:
    leftover.open.rename(leftover.final)
    before = leftover.index.read_text()
    leftover.index.unlink()
    assert leftover.repair() == Repaired(leftover.name, RepairOutcome.INDEXED, 3)
    assert leftover.index.read_text() == before


def test_file_of_another_program_gets_an_index_without_originals(settings: Settings) -> None:
    warc = settings.archive_dir("news") / "foreign.warc"
    warc.parent.mkdir(parents=True)
    warc.write_bytes(made("response", "http://example.org/", http(b"one"))[0])
    assert repair(settings, "news") == [Repaired(warc.name, RepairOutcome.INDEXED, 1)]
    (capture,) = cdxj.read(settings.index_dir("news") / f"{warc.name}.cdxj", "news")
    assert capture.buckets == ()


def test_live_writer_is_let_alone(settings: Settings) -> None:
    writer = WarcWriter(settings, "news")
    capture = keep(writer, exchange())
    assert repair(settings, "news") == []
    writer.sync()
    assert repair(settings, "news") == []
    writer.close()
    assert repair(settings, "news") == []
    with read_record(settings.archive_dir("news") / capture.filename, capture.offset) as record:
        assert record.url == capture.url


def test_empty_file_and_warcinfo_alone_are_removed(leftover: Leftover) -> None:
    data = leftover.open.read_bytes()
    for length in (0, leftover.captures[0].offset):
        leftover.open.write_bytes(data[:length])
        assert leftover.repair().outcome == "removed"
        assert not leftover.index.exists()
        assert not leftover.tail.exists()


def test_final_name_that_is_taken_is_reported_and_nothing_is_overwritten(leftover: Leftover) -> None:
    leftover.final.write_bytes(b"somebody else's")
    found = repair(leftover.settings, "news")
    assert [(each.outcome, "exists already" in each.reason) for each in found] == [("failed", True)]
    assert leftover.final.read_bytes() == b"somebody else's"
    assert leftover.open.exists()


def test_report_is_one_line(leftover: Leftover) -> None:
    os.truncate(leftover.open, leftover.open.stat().st_size - 1)
    text = str(leftover.repair())
    assert "\n" not in text
    assert text.startswith(f"{leftover.name} closed: 5 records, ")
    assert text.endswith("(the gzip member is cut off)")


def test_collection_without_files_needs_no_repair(settings: Settings) -> None:
    assert repair(settings, "nothing") == []


def test_whole_part_counts_what_is_worth_keeping(leftover: Leftover) -> None:
    found = whole_part(leftover.open)
    assert (found.length, found.records, found.captures, found.reason) == (leftover.open.stat().st_size, 7, 3, "")


WRITING = """
import os, sys
from pathlib import Path
sys.path[:0] = [{root!r}, {tests!r}]
from support.archive.exchanges import exchange, keep, response
from archive.settings.load import load
from archive.warc.writing.writer import WarcWriter
writer = WarcWriter(load({{"home": {home!r}, "archive.warc_max_bytes": 300_000}}, environment={{}}), "news")
for batch in range(10_000):
    captures = [keep(writer, exchange(f"/{{batch}}/{{i}}", response(os.urandom(4000 * i)))) for i in range(8)]
    writer.sync()
    os.write(1, "".join(f"{{capture.url}} {{capture.filename}} {{capture.offset}}\\n" for capture in captures).encode())
"""


@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(1, 10))])
def test_kill_at_any_moment_loses_nothing_that_was_acknowledged(settings: Settings, seed: int) -> None:
    """A writing process is killed after a random amount of acknowledged work; then the files are repaired."""
    root = Path(__file__).parents[4]
    code = WRITING.format(root=str(root), tests=str(root / "tests"), home=str(settings.home))
    enough = random.Random(seed).randrange(1, 200)
    with subprocess.Popen(code_command(code), env={**os.environ, **PLACES}, stdout=subprocess.PIPE) as child:
        assert child.stdout
        acknowledged = [child.stdout.readline() for _ in range(enough)]
        child.kill()
        acknowledged += child.stdout.readlines()
    for each in repair(settings, "news"):
        assert each.outcome in ("closed", "removed"), each
    assert repair(settings, "news") == []
    archive = settings.archive_dir("news")
    indexed = {
        (capture.url, capture.filename, capture.offset): capture
        for index in settings.index_dir("news").iterdir()
        for capture in cdxj.read(index, "news")
    }
    for line in acknowledged:
        url, filename, offset = line.decode().split()
        capture = indexed[url, filename, int(offset)]
        with read_record(archive / filename, capture.offset, capture.length) as record:
            assert (record.url, record.record_id) == (url, capture.record_id)
    assert list(check(archive)) == []
    for path in archive.iterdir():
        assert path.suffix == ".gz"
        warcio_kinds(path)
    fastwarc_check(max(archive.iterdir(), key=lambda path: path.stat().st_size))


LONG_URLS = """
import os, signal, sys
sys.path[:0] = [{root!r}, {tests!r}]
from support.archive.exchanges import exchange, keep, response
from archive.capture import Original
from archive.settings.load import load
from archive.warc.writing.writer import WarcWriter
writer = WarcWriter(load({{"home": {home!r}}}, environment={{}}), "news")
keep(writer, exchange(url="http://example.org/" + "z" * (3 * {size})))
first = keep(writer, exchange("/" + "x" * {size}))
keep(writer, exchange("/" + "y" * {size}), Original.of(first))
for number in range(5):
    keep(writer, exchange(f"/{{number}}", response(os.urandom(900))))
writer.sync()
os.kill(os.getpid(), signal.SIGKILL)
"""


def test_records_of_the_longest_urls_and_those_behind_them_are_kept_after_a_kill(settings: Settings) -> None:
    """A revisit names two URLs, and each byte of one may take three characters."""
    root = Path(__file__).parents[4]
    size = settings.proxy.max_head_bytes
    code = LONG_URLS.format(root=str(root), tests=str(root / "tests"), home=str(settings.home), size=size)
    done = subprocess.run(code_command(code), env={**os.environ, **PLACES}, capture_output=True, check=False)
    assert done.returncode == -signal.SIGKILL, done.stderr
    (closed,) = repair(settings, "news")
    assert (closed.outcome, closed.records, closed.cut_bytes) == ("closed", 17, 0)
    (index,) = settings.index_dir("news").iterdir()
    found = [len(capture.url) - len("http://example.org/") for capture in cdxj.read(index, "news")]
    assert sorted(found) == [1] * 5 + [size, size, 3 * size]
    assert list(check(settings.archive_dir("news"))) == []


def test_repair_beside_live_writers_never_takes_their_files(settings: Settings) -> None:
    """Above all in the moment between a file's creation and its lock."""
    done, found = threading.Event(), []

    def repair_all_the_time() -> None:
        while not done.is_set():
            found.extend(each for each in repair(settings, "news") if each.outcome != RepairOutcome.REMOVED)

    thread = threading.Thread(target=repair_all_the_time)
    thread.start()
    captures = []
    for number in range(50):
        writer = WarcWriter(settings, "news")
        captures.append(keep(writer, exchange(f"/{number}")))
        writer.sync()
        writer.close()
    done.set()
    thread.join()
    assert found == []
    names = {capture.filename for capture in captures}
    assert {path.name for path in settings.archive_dir("news").iterdir()} == names
    assert {path.name for path in settings.index_dir("news").iterdir()} == {f"{name}.cdxj" for name in names}


REPAIRING = """
import sys
sys.path.insert(0, {root!r})
from archive.settings.load import load
from archive.warc.upkeep.repair import repair
repair(load({{"home": {home!r}}}, environment={{}}), "news")
"""
needs_strace = pytest.mark.skipif(shutil.which("strace") is None, reason="strace is not installed")


def run_and_kill(code: str, call: str, when: int) -> tuple[bool, list[str]]:
    """Runs Python code that is killed at its N-th call of this kind; whether it was, and the lines it printed."""
    done = run_with_fault(code, call, f"signal=KILL:when={when}")
    assert done.returncode in (0, -9), done.stderr
    return done.returncode != 0, done.stdout.splitlines()


def run_with_fault(code: str, call: str, fault: str) -> subprocess.CompletedProcess[str]:
    """Runs Python code with one of strace's faults injected into its system calls of this kind."""
    looked_at = ["-e", f"trace={call}", "-e", f"inject={call}:{fault}"]
    command = ["strace", "-f", "-o", os.devnull, *looked_at, sys.executable, "-c", code]
    return subprocess.run(command, capture_output=True, text=True, check=False)


@needs_strace
@pytest.mark.parametrize("call", ["fsync", "rename", "ftruncate"])
def test_repair_killed_at_any_step_is_finished_by_the_next(leftover: Leftover, call: str) -> None:
    data = leftover.open.read_bytes()[:-9]
    last = leftover.captures[-1]
    code = REPAIRING.format(root=str(Path(__file__).parents[4]), home=str(leftover.settings.home))
    was_killed, when = True, 1
    while was_killed:
        for path in (leftover.final, leftover.open, leftover.index, leftover.tail):
            path.unlink(missing_ok=True)
        leftover.open.write_bytes(data)
        was_killed, _ = run_and_kill(code, call, when)
        repair(leftover.settings, "news")
        assert repair(leftover.settings, "news") == []
        assert leftover.final.read_bytes() == data[: last.offset]
        assert leftover.tail.read_bytes() == data[last.offset :]
        assert leftover.indexed() == ["http://example.org/0", "http://example.org/1"]
        assert not leftover.open.exists()
        when += 1
    assert when > 2, "nothing was ever interrupted"


@needs_strace
@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize("call", ["writev", "write", "fsync", "rename"])
def test_writer_killed_at_any_call_loses_nothing_that_was_acknowledged(settings: Settings, call: str) -> None:
    root = Path(__file__).parents[4]
    code = WRITING.format(root=str(root), tests=str(root / "tests"), home=str(settings.home))
    code = code.replace("range(10_000)", "range(4)") + "writer.close()\n"
    archive = settings.archive_dir("news")
    was_killed, when = True, 1
    while was_killed:
        shutil.rmtree(settings.collection("news"), ignore_errors=True)
        was_killed, acknowledged = run_and_kill(code, call, when)
        repair(settings, "news")
        for line in acknowledged:
            url, filename, offset = line.split()
            with read_record(archive / filename, int(offset)) as record:
                assert record.url == url
        assert not archive.exists() or list(check(archive)) == []  # it may be killed where the folder is made
        when += 1
    assert when > 2, "nothing was ever interrupted"


STUBBORN = """
import os, sys
from contextlib import suppress
sys.path[:0] = [{root!r}, {tests!r}]
from support.archive.exchanges import exchange, keep, response
from archive.settings.load import load
from archive.warc.writing.writer import KeepError, WarcWriter
writer = WarcWriter(load({{"home": {home!r}, "archive.warc_max_bytes": 100_000}}, environment={{}}), "news")
acknowledged = []
for batch in range(4):
    captures = []
    with suppress(KeepError):
        for i in range(6):
            captures.append(keep(writer, exchange(f"/{{batch}}/{{i}}", response(os.urandom(4000 * i)))))
    with suppress(KeepError):
        writer.sync()
        acknowledged += captures
with suppress(KeepError):
    writer.close()
lines = "".join(f"{{capture.url}} {{capture.filename}} {{capture.offset}}\\n" for capture in acknowledged)
os.pwrite(os.open({ledger!r}, os.O_WRONLY | os.O_CREAT), lines.encode(), 0)
"""


@needs_strace
@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize("again", ["", "+"], ids=["once", "from-then-on"])
@pytest.mark.parametrize(
    ("call", "error"),
    [
        ("writev", "ENOSPC"),
        ("writev", "EIO"),
        ("write", "ENOSPC"),
        ("write", "EIO"),
        ("fsync", "EIO"),
        ("ftruncate", "EIO"),
        ("rename", "EIO"),
    ],
)
def test_disk_error_at_any_call_loses_nothing_that_was_acknowledged(
    settings: Settings, tmp_path: Path, call: str, error: str, again: str
) -> None:
    """The writer goes on as well as it can; what it said was kept is there after a repair on a sound disk."""
    root, ledger = Path(__file__).parents[4], tmp_path / "ledger"
    code = STUBBORN.format(root=str(root), tests=str(root / "tests"), home=str(settings.home), ledger=str(ledger))
    archive = settings.archive_dir("news")
    for when in range(1, 13):
        shutil.rmtree(settings.collection("news"), ignore_errors=True)
        ledger.unlink(missing_ok=True)
        done = run_with_fault(code, call, f"error={error}:when={when}{again}")
        assert done.returncode == 0, done.stderr
        repair(settings, "news")
        assert repair(settings, "news") == []
        indexed = {
            (capture.url, capture.filename, capture.offset)
            for index in settings.index_dir("news").glob("*.cdxj")
            for capture in cdxj.read(index, "news")
        }
        for line in ledger.read_text().splitlines():
            url, filename, offset = line.split()
            assert (url, filename, int(offset)) in indexed, f"{call} {when}"
        assert list(check(archive)) == []
