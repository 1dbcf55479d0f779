"""What a lost Redis, a full disk or an unreadable body make of a batch: lost visibly, or kept whole."""

from __future__ import annotations

import random
import resource
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest
from support.archive.kept_batches import captures, impatient, lines, patient, url, want
from support.archive.kept_warcs import exchange
from support.archive.warc_reader import Archive
from support.stores.redis_server import RedisServer

from archive import crawl_log
from archive.capture import Body, Context, Exchange, Message, Original
from archive.settings.load import Settings
from archive.warc.reading.reader import records
from archive.warc.records.header import MAX_HEADER
from dedupdb.claims.claims import Claims, ClaimVerdict, PayloadKey, Settlement
from proxy.recording.cpu_affinity import Task
from proxy.recording.keep import Keeper, Kept, Lost


class Watched:
    """The real claims, looked at from outside just before they are settled."""

    def __init__(self, claims: Claims, before: Callable[[Sequence[tuple[PayloadKey, Original]]], None]) -> None:
        self._claims = claims
        self._before = before

    def claim(self, wants: Sequence[PayloadKey]) -> list[Original | ClaimVerdict]:
        return self._claims.claim(wants)

    def settle(self, settlement: Settlement) -> None:
        self._before(settlement.kept)
        self._claims.settle(settlement)


class TestWithoutRedis:
    def test_everything_is_written_whole(self, settings: Settings, tmp_path: Path) -> None:
        with RedisServer(tmp_path) as server, Claims(server.url, claim_seconds=30, timeout_seconds=30) as claims:
            keeper = Keeper(settings, claims)
            keeper.keep([exchange(url("known"))], patient=patient)
            server.kill()

            outcomes = keeper.keep([exchange(url(name)) for name in "abc"], patient=patient)

        assert [capture.kind for capture in captures(outcomes)] == ["response"] * 3
        assert len(lines(settings)) == 4
        assert keeper.counts["dedup_unavailable"] > 0

    def test_lost_between_claim_and_commit_nothing_else_is_lost(self, settings: Settings, tmp_path: Path) -> None:
        with RedisServer(tmp_path) as server, Claims(server.url, claim_seconds=30, timeout_seconds=30) as claims:
            keeper = Keeper(settings, Watched(claims, lambda kept: server.kill()))

            outcomes = keeper.keep([exchange(url("a"), b"1"), exchange(url("b"), b"2")], patient=patient)

        assert len(captures(outcomes)) == len(lines(settings)) == 2
        assert keeper.counts["dedup_unavailable"] == 1

    def test_back_again_it_is_asked_again(self, settings: Settings, tmp_path: Path) -> None:
        with RedisServer(tmp_path) as server, Claims(server.url, claim_seconds=30, timeout_seconds=30) as claims:
            keeper = Keeper(settings, claims)
            server.kill()
            keeper.keep([exchange(url("a"))], patient=patient)
            server.start()
            claims_again = Claims(server.url, claim_seconds=30, timeout_seconds=30)
            keeper = Keeper(settings, claims_again)

            keeper.keep([exchange(url("b"))], patient=patient)
            (outcome,) = keeper.keep([exchange(url("c"))], patient=patient)
            claims_again.close()

        assert isinstance(outcome, Kept)
        assert outcome.is_revisit


@contextmanager
def largest_file(size: int) -> Iterator[None]:
    """No file of this process can grow beyond `size`: what a quota or a full disk does to a write."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def with_lost_spool(item: Exchange) -> Exchange:
    """The same exchange, but its body can't be read any more."""
    assert item.response
    with tempfile.TemporaryFile() as file:
        pass
    return replace(item, response=Message(item.response.head, Body((), file, item.response.body.length)))


