"""The fault campaign in its short form, and the proof that it can fail. Long form: `ghostfleet bench faults`."""

from __future__ import annotations

import gzip
import json
import shutil
import sqlite3
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import pytest
import redis
from support.processes.waiting import until

from bench.faults.checks.check_input import Expectations, digest
from bench.faults.checks.home_check import CheckResult, check_home
from bench.faults.checks.records import WarcRecord, read_file
from bench.faults.episode import run_episode
from bench.faults.fleet_home import COLLECTION, FleetHome
from bench.faults.kinds import KINDS
from bench.faults.traffic.clients import RunningLoad
from bench.faults.traffic.ledger import SeenResponse
from bench.faults.traffic.origin import FaultyOrigin
from bench.process import our_command, source_environment
from dedupdb.claims.file_names import files_key
from frontier.private_redis.server import EmbeddedRedis

SHORT = ("power-loss",)
"""Processes that are killed, alone or all at once, are in `test_kill.py`, and in the campaign of every kind."""


@pytest.mark.timeout(600)
def test_a_short_campaign_keeps_all_invariants(tmp_path: Path) -> None:
    played = campaign(tmp_path, *SHORT)
    assert sum(one["lost"] for one in played) == 0
    assert all(one["seen"] >= 25 for one in played)
    assert sum(one["sockets"] for one in played) > 0
    assert [one["kind"] for one in played] == [*SHORT]


@pytest.mark.slow
@pytest.mark.timeout(2400)
def test_a_campaign_of_every_kind_keeps_all_invariants(tmp_path: Path) -> None:
    assert sum(one["lost"] for one in campaign(tmp_path, *KINDS)) == 0


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_without_durability_kills_lose_responses() -> None:
    """The control: the campaign sees a loss where there is one."""
    found = run_episode([KINDS["kill-all"]] * 4, 1, settings={"proxy.deliver": "at_once"})
    assert sum(one.lost for one in found.rounds) > 0
    assert any(violation.invariant == "seen is kept" for violation in found.violations)


def campaign(folder: Path, *only: str) -> list[dict[str, float]]:
    """A command of its own, since it makes itself a mount namespace; what it played, once it ended well."""
    results = folder / "results.json"
    options = [option for kind in only for option in ("--only", kind)]
    done = subprocess.run(
        our_command("bench", "faults", "--rounds", str(len(only)), *options, "--output", str(results)),
        env=source_environment(),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, f"{done.stdout}{done.stderr}"
    homes = json.loads(results.read_text("utf-8"))["homes"]
    return [one for home in homes for one in home["rounds"]]


@dataclass(frozen=True)
class Left:
    """What a fleet left that nothing had struck, to be tampered with."""

    expectations: Expectations

    @property
    def home(self) -> Path:
        return self.expectations.home

    @property
    def warc(self) -> Path:
        return max(
            (self.home / "collections" / COLLECTION / "archive").glob("*.warc.gz"), key=lambda p: p.stat().st_size
        )

    @property
    def sidecar(self) -> Path:
        return self.home / "collections" / COLLECTION / "indexes" / f"{self.warc.name}.cdxj"

    def judged(self) -> CheckResult:
        return check_home(self.expectations)


@pytest.fixture(scope="module")
def untouched(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Path, list[SeenResponse]]]:
    # A short path: Redis gets its socket in the home.
    folder = Path(tempfile.mkdtemp(prefix="gf-"))
    fleet = FleetHome(folder / "home", folder / "log", {"proxy.websocket_segment_bytes": 1000})
    with FaultyOrigin() as origin:
        fleet.start()
        load = RunningLoad(fleet.address, origin, name="before", clients=4, websocket_clients=3)
        until(
            lambda: len(load.seen) >= 60 and sum(one.is_websocket for one in load.seen) >= 8,
            what="60 responses, 8 of them WebSockets",
            within=60,
        )
        seen = load.finish()
        fleet.stop()
    yield fleet.home, seen
    shutil.rmtree(folder)


@pytest.fixture
def left(untouched: tuple[Path, list[SeenResponse]]) -> Iterator[Left]:
    home, seen = untouched
    with tempfile.TemporaryDirectory(prefix="gf-") as folder:
        copy = Path(shutil.copytree(home, Path(folder) / "home"))
        (warc,) = (copy / "collections" / COLLECTION / "archive").glob("*.warc.gz")
        yield Left(Expectations(copy, COLLECTION, seen, logged=seen, published={warc.name: digest(warc)}))


def test_a_home_without_faults_keeps_all_invariants(left: Left) -> None:
    verdict = left.judged()
    assert verdict.violations == ()
    assert verdict.lost == frozenset()
    assert verdict.revisits > 0
    assert verdict.cut == 0


def lose_a_response(left: Left) -> None:
    found = list(read_file(left.warc))
    gone = next(record for record in found if record.kind == "response")
    cut(left.warc, gone.offset, gone.length)


def cut(path: Path, offset: int, length: int) -> None:
    data = path.read_bytes()
    path.write_bytes(data[:offset] + data[offset + length :])


def lose_a_request(left: Left) -> None:
    gone = [record for record in read_file(left.warc) if record.kind == "request"][-1]
    cut(left.warc, gone.offset, gone.length)


