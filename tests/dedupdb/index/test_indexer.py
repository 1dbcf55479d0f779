"""The index agrees with the disk, whatever was lost or killed on the way; and so does the dedup store."""

from __future__ import annotations

import hashlib
import logging
import os
import signal
import subprocess
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path

import pytest
from support.archive.capture_rows import capture
from support.archive.kept_warcs import exchange, keep
from support.processes.python_code import PLACES, code_command
from support.processes.waiting import until
from support.stores.redis_server import RedisServer

from archive.capture import Capture, Original
from archive.settings import DedupSettings
from archive.settings.load import Settings
from archive.warc import cdxj
from archive.warc.writing.writer import WarcWriter
from dedupdb.captures import query as queries
from dedupdb.captures.capture_index import Captures, SourcePosition
from dedupdb.captures.stream import FIELD, STREAM
from dedupdb.claims.claims import Claims, ClaimVerdict, PayloadKey, Settlement
from dedupdb.claims.dedup_rules import DedupRules
from dedupdb.index.indexer import Indexer
from dedupdb.redis_io.link import DedupUnavailable


@pytest.fixture
def captures(settings: Settings) -> Iterator[Captures]:
    with Captures(settings.database_url) as index:
        yield index


@pytest.fixture
def indexer(server: RedisServer, captures: Captures, home: Path) -> Iterator[Indexer]:
    with Indexer(server.url, captures, home, timeout_seconds=10) as ours:
        yield ours


def announce(claims: Claims, *captures: Capture) -> None:
    claims.settle(Settlement(captures=captures))


def everything(captures: Captures, collection: str = "news") -> list[Capture]:
    return list(captures.search(queries.parse(collection, {"url": "*.org"})))


def in_order(captures: list[Capture]) -> list[Capture]:
    return sorted(captures, key=lambda each: (each.key, each.date, each.filename, each.offset))


def a_crawl(settings: Settings, claims: Claims | None = None, *, pages: int = 20) -> list[Capture]:
    """Responses and revisits in real files, announced when there is somebody to tell."""
    writer = WarcWriter(settings, "news")
    urls = [f"http://example.org/{number}" for number in range(pages)]
    found = keep(writer, (exchange(url, url.encode()) for url in urls))
    first = found[0]
    found += keep(writer, [exchange("http://www.example.org/", urls[0].encode())], as_original(first))
    writer.close()
    if claims:
        announce(claims, *found)
    return found


def as_original(found: Capture) -> Original:
    return Original(found.record_id, found.url, found.date)


def test_announced_captures_are_in_the_index(indexer: Indexer, claims: Claims, captures: Captures) -> None:
    announced = [capture(f"http://example.org/{number:04d}", offset=number) for number in range(2500)]
    announce(claims, *announced)
    assert indexer.take() == 2500
    assert indexer.take() == 0
    assert everything(captures) == announced


def test_what_was_taken_in_leaves_the_stream(server: RedisServer, indexer: Indexer, claims: Claims) -> None:
    announce(claims, *(capture(offset=number) for number in range(1500)))
    indexer.take()
    with server.client() as client:
        assert client.xlen(STREAM) < 200


def test_an_entry_that_is_no_capture_is_left_out(
    server: RedisServer, indexer: Indexer, claims: Claims, captures: Captures, caplog: pytest.LogCaptureFixture
) -> None:
    with server.client() as client:
        client.xadd(STREAM, {FIELD: b"rubbish"})
        announce(claims, capture(filename="../../etc/passwd"), capture(offset=1))
        client.xadd(STREAM, {b"other": b"field"})
    assert indexer.take() == 1
    assert indexer.take() == 0
    assert [each.offset for each in everything(captures)] == [1]
    assert len([record for record in caplog.records if "is skipped" in record.message]) == 3


