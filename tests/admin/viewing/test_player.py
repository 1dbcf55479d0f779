"""admin/viewing/player.py: the player is taken from where the user said, checked, and refused with a remedy."""

from __future__ import annotations

import os
import tarfile
from pathlib import Path

import psutil
import pytest
from support.browsers.running_viewer import player_tarball
from support.processes.waiting import until

from admin.viewing import player
from admin.viewing.player import PlayerFetch, PlayerRefused, fetch_player, find_player, installed_folder, unpack_player
from archive.settings.load import Settings


def naming(settings: Settings, place: Path) -> Settings:
    return settings.model_copy(update={"view": settings.view.model_copy(update={"player": str(place)})})


def test_without_a_player_the_remedy_is_said(settings: Settings, tmp_path: Path) -> None:
    with pytest.raises(PlayerRefused, match="view --fetch-player"):
        find_player(settings)
    with pytest.raises(PlayerRefused, match=r"lacks ui\.js, sw\.js, LICENSE"):
        find_player(naming(settings, tmp_path))


def test_a_folder_is_used_as_it_is(settings: Settings, tmp_path: Path) -> None:
    inner = tmp_path / "package"
    inner.mkdir()
    for name in ("ui.js", "sw.js", "LICENSE"):
        (inner / name).write_text(name)
    (inner / "package.json").write_text('{"name": "replaywebpage", "version": "9.8.7"}')
    for place in (tmp_path, inner):
        found = find_player(naming(settings, place))
        assert (found.folder, found.version) == (inner, "9.8.7")
    (inner / "package.json").unlink()
    assert find_player(naming(settings, inner)).version == "unknown"


def test_another_tarball_is_refused(settings: Settings, tmp_path: Path) -> None:
    other = tmp_path / "other.tgz"
    with tarfile.open(other, "w:gz") as made:
        made.add(__file__, "package/ui.js")
    with pytest.raises(PlayerRefused, match="checksum differs"):
        find_player(naming(settings, other))
    assert not installed_folder(settings).exists()


def test_npm_that_fails_or_is_missing_is_said(
    settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(PlayerRefused, match="npm is not installed"):
        fetch_player(settings)
    broken = tmp_path / "npm"
    broken.write_text("#!/bin/sh\necho 'npm error no such registry' >&2\nexit 1\n")
    broken.chmod(0o755)
    with pytest.raises(PlayerRefused, match="no such registry"):
        fetch_player(settings)
    broken.write_text("#!/bin/sh\n: > replaywebpage.tgz\n")
    with pytest.raises(PlayerRefused, match="checksum differs"):
        fetch_player(settings)
    assert [each.name for each in installed_folder(settings).parent.iterdir()] == []


def test_npm_that_hangs_is_ended(settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    note = tmp_path / "note"
    npm = tmp_path / "npm"
    npm.write_text(f"#!/bin/sh\necho $$ > {note}.new; /bin/mv {note}.new {note}; exec /bin/sleep 600\n")
    npm.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(PlayerRefused, match="did not answer within 0 s"):
        fetch_player(settings, 0)
    note.unlink(missing_ok=True)

    chosen = settings.model_copy(update={"view": settings.view.model_copy(update={"fetch_player": True})})
    fetch = PlayerFetch(chosen)
    fetch.start()
    until(note.exists, what="npm to start")
    fetch.stop()

    until(lambda: not psutil.pid_exists(int(note.read_text())), what="npm to end")
    assert [each.name for each in installed_folder(settings).parent.iterdir()] == []


def test_a_viewer_that_fails_to_fetch_its_player_says_so_in_one_line(
    settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    fetch = PlayerFetch(settings)
    fetch.start()
    until(lambda: caplog.messages, what="the line")
    fetch.stop()
    (line,) = caplog.messages
    assert "npm is not installed" in line


@pytest.mark.timeout(400)
def test_the_package_of_npm_is_unpacked_whole(settings: Settings, tmp_path: Path) -> None:
    tarball = player_tarball(tmp_path)
    assert player.integrity(tarball.read_bytes()) == player.INTEGRITY
    found = find_player(naming(settings, tarball))
    assert found.version == player.VERSION
    assert sorted(os.listdir(found.folder)) == ["LICENSE", "README.md", "package.json", "sw.js", "ui.js"]
    assert "AFFERO" in (found.folder / "LICENSE").read_text()
    (found.folder / "ui.js").write_text("damaged")
    unpack_player(tarball, found.folder)
    assert (found.folder / "ui.js").stat().st_size > 100_000
    assert find_player(settings) == found
