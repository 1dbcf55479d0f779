"""The command as people run it: real processes."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from admin.cli import ghostfleet
from admin.commands.jobs.crawl import crawl

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


def test_version_and_help_import_no_package() -> None:
    program = (
        "import sys; from admin.cli import ghostfleet\n"
        "for flag in ['--version', '--help']:\n"
        "    ghostfleet.main([flag], standalone_mode=False)\n"
        "rooms = {'archive.settings', 'archive.capture', 'dedupdb', 'frontier', 'proxy', 'browsers'}\n"
        "rooms |= {'pydantic', 'rich', 'redis'}\n"
        "assert not rooms & set(sys.modules), rooms & set(sys.modules)\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, cwd=ROOT)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("ghostfleet 0.")
    assert "replay" in done.stdout


@pytest.mark.parametrize(
    "name",
    ["crawl", "proxy", "restart", "replay", "open", "job", "profile", "check", "repair", "upload", "reindex", "config"],
)
def test_every_command_has_help(name: str) -> None:
    done = _run(name, "--help")
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith(f"Usage: ghostfleet {name}")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["crawl"], "there are no seeds; name at least one URL"),
        (["crawl", "example.org"], "write http://example.org/"),
        (["crawl", "http://example.org/", "--collection", "a/b"], "a/b"),
        (["crawl", "http://example.org/", "--limit-bytes", "lots"], "'lots' is not a size"),
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


def test_a_profile_can_be_checked_without_a_crawl(tmp_path: Path) -> None:
    good, bad = tmp_path / "good.toml", tmp_path / "bad.toml"
    good.write_text('scope = "domain"\n')
    bad.write_text('scop = "domain"\n')
    checked = CliRunner().invoke(ghostfleet, ["profile", "check", str(good)])
    assert checked.exit_code == 0
    assert json.loads(checked.stdout)["scope"] == "domain"
    refused = CliRunner().invoke(ghostfleet, ["profile", "check", str(bad)])
    assert refused.exit_code == 2
    assert refused.stderr == f"ghostfleet: profile {bad} line 1: unknown key scop; did you mean scope?\n"


def test_a_profile_in_yaml_is_checked_and_its_mistakes_are_named_by_their_lines(tmp_path: Path) -> None:
    good, bad = tmp_path / "good.yaml", tmp_path / "bad.yml"
    good.write_text("# broad\nscope: domain\nlimits:\n  pages: 10_000\n")
    bad.write_text("scope: domain\nlimits:\n  pages: many\n")
    checked = CliRunner().invoke(ghostfleet, ["profile", "check", str(good)])
    assert checked.exit_code == 0
    assert json.loads(checked.stdout)["limits"]["pages"] == 10_000
    for command in (["profile", "check", str(bad)], ["crawl", "http://example.org/", "--profile", str(bad)]):
        refused = CliRunner().invoke(ghostfleet, [*command])
        assert refused.exit_code == 2
        assert f"profile {bad} line 3: limits.pages = 'many' can't be used" in refused.stderr


@pytest.mark.parametrize(("typed", "shown"), [("./run", "./run"), ("/opt/a clone/run", "'/opt/a clone/run'")])
def test_hints_name_what_was_typed(typed: str, shown: str, tmp_path: Path) -> None:
    """T19: hints named `ghostfleet`, which is on no PATH after `./run`."""
    home = ("--home", str(tmp_path))
    assert f"`{shown} job list` lists" in _run("job", "show", "none", *home, GHOSTFLEET_TYPED=typed).stderr
    assert f"see `{shown} crawl --help`" in _run("crawl", "--hops", "x", *home, GHOSTFLEET_TYPED=typed).stderr
    assert f"\n  {shown} replay garden" in _run("--help", GHOSTFLEET_TYPED=typed).stdout


def test_an_installed_command_is_named_by_its_path_unless_it_is_on_the_path(tmp_path: Path) -> None:
    (script := tmp_path / "ghostfleet").write_text(f"#!{sys.executable}\nfrom admin.cli import main\nmain()\n")
    script.chmod(0o755)
    arguments = [str(script), "job", "show", "none", "--home", str(tmp_path)]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    environment.pop("GHOSTFLEET_TYPED", None)

    apart = subprocess.run(arguments, capture_output=True, text=True, env=environment)
    on_path = {**environment, "PATH": f"{tmp_path}{os.pathsep}{environment['PATH']}"}
    found = subprocess.run(arguments, capture_output=True, text=True, env=on_path)

    assert f"`{script} job list` lists" in apart.stderr
    assert "`ghostfleet job list` lists" in found.stderr
    assert shutil.which("ghostfleet", path=str(tmp_path)) == str(script)


@pytest.mark.parametrize("visitor", ["browser", "chromium"])
def test_a_crawl_takes_the_present_and_the_former_name_of_a_visitor(visitor: str) -> None:
    with crawl.make_context("crawl", ["--visitor", visitor, "http://example.org/"]) as context:
        assert context.params["visitor"] == "browser"
    assert "[plain|browser|mixed]" in crawl.get_help(context)
