"""The command as people run it: real processes."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent.parent


def _run(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "admin.cli", *arguments],
        capture_output=True,
        text=True,
        cwd=ROOT,
        timeout=100,
        env={**os.environ, **environment},
    )


def test_version_and_help_import_no_room() -> None:
    program = (
        "import sys; from admin.cli import ghostfleet\n"
        "for flag in ['--version', '--help']:\n"
        "    ghostfleet.main([flag], standalone_mode=False)\n"
        "rooms = {'archive', 'dedupdb', 'frontier', 'proxy', 'browsers', 'pydantic', 'rich', 'redis'}\n"
        "assert not rooms & set(sys.modules), rooms & set(sys.modules)\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, cwd=ROOT)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("ghostfleet 0.")
    assert "replay" in done.stdout


@pytest.mark.parametrize(
    "name", ["crawl", "proxy", "restart", "replay", "open", "job", "check", "repair", "upload", "reindex", "config"]
)
def test_every_command_explains_itself(name: str) -> None:
    done = _run(name, "--help")
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith(f"Usage: ghostfleet {name}")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["crawl"], "nothing to crawl; name at least one seed"),
        (["crawl", "example.org"], "write http://example.org/"),
        (["crawl", "http://example.org/", "--collection", "a/b"], "a/b"),
        (["crawl", "http://example.org/", "--limit-bytes", "lots"], "'lots' is no size"),
        (["crawl", "http://example.org/", "--settings", "/does/not/exist.toml"], "can't be read"),
        (["proxy", "--resolve", "nonsense"], "write NAME=ADDRESS"),
        (["crwal"], "No such command 'crwal'"),
    ],
)
def test_bad_input_is_one_clear_line_and_exit_code_2(arguments: list[str], message: str, tmp_path: Path) -> None:
    done = _run(*arguments, GHOSTFLEET_HOME=str(tmp_path))
    assert done.returncode == 2
    assert message in done.stderr
    assert done.stderr.startswith("ghostfleet: ")
    assert done.stderr.count("\n") == 1


def test_a_profile_with_an_unknown_key_is_refused(tmp_path: Path) -> None:
    profile = tmp_path / "profile.toml"
    profile.write_text("hopps = 3\n")
    done = _run("crawl", "http://example.org/", "--profile", str(profile), "--home", str(tmp_path / "home"))
    assert done.returncode == 2
    assert "unknown key hopps; did you mean hops" in done.stderr


def test_an_unknown_setting_in_the_environment_is_refused(tmp_path: Path) -> None:
    done = _run("config", "--home", str(tmp_path), GHOSTFLEET_PROXY__PROT="8000")
    assert done.returncode == 2
    assert "unknown setting proxy.prot in the environment; did you mean proxy.port?" in done.stderr
