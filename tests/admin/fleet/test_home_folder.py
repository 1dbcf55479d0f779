"""The home before anything starts in it."""

from __future__ import annotations

from pathlib import Path

import pytest

from admin.fleet.home_folder import HomeError, collections, control_token, prepare
from archive.settings.load import Settings


def test_a_home_is_created_with_a_token_that_stays(tmp_path: Path) -> None:
    home = tmp_path / "new" / "home"
    prepare(home)
    token = control_token(home)
    prepare(home)
    assert control_token(home) == token
    assert (home / "control.token").stat().st_mode & 0o777 == 0o600


def test_an_empty_token_is_replaced(tmp_path: Path) -> None:
    (tmp_path / "control.token").touch()
    with pytest.raises(HomeError, match="is empty"):
        control_token(tmp_path)
    prepare(tmp_path)
    assert len(control_token(tmp_path)) > 20


def test_two_homes_have_different_tokens(tmp_path: Path) -> None:
    prepare(tmp_path / "a")
    prepare(tmp_path / "b")
    assert control_token(tmp_path / "a") != control_token(tmp_path / "b")


def test_a_folder_without_a_token_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(HomeError, match="check --home"):
        control_token(tmp_path)


def test_a_token_is_never_written_through_a_link(tmp_path: Path) -> None:
    (tmp_path / "control.token").symlink_to(tmp_path / "elsewhere")
    prepare(tmp_path)
    assert not (tmp_path / "elsewhere").exists()


def test_collections_are_listed_in_order(settings: Settings) -> None:
    assert collections(settings) == []
    for name in ("roses", "ferns"):
        settings.archive_dir(name).mkdir(parents=True)
    assert collections(settings) == ["ferns", "roses"]
