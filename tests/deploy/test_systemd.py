"""The services: systemd understands them, they run with next to no rights, and their commands are ours."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from pathlib import Path

import click
import pytest
from support.processes.machine_needs import program

from admin.cli import ghostfleet
from archive.settings.load import load

FOLDER = Path(__file__).resolve().parents[2] / "deploy" / "systemd"
UNITS = sorted(FOLDER.glob("*.service"))
ROLES = {
    "ghostfleet": "up",
    "ghostfleet-admin": "admin",
    "ghostfleet-capture": "session work",
    "ghostfleet-harvester@": "harvester",
    "ghostfleet-proxy": "proxy",
    "ghostfleet-qa": "qa work",
    "ghostfleet-scheduler": "scheduler",
}
CRAWLING = ("ghostfleet", "ghostfleet-harvester@")
WITH_BROWSER = (*CRAWLING, "ghostfleet-qa", "ghostfleet-capture")

every_unit = pytest.mark.parametrize("unit", UNITS, ids=lambda unit: unit.stem)


@pytest.fixture
def analyze() -> str:
    return program("systemd-analyze", "apt-get install systemd")


def values(unit: Path, name: str) -> list[str]:
    return re.findall(rf"^{name}=(.*)$", unit.read_text("utf-8"), re.MULTILINE)


def test_there_is_one_for_each_role() -> None:
    assert {unit.stem for unit in UNITS} == set(ROLES)


@every_unit
def test_systemd_understands_every_line(analyze: str, tmp_path: Path, unit: Path) -> None:
    copy = tmp_path / unit.name.replace("@", "@FOCUSED")
    text = unit.read_text("utf-8")
    copy.write_text(re.sub(r"ExecStart=\S+", f"ExecStart={sys.executable}", text), "utf-8")

    done = subprocess.run([analyze, "verify", "--man=no", str(copy)], capture_output=True, text=True, timeout=60)

    assert (done.returncode, [line for line in done.stderr.splitlines() if copy.name in line]) == (0, [])


@every_unit
def test_systemd_finds_it_hardened(analyze: str, unit: Path) -> None:
    """Exposure 2.0 of 10 at most, and 2.5 with Chromium, which makes namespaces; systemd calls both OK."""
    most = 25 if unit.stem in WITH_BROWSER else 20
    command = [analyze, "security", "--offline=true", f"--threshold={most}", str(unit)]

    done = subprocess.run(command, capture_output=True, text=True, timeout=60)

    assert done.returncode == 0, done.stdout


@every_unit
def test_the_command_is_one_of_ours_and_its_paths_are_the_settings_of_the_unit(unit: Path) -> None:
    (line,) = values(unit, "ExecStart")
    program, *given = shlex.split(line)
    command: click.Command | None = ghostfleet
    words = []
    while isinstance(command, click.Group):
        words.append(given.pop(0))
        command = command.get_command(click.Context(command), words[-1])
    assert command is not None
    parsed = command.make_context(words[-1], given, resilient_parsing=True)

    assert program == "/opt/ghostfleet/.venv/bin/ghostfleet"
    assert " ".join(words) == ROLES[unit.stem]
    assert parsed.args == []
    assert parsed.params["home"] == Path("/var/lib/" + values(unit, "StateDirectory")[0])


@pytest.mark.parametrize("name", CRAWLING)
def test_harvesters_have_the_time_to_end_their_crawls(name: str, home: Path) -> None:
    (seconds,) = values(FOLDER / f"{name}.service", "TimeoutStopSec")

    assert int(seconds) > load({"home": str(home)}, environment={}).harvester.process_seconds + 600


@every_unit
def test_every_service_reads_its_secrets_from_a_file_of_root(unit: Path) -> None:
    assert "\nEnvironmentFile=-/etc/ghostfleet/environment\n" in unit.read_text("utf-8")
