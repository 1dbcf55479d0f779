"""archive/storage/upload.py and archive/storage/storage.py: finished files get to the storage whole and once."""

from __future__ import annotations

import fcntl
import json
import os
import threading
import time
from pathlib import Path
from typing import Any

import fsspec
import pytest
from fsspec.implementations.memory import MemoryFileSystem
from support.archive.exchanges import exchange, keep
from support.processes.waiting import until

from archive.settings.load import Settings, load
from archive.storage import upload
from archive.storage.storage import CopyStopped, Storage, StorageConflict, StorageError
from archive.storage.upload import LOCK_FILE, STATUS_FILE, Uploader
from archive.warc.upkeep.check import check
from archive.warc.writing.writer import WarcWriter


class FaultyStore(MemoryFileSystem):
    """A store that can be told to fail, or to give back other bytes than it got."""

    protocol = "faulty"
    store: dict[str, Any] = {}  # noqa: RUF012 — that of MemoryFileSystem, of our own
    pseudo_dirs = [""]  # noqa: RUF012
    is_down = False
    bends = False

    def _open(self, path: str, mode: str = "rb", *args: Any, **kwargs: Any) -> Any:
        if self.is_down:
            raise RuntimeError("no connection, as this library says it")
        file = super()._open(path, mode, *args, **kwargs)
        if mode == "rb" and self.bends:
            data = bytearray(file.getvalue())
            data[-1] ^= 1
            return type(file)(fs=self, path=path, data=bytes(data))
        return file


class BucketStore(FaultyStore):
    """A store where making a folder would make a bucket."""

    protocol = ("s3", "s3a")

    def makedirs(self, path: str, exist_ok: bool = False) -> None:
        raise AssertionError(f"{path} was to be made")


@pytest.fixture
def faulty() -> type[FaultyStore]:
    """The store behind faulty:// URLs, empty and well."""
    fsspec.register_implementation("faulty", FaultyStore, clobber=True)
    FaultyStore.store, FaultyStore.pseudo_dirs = {}, [""]
    FaultyStore.is_down = FaultyStore.bends = False
    return FaultyStore


def settings_for(home: Path, url: str, **more: Any) -> Settings:
    return load({"home": str(home), "storage.url": url, **{f"storage.{k}": v for k, v in more.items()}}, environment={})


def written(settings: Settings, count: int = 1) -> list[Path]:
    """Closed WARC files of the collection news."""
    made = []
    for number in range(count):
        writer = WarcWriter(settings, "news")
        made.append(settings.archive_dir("news") / keep(writer, exchange(f"/{number}")).filename)
        writer.close()
    return made


def sidecar_of(warc: Path) -> Path:
    return warc.parent.parent / "indexes" / f"{warc.name}.cdxj"


def status(settings: Settings) -> dict[str, Any]:
    return json.loads((settings.home / STATUS_FILE).read_text())


def names(folder: Path) -> set[str]:
    return {path.name for path in folder.rglob("*") if path.is_file()}


@pytest.fixture
def target(tmp_path: Path) -> Path:
    return tmp_path / "target"


@pytest.fixture
def settings(home: Path, target: Path) -> Settings:
    return settings_for(home, str(target))


def test_a_finished_warc_and_its_sidecar_are_copied_byte_for_byte(settings: Settings, target: Path) -> None:
    (warc,) = written(settings)

    assert Uploader(settings).look()

    assert (target / "news/archive" / warc.name).read_bytes() == warc.read_bytes()
    assert (target / f"news/indexes/{warc.name}.cdxj").read_bytes() == sidecar_of(warc).read_bytes()
    assert names(target) == {warc.name, f"{warc.name}.cdxj"}, "no temporary name is left"
    assert list(check(target)) == []


def test_subfolders_are_kept_in_the_storage(home: Path, target: Path) -> None:
    settings = load(
        {"home": str(home), "storage.url": str(target), "archive.warc_folder": "{prefix}/{year}"}, environment={}
    )
    (warc,) = written(settings)
    place = warc.relative_to(settings.archive_dir("news"))
    assert len(place.parts) == 3

    assert Uploader(settings).look()

    assert (target / "news/archive" / place).read_bytes() == warc.read_bytes()
    assert (target / f"news/indexes/{place}.cdxj").exists()
    assert list(check(target)) == []
    again = Uploader(settings)
    assert again.look()
    assert (again.status.handed_over, again.status.waiting) == (0, 0), "it knows what is there"


