"""Which browser is found."""

from __future__ import annotations

from pathlib import Path

import pytest

from browsers.engines.chromium import executable
from browsers.engines.chromium.executable import find_chromium
from browsers.engines.interface import BrowserMissing


@pytest.fixture
def bare_machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A machine without any browser; its PATH is the folder `bin`."""
    folder = tmp_path / "bin"
    folder.mkdir()
    monkeypatch.setenv("PATH", str(folder))
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("PLAYWRIGHT_BROWSERS_PATH", raising=False)
    monkeypatch.setattr(executable, "MAC_APPLICATIONS", ())
    return tmp_path


def program(path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("#!/bin/sh\n")
    path.chmod(0o755)
    return path


def test_the_one_named_in_the_settings_is_taken(bare_machine: Path) -> None:
    program(bare_machine / "bin" / "chromium")
    chosen = program(bare_machine / "own" / "chrome")

    assert find_chromium(str(chosen)) == chosen


def test_one_that_is_named_and_missing_is_an_error_and_not_replaced(bare_machine: Path) -> None:
    program(bare_machine / "bin" / "chromium")

    with pytest.raises(BrowserMissing, match=r"browsers\.executable = '/nowhere/chrome'"):
        find_chromium("/nowhere/chrome")


def test_chromium_comes_before_chrome(bare_machine: Path) -> None:
    program(bare_machine / "bin" / "google-chrome")
    chromium = program(bare_machine / "bin" / "chromium")

    assert find_chromium() == chromium


def test_the_newest_download_of_playwright_is_the_last_resort(bare_machine: Path) -> None:
    cache = bare_machine / ".cache" / "ms-playwright"
    program(cache / "chromium-1100" / "chrome-linux" / "chrome")
    newest = program(cache / "chromium-1255" / "chrome-linux64" / "chrome")

    assert find_chromium() == newest


def test_without_any_the_error_says_what_to_do(bare_machine: Path) -> None:
    with pytest.raises(BrowserMissing, match="apt-get install chromium"):
        find_chromium()