def test_a_capture_announced_and_in_a_sidecar_is_one_row(
    settings: Settings, indexer: Indexer, claims: Claims, captures: Captures
) -> None:
    crawl = a_crawl(settings, claims)
    assert indexer.reconcile() == len(crawl)
    assert indexer.take() == 0
    assert everything(captures) == in_order(crawl)


def test_announcements_lost_are_found_in_the_sidecars(
    server: RedisServer, settings: Settings, indexer: Indexer, claims: Claims, captures: Captures
) -> None:
    crawl = a_crawl(settings, claims)
    indexer.take()
    live = everything(captures)
    indexer.reindex("news")
    assert everything(captures) == live == in_order(crawl)
    with server.client() as client:
        lost = a_crawl(settings, claims)
        client.flushall()
    assert indexer.take() == 0
    assert indexer.reconcile() == len(lost)


def test_an_index_rebuilt_from_the_files_alone_equals_the_live_one(
    settings: Settings, indexer: Indexer, claims: Claims, captures: Captures
) -> None:
    crawl = a_crawl(settings, claims)
    indexer.take()
    live = everything(captures)
    for sidecar in settings.index_dir("news").iterdir():
        sidecar.unlink()
    assert indexer.reindex("news") == len(crawl)
    assert everything(captures) == live == in_order(crawl)


class IndexWithReader(Captures):
    """Another indexer saw the rows before their removal, and stores the positions of their sidecars after it."""

    def drop(self, collection: str, sources: str) -> int:
        marks = self.positions(sources)
        dropped = super().drop(collection, sources)
        self._store(marks)
        return dropped

    def drop_file(self, collection: str, filename: str, position: str) -> int:
        marks = self.positions(position)
        dropped = super().drop_file(collection, filename, position)
        self._store(marks)
        return dropped

    def _store(self, marks: dict[str, str]) -> None:
        for source, mark in marks.items():
            self.add((), position=SourcePosition(source, mark))


@pytest.mark.parametrize("own_home", ["", "here"])
def test_a_rebuilt_index_is_whole_beside_another_indexer(
    settings: Settings, home: Path, server: RedisServer, own_home: str
) -> None:
    crawl = a_crawl(settings)
    with (
        IndexWithReader(settings.database_url) as captures,
        Indexer(server.url, captures, home, own_home=own_home) as indexer,
    ):
        indexer.reconcile()
        assert indexer.reindex("news") == len(crawl)


def test_a_damaged_file_without_sidecar_keeps_nothing_from_being_rebuilt(
    settings: Settings, indexer: Indexer, captures: Captures, caplog: pytest.LogCaptureFixture
) -> None:
    crawl = a_crawl(settings)
    (settings.archive_dir("news") / "torn.warc.gz").write_bytes(b"\x1f\x8b\x08 torn")
    assert indexer.reindex("news") == len(crawl)
    assert "torn.warc.gz: index incomplete, there is no sidecar; 0 captures now; the WARC can't be read" in caplog.text
    assert not (settings.index_dir("news") / "torn.warc.gz.cdxj").exists()


def test_a_stream_that_began_anew_is_read_from_its_start(
    server: RedisServer, indexer: Indexer, claims: Claims, captures: Captures
) -> None:
    announce(claims, capture(offset=1))
    indexer.take()
    with server.client() as client:
        client.flushall()
        # Another Redis, whose clock is years behind.
        client.xadd(STREAM, {FIELD: b"rubbish"}, id="1000-0")
        client.xadd(STREAM, {FIELD: b"rubbish"}, id="1001-0")
    indexer.take()
    assert captures.positions("stream/") == {f"stream/{STREAM}": "1001-0"}


def test_without_redis_the_sidecars_are_followed(settings: Settings, captures: Captures, home: Path) -> None:
    with Indexer("", captures, home, poll_seconds=0.05) as indexer, running(indexer):
        crawl = a_crawl(settings)
        until(lambda: captures.count("news") == len(crawl), what="the sidecars to be read")


