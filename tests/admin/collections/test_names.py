"""Names of collections on the command line: completed by the shell, corrected, and refused in plain words (T42)."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from support.processes.ghostfleet_command import ROOT

from archive.settings.load import Settings, load


def run(*arguments: str, home: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "admin.cli", *arguments],
        capture_output=True,
        text=True,
        cwd=ROOT,
        timeout=100,
        env={**os.environ, "GHOSTFLEET_HOME": str(home), **environment},
        stdin=subprocess.DEVNULL,
    )


@pytest.mark.parametrize(
    "command",
    [
        ["replay"],
        ["open"],
        ["reindex"],
        ["repair"],
        ["dictionary"],
        ["dedup"],
        ["job", "list", "--collection"],
        ["collection", "show"],
        ["collection", "delete", "--yes-delete", "gardne"],
    ],
    ids=" ".join,
)
def test_a_misspelt_name_is_answered_with_the_nearest(settings: Settings, command: list[str]) -> None:
    settings.archive_dir("garden").mkdir(parents=True)
    done = run(*command, "gardne", home=settings.home)
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert "there is no collection gardne" in done.stderr
    assert "did you mean garden?" in done.stderr


@pytest.mark.parametrize(
    "command",
    [
        ["crawl", "http://example.org/", "--collection"],
        ["proxy", "--collection"],
        ["replay"],
        ["reindex"],
        ["collection", "show"],
        ["job", "list", "--collection"],
    ],
    ids=" ".join,
)
def test_an_invalid_name_is_refused_with_the_rule(settings: Settings, command: list[str]) -> None:
    (settings.home / "collections" / "Über uns" / "archive").mkdir(parents=True)
    done = run(*command, "Über uns", home=settings.home)
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert "collection 'Über uns' can't be used; a name begins with a letter" in done.stderr
    assert "for instance Uber-uns" in done.stderr


@pytest.mark.parametrize("words", ["crawl --collection gar", "replay gar", "reindex garden gar", "collection show gar"])
def test_the_shell_completes_names(settings: Settings, words: str) -> None:
    for name in ("garden", "garnet", "meadow"):
        settings.archive_dir(name).mkdir(parents=True)
    typed = f"ghostfleet {words}"
    count = str(len(typed.split()) - 1)
    done = run(home=settings.home, _GHOSTFLEET_COMPLETE="bash_complete", COMP_WORDS=typed, COMP_CWORD=count)
    expected = ["plain,garden", "plain,garnet"]
    assert done.stdout.splitlines() == (expected[1:] if "garden " in words else expected)


def test_the_shell_gets_a_script_and_the_names_of_commands(settings: Settings) -> None:
    script = run(home=settings.home, _GHOSTFLEET_COMPLETE="bash_source")
    assert "_GHOSTFLEET_COMPLETE=bash_complete" in script.stdout
    names = run(home=settings.home, _GHOSTFLEET_COMPLETE="bash_complete", COMP_WORDS="ghostfleet coll", COMP_CWORD="1")
    assert names.stdout == "plain,collection\n"


def test_completion_reads_the_settings_of_the_command_line(tmp_path: Path) -> None:
    elsewhere = load({"home": str(tmp_path / "elsewhere")}, environment={})
    elsewhere.archive_dir("orchard").mkdir(parents=True)
    typed = f"ghostfleet replay --home {elsewhere.home} or"
    done = run(home=tmp_path, _GHOSTFLEET_COMPLETE="bash_complete", COMP_WORDS=typed, COMP_CWORD="4")
    assert done.stdout == "plain,orchard\n"
