"""archive/home_access.py: who can read the files of a home."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from archive.home_access import Mended, make_private, mend
from archive.settings.archive import Readers

FILES = (
    "admin.db-wal",
    "logs/proxy-0.log",
    "redis/appendonlydir/a.aof",
    "harvester/oldjobs/1_2/claim.json",
    "collections/news/archive/a.warc.gz",
    "collections/news/indexes/deep/a.warc.gz.cdxj",
    "collections/news/jobs/daily-1/crawl.log",
    "collections/news/jobs/daily-1/profile.json",
)


@pytest.fixture
def old(tmp_path: Path) -> Path:
    """A home of an earlier release, with the usual umask."""
    home = tmp_path / "home"
    for name in FILES:
        (home / name).parent.mkdir(parents=True, exist_ok=True)
        (home / name).touch()
    for path in (home, *home.rglob("*")):
        path.chmod(0o755 if path.is_dir() else 0o644)
    (home / "behaviors").symlink_to(tmp_path)
    return home


def modes(home: Path, *, folders: bool) -> dict[str, str]:
    return {
        str(path.relative_to(home)): oct(stat.S_IMODE(path.stat().st_mode))[2:]
        for path in (home, *home.rglob("*"))
        if path.is_dir() is folders and not path.is_symlink()
    }


def test_a_home_that_others_could_read_is_mended_once(old: Path, tmp_path: Path) -> None:
    before = stat.S_IMODE(tmp_path.stat().st_mode)
    found = mend(old, "owner")
    assert found == Mended(len(modes(old, folders=True)) + len(FILES), 0)
    assert set(modes(old, folders=True).values()) == {"700"}
    assert set(modes(old, folders=False).values()) == {"600"}
    assert stat.S_IMODE(tmp_path.stat().st_mode) == before, "a link leads out of the home"
    assert "\n" not in found.line
    assert mend(old, "owner").line == ""
    (old / "late").touch(mode=0o644)
    assert mend(old, "owner").changed == 1


def test_the_group_can_read_collections_and_nothing_else(old: Path) -> None:
    mend(old, "owner")
    mend(old, "group")
    shared = {name: mode for name, mode in modes(old, folders=True).items() if mode != "700"}
    assert shared.pop(".") == "710"
    assert set(shared) == {name for name in modes(old, folders=True) if name.startswith("collections")}
    assert set(shared.values()) == {"750"}
    files = {name for name, mode in modes(old, folders=False).items() if mode == "640"}
    assert files == {name for name in FILES if name.startswith("collections") and not name.endswith("profile.json")}
    assert set(modes(old, folders=False).values()) == {"600", "640"}
    mend(old, "owner")
    assert set(modes(old, folders=False).values()) == {"600"}


@pytest.mark.parametrize("readers", ["owner", "group"])
def test_a_cut_off_change_goes_on_with_the_next_call(
    old: Path, readers: Readers, monkeypatch: pytest.MonkeyPatch
) -> None:
    chmod, left = Path.chmod, [4]

    def short(path: Path, mode: int) -> None:
        if not left[0]:
            raise KeyboardInterrupt
        left[0] -= 1
        chmod(path, mode)

    with monkeypatch.context() as patched:
        patched.setattr(Path, "chmod", short)
        with pytest.raises(KeyboardInterrupt):
            mend(old, readers)
    mend(old, readers)
    assert not any(path.stat().st_mode & stat.S_IRWXO for path in (old, *old.rglob("*")) if not path.is_symlink())


def test_a_database_and_the_files_beside_it_are_private_from_the_start(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        make_private(tmp_path / "new.db")
        (tmp_path / "old.db").touch(mode=0o666)
        (tmp_path / "old.db-wal").touch(mode=0o666)
        make_private(tmp_path / "old.db")
        make_private(tmp_path / "no-folder" / "x.db")
    finally:
        os.umask(before)
    assert {path.name: stat.S_IMODE(path.stat().st_mode) for path in tmp_path.iterdir()} == {
        "new.db": 0o600,
        "old.db": 0o600,
        "old.db-wal": 0o600,
    }


def test_a_device_stays_everybodys(tmp_path: Path) -> None:
    before = Path(os.devnull).stat().st_mode
    make_private(Path(os.devnull))
    assert Path(os.devnull).stat().st_mode == before
