"""Batches of exchanges into real WARC files, with a real Redis deciding what is new."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from support.archive.kept_batches import captures, impatient, lines, patient, url, want
from support.archive.kept_warcs import exchange
from support.archive.warc_reader import Archive

from archive import crawl_log
from archive.capture import Body, Context, Original
from archive.settings.load import Settings, load
from archive.warc.reading.reader import read_record
from archive.warc.writing.writer import KeepError
from dedupdb.claims.claims import Claims, ClaimVerdict, Settlement
from proxy.recording.keep import LATER, Keeper, Kept
from proxy.recording.plan import DerivedRecord


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
        shot = DerivedRecord(
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
        (warc,) = settings.archive_dir("bad").iterdir()
        sidecar = settings.index_dir("bad") / (warc.name.removesuffix(".open") + ".cdxj")
        sidecar.unlink()
        (sidecar / "in-its-way").mkdir(parents=True)

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
        assert others.claim([want(item)]) == [ClaimVerdict.GRANTED]
        assert keeper.keep([item], patient=patient) == [LATER]

        theirs = Original("0f1e2d3c-0000-4000-8000-000000000000", url("theirs"), 1_700_000_000_000_000)
        others.settle(Settlement(kept=[(want(item), theirs)]))
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
        assert claims.claim([want(item)]) == [ClaimVerdict.HELD]

    def test_a_claim_that_was_given_up_is_ours(self, keeper: Keeper, others: Claims) -> None:
        item = exchange(url("a"))
        others.claim([want(item)])
        others.settle(Settlement(released=[want(item)]))

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
