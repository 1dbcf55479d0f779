"""The service: systemd understands it, and it runs with next to no rights."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest
from needs import program

UNIT = Path(__file__).resolve().parents[2] / "deploy" / "systemd" / "ghostfleet-proxy.service"


@pytest.fixture
def analyze() -> str:
    return program("systemd-analyze", "apt-get install systemd")


def test_systemd_understands_every_line(analyze: str, tmp_path: Path) -> None:
    copy = tmp_path / UNIT.name
    text = UNIT.read_text("utf-8")
    copy.write_text(re.sub(r"ExecStart=\S+", f"ExecStart={sys.executable}", text), "utf-8")

    done = subprocess.run([analyze, "verify", "--man=no", str(copy)], capture_output=True, text=True, timeout=60)

    assert (done.returncode, [line for line in done.stderr.splitlines() if UNIT.name in line]) == (0, [])


def test_systemd_finds_it_hardened(analyze: str) -> None:
    """Exposure 2.0 of 10 at most; systemd calls that OK."""
    command = [analyze, "security", "--offline=true", "--threshold=20", str(UNIT)]

    done = subprocess.run(command, capture_output=True, text=True, timeout=60)

    assert done.returncode == 0, done.stdout


def test_the_command_is_one_of_ours_and_its_paths_are_the_settings_of_the_unit() -> None:
    text = UNIT.read_text("utf-8")
    (command,) = re.findall(r"^ExecStart=(.*)$", text, re.MULTILINE)

    assert command.split()[1:3] == ["proxy", "--home"]
    assert command.split()[3] == "/var/lib/" + re.findall(r"^StateDirectory=(.*)$", text, re.MULTILINE)[0]
