"""Batches of exchanges into real WARC files, with a real Redis deciding what is new; and everything that can fail."""

from __future__ import annotations

import json
import random
import resource
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest
from kept import exchange
from redis_server import RedisServer
from warcs import Archive

from archive import crawl_log
from archive.capture import Body, Capture, Context, Exchange, Message, Original
from archive.reader import read_record
from archive.settings import Settings, load
from archive.warcfile import KeepError
from dedupdb.claims import Claims, Tallies, Verdict, Want
from proxy.keep import LATER, Keeper, Kept, Lost, Outcome
from proxy.plan import Derived


def impatient(position: int) -> bool:
    """No more waiting for other writers."""
    return False


def patient(position: int) -> bool:
    """There is time to wait for other writers."""
    return True


@pytest.fixture
def claims(redis_url: str) -> Iterator[Claims]:
    with Claims(redis_url, claim_seconds=30, timeout_seconds=5) as mine:
        yield mine


@pytest.fixture
def others(redis_url: str) -> Iterator[Claims]:
    """Another process's claims on the same Redis."""
    with Claims(redis_url, claim_seconds=30, timeout_seconds=5) as theirs:
        yield theirs


@pytest.fixture
def keeper(settings: Settings, claims: Claims) -> Keeper:
    return Keeper(settings, claims)


def url(name: str) -> str:
    return f"http://example.org/{name}"


def want(item: Exchange) -> Want:
    assert item.digests
    return Want(item.context.collection, item.digests.payload_sha256, item.digests.payload_length)


def captures(outcomes: Sequence[Outcome]) -> list[Capture]:
    """The captures of outcomes that are all kept."""
    found = [outcome.capture for outcome in outcomes if isinstance(outcome, Kept)]
    assert len(found) == len(outcomes), outcomes
    return [capture for capture in found if capture is not None]


def lines(settings: Settings, collection: str = "news") -> list[dict[str, str]]:
    """The JSON of every index line."""
    paths = settings.index_dir(collection).glob("*.cdxj")
    return [json.loads(line.split(" ", 2)[2]) for path in paths for line in path.read_text().splitlines()]


class TestKeeping:
    def test_what_is_kept_is_on_disk_and_in_the_index(self, settings: Settings, keeper: Keeper) -> None:
        outcomes = keeper.keep([exchange(url("a"), b"one"), exchange(url("b"), b"two")], patient=impatient)

        archive = Archive.read(settings.archive_dir("news"))
        assert [record.kind for record in archive.records] == ["warcinfo", "response", "request", "response", "request"]
        for capture, body in zip(captures(outcomes), (b"one", b"two"), strict=True):
            with read_record(settings.archive_dir("news") / capture.filename, capture.offset, capture.length) as record:
                assert (record.record_id, b"".join(record.payload())) == (capture.record_id, body)
        assert {line["id"] for line in lines(settings)} == {capture.record_id for capture in captures(outcomes)}
        assert keeper.counts["exchanges"] == 2

    def test_an_exchange_without_response_is_only_logged(self, settings: Settings, keeper: Keeper, home: Path) -> None:
        failed = replace(
            exchange(url("gone")), response=None, request=None, digests=None, outcome=-2, annotations=("refused",)
        )
        failed = replace(failed, context=replace(failed.context, log_dir=str(home / "job")))

        assert keeper.keep([failed], patient=impatient) == [Kept(None)]

        (line,) = (home / "job" / "crawl.log").read_text().splitlines()
        assert crawl_log.parse(line).code == -2
        assert crawl_log.parse(line).annotations == ("refused",)
        assert not settings.archive_dir("news").exists()

    def test_a_derived_record_stands_beside_its_page(self, settings: Settings, keeper: Keeper, claims: Claims) -> None:
        (page,) = captures(keeper.keep([exchange(url("page"))], patient=impatient))
        context = Context("news", job="daily", page_id="page-1")
        shot = Derived(
            context, "resource", f"urn:view:{url('page')}", "image/png", Body((b"png",), None, 3), 5, page.record_id
        )

        (capture,) = captures(keeper.keep([shot], patient=impatient))

        (record,) = Archive.read(settings.archive_dir("news")).kinds("resource")
        assert record.block == b"png"
        assert record.field("WARC-Concurrent-To") == f"<urn:uuid:{page.record_id}>"
        assert capture.kind == "resource"
        assert claims.tally("news", "daily")["derived"] == 1

    def test_collections_and_prefixes_have_files_of_their_own(self, settings: Settings, keeper: Keeper) -> None:
        plain = exchange(url("a"), b"1")
        prefixed = replace(exchange(url("b"), b"2"), context=Context("news", prefix="special"))
        elsewhere = exchange(url("c"), b"3", collection="other")

        names = [capture.filename for capture in captures(keeper.keep([plain, prefixed, elsewhere], patient=impatient))]

        assert [name.partition("-")[0] for name in names] == ["news", "special", "other"]
        assert names[2] in {path.name.removesuffix(".open") for path in settings.archive_dir("other").iterdir()}

    def test_closing_gives_every_file_its_final_name(self, settings: Settings, keeper: Keeper) -> None:
        keeper.keep([exchange(url("a")), exchange(url("b"), collection="other")], patient=impatient)

        keeper.close_collection("other")
        assert [path.suffix for path in settings.archive_dir("other").iterdir()] == [".gz"]
        assert [path.suffix for path in settings.archive_dir("news").iterdir()] == [".open"]

        keeper.close()
        assert [path.suffix for path in settings.archive_dir("news").iterdir()] == [".gz"]

    def test_one_file_that_can_not_be_closed_does_not_keep_the_others_open(
        self, settings: Settings, keeper: Keeper
    ) -> None:
        keeper.keep([exchange(url("a"), collection="bad"), exchange(url("b"), collection="good")], patient=impatient)
        for path in settings.index_dir("bad").iterdir():
            path.unlink()

        with pytest.raises(KeepError):
            keeper.close()

        assert [path.suffix for path in settings.archive_dir("good").iterdir()] == [".gz"]

    def test_files_nobody_writes_to_are_closed(self, home: Path, claims: Claims) -> None:
        settings = load({"home": str(home), "archive.warc_idle_seconds": 1e-6}, environment={})
        keeper = Keeper(settings, claims)
        keeper.keep([exchange(url("a"))], patient=impatient)

        keeper.idle_close()

        assert [path.suffix for path in settings.archive_dir("news").iterdir()] == [".gz"]


