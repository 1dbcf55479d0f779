"""Locks of files: between processes, for files that are missing, and on folders."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from support.processes.python_code import PLACES, code_command

from archive.file_lock import is_locked, lock_or_not, locked_folder

HOLDER = """
import sys
from pathlib import Path
from archive.file_lock import {name}
with {name}(Path(sys.argv[1])):
    print("held", flush=True)
    sys.stdin.read()
"""


@contextmanager
def held_elsewhere(path: Path, name: str = "lock_or_not") -> Iterator[subprocess.Popen[str]]:
    """Another process that holds the lock until its standard input ends."""
    command = code_command(HOLDER.format(name=name), str(path))
    environment = {**os.environ, **PLACES}
    with subprocess.Popen(
        command, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout
        assert process.stdout.readline() == "held\n"
        yield process
        process.kill()


def test_a_lock_is_held_by_one_process_and_ends_with_it(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    assert not is_locked(path)
    with held_elsewhere(path) as holder:
        assert is_locked(path)
        with lock_or_not(path) as is_held:
            assert not is_held
        holder.kill()
        holder.wait()
        assert not is_locked(path)
        with lock_or_not(path) as is_held:
            assert is_held


def test_a_missing_file_is_not_locked_and_not_made(tmp_path: Path) -> None:
    assert not is_locked(tmp_path / "missing")
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(FileNotFoundError), lock_or_not(tmp_path / "no/folder"):
        pass


def test_the_lock_of_a_folder_waits_for_its_holder(tmp_path: Path) -> None:
    with held_elsewhere(tmp_path, "locked_folder") as holder:
        assert is_locked(tmp_path)
        assert holder.stdin
        holder.stdin.close()
        with locked_folder(tmp_path):
            assert holder.wait() == 0
