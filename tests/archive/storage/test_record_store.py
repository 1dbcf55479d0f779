"""archive/storage/record_store.py: records of files that left the home are read from the storage, in ranges."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import fsspec
import pytest
from fsspec.implementations.memory import MemoryFileSystem
from support.archive.exchanges import exchange, keep, response

from archive.capture import Capture
from archive.names.warc_paths import warc_files
from archive.settings.load import Settings, load
from archive.storage.record_store import RecordStore
from archive.storage.storage import StorageError
from archive.storage.upload import Uploader
from archive.warc.writing.dictionary import save, train
from archive.warc.writing.writer import WarcWriter

PAGES = [f"page {number} ".encode() * 40 for number in range(30)]


class CountingStore(MemoryFileSystem):
    """A store that says how much of it was read, and may be told to fail."""

    protocol = "counting"
    store: dict[str, Any] = {}  # noqa: RUF012 — that of MemoryFileSystem, of our own
    pseudo_dirs = [""]  # noqa: RUF012
    fetched = 0
    is_down = False

    def cat_file(self, path: str, start: int | None = None, end: int | None = None, **kwargs: Any) -> bytes:
        if self.is_down:
            raise RuntimeError("no connection, as this library says it")
        data: bytes = super().cat_file(path, start=start, end=end, **kwargs)
        type(self).fetched += len(data)
        return data


@pytest.fixture
def store() -> type[CountingStore]:
    fsspec.register_implementation("counting", CountingStore, clobber=True)
    CountingStore.store, CountingStore.pseudo_dirs = {}, [""]
    CountingStore.fetched, CountingStore.is_down = 0, False
    return CountingStore


def handed_over(settings: Settings) -> list[Capture]:
    """Captures of PAGES whose file is in the storage alone."""
    writer = WarcWriter(settings, "news")
    captures = [keep(writer, exchange(f"/{number}", response(body))) for number, body in enumerate(PAGES)]
    writer.close()
    uploader = Uploader(settings)
    assert uploader.look()
    assert uploader.status.removed == 1
    assert warc_files(settings.archive_dir("news")) == []
    return captures


def payload(holdings: RecordStore, capture: Capture) -> bytes:
    with holdings.record(capture.collection, capture.filename, capture.offset, capture.length) as record:
        return b"".join(record.payload())


def settings_for(home: Path, **changed: Any) -> Settings:
    return load(
        {"home": str(home), "storage.url": "counting://bucket", "storage.keep_local_seconds": 0, **changed},
        environment={},
    )


@pytest.mark.parametrize("compression", ["gzip", "zstd", "dictionary"])
def test_a_record_of_the_storage_is_read_in_its_range(
    home: Path, tmp_path: Path, store: type[CountingStore], compression: str
) -> None:
    changed: dict[str, Any] = {"archive.compression": "zstd" if compression != "gzip" else "gzip"}
    if compression == "dictionary":
        settings = load({"home": str(tmp_path / "learned")}, environment={})
        writer = WarcWriter(settings, "news")
        for number, body in enumerate(PAGES):
            keep(writer, exchange(f"/{number}", response(body)))
        writer.close()
        save(train(warc_files(settings.archive_dir("news")), level=3, size=4_000).data, tmp_path / "d")
        changed["archive.zstd_dictionary"] = str(tmp_path / "d")
    settings = settings_for(home, **changed, **{"archive.warc_folder": "{prefix}/{year}"})
    captures = handed_over(settings)
    holdings = RecordStore(settings)
    store.fetched = 0

    for capture, body in zip(captures, PAGES, strict=True):
        assert payload(holdings, capture) == body

    files = sum(len(file.getvalue()) for path, file in store.store.items() if ".warc." in path and "cdxj" not in path)
    assert store.fetched < 3 * files if compression == "gzip" else store.fetched > 0


def test_what_is_in_the_home_is_read_there(home: Path, store: type[CountingStore]) -> None:
    settings = settings_for(home, **{"storage.keep_local_seconds": -1})
    writer = WarcWriter(settings, "news")
    capture = keep(writer, exchange("/", response(b"here")))
    writer.close()

    assert payload(RecordStore(settings), capture) == b"here"
    assert store.fetched == 0


def test_a_storage_that_is_away_is_an_error_of_its_own(home: Path, store: type[CountingStore]) -> None:
    settings = settings_for(home)
    capture, *_ = handed_over(settings)
    holdings = RecordStore(settings)

    store.is_down = True
    with pytest.raises(StorageError, match=r"counting://bucket did not give back news/archive/.*no connection"):
        payload(holdings, capture)

    store.is_down = False
    assert payload(holdings, capture) == PAGES[0], "it is asked again the next time"


def test_a_file_that_is_nowhere_is_not_found(home: Path, store: type[CountingStore]) -> None:
    settings = settings_for(home)
    handed_over(settings)
    with pytest.raises(FileNotFoundError, match="neither in the home nor in counting://bucket"):
        RecordStore(settings).record("news", "other.warc.gz", 0, 10)
    without = load({"home": str(home)}, environment={})
    with pytest.raises(FileNotFoundError):
        RecordStore(without).record("news", "other.warc.gz", 0, 10)


def test_a_folder_that_is_not_mounted_is_no_empty_one(home: Path, tmp_path: Path) -> None:
    settings = settings_for(home, **{"storage.url": str(tmp_path / "target")})
    capture, *_ = handed_over(settings)
    (tmp_path / "target").rename(tmp_path / "elsewhere")

    with pytest.raises(StorageError, match=r"target does not exist, and should have news/archive"):
        payload(RecordStore(settings), capture)
