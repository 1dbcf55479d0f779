"""Which bytes meet which: buckets, URLs, types, sizes and the blackout, in real WARC files, decided by a real Redis."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from support.archive.kept_batches import captures, impatient, patient, url
from support.archive.kept_warcs import exchange
from support.archive.warc_reader import Archive

from archive import crawl_log
from archive.capture import SERVER_NOT_MODIFIED, Context, Exchange, Original, Unchanged
from archive.settings.load import Settings, load
from dedupdb.captures.capture_index import Captures
from dedupdb.claims.claims import Claims
from dedupdb.claims.dedup_rules import DedupRules
from dedupdb.claims.originals import Originals
from dedupdb.index.sidecars import Sidecars
from proxy.recording.keep import LATER, Keeper, Kept


def within(name: str, body: bytes = b"same", **buckets: str) -> Exchange:
    """An exchange of a client that names these buckets."""
    item = exchange(url(name), body)
    return replace(item, context=Context("news", job="daily", buckets=tuple(buckets.items())))


def kept(keeper: Keeper, *items: Exchange) -> list[str]:
    """What becomes of exchanges that come one after another."""
    found = [captures(keeper.keep([item], patient=impatient)) for item in items]
    return [capture[0].kind if capture else "nothing" for capture in found]


def keeper_with(home: Path, claims: Claims, **settings: Any) -> Keeper:
    named = {f"dedup.{name}": value for name, value in settings.items()}
    return Keeper(load({"home": str(home), **named}, environment={}), claims)


class TestBuckets:
    def test_each_one_has_its_own_originals(self, settings: Settings, keeper: Keeper) -> None:
        items = [within("a"), within("b", x="rw"), within("c", y="rw"), within("d", x="rw"), within("e"), within("f")]

        assert kept(keeper, *items) == ["response", "response", "response", "revisit", "revisit", "revisit"]
        refers = {each.url: each.field("WARC-Refers-To-Target-URI") for each in _revisits(settings)}
        assert refers == {url("d"): url("b"), url("e"): url("a"), url("f"): url("a")}

    def test_one_that_is_read_only_is_searched_and_not_filled(self, keeper: Keeper) -> None:
        assert kept(keeper, within("a", seeds="ro"), within("b", seeds="ro")) == ["response", "response"]
        assert kept(keeper, within("c", seeds="rw"), within("d", seeds="ro")) == ["response", "revisit"]

    def test_several_are_searched_and_those_that_may_be_are_filled(self, settings: Settings, keeper: Keeper) -> None:
        items = [within("a", x="rw", y="rw", z="ro"), within("b", y="rw"), within("c", x="ro"), within("d", z="rw")]

        assert kept(keeper, *items) == ["response", "revisit", "revisit", "response"]
        (response, _) = Archive.read(settings.archive_dir("news")).kinds("response")
        assert response.field("WARC-Dedup-Buckets") == "x y"

    def test_twins_in_one_batch_with_crossing_buckets_wait_for_each_other(
        self, settings: Settings, keeper: Keeper
    ) -> None:
        twins = [within("a", x="rw", y="rw"), within("b", y="rw", z="rw"), within("c", z="rw"), within("d", w="rw")]

        first, second, third, apart = keeper.keep(twins, patient=impatient)

        assert isinstance(first, Kept)
        assert isinstance(apart, Kept)
        assert second is LATER
        later = [item for item, outcome in zip(twins, (first, second, third, apart), strict=True) if outcome is LATER]
        assert [outcome.is_revisit for outcome in keeper.keep(later, patient=patient) if isinstance(outcome, Kept)]
        assert not _doubled(settings), "two responses with the same bytes in one bucket"

    def test_declining_dedup_goes_before_naming_buckets(self, keeper: Keeper) -> None:
        declined = within("b", x="rw")
        declined = replace(declined, context=replace(declined.context, dedup=False))

        assert kept(keeper, declined, within("a", x="rw"), declined) == ["response", "response", "response"]

    def test_can_be_asked_for(self, home: Path, claims: Claims) -> None:
        keeper = keeper_with(home, claims, only_with_bucket=True)

        assert kept(keeper, within("a"), within("b")) == ["response", "response"]
        assert kept(keeper, within("c", x="rw"), within("d", x="rw")) == ["response", "revisit"]

    def test_are_rebuilt_from_disk_as_they_were(self, settings: Settings, keeper: Keeper, claims: Claims) -> None:
        declined = replace(exchange(url("no"), b"declined"), context=Context("news", dedup=False))
        first = [within("a", x="rw", y="rw"), within("b", b"own"), declined, within("c", b"ro", z="ro")]
        kept(keeper, *first)
        keeper.close()
        again = [within("d", x="ro"), within("e", y="rw"), within("f", b"own"), exchange(url("g"), b"declined")]
        again += [within("h", b"ro", z="rw"), within("i", z="rw")]
        expected = ["revisit", "revisit", "revisit", "response", "response", "response"]

        with Captures(settings.database_url) as index:
            _rebuild(settings, index, claims)
            assert kept(keeper, *again[:3]) == expected[:3]
            keeper.close()
            for sidecar in settings.index_dir("news").iterdir():
                sidecar.unlink()  # from the WARC files alone
            _rebuild(settings, index, claims)
        assert kept(keeper, *again) == expected


class TestBorders:
    @pytest.mark.parametrize(
        ("match", "expected"),
        [
            ("digest", ["response", "revisit", "revisit"]),
            ("url", ["response", "response", "revisit"]),
        ],
    )
    def test_the_same_bytes_of_another_url(self, home: Path, claims: Claims, match: str, expected: list[str]) -> None:
        keeper = keeper_with(home, claims, match=match)

        assert kept(keeper, *(exchange(url(name)) for name in ("a", "b", "a"))) == expected

    def test_an_equivalent_url_will_do_where_it_is_set_so(self, home: Path, claims: Claims) -> None:
        keeper = keeper_with(home, claims, match="equivalent")
        secure = replace(exchange(url("a")), url=url("a").replace("http:", "https:"))

        assert kept(keeper, exchange(url("a")), secure, exchange(url("b"))) == ["response", "revisit", "response"]

    def test_small_texts_and_small_binaries_have_limits_of_their_own(self, home: Path, claims: Claims) -> None:
        keeper = keeper_with(home, claims, min_text_bytes=4, min_binary_bytes=6)

        for mime, body, again in [
            ("text/plain", b"txt", "response"),
            ("text/plain", b"text", "revisit"),
            ("image/png", b"image", "response"),
            ("image/png", b"images", "revisit"),
        ]:
            items = [replace(exchange(url(name), body), mime=mime) for name in ("a", "b")]
            assert kept(keeper, *items) == ["response", again], body

    def test_types_that_are_filtered_are_kept_whole(self, home: Path, claims: Claims) -> None:
        keeper = keeper_with(home, claims, mime_filter="^text/.*")
        pictures = [replace(exchange(url(name)), mime="image/png") for name in ("c", "d")]

        assert kept(keeper, exchange(url("a")), exchange(url("b")), *pictures) == [
            *("response", "response", "response", "revisit")
        ]

    def test_other_statuses_can_be_taken_in(self, home: Path, claims: Claims) -> None:
        keeper = keeper_with(home, claims, statuses="2xx,404")

        assert kept(keeper, *(exchange(url(name), status=404) for name in ("a", "b"))) == ["response", "revisit"]
        assert kept(keeper, *(exchange(url(name), b"?", status=500) for name in ("a", "b"))) == ["response"] * 2


class TestBlackout:
    def test_a_copy_of_the_same_url_soon_after_is_not_written(
        self, home: Path, settings: Settings, claims: Claims
    ) -> None:
        keeper = keeper_with(home, claims, blackout_seconds=60)
        first = exchange(url("a"))
        soon, elsewhere = replace(first, started=first.started + 5_000_000), exchange(url("b"))
        late = replace(first, started=first.started + 61_000_000)
        logged = replace(soon, context=replace(soon.context, log_dir=str(home / "job")))

        outcomes = [keeper.keep([item], patient=impatient)[0] for item in (first, logged, elsewhere, late)]

        assert outcomes[1] == Kept(None, is_revisit=False)
        assert [each.url for each in _revisits(settings)] == [url("b"), url("a")]
        (line,) = (home / "job" / "crawl.log").read_text().splitlines()
        assert {"duplicate:digest", "blackout"} < set(crawl_log.parse(line).annotations)
        tally = claims.tally("news", "daily")
        assert (tally["novel_urls"], tally["duplicate_urls"], tally["unkept_urls"]) == (1, 2, 1)

    def test_nor_is_a_304_so_soon(self, home: Path, settings: Settings, claims: Claims) -> None:
        keeper = keeper_with(home, claims, blackout_seconds=60)
        first = exchange(url("a"))
        (capture,) = captures(keeper.keep([first], patient=impatient))
        place = Original(capture.record_id, capture.url, capture.date)
        soon = replace(exchange(url("a"), b"", status=304), unchanged=Unchanged(place, f"sha1:{capture.digest}", 5))
        late = replace(soon, started=first.started + 61_000_000)

        outcomes = [keeper.keep([item], patient=impatient)[0] for item in (soon, late)]

        assert outcomes[0] == Kept(None, is_revisit=False)
        assert [each.field("WARC-Profile") for each in _revisits(settings)] == [SERVER_NOT_MODIFIED]
        assert (keeper.counts["revisits"], keeper.counts["not_modified"]) == (1, 1)


def _revisits(settings: Settings) -> Any:
    return Archive.read(settings.archive_dir("news")).kinds("revisit")


def _doubled(settings: Settings) -> bool:
    responses = Archive.read(settings.archive_dir("news")).kinds("response")
    filled = [name for each in responses for name in (each.field("WARC-Dedup-Buckets") or "").split()]
    return len(filled) != len(set(filled))


def _rebuild(settings: Settings, index: Captures, claims: Claims) -> None:
    sidecars = Sidecars(settings.home, index)
    list(sidecars.repair("news"))
    sidecars.reset("news")
    sidecars.reconcile("news")
    claims.forget("news")
    claims.restore(Originals(index, DedupRules(settings.dedup)).of("news"))