def change_an_upload(left: Left) -> None:
    record = [record for record in read_file(left.warc) if "/posted/" in record.url and record.kind == "request"][-1]
    data = left.warc.read_bytes()
    end = record.offset + record.length
    member = bytearray(gzip.decompress(data[record.offset : end]))
    member[-5] ^= 1  # the body's last byte, before the two line ends
    left.warc.write_bytes(data[: record.offset] + gzip.compress(bytes(member)) + data[end:])


def lose_a_message(left: Left) -> None:
    record = messages(left)[0]
    cut(left.warc, record.offset, record.length)


def lose_the_last_messages(left: Left) -> None:
    record = messages(left)[-1]
    cut(left.warc, record.offset, record.length)


def exchange_two_messages(left: Left) -> None:
    record = next(record for record in messages(left) if record.block.count(b"\n") > 2)
    first, second, rest = record.block.split(b"\n", 2)
    data = left.warc.read_bytes()
    end = record.offset + record.length
    member = gzip.decompress(data[record.offset : end])
    turned = member.replace(first + b"\n" + second, second + b"\n" + first)
    assert turned != member, rest
    left.warc.write_bytes(data[: record.offset] + gzip.compress(turned) + data[end:])


def messages(left: Left) -> list[WarcRecord]:
    """The records of the WebSocket that has most of them."""
    found: dict[str, list[WarcRecord]] = {}
    for record in read_file(left.warc):
        if record.kind == "resource":
            found.setdefault(record.url, []).append(record)
    return max(found.values(), key=len)


def lose_a_handshake(left: Left) -> None:
    record = next(record for record in read_file(left.warc) if record.block.startswith(b"HTTP/1.1 101 "))
    cut(left.warc, record.offset, record.length)


def tear_the_end(left: Left) -> None:
    left.warc.write_bytes(left.warc.read_bytes()[:-100])


def forget_to_close(left: Left) -> None:
    left.warc.with_name("another.warc.gz.open").touch()


def keep_twice(left: Left) -> None:
    shutil.copy(left.warc, left.warc.with_name("twice.warc.gz"))


def change_a_closed_file(left: Left) -> None:
    data = left.warc.read_bytes()
    last = [record for record in read_file(left.warc) if record.kind == "request"][-1]
    left.warc.write_bytes(data + data[last.offset :])


def lose_a_line(left: Left) -> None:
    lines = left.sidecar.read_text("utf-8").splitlines(keepends=True)
    left.sidecar.write_text("".join(lines[1:]), "utf-8")


def lose_a_row(left: Left) -> None:
    with closing(sqlite3.connect(left.home / "ghostfleet.db")) as database, database:
        database.execute("DELETE FROM captures WHERE id = (SELECT max(id) FROM captures)")


def lose_a_log_line(left: Left) -> None:
    log = min((left.home / "log").glob("crawl-*.log"))
    log.write_text("".join(log.read_text("utf-8").splitlines(keepends=True)[1:]), "utf-8")


def tear_the_log(left: Left) -> None:
    log = min((left.home / "log").glob("crawl-*.log"))
    log.write_bytes(log.read_bytes() + b"2026-11-21T")


def misname_a_file(left: Left) -> None:
    with EmbeddedRedis(left.home) as server, closing(redis.Redis.from_url(server.url)) as client:
        key = files_key(COLLECTION)
        client.hset(key, mapping=dict.fromkeys(client.hkeys(key), b"another.warc.gz"))


def forget_an_original(left: Left) -> None:
    with EmbeddedRedis(left.home) as server, closing(redis.Redis.from_url(server.url)) as client:
        client.delete(next(client.scan_iter(match="gf:{*}:o:*")))


BROKEN = (
    (lose_a_response, "seen is kept"),
    (lose_a_request, "request and response are both there"),
    (change_an_upload, "requests hold their bodies"),
    (lose_a_message, "conversations have no gap"),
    (lose_the_last_messages, "conversations have no gap"),
    (exchange_two_messages, "conversations have no gap"),
    (lose_a_handshake, "seen is kept"),
    (lose_a_handshake, "conversations have no gap"),
    (tear_the_end, "files are whole"),
    (forget_to_close, "files are whole"),
    (keep_twice, "record ids are unique"),
    (change_a_closed_file, "closed files stay"),
    (lose_a_line, "index and records agree"),
    (lose_a_row, "index and records agree"),
    (lose_a_log_line, "crawl.log is right"),
    (tear_the_log, "crawl.log is right"),
    (misname_a_file, "Redis and SQL can be made again"),
    (forget_an_original, "Redis and SQL can be made again"),
)
QUICK = (lose_a_response, lose_a_message, lose_a_row, tear_the_log, forget_an_original)
"""One way for each file of the home. The others are tried with --slow."""


@pytest.mark.parametrize(
    ("tamper", "promise"),
    [each if each[0] in QUICK else pytest.param(*each, marks=pytest.mark.slow) for each in BROKEN],
)
def test_what_is_broken_is_named(left: Left, tamper: Callable[[Left], None], promise: str) -> None:
    tamper(left)
    assert promise in {violation.invariant for violation in left.judged().violations}