class TestDedup:
    def test_the_same_bytes_again_are_a_revisit(self, settings: Settings, keeper: Keeper, claims: Claims) -> None:
        (first,) = captures(keeper.keep([exchange(url("a"))], patient=impatient))

        (outcome,) = keeper.keep([exchange(url("b"))], patient=impatient)

        assert isinstance(outcome, Kept)
        assert outcome.is_revisit
        (revisit,) = Archive.read(settings.archive_dir("news")).kinds("revisit")
        assert revisit.field("WARC-Refers-To") == f"<urn:uuid:{first.record_id}>"
        assert revisit.field("WARC-Refers-To-Target-URI") == url("a")
        tally = claims.tally("news", "daily")
        assert (tally["novel_urls"], tally["duplicate_urls"], tally["code:200"]) == (1, 1, 2)

    def test_twins_in_one_batch_wait_for_the_first_of_them(self, settings: Settings, keeper: Keeper) -> None:
        twins = [exchange(url(name)) for name in "abc"]

        first, *rest = keeper.keep(twins, patient=impatient)
        assert isinstance(first, Kept)
        assert rest == [LATER, LATER]

        assert [outcome.is_revisit for outcome in keeper.keep(twins[1:], patient=impatient)] == [True, True]  # type: ignore[union-attr]
        kinds = [record.kind for record in Archive.read(settings.archive_dir("news")).kinds("response", "revisit")]
        assert kinds == ["response", "revisit", "revisit"]

    def test_twins_of_something_known_need_not_wait(self, keeper: Keeper) -> None:
        keeper.keep([exchange(url("a"))], patient=impatient)

        outcomes = keeper.keep([exchange(url(name)) for name in "bcd"], patient=impatient)

        assert all(isinstance(outcome, Kept) and outcome.is_revisit for outcome in outcomes)

    def test_bytes_that_another_writer_is_keeping_are_asked_for_again(self, keeper: Keeper, others: Claims) -> None:
        item = exchange(url("a"))
        assert others.claim([want(item)]) == [Verdict.GRANTED]
        assert keeper.keep([item], patient=patient) == [LATER]

        theirs = Original("0f1e2d3c-0000-4000-8000-000000000000", url("theirs"), 1_700_000_000_000_000)
        others.settle([(want(item), theirs)], [], [], {})
        (outcome,) = keeper.keep([item], patient=patient)

        assert isinstance(outcome, Kept)
        assert outcome.capture is not None
        assert outcome.capture.refers_to == theirs

    def test_after_a_while_they_are_written_whole_and_the_claim_is_left_alone(
        self, keeper: Keeper, others: Claims, claims: Claims
    ) -> None:
        item = exchange(url("a"))
        others.claim([want(item)])

        (outcome,) = keeper.keep([item], patient=impatient)

        assert outcome == Kept(captures([outcome])[0], is_revisit=False)
        assert claims.claim([want(item)]) == [Verdict.HELD]

    def test_a_claim_that_was_given_up_is_ours(self, keeper: Keeper, others: Claims) -> None:
        item = exchange(url("a"))
        others.claim([want(item)])
        others.settle([], [want(item)], [], {})

        (outcome,) = keeper.keep([item], patient=patient)

        assert isinstance(outcome, Kept)
        assert not outcome.is_revisit

    @pytest.mark.parametrize(
        "changed",
        [
            pytest.param({"outcome": 404}, id="an error page"),
            pytest.param({"outcome": 206}, id="a part"),
            pytest.param({"outcome": 304}, id="nothing new"),
            pytest.param({"truncated": "length"}, id="cut short"),
            pytest.param({"context": Context("news", job="daily", dedup=False)}, id="the client wants it whole"),
        ],
    )
    def test_what_is_no_whole_success_is_neither_original_nor_revisit(
        self, settings: Settings, keeper: Keeper, changed: dict[str, object]
    ) -> None:
        odd = replace(exchange(url("odd")), **changed)  # type: ignore[arg-type]
        keeper.keep([odd], patient=impatient)
        keeper.keep([exchange(url("whole"))], patient=impatient)
        keeper.keep([odd], patient=impatient)

        assert Archive.read(settings.archive_dir("news")).kinds("revisit") == []

    def test_small_bodies_are_kept_whole(self, home: Path, claims: Claims) -> None:
        settings = load({"home": str(home), "dedup.min_bytes": 6}, environment={})
        keeper = Keeper(settings, claims)

        for name, body in (("a", b"12345"), ("b", b"12345"), ("c", b"123456"), ("d", b"123456")):
            keeper.keep([exchange(url(name), body)], patient=impatient)

        assert [record.url for record in Archive.read(settings.archive_dir("news")).kinds("revisit")] == [url("d")]

    @pytest.mark.parametrize("how", ["setting", "none"])
    def test_it_can_be_switched_off(self, home: Path, claims: Claims, how: str) -> None:
        settings = load({"home": str(home), "dedup.enabled": how != "setting"}, environment={})
        keeper = Keeper(settings, claims if how == "setting" else None)

        outcomes = keeper.keep([exchange(url("a")), exchange(url("b"))], patient=impatient)

        assert len(captures(outcomes)) == 2
        assert Archive.read(settings.archive_dir("news")).kinds("revisit") == []


