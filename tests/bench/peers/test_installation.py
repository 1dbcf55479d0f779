"""A peer's virtual environment is made once, also when several processes want the peer at the same time."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from zipfile import ZipFile

import pytest
from support.places import ROOT

PROGRAM = """
import sys
from bench.peers.peer import install
folder = install("linnet", sys.argv[1])
import subprocess
word = subprocess.run([folder / "python", "-c", "import linnet; print(linnet.word)"], capture_output=True, check=True)
print(word.stdout.decode().strip(), (folder.parent / "pyvenv.cfg").stat().st_mtime_ns)
"""


def package(folder: Path) -> Path:
    """Return a package of one module, which pip installs without an index."""
    path, about = folder / "linnet-1.0-py3-none-any.whl", "linnet-1.0.dist-info"
    with ZipFile(path, "w") as wheel:
        wheel.writestr("linnet.py", "word = 'sung'\n")
        wheel.writestr(f"{about}/METADATA", "Metadata-Version: 2.1\nName: linnet\nVersion: 1.0\n")
        wheel.writestr(f"{about}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        wheel.writestr(f"{about}/RECORD", "")
    return path


@pytest.mark.timeout(600)  # A virtual environment takes long beside other work.
def test_processes_that_want_a_peer_at_the_same_time_install_it_once(tmp_path: Path) -> None:
    environment = {**os.environ, "XDG_CACHE_HOME": str(tmp_path / "cache")}
    command = [sys.executable, "-c", PROGRAM, str(package(tmp_path))]
    running = [
        subprocess.Popen(command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, text=True) for _ in range(3)
    ]
    said = [process.communicate()[0].split() for process in running]
    assert [process.returncode for process in running] == [0, 0, 0]
    assert {word for word, _ in said} == {"sung"}
    assert len({made for _, made in said}) == 1, "a process made the environment of another anew"