def test_a_file_still_written_is_not_touched(settings: Settings, target: Path) -> None:
    writer = WarcWriter(settings, "news")
    keep(writer, exchange())
    writer.sync()

    assert Uploader(settings).look()

    assert names(target) == set()
    writer.close()


def test_an_uploader_started_again_copies_nothing_twice(settings: Settings, target: Path) -> None:
    (warc,) = written(settings)
    Uploader(settings).look()
    before = (target / "news/archive" / warc.name).stat()

    again = Uploader(settings)

    assert again.look()
    assert (again.status.handed_over, again.status.waiting) == (0, 0)
    after = (target / "news/archive" / warc.name).stat()
    assert (before.st_ino, before.st_mtime_ns) == (after.st_ino, after.st_mtime_ns)


def test_what_a_killed_uploader_left_under_a_temporary_name_is_made_whole(settings: Settings, target: Path) -> None:
    (warc,) = written(settings)
    (target / "news/archive").mkdir(parents=True)
    (target / "news/archive" / f"{warc.name}.part").write_bytes(warc.read_bytes()[:50] + b"torn")

    assert Uploader(settings).look()

    assert names(target / "news/archive") == {warc.name}
    assert (target / "news/archive" / warc.name).read_bytes() == warc.read_bytes()


def test_another_file_of_that_name_is_neither_overwritten_nor_taken_for_ours(settings: Settings, target: Path) -> None:
    first, second = written(settings, 2)
    (target / "news/archive").mkdir(parents=True)
    (target / "news/archive" / first.name).write_bytes(b"somebody else's")

    uploader = Uploader(settings)

    assert not uploader.look()
    assert (target / "news/archive" / first.name).read_bytes() == b"somebody else's"
    assert (target / "news/archive" / second.name).exists(), "the others go on"
    assert "has another" in status(settings)["failing"][f"news/archive/{first.name}"]
    assert first.exists()


def test_a_warc_without_sidecar_waits_for_a_repair(settings: Settings, target: Path) -> None:
    (warc,) = written(settings)
    sidecar_of(warc).unlink()

    assert not Uploader(settings).look()

    assert names(target) == set()
    assert "`ghostfleet repair`" in str(status(settings)["failing"])


def test_a_link_that_leads_nowhere_keeps_no_other_file_back(home: Path, target: Path) -> None:
    settings = settings_for(home, str(target), keep_local_seconds=0)
    linked, whole = written(settings, 2)
    away = home / "away.warc.gz"
    linked.rename(away)
    linked.symlink_to(away)
    uploader = Uploader(settings_for(home, str(target)))
    assert uploader.look()
    away.unlink()
    later = written(settings)[0]

    for tried in (uploader, Uploader(settings)):
        tried.look()
        assert (target / "news/archive" / later.name).exists()
    assert list(tried.status.failing) == [f"news/archive/{linked.name}"]
    assert (whole.exists(), later.exists(), tried.status.waiting) == (False, False, 0)


def test_what_comes_back_changed_gets_no_final_name_and_is_tried_again(
    home: Path, faulty: type[FaultyStore], caplog: pytest.LogCaptureFixture
) -> None:
    settings = settings_for(home, "faulty://bucket/path")
    (warc,) = written(settings)
    faulty.bends = True
    uploader = Uploader(settings)

    assert not uploader.look()
    assert faulty.store == {}
    assert "gave back another" in caplog.text
    faulty.bends = False

    assert uploader.look()
    kept = {path: file.getvalue() for path, file in faulty.store.items() if path.endswith(".warc.gz")}
    assert {path.rpartition("bucket/")[2]: data for path, data in kept.items()} == {
        f"path/news/archive/{warc.name}": warc.read_bytes()
    }
    assert status(settings)["failing"] == {}
    assert (status(settings)["failures"], status(settings)["handed_over"]) == (1, 1)


def test_a_storage_that_fails_ends_the_look_early_and_says_so_once(
    home: Path, faulty: type[FaultyStore], caplog: pytest.LogCaptureFixture
) -> None:
    settings = settings_for(home, "faulty://bucket")
    written(settings, 5)
    faulty.is_down = True
    uploader = Uploader(settings)

    assert not uploader.look()
    assert not uploader.look()

    assert uploader.status.waiting == 5
    assert uploader.status.failures == 6, "three files were tried in each look"
    assert caplog.text.count("no connection, as this library says it") == 3
    faulty.is_down = False
    assert uploader.look()
    assert uploader.status.waiting == 0