class Watched:
    """The real claims, looked at from outside just before they are settled."""

    def __init__(self, claims: Claims, before: Callable[[Sequence[tuple[Want, Original]]], None]) -> None:
        self._claims = claims
        self._before = before

    def claim(self, wants: Sequence[Want]) -> list[Original | Verdict]:
        return self._claims.claim(wants)

    def settle(
        self,
        kept: Sequence[tuple[Want, Original]],
        released: Sequence[Want],
        captures: Sequence[Capture],
        tallies: Tallies,
    ) -> None:
        self._before(kept)
        self._claims.settle(kept, released, captures, tallies)


class TestWithoutRedis:
    def test_everything_is_written_whole(self, settings: Settings, tmp_path: Path) -> None:
        with RedisServer(tmp_path) as server, Claims(server.url, claim_seconds=30, timeout_seconds=1) as claims:
            keeper = Keeper(settings, claims)
            keeper.keep([exchange(url("known"))], patient=patient)
            server.kill()

            outcomes = keeper.keep([exchange(url(name)) for name in "abc"], patient=patient)

        assert [capture.kind for capture in captures(outcomes)] == ["response"] * 3
        assert len(lines(settings)) == 4
        assert keeper.counts["dedup_unavailable"] > 0

    def test_lost_between_claim_and_commit_nothing_else_is_lost(self, settings: Settings, tmp_path: Path) -> None:
        with RedisServer(tmp_path) as server, Claims(server.url, claim_seconds=30, timeout_seconds=1) as claims:
            keeper = Keeper(settings, Watched(claims, lambda kept: server.kill()))

            outcomes = keeper.keep([exchange(url("a"), b"1"), exchange(url("b"), b"2")], patient=patient)

        assert len(captures(outcomes)) == len(lines(settings)) == 2
        assert keeper.counts["dedup_unavailable"] == 1

    def test_back_again_it_is_asked_again(self, settings: Settings, tmp_path: Path) -> None:
        with RedisServer(tmp_path) as server, Claims(server.url, claim_seconds=30, timeout_seconds=1) as claims:
            keeper = Keeper(settings, claims)
            server.kill()
            keeper.keep([exchange(url("a"))], patient=patient)
            server.start()
            claims_again = Claims(server.url, claim_seconds=30, timeout_seconds=1)
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
        assert others.claim([want(item) for item in items]) == [Verdict.GRANTED] * 2

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
        assert all(verdict is Verdict.GRANTED for verdict in others.claim([want(item) for item in lost]))
        others.settle([], [want(item) for item in lost], [], {})
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
        assert others.claim([want(item) for item in items]) == [Verdict.GRANTED] * 3
        others.settle([], [want(item) for item in items], [], {})

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
        assert others.claim([want(bad)]) == [Verdict.GRANTED]

    def test_a_log_that_can_not_be_written_is_counted_and_the_exchange_kept(self, keeper: Keeper, home: Path) -> None:
        (home / "job").write_bytes(b"")
        item = replace(exchange(url("a")), context=Context("news", log_dir=str(home / "job")))

        assert len(captures(keeper.keep([item], patient=impatient))) == 1
        assert keeper.counts["log_lines_lost"] == 1

    def test_dedup_never_hears_of_an_original_that_is_not_durable(self, settings: Settings, claims: Claims) -> None:
        """Whatever fails in between: when an original is committed, its record can be read from the disk."""
        told: list[Original] = []

        def look(kept: Sequence[tuple[Want, Original]]) -> None:
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