def test_a_running_indexer_follows_through_the_death_of_redis(
    own_server: RedisServer, settings: Settings, captures: Captures, home: Path, claims: Claims
) -> None:
    with Indexer(own_server.url, captures, home, timeout_seconds=5, poll_seconds=0.05) as indexer, running(indexer):
        announce(claims, capture("http://example.org/before", filename="elsewhere.warc.gz"))
        until(lambda: captures.count("news") == 1, what="the first announcement")
        own_server.kill()
        crawl = a_crawl(settings)
        until(lambda: captures.count("news") == 1 + len(crawl), what="the sidecars to be read")
        own_server.start()
        late = capture("http://example.org/late", filename="elsewhere.warc.gz", offset=5)
        until(lambda: announced(claims, late), what="Redis to be reached again")
        until(lambda: captures.count("news") == 2 + len(crawl), what="the late announcement")


def test_an_outage_is_logged_once(
    own_server: RedisServer, captures: Captures, home: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    with Indexer(own_server.url, captures, home, poll_seconds=0.02) as indexer:
        own_server.kill()
        with running(indexer):
            until(lambda: "so sidecars are searched" in caplog.text, what="the outage to be noticed")
            own_server.start()
            until(lambda: "announcements can be read again" in caplog.text, what="its end to be noticed")
    assert caplog.text.count("so sidecars are searched") == 1


def test_what_was_announced_before_the_stop_is_taken_in(
    server: RedisServer, captures: Captures, home: Path, claims: Claims
) -> None:
    stop = threading.Event()
    stop.set()
    announce(claims, capture())
    with Indexer(server.url, captures, home) as indexer:
        indexer.run(stop)
    assert captures.count("news") == 1


PROCESS = """
import sys, threading
from pathlib import Path
from dedupdb.captures.capture_index import Captures
from dedupdb.index.indexer import Indexer
with Captures(sys.argv[2]) as captures:
    indexer = Indexer(sys.argv[1], captures, Path(sys.argv[3]), poll_seconds=0.02, reconcile_seconds=0.05)
    print("ready", flush=True)
    indexer.run(threading.Event())
"""


def test_a_killed_indexer_neither_loses_nor_doubles(
    server: RedisServer, settings: Settings, captures: Captures, home: Path, claims: Claims
) -> None:
    crawl: list[Capture] = []
    for round_ in range(2):
        process = subprocess.Popen(
            code_command(PROCESS, server.url, settings.database_url, str(home)),
            env={**os.environ, **PLACES},
            stdout=subprocess.PIPE,
        )
        assert process.stdout.readline() == b"ready\n"
        # What is announced only, what stands in sidecars only, and both; killed as soon as some of it is there.
        before = captures.count("news")
        crawl += a_crawl(settings, claims if round_ % 2 else None, pages=300)
        news = [capture(offset=1000 * round_ + number, filename="elsewhere.warc.gz") for number in range(800)]
        announce(claims, *news)
        crawl += news
        until(lambda before=before: captures.count("news") > before, what="the indexer to begin")
        process.send_signal(signal.SIGKILL)
        process.communicate()
    with Indexer(server.url, captures, home) as heir:
        heir.reconcile()
        heir.take()
    assert sorted(map(place, everything(captures))) == sorted(map(place, crawl))


def test_two_indexers_do_no_harm(server: RedisServer, captures: Captures, home: Path, claims: Claims) -> None:
    with ExitStack() as stack:
        for _ in range(2):
            indexer = stack.enter_context(Indexer(server.url, captures, home, poll_seconds=0.02))
            stack.enter_context(running(indexer))
        for number in range(20):
            announce(claims, *(capture(offset=100 * number + each) for each in range(100)))
        until(lambda: captures.count("news") >= 2000, what="all announcements")
    assert captures.count("news") == 2000


def test_the_dedup_store_rebuilt_from_disk_gives_the_same_answers(
    server: RedisServer, settings: Settings, indexer: Indexer, claims: Claims
) -> None:
    crawl = a_crawl(settings)
    responses = [each for each in crawl if each.kind == "response"]
    claims.settle(Settlement(kept=[(want(each), as_original(each)) for each in responses]))
    live = claims.claim([want(each) for each in responses])
    with server.client() as client:
        client.flushall()
    indexer.reconcile()
    assert indexer.rebuild_dedup("news", claims, DedupRules(DedupSettings())) == len(responses)
    assert claims.claim([want(each) for each in responses]) == live == [as_original(each) for each in responses]


def test_the_rebuilt_store_keeps_the_algorithms_apart(indexer: Indexer, claims: Claims, captures: Captures) -> None:
    payload = hashlib.sha256(b"page").digest()
    old = capture(sha256=payload.hex(), payload_length=4)
    new = replace(old, date=old.date + 1, offset=1, digest=f"sha256:{payload.hex()}")
    captures.add([old, new])

    assert indexer.rebuild_dedup("news", claims, DedupRules(DedupSettings())) == 2

    third = PayloadKey("news", payload, 4, algorithm="blake3")
    assert claims.claim([want(old), want(new), third]) == [as_original(old), as_original(new), ClaimVerdict.GRANTED]


def test_a_rebuilt_dedup_store_forgets_what_is_not_in_the_index(
    indexer: Indexer, claims: Claims, captures: Captures
) -> None:
    captures.add([capture(), capture("http://example.org/cut", offset=1, truncated="length")])
    gone = PayloadKey("news", hashlib.sha256(b"gone").digest(), 4)
    other = PayloadKey("sports", hashlib.sha256(b"gone").digest(), 4)
    claims.settle(Settlement(kept=[(one, as_original(capture())) for one in (gone, other)]))
    assert indexer.rebuild_dedup("news", claims, DedupRules(DedupSettings())) == 1
    cut = PayloadKey("news", hashlib.sha256(b"http://example.org/cut").digest(), 5)
    assert claims.claim([gone, cut, other]) == [ClaimVerdict.GRANTED, ClaimVerdict.GRANTED, as_original(capture())]


def test_rebuilding_without_redis_says_so(own_server: RedisServer, indexer: Indexer, claims: Claims) -> None:
    own_server.kill()
    with pytest.raises(DedupUnavailable, match="Redis at"):
        indexer.rebuild_dedup("news", claims, DedupRules(DedupSettings()))


@pytest.mark.parametrize("folder", ["no collections", "no indexes", "odd name", "a file"])
def test_a_home_without_sidecars_is_no_error(folder: str, captures: Captures, home: Path) -> None:
    if folder != "no collections":
        (home / "collections").mkdir()
    if folder == "no indexes":
        (home / "collections" / "news").mkdir()
    if folder == "odd name":
        (home / "collections" / ".hidden" / "indexes").mkdir(parents=True)
        (home / "collections" / ".hidden" / "indexes" / "a.cdxj").write_text(cdxj.line(capture()) + "\n")
    if folder == "a file":
        (home / "collections" / "news").write_text("")
    with Indexer("", captures, home) as indexer:
        assert indexer.reconcile() == 0
        assert indexer.reindex("news") == 0


@contextmanager
def running(indexer: Indexer) -> Iterator[None]:
    stop = threading.Event()
    thread = threading.Thread(target=indexer.run, args=(stop,))
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join(30)
        assert not thread.is_alive()


def announced(claims: Claims, late: Capture) -> bool:
    try:
        announce(claims, late)
    except DedupUnavailable:
        return False
    return True


def place(found: Capture) -> tuple[str, int]:
    return found.filename, found.offset


def want(found: Capture) -> PayloadKey:
    algorithm = (found.digest or "").partition(":")[0] if ":" in (found.digest or "") else "sha1"
    return PayloadKey(found.collection, bytes.fromhex(found.sha256 or ""), found.payload_length, algorithm=algorithm)
