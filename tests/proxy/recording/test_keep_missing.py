"""Promise 4 where files go missing: no revisit of an original whose file isn't there (T1), with a real Redis and index.

Each case keeps a payload, takes its file away in one way or another, and keeps the same payload again.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import redis
from support.archive.kept_batches import captures as captures_of
from support.archive.kept_batches import impatient, url
from support.archive.kept_warcs import exchange
from support.archive.warc_reader import Archive
from support.processes.waiting import until
from support.stores.redis_server import RedisServer

from archive.capture import Context, Original, Unchanged
from archive.settings.load import Settings, load
from archive.storage.presence import WarcFiles, home_name
from archive.storage.upload import Uploader
from archive.warc.upkeep.repair import repair
from dedupdb.captures.capture_index import Captures
from dedupdb.claims.claims import Claims, Settlement
from dedupdb.claims.existing_originals import ExistingOriginals
from dedupdb.claims.file_names import files_key
from dedupdb.claims.index_fallback import IndexFallback
from dedupdb.index.indexer import Indexer
from proxy.recording.keep import Keeper, Lost


class Writer:
    """One recording process of a home: its keeper over claims that look for files, and its index."""

    def __init__(self, settings: Settings, redis_url: str, home: str = "", number: int = 0) -> None:
        self.settings = settings
        self.index = Captures(settings.database_url)
        self.claims = Claims(redis_url, claim_seconds=30, timeout_seconds=5)
        self.files = WarcFiles(settings)
        self.existing = ExistingOriginals(self.claims, self.index, self.files, home)
        self.indexer = Indexer(redis_url, self.index, settings.home, files=self.files, own_home=home)
        recall = IndexFallback(self.existing, self.index, settings.dedup)
        self.keeper = Keeper(settings, recall, process=str(number), is_there=self.existing.is_there)

    def keep(self, name: str, body: bytes = b"the same", collection: str = "news") -> str:
        """What becomes of a response: "response" or "revisit"."""
        (capture,) = captures_of(
            self.keeper.keep([exchange(url(name), body, collection=collection)], patient=impatient)
        )
        return capture.kind

    @property
    def archive(self) -> Path:
        return self.settings.archive_dir("news")

    @property
    def warcs(self) -> list[Path]:
        return sorted(path for path in self.archive.rglob("*") if path.is_file())

    def close(self) -> None:
        self.keeper.close()
        self.indexer.close()
        self.existing.close()
        self.claims.close()
        self.index.close()


@pytest.fixture
def make(redis_url: str) -> Iterator[Callable[..., Writer]]:
    made: list[Writer] = []

    def one(settings: Settings, **named: Any) -> Writer:
        made.append(Writer(settings, redis_url, number=len(made), **named))
        return made[-1]

    yield one
    for writer in made:
        writer.close()


def every_revisit_resolves(*archives: Path) -> bool:
    records = [record for folder in archives if folder.is_dir() for record in Archive.read(folder).records]
    known = {record.id for record in records if record.kind == "response"}
    return all(record.field("WARC-Refers-To") in known for record in records if record.kind == "revisit")


def remove_folder(writer: Writer) -> None:
    shutil.rmtree(writer.settings.collection("news"))


def remove_file(writer: Writer) -> None:
    for path in writer.warcs:
        path.unlink()


def cut_file(writer: Writer) -> None:
    for path in writer.warcs:
        path.write_bytes(b"")


def rename_folder(writer: Writer) -> None:
    writer.settings.collection("news").rename(writer.settings.collection("older-news"))


@pytest.mark.parametrize("take_away", [remove_folder, remove_file, cut_file, rename_folder])
@pytest.mark.parametrize("indexed", [True, False])
def test_what_was_removed_between_crawls_is_kept_whole(
    settings: Settings, make: Callable[..., Writer], take_away: Callable[[Writer], None], indexed: bool
) -> None:
    first = make(settings)
    assert [first.keep("a"), first.keep("b"), first.keep("c", b"other")] == ["response", "revisit", "response"]
    first.keeper.close()
    if indexed:
        first.indexer.reconcile()
    take_away(first)

    second = make(settings)

    assert [second.keep("d"), second.keep("e"), second.keep("f", b"other")] == ["response", "revisit", "response"]
    second.keeper.close()
    if take_away is not cut_file:
        assert every_revisit_resolves(second.archive)


def test_a_file_removed_while_the_proxy_runs_is_noticed_before_the_next_revisit(
    settings: Settings, make: Callable[..., Writer]
) -> None:
    writer = make(settings)
    assert [writer.keep("a"), writer.keep("b")] == ["response", "revisit"]
    writer.keeper.close()
    assert writer.keep("c") == "revisit"
    writer.keeper.close()
    assert len(writer.warcs) == 2

    remove_file(writer)

    assert [writer.keep("d"), writer.keep("e")] == ["response", "revisit"]
    writer.keeper.close()
    assert every_revisit_resolves(writer.archive)
    assert writer.existing.forgotten == 1


@pytest.mark.parametrize("take_away", [remove_folder, remove_file])
def test_nothing_is_written_into_an_open_file_that_was_removed(
    settings: Settings, make: Callable[..., Writer], take_away: Callable[[Writer], None]
) -> None:
    writer, other = make(settings), make(settings)
    assert [writer.keep("a"), other.keep("b")] == ["response", "revisit"]
    assert all(path.name.endswith(".open") for path in writer.warcs)
    take_away(writer)

    assert [other.keep("c"), writer.keep("d"), writer.keep("e", b"new")] == ["response", "revisit", "response"]

    other.keeper.close()
    writer.keeper.close()
    assert every_revisit_resolves(writer.archive)
    found = Archive.read(writer.archive).records
    assert {record.url for record in found if record.kind in ("response", "revisit")} == {*map(url, "cde")}


def test_an_original_in_an_open_file_that_was_repaired_is_an_original_still(
    settings: Settings, make: Callable[..., Writer], tmp_path: Path
) -> None:
    writer = make(settings)
    assert writer.keep("a") == "response"
    (opened,) = writer.warcs
    left = opened.read_bytes()
    writer.keeper.close()
    (closed,) = writer.warcs
    closed.rename(opened)
    opened.write_bytes(left)
    assert [each.outcome for each in repair(settings, "news")] == ["closed"]

    assert make(settings).keep("b") == "revisit"
    assert writer.keep("c") == "revisit"


def test_an_original_that_a_repair_cut_off_is_forgotten(settings: Settings, make: Callable[..., Writer]) -> None:
    writer = make(settings)
    assert [writer.keep("a"), writer.keep("b", b"other")] == ["response", "response"]
    (opened,) = writer.warcs
    line = next(line for line in Archive.read(writer.archive, growing=True).records if line.url == url("b"))
    data = opened.read_bytes()
    writer.keeper.close()
    (closed,) = writer.warcs
    closed.unlink()
    opened.write_bytes(data[: line.offset])
    repair(settings, "news")

    again = make(settings)

    assert [again.keep("c"), again.keep("d", b"other")] == ["revisit", "response"]


def test_an_original_in_another_bucket_that_is_searched_is_looked_for_too(
    settings: Settings, make: Callable[..., Writer]
) -> None:
    def within(name: str, **buckets: str) -> Any:
        return replace(exchange(url(name)), context=Context("news", buckets=tuple(buckets.items())))

    writer = make(settings)
    kinds = [captures_of(writer.keeper.keep([within("a", seeds="rw")], patient=impatient))[0].kind]
    writer.keeper.close()
    remove_file(writer)

    for item in (within("b", seeds="ro"), within("c", mine="rw", seeds="ro"), within("d", mine="rw")):
        kinds.append(captures_of(writer.keeper.keep([item], patient=impatient))[0].kind)

    assert kinds == ["response", "response", "response", "revisit"]


def test_a_304_about_a_capture_that_was_removed_meanwhile_is_not_kept(
    settings: Settings, make: Callable[..., Writer]
) -> None:
    writer = make(settings)
    (earlier,) = captures_of(writer.keeper.keep([exchange(url("a"))], patient=impatient))
    not_modified = replace(exchange(url("a"), b"", status=304), unchanged=Unchanged(Original.of(earlier), "sha1:X", 5))
    assert captures_of(writer.keeper.keep([not_modified], patient=impatient))[0].kind == "revisit"
    writer.keeper.close()
    remove_file(writer)

    (outcome,) = writer.keeper.keep([not_modified], patient=impatient)

    assert isinstance(outcome, Lost)
    assert "no longer in" in outcome.reason
    assert writer.warcs == []


def with_storage(settings: Settings, target: Path) -> Settings:
    return load(
        {"home": str(settings.home), "storage.url": str(target), "storage.keep_local_seconds": 0}, environment={}
    )


def test_a_file_that_left_for_the_storage_is_not_missing(
    settings: Settings, make: Callable[..., Writer], tmp_path: Path
) -> None:
    stored = with_storage(settings, tmp_path / "target")
    writer = make(stored)
    assert writer.keep("a") == "response"
    writer.keeper.close()
    uploader = Uploader(stored)
    assert uploader.look()
    assert writer.warcs == []

    assert [writer.keep("b"), make(stored).keep("c")] == ["revisit", "revisit"]
    writer.indexer.reconcile()
    assert writer.indexer.sweep() == 0
    assert writer.index.count("news") > 0


def test_a_file_that_is_neither_in_the_home_nor_in_the_storage_is_missing(
    settings: Settings, make: Callable[..., Writer], tmp_path: Path
) -> None:
    (tmp_path / "target").mkdir()
    stored = with_storage(settings, tmp_path / "target")
    writer = make(stored)
    assert writer.keep("a") == "response"
    writer.keeper.close()
    remove_file(writer)

    assert [writer.keep("b"), writer.keep("c")] == ["response", "revisit"]


def test_while_the_storage_is_away_records_are_whole_and_nothing_is_forgotten(
    settings: Settings, make: Callable[..., Writer], tmp_path: Path
) -> None:
    target = tmp_path / "target"
    stored = with_storage(settings, target)
    writer = make(stored)
    assert writer.keep("a") == "response"
    writer.keeper.close()
    assert Uploader(stored).look()
    target.rename(tmp_path / "away")

    assert make(stored).keep("b") == "response"
    (tmp_path / "away").rename(target)

    again = make(stored)
    assert again.keep("c") == "revisit"
    assert again.existing.forgotten == 0


def test_while_a_file_can_not_be_seen_records_are_whole_and_nothing_is_forgotten(
    settings: Settings, make: Callable[..., Writer]
) -> None:
    first = make(settings)
    first.keep("http://a.example/")
    first.close()
    writer = make(settings)
    writer.indexer.reconcile()
    (warc,) = writer.warcs
    aside = warc.rename(warc.with_name("aside"))
    warc.symlink_to(warc.name)

    assert writer.keep("http://a.example/again") == "response"
    assert (writer.indexer.sweep(), writer.existing.forgotten) == (0, 0)

    aside.rename(warc)
    assert writer.keep("http://a.example/later") == "revisit"


def test_the_index_does_not_bring_back_what_is_missing(
    settings: Settings, make: Callable[..., Writer], redis_url: str
) -> None:
    writer = make(settings)
    assert writer.keep("a") == "response"
    writer.keeper.close()
    writer.indexer.reconcile()
    with redis.Redis.from_url(redis_url) as client:
        client.flushall()
    remove_file(writer)

    assert [make(settings).keep("b"), make(settings).keep("c")] == ["response", "revisit"]


def test_an_original_whose_files_name_redis_has_lost_is_looked_up_in_the_index(
    settings: Settings, make: Callable[..., Writer], redis_url: str
) -> None:
    writer = make(settings)
    assert writer.keep("a") == "response"
    writer.keeper.close()
    with redis.Redis.from_url(redis_url) as client:
        client.delete(files_key("news"))
        assert make(settings).keep("b") == "response", "nobody knows where it lies"
        client.delete(files_key("news"))
        writer.indexer.reconcile()
        assert make(settings).keep("c") == "revisit"
        assert client.hlen(files_key("news")) == 1


class TestTheSweep:
    def test_drops_what_lay_in_removed_files_from_index_and_store(
        self, settings: Settings, make: Callable[..., Writer], redis_url: str
    ) -> None:
        writer = make(settings)
        for number in range(5):
            writer.keep(str(number), b"body %d" % number)
        writer.keeper.close()
        (gone,) = writer.warcs
        writer.keep("stays", b"another file")
        writer.keeper.close()
        writer.indexer.reconcile()
        gone.unlink()

        assert writer.indexer.sweep() == 5

        assert [each.url for each in writer.index.nearest("news", url("stays"), None)] == [url("stays")]
        assert writer.index.count("news") == 1
        with redis.Redis.from_url(redis_url) as client:
            assert sum(client.hlen(key) for key in client.scan_iter("gf:{news}:o:*")) == 1
            assert client.hlen(files_key("news")) == 1
        assert writer.indexer.reconcile() == 0, "the sidecar of a file that is gone is passed over"
        assert writer.indexer.sweep() == 0

    def test_takes_a_file_in_again_that_comes_back(self, settings: Settings, make: Callable[..., Writer]) -> None:
        writer = make(settings)
        writer.keep("a")
        writer.keeper.close()
        writer.indexer.reconcile()
        (path,) = writer.warcs
        path.rename(path.with_suffix(".away"))
        assert writer.indexer.sweep() == 1
        path.with_suffix(".away").rename(path)

        assert writer.indexer.reconcile() == 1
        assert writer.index.count("news") == 1


class TestHomesThatShareAStore:
    @pytest.fixture
    def server(self, tmp_path: Path) -> Iterator[RedisServer]:
        with RedisServer(tmp_path) as running:
            yield running

    def writer(self, folder: Path, redis_url: str) -> Writer:
        settings = load({"home": str(folder), "redis.url": redis_url}, environment={})
        return Writer(settings, redis_url, home_name(settings))

    def test_the_original_of_another_home_is_an_original(self, server: RedisServer, tmp_path: Path) -> None:
        one, two = self.writer(tmp_path / "one", server.url), self.writer(tmp_path / "two", server.url)

        kinds = [one.keep("a"), two.keep("b"), two.keep("c", b"other"), one.keep("d", b"other")]

        assert kinds == ["response", "revisit", "response", "revisit"]
        one.close()
        two.close()

    def test_an_original_is_known_by_another_home_as_soon_as_it_is_stored(
        self, server: RedisServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """The home of a new file was noted only after its first originals, and a twin in between was written whole."""
        one, two = self.writer(tmp_path / "one", server.url), self.writer(tmp_path / "two", server.url)
        settle, kinds = one.claims.settle, list[str]()

        def settle_before_the_other_home_asks(settlement: Settlement) -> None:
            settle(settlement)
            kinds.append(two.keep("b"))

        monkeypatch.setattr(one.claims, "settle", settle_before_the_other_home_asks)
        kinds.append(one.keep("a"))

        assert kinds == ["revisit", "response"]
        one.close()
        two.close()

    def test_tallies_of_a_moment_without_redis_are_counted_later(self, server: RedisServer, tmp_path: Path) -> None:
        one = self.writer(tmp_path / "one", server.url)
        server.stop()
        kinds = [one.keep("a"), one.keep("b")]
        server.start()

        def kept_until_the_store_answers() -> bool:
            kinds.append(one.keep(str(len(kinds))))
            return kinds[-1] == "revisit"

        until(kept_until_the_store_answers, what="the store to be asked again")
        tally = one.claims.tally("news", "daily")
        assert kinds[:2] == ["response", "response"]
        assert tally["novel_urls"] + tally["duplicate_urls"] == len(kinds)
        one.close()

    def test_a_removed_file_of_its_own_is_forgotten_for_all(self, server: RedisServer, tmp_path: Path) -> None:
        one, two = self.writer(tmp_path / "one", server.url), self.writer(tmp_path / "two", server.url)
        assert [one.keep("a"), one.keep("b", b"more")] == ["response", "response"]
        one.keeper.close()
        one.indexer.reconcile()
        remove_file(one)

        assert two.indexer.sweep() == 0
        assert one.keep("c") == "response"
        assert one.indexer.sweep() == 2
        assert two.keep("d", b"more") == "response"
        one.close()
        two.close()

    def test_a_file_of_unknown_home_is_kept_whole_until_its_home_tells(
        self, server: RedisServer, tmp_path: Path
    ) -> None:
        one, two = self.writer(tmp_path / "one", server.url), self.writer(tmp_path / "two", server.url)
        assert one.keep("a") == "response"
        with server.client() as client:
            client.delete("gf:{news}:homes")

        assert two.keep("b") == "response"
        one.keeper.close()
        one.indexer.reconcile()
        one.indexer.sweep()
        assert two.keep("c") == "revisit"
        one.close()
        two.close()
