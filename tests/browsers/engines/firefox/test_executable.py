"""Firefox is found, or one line says what to do."""

from __future__ import annotations

from pathlib import Path

import pytest

from browsers.engines.firefox.executable import NAMES, OLDEST, check_version, find_firefox
from browsers.engines.interface import BrowserMissing


def program(folder: Path, told: str) -> Path:
    """A program that prints its version like a browser."""
    path = folder / NAMES[0]
    path.write_text(f"#!/bin/sh\necho '{told}'\n")
    path.chmod(0o700)
    return path


def test_a_chosen_program_is_used_and_a_wrong_one_named(tmp_path: Path) -> None:
    chosen = program(tmp_path, "Mozilla Firefox 153.7.0esr")

    assert find_firefox(str(chosen)) == chosen
    with pytest.raises(BrowserMissing, match=r"browsers\.firefox_executable = '/nowhere' is not an executable"):
        find_firefox("/nowhere")


def test_without_a_program_the_message_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr("browsers.engines.firefox.executable.MAC_APPLICATION", str(tmp_path / "none"))

    with pytest.raises(BrowserMissing, match="apt-get install firefox-esr"):
        find_firefox()


def test_the_version_is_told_and_an_old_one_refused(tmp_path: Path) -> None:
    assert check_version(program(tmp_path, "Mozilla Firefox 153.7.0esr")) == "153.7.0"
    with pytest.raises(BrowserMissing, match=f"is Firefox 128; release {OLDEST} or newer is needed"):
        check_version(program(tmp_path, "Mozilla Firefox 128.3.0esr"))
    with pytest.raises(BrowserMissing, match="does not tell its version"):
        check_version(program(tmp_path, "Segmentation fault"))
