"""Whether a WARC file is there: open or closed, in the home or in the storage; and how homes are told apart."""

from __future__ import annotations

from pathlib import Path

import pytest

from archive.settings.load import Settings, load
from archive.storage.presence import Presence, WarcFiles, home_name, is_alone

PLACE = ("news", "2026/a.warc.gz", 9)


def put(folder: Path, name: str = PLACE[1], size: int = 10) -> Path:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"x" * size)
    return path


def look(files: WarcFiles) -> Presence:
    return files.presence([PLACE])[PLACE]


def test_a_file_is_there_while_it_grows_and_when_it_is_closed(settings: Settings) -> None:
    files = WarcFiles(settings)
    assert look(files) is Presence.MISSING
    opened = put(settings.archive_dir("news"), f"{PLACE[1]}.open")
    assert look(files) is Presence.THERE
    opened.rename(settings.archive_dir("news") / PLACE[1])
    assert look(files) is Presence.THERE
    (settings.archive_dir("news") / PLACE[1]).unlink()
    assert look(files) is Presence.MISSING


def test_a_file_that_can_not_be_seen_is_not_missing(settings: Settings, tmp_path: Path) -> None:
    archive, name = settings.archive_dir("news"), PLACE[1]
    archive.mkdir(parents=True)
    (archive / "2026").symlink_to("2026")
    files = WarcFiles(settings)
    assert look(files) is Presence.UNKNOWN
    assert files.presence_of_all("news", [name, "other.warc.gz"]) == {
        name: Presence.UNKNOWN,
        "other.warc.gz": Presence.MISSING,
    }

    target = tmp_path / "target"
    (target / "news").mkdir(parents=True)
    stored = WarcFiles(load({"home": str(settings.home), "storage.url": str(target)}, environment={}))
    assert look(stored) is Presence.UNKNOWN, "the home may have what the storage lacks"
    assert stored.presence_of_all("news", [name]) == {name: Presence.UNKNOWN}
    put(target / "news" / "archive")
    assert stored.presence_of_all("news", [name]) == {name: Presence.THERE}
    stored.close()


@pytest.mark.parametrize("name", ["a\0.warc.gz", f"{'a' * 300}.warc.gz", "file/a.warc.gz"])
def test_a_name_that_no_file_can_have_is_missing(settings: Settings, name: str) -> None:
    put(settings.archive_dir("news"), "file")
    assert WarcFiles(settings).presence_of_all("news", [name]) == {name: Presence.MISSING}


def test_a_file_that_ends_before_the_record_does_not_have_it(settings: Settings) -> None:
    put(settings.archive_dir("news"), size=9)
    assert look(WarcFiles(settings)) is Presence.MISSING


def test_the_storage_is_asked_for_what_is_not_in_the_home(settings: Settings, tmp_path: Path) -> None:
    target = tmp_path / "target"
    stored = load({"home": str(settings.home), "storage.url": str(target)}, environment={})
    files = WarcFiles(stored)
    assert look(files) is Presence.UNKNOWN, "a storage that is not there may have it"
    files.close()
    put(target / "news" / "archive")
    again = WarcFiles(stored)
    assert look(again) is Presence.THERE
    assert again.presence([("news", "other.warc.gz", 0)]) == {("news", "other.warc.gz", 0): Presence.MISSING}
    again.close()


def test_many_files_are_looked_up_in_one_listing_of_the_storage(settings: Settings, tmp_path: Path) -> None:
    target = tmp_path / "target"
    stored = load({"home": str(settings.home), "storage.url": str(target)}, environment={})
    put(stored.archive_dir("news"), "here.warc.gz")
    names = ["here.warc.gz", "there.warc.gz", "gone.warc.gz"]
    files = WarcFiles(stored)
    there, unknown, missing = Presence.THERE, Presence.UNKNOWN, Presence.MISSING
    assert [*files.presence_of_all("news", names).values()] == [there, unknown, unknown]
    put(target / "news" / "archive", "there.warc.gz")
    assert [*files.presence_of_all("news", names).values()] == [there, there, missing]
    files.close()
    assert [*WarcFiles(settings).presence_of_all("news", names).values()] == [there, missing, missing]


def test_a_home_keeps_its_name(settings: Settings) -> None:
    name = home_name(settings)
    assert name.endswith(f":{settings.home}")
    (settings.home / "home.name").write_text("elsewhere:/home\n")
    assert home_name(settings) == "elsewhere:/home"


def test_a_home_is_alone_unless_others_may_share_redis_or_index(settings: Settings) -> None:
    assert is_alone(settings)
    for name, value in (("redis.url", "redis://127.0.0.1/"), ("database.url", "postgresql://db/x")):
        assert not is_alone(load({"home": str(settings.home), name: value}, environment={}))