def test_in_an_object_store_no_bucket_is_made(home: Path, faulty: type[FaultyStore]) -> None:
    fsspec.register_implementation("faulty", BucketStore, clobber=True)
    settings = settings_for(home, "faulty://bucket")
    (warc,) = written(settings)

    assert Uploader(settings).look()
    assert any(path.endswith(f"news/archive/{warc.name}") for path in faulty.store)


def test_a_running_uploader_gets_over_failures_and_takes_what_comes_later(
    home: Path, faulty: type[FaultyStore], monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = settings_for(home, "faulty://bucket", look_seconds=0.01)
    monkeypatch.setattr(upload, "_MAX_RETRY_SECONDS", 0.05)
    faulty.is_down = True
    uploader, stop = Uploader(settings), threading.Event()
    written(settings)
    thread = threading.Thread(target=uploader.run, args=(stop,))
    thread.start()
    try:
        until(lambda: uploader.status.failures > 2, what="failures")
        faulty.is_down = False
        until(lambda: uploader.status.handed_over == 1, what="the first file")
        written(settings)
        until(lambda: uploader.status.handed_over == 2, what="the second file")
    finally:
        stop.set()
        thread.join()


def test_what_is_finished_when_the_end_comes_is_still_handed_over(settings: Settings, target: Path) -> None:
    stop = threading.Event()
    stop.set()
    (warc,) = written(settings)

    Uploader(settings).run(stop)

    assert (target / "news/archive" / warc.name).exists()


def test_without_time_at_the_end_files_wait_for_the_next_start(
    home: Path, target: Path, caplog: pytest.LogCaptureFixture
) -> None:
    settings = settings_for(home, str(target), drain_seconds=0)
    stop = threading.Event()
    stop.set()
    written(settings)

    Uploader(settings).run(stop)

    assert "1 files wait for the next start" in caplog.text
    assert names(target) == set()


def test_local_copies_stay_unless_asked_otherwise(settings: Settings) -> None:
    (warc,) = written(settings)
    os.utime(warc, (0, 0))

    Uploader(settings).look()

    assert warc.exists()


def test_a_local_copy_leaves_when_it_is_old_enough_and_its_sidecar_stays(home: Path, target: Path) -> None:
    settings = settings_for(home, str(target), keep_local_seconds=3600)
    young, old = written(settings, 2)
    os.utime(old, (1_000_000_000, 1_000_000_000))
    uploader = Uploader(settings)

    assert uploader.look()

    assert (young.exists(), old.exists()) == (True, False)
    assert sidecar_of(old).exists()
    assert (target / "news/archive" / old.name).exists()
    assert uploader.status.removed == 1
    assert uploader.look(), "what was removed is not missed"


def test_a_local_copy_is_removed_only_when_the_storage_gives_back_the_same(home: Path, target: Path) -> None:
    (warc,) = written(settings_for(home, str(target)))
    Uploader(settings_for(home, str(target))).look()
    kept = target / "news/archive" / warc.name
    data = kept.read_bytes()
    kept.write_bytes(data[:-1] + bytes([data[-1] ^ 1]))
    removing = settings_for(home, str(target), keep_local_seconds=0)

    assert not Uploader(removing).look()
    assert warc.exists()
    kept.write_bytes(data)

    assert Uploader(removing).look()
    assert not warc.exists()


@pytest.mark.parametrize("keep_local_seconds", [0, -1])
@pytest.mark.parametrize("has_same_size", [True, False])
@pytest.mark.parametrize("was_missed", [True, False])
def test_a_new_file_with_the_name_of_an_old_one_stays_when_the_storage_has_the_old_one(
    home: Path, target: Path, keep_local_seconds: int, has_same_size: bool, was_missed: bool
) -> None:
    settings = settings_for(home, str(target), keep_local_seconds=keep_local_seconds)
    (warc,) = written(settings)
    in_an_hour = time.time() + 3600
    os.utime(warc, (in_an_hour, in_an_hour))
    uploader = Uploader(settings)
    assert uploader.look()
    kept, kept_index = target / "news/archive" / warc.name, target / f"news/indexes/{warc.name}.cdxj"
    old, old_index = kept.read_bytes(), kept_index.read_bytes()
    new = old[:-1] + bytes([old[-1] ^ 1]) + (b"" if has_same_size else b"more")

    warc.unlink()
    if was_missed:
        assert uploader.look()
    warc.write_bytes(new)
    sidecar_of(warc).write_bytes(b"the lines of the new file\n")

    for _ in range(2):
        is_well = uploader.look()
        assert (warc.read_bytes(), kept.read_bytes(), uploader.status.removed) == (new, old, 0)
        assert kept_index.read_bytes() == old_index
        if not has_same_size or keep_local_seconds == 0:
            assert not is_well
            assert "has another" in uploader.status.failing[f"news/archive/{warc.name}"]
    assert uploader.status.waiting == (0 if has_same_size else 1)
    uploader.hand_over([f"news/archive/{warc.name}"])
    assert (kept.read_bytes(), kept_index.read_bytes()) == (old, old_index)


def test_a_new_file_that_the_storage_does_not_have_is_uploaded_under_the_old_name(home: Path, target: Path) -> None:
    settings = settings_for(home, str(target))
    (warc,) = written(settings)
    uploader = Uploader(settings)
    assert uploader.look()
    kept = target / "news/archive" / warc.name
    kept.unlink()
    data = warc.read_bytes()
    warc.unlink()
    warc.write_bytes(data + data)

    assert uploader.look()

    assert kept.read_bytes() == data + data
    assert uploader.status.handed_over == 2


def test_a_file_that_is_replaced_while_it_is_compared_stays(home: Path, faulty: type[FaultyStore]) -> None:
    (warc,) = written(settings_for(home, "faulty://bucket"))
    assert Uploader(settings_for(home, "faulty://bucket")).look()
    new = warc.with_suffix(".new")
    new.write_bytes(b"another file")

    class ReplacingStore(FaultyStore):
        def _open(self, path: str, mode: str = "rb", *args: Any, **kwargs: Any) -> Any:
            if path.endswith(warc.name) and new.exists():
                new.replace(warc)
            return super()._open(path, mode, *args, **kwargs)

    fsspec.register_implementation("faulty", ReplacingStore, clobber=True)
    uploader = Uploader(settings_for(home, "faulty://bucket", keep_local_seconds=0))

    uploader.look()

    assert not new.exists(), "the file was replaced"
    assert warc.read_bytes() == b"another file"
    assert not uploader.look()
    assert warc.read_bytes() == b"another file"


def test_a_second_uploader_of_the_home_keeps_out(settings: Settings, target: Path) -> None:
    written(settings)
    with (settings.home / LOCK_FILE).open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        assert not Uploader(settings).look()

    assert names(target) == set()
    assert "another uploader is at work" in str(status(settings)["failing"])


def test_a_copy_can_be_stopped_and_leaves_no_final_name(settings: Settings, target: Path) -> None:
    (warc,) = written(settings)

    with pytest.raises(CopyStopped):
        Storage(settings.storage).put(warc, "news/archive/x.warc.gz", lambda: True)

    assert not (target / "news/archive/x.warc.gz").exists()


def test_a_sidecar_may_be_replaced_and_a_warc_may_not(settings: Settings, tmp_path: Path) -> None:
    storage, source = Storage(settings.storage), tmp_path / "source"
    source.write_bytes(b"one")
    assert storage.put(source, "a/b", lambda: False)
    source.write_bytes(b"another")

    with pytest.raises(StorageConflict, match="of 3 bytes instead of 7"):
        storage.put(source, "a/b", lambda: False)
    assert storage.put(source, "a/b", lambda: False, replace=True)
    assert storage.has_same(source, "a/b", lambda: False)


@pytest.mark.parametrize(
    ("url", "says"),
    [("nosuch://bucket", "Protocol not known"), ("sftp://me:secret@host/x", "needs a Python library")],
)
def test_a_storage_that_cant_be_is_refused_in_one_line_without_its_password(home: Path, url: str, says: str) -> None:
    with pytest.raises(StorageError, match=says) as refused:
        Uploader(settings_for(home, url))

    assert str(refused.value).startswith("setting storage.url = ")
    assert "\n" not in str(refused.value)
    assert "secret" not in str(refused.value)
