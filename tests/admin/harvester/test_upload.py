"""The files of a job go to the storage: data first, then the metadata file; errors of it are told apart."""

from __future__ import annotations

import fcntl
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from support.admin.harvesters import Admin, RunningHarvester, Wanted, folders
from support.origins.chain_site import ChainSite

from admin.harvester.upload import UploadStopped, hand_over
from admin.models.job_tables import JobStatus
from archive.names.warc_paths import WarcPaths
from archive.settings.load import Settings


@pytest.fixture
def storage(tmp_path: Path) -> Path:
    place = tmp_path / "storage"
    place.mkdir()
    return place


@pytest.fixture
def stored(settings: Settings, storage: Path) -> Settings:
    """Settings with a storage, and quick tries."""
    with_storage = settings.storage.model_copy(update={"url": str(storage)})
    quick = settings.harvester.model_copy(update={"upload_tries": 2, "upload_retry_seconds": 0, "process_seconds": 0.2})
    return settings.model_copy(update={"storage": with_storage, "harvester": quick})


def put(settings: Settings, name: str, content: bytes = b"warc") -> str:
    place = WarcPaths(settings.collection("news"), name)
    for path, data in ((place.warc, content), (place.sidecar, b"")):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    return f"news/archive/{name}"


def never() -> bool:
    return False


def at_once(_: float) -> bool:
    return False


def test_files_are_handed_over_and_others_of_the_home_are_left(stored: Settings, storage: Path) -> None:
    mine, _ = put(stored, "1-1-a.warc.gz"), put(stored, "2-1-b.warc.gz")
    assert hand_over(stored, [mine], at_once, never) == {}
    assert [path.name for path in (storage / "news" / "archive").iterdir()] == ["1-1-a.warc.gz"]
    assert hand_over(stored, [mine], at_once, never) == {}, "once more does no harm"


def test_a_file_that_fails_does_not_keep_the_others_back(stored: Settings, storage: Path) -> None:
    names = [put(stored, f"1-1-{letter}.warc.gz") for letter in "abc"]
    (storage / "news" / "archive").mkdir(parents=True)
    (storage / "news" / "archive" / "1-1-b.warc.gz").write_bytes(b"another file")
    failed = hand_over(stored, names, at_once, never)
    assert list(failed) == ["news/archive/1-1-b.warc.gz"]
    assert "has another news/archive/1-1-b.warc.gz" in failed["news/archive/1-1-b.warc.gz"]
    assert {path.name for path in (storage / "news" / "archive").iterdir()} == {
        f"1-1-{letter}.warc.gz" for letter in "abc"
    }


def test_a_file_that_has_left_the_home_counts_when_the_storage_has_it(stored: Settings) -> None:
    name = put(stored, "1-1-a.warc.gz")
    assert hand_over(stored, [name], at_once, never) == {}
    WarcPaths(stored.collection("news"), "1-1-a.warc.gz").warc.unlink()
    assert hand_over(stored, [name], at_once, never) == {}
    missing = hand_over(stored, ["news/archive/1-1-z.warc.gz"], at_once, never)
    assert missing == {"news/archive/1-1-z.warc.gz": "the file is neither in the home nor in the storage"}


def test_another_uploader_of_the_home_is_waited_for(stored: Settings, storage: Path) -> None:
    name = put(stored, "1-1-a.warc.gz")
    with (stored.home / "storage.lock").open("a") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)

        def other_works(_: float) -> bool:
            place = storage / name
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_bytes(b"warc")
            return False

        assert hand_over(stored, [name], other_works, never) == {}
        missing = hand_over(stored, [put(stored, "1-1-b.warc.gz")], at_once, never)
    assert "another uploader is at work" in missing["news/archive/1-1-b.warc.gz"]


def test_without_time_the_upload_is_left_to_the_next_start(stored: Settings) -> None:
    with pytest.raises(UploadStopped):
        hand_over(stored, [put(stored, "1-1-a.warc.gz")], at_once, lambda: True)


def test_without_a_storage_nothing_is_handed_over(settings: Settings) -> None:
    assert hand_over(settings, ["news/archive/1-1-a.warc.gz"], at_once, never) == {}


def test_a_storage_that_is_not_there_is_an_upload_error_and_the_data_stays(
    settings: Settings, admin: Admin, site: ChainSite, storage: Path
) -> None:
    jobs = [admin.job([Wanted("example.org")], ["http://www.example.org/"]) for _ in range(2)]
    flags = ["--resolve", f"*.example.org=127.0.0.1:{urlsplit(site.url).port}", "--jobs", "1"]
    storage.rmdir()
    storage.write_text("no folder")
    with RunningHarvester(
        settings.home, *flags, GHOSTFLEET_STORAGE__URL=str(storage), GHOSTFLEET_HARVESTER__UPLOAD_TRIES="2"
    ) as harvester:
        failed = admin.ended(jobs[0])
        assert harvester.ended() == 0, harvester.said
    assert (failed.status, failed.harvest_error) == (JobStatus.FAILED, "")
    assert failed.upload_error.startswith("2 files not uploaded; ")
    assert failed.upload_error_details.count("warc") >= 2
    assert admin.results(jobs[0])["example.org"][0] == 13, "the statistics are those of the harvest"
    kept = {path.name for path in settings.archive_dir("news").iterdir()}
    storage.unlink()
    storage.mkdir()
    with RunningHarvester(settings.home, *flags, GHOSTFLEET_STORAGE__URL=str(storage)) as harvester:
        done = admin.ended(jobs[1])
        assert harvester.ended() == 0, harvester.said
    assert (done.status, done.upload_error) == (JobStatus.DONE, "")
    assert f"{jobs[1]}-metadata-1.warc" in {path.name for path in (storage / "news" / "archive").iterdir()}
    assert kept <= {path.name for path in settings.archive_dir("news").iterdir()}
    assert folders(settings.home) == []