class TestFailing:
    def test_a_folder_that_is_none_loses_the_batch_and_gives_the_claims_back(
        self, settings: Settings, keeper: Keeper, others: Claims
    ) -> None:
        settings.archive_dir("news").parent.mkdir(parents=True)
        settings.archive_dir("news").write_bytes(b"")
        items = [exchange(url("a"), b"1"), exchange(url("b"), b"2")]

        outcomes = keeper.keep(items, patient=impatient)

        assert all(isinstance(outcome, Lost) for outcome in outcomes)
        assert keeper.counts["lost"] == 2
        assert others.claim([want(item) for item in items]) == [ClaimVerdict.GRANTED] * 2

    def test_it_works_again_once_the_cause_is_gone(self, settings: Settings, keeper: Keeper) -> None:
        settings.archive_dir("news").parent.mkdir(parents=True)
        settings.archive_dir("news").write_bytes(b"")
        keeper.keep([exchange(url("a"))], patient=impatient)
        settings.archive_dir("news").unlink()

        assert len(captures(keeper.keep([exchange(url("a"))], patient=impatient))) == 1

    @pytest.mark.parametrize("place", [0, 1, 2])
    def test_one_that_can_not_be_read_takes_its_batch_along_and_no_more(
        self, settings: Settings, keeper: Keeper, others: Claims, place: int
    ) -> None:
        items = [exchange(url(name), name.encode()) for name in "abc"]
        elsewhere = exchange(url("elsewhere"), collection="other")
        items[place] = with_lost_spool(items[place])
        (before,) = captures(keeper.keep([exchange(url("before"), b"before")], patient=impatient))

        outcomes = keeper.keep([*items, elsewhere], patient=impatient)
        lost = [item for item, outcome in zip(items, outcomes, strict=False) if isinstance(outcome, Lost)]

        assert items[place] in lost
        assert isinstance(outcomes[3], Kept)
        assert all(verdict is ClaimVerdict.GRANTED for verdict in others.claim([want(item) for item in lost]))
        others.settle(Settlement(released=[want(item) for item in lost]))
        after = captures(keeper.keep([exchange(url("after"), b"after")], patient=impatient))
        keeper.close()
        kept = [before, *after, *(outcome.capture for outcome in outcomes[:3] if isinstance(outcome, Kept))]
        on_disk = Archive.read(settings.archive_dir("news")).kinds("response")
        assert {record.url for record in on_disk} == {capture.url for capture in kept if capture}
        assert len(lines(settings)) == len(on_disk)

    def test_a_file_that_can_not_grow_loses_the_batch_and_is_cut_back(
        self, settings: Settings, keeper: Keeper, others: Claims, home: Path
    ) -> None:
        noise = random.Random(7)
        keeper.keep([exchange(url("before"), b"before")], patient=impatient)
        items = [exchange(url(name), noise.randbytes(200_000)) for name in "abc"]
        items = [replace(item, context=replace(item.context, log_dir=str(home / "job"))) for item in items]

        with largest_file(300_000):
            outcomes = keeper.keep(items, patient=impatient)
        assert all(isinstance(outcome, Lost) for outcome in outcomes)
        assert others.claim([want(item) for item in items]) == [ClaimVerdict.GRANTED] * 3
        others.settle(Settlement(released=[want(item) for item in items]))

        assert len(captures(keeper.keep(items, patient=impatient))) == 3
        keeper.close()
        archive = Archive.read(settings.archive_dir("news"))
        assert [record.url for record in archive.kinds("response")] == [url(name) for name in ("before", "a", "b", "c")]
        logged = [crawl_log.parse(line) for line in (home / "job" / "crawl.log").read_text().splitlines()]
        assert [line.code for line in logged] == [crawl_log.RUNTIME] * 3 + [200] * 3
        assert logged[0].annotations == ("notKept",)

    def test_what_would_break_a_header_is_lost_alone(self, settings: Settings, keeper: Keeper, others: Claims) -> None:
        bad = replace(exchange(url("bad"), b"bad"), url="http://example.org/\r\nWARC-Type: warcinfo")

        lost, kept = keeper.keep([bad, exchange(url("good"), b"good")], patient=impatient)

        assert isinstance(lost, Lost)
        assert "control characters" in lost.reason
        assert isinstance(kept, Kept)
        assert others.claim([want(bad)]) == [ClaimVerdict.GRANTED]

    def test_what_is_too_long_for_a_header_is_lost_alone(self, settings: Settings, keeper: Keeper, home: Path) -> None:
        long = exchange(url("x" * MAX_HEADER), b"long")
        long = replace(long, context=replace(long.context, log_dir=str(home / "job")))

        before, lost, after = keeper.keep([exchange(url("a"), b"a"), long, exchange(url("b"), b"b")], patient=impatient)
        keeper.close()

        assert isinstance(lost, Lost)
        assert f"more than {MAX_HEADER} bytes" in lost.reason
        kept = captures([before, after])
        (warc,) = settings.archive_dir("news").iterdir()
        assert [record.record_id for record in records(warc) if record.kind == "response"] == [
            capture.record_id for capture in kept
        ]
        (line,) = (home / "job" / "crawl.log").read_text().splitlines()
        logged = crawl_log.parse(line)
        assert (logged.code, logged.annotations) == (crawl_log.RUNTIME, ("notKept",))

    def test_an_error_leaves_nothing_of_its_batch_for_the_next_one(self, settings: Settings, claims: Claims) -> None:
        """Its exchanges count as lost, so their clients ask again."""

        def run_and_fail(job: Task) -> None:
            job()
            raise RuntimeError("no thread can be bound")

        keeper = Keeper(settings, claims, run_heavy=run_and_fail)
        keeper.keep([exchange(url("before"), b"before")], patient=impatient)
        batch = [
            exchange(url("elsewhere"), b"0", collection="other"),
            exchange(url("a"), b"1"),
            exchange(url("heavy"), bytes(600_000)),
            exchange(url("b"), b"2"),
        ]

        with pytest.raises(RuntimeError):
            keeper.keep(batch, patient=impatient)
        again = [exchange(url("c"), b"3"), exchange(url("again"), b"4", collection="other")]
        assert len(captures(keeper.keep(again, patient=impatient))) == 2
        keeper.close()

        for collection, names in (("news", ("before", "c")), ("other", ("again",))):
            archive = Archive.read(settings.archive_dir(collection))
            assert [record.url for record in archive.kinds("response")] == [url(name) for name in names]
            assert {line["url"] for line in lines(settings, collection)} == {url(name) for name in names}

    def test_a_log_that_can_not_be_written_is_counted_and_the_exchange_kept(self, keeper: Keeper, home: Path) -> None:
        (home / "job").write_bytes(b"")
        item = replace(exchange(url("a")), context=Context("news", log_dir=str(home / "job")))

        assert len(captures(keeper.keep([item], patient=impatient))) == 1
        assert keeper.counts["log_lines_lost"] == 1

    def test_dedup_never_hears_of_an_original_that_is_not_durable(self, settings: Settings, claims: Claims) -> None:
        """Whatever fails in between: when an original is committed, its record can be read from the disk."""
        told: list[Original] = []

        def look(kept: Sequence[tuple[PayloadKey, Original]]) -> None:
            on_disk = {record.id: record for record in Archive.read(settings.archive_dir("news")).records}
            indexed = {line["id"] for line in lines(settings)}
            for _, original in kept:
                assert on_disk[f"<urn:uuid:{original.record_id}>"].kind == "response"
                assert original.record_id in indexed
                told.append(original)

        keeper, dice = Keeper(settings, Watched(claims, look)), random.Random(11)
        for number in range(30):
            batch = [exchange(url(f"{number}/{place}"), dice.randbytes(2) * 9) for place in range(8)]
            if number % 3 == 1:
                batch[dice.randrange(8)] = with_lost_spool(batch[0])
            keeper.keep(batch, patient=impatient)
            keeper.keep([exchange(url(f"{number}/again"), b"always the same")], patient=impatient)

        archive = Archive.read(settings.archive_dir("news"))
        responses = {record.id for record in archive.kinds("response")}
        revisits = archive.kinds("revisit")
        assert len(revisits) == 29
        assert {revisit.field("WARC-Refers-To") for revisit in revisits} <= responses
        assert len(told) > 100
