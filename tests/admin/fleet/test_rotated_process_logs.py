"""The logs of processes are rotated while the processes run: no line is lost, and foreign files are left alone."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

from support.processes.python_code import PLACES, code_command

from admin.fleet.logs import LOG_FILE
from archive.rotated_log import open_log, renamed_parts

LINES = 400
PROGRAM = f"""
import logging, sys
from pathlib import Path
from admin.fleet import logs
from archive.settings import LogSettings

settings = LogSettings(process_bytes=10_000, process_files=int(sys.argv[2]))
if len(sys.argv) > 3:
    logs.to_file(Path(sys.argv[3]), settings)
else:
    logs.to_stderr(settings)
for number in range({LINES}):
    logging.getLogger("test").info("%s line %04d %s", sys.argv[1], number, "x" * 60)
    if number % 100 == 0:
        print(f"printed {{sys.argv[1]}} {{number}}", flush=True)
"""


def _started(log: Path, name: str, most_parts: int, *, known: bool = True) -> subprocess.Popen[bytes]:
    environment = {**os.environ, **PLACES, **({LOG_FILE: str(log)} if known else {})}
    words = code_command(PROGRAM, name, str(most_parts))
    with log.open("ab") as output:
        return subprocess.Popen(words, stdout=output, stderr=subprocess.STDOUT, env=environment)


def _lines(log: Path, name: str) -> list[int]:
    with open_log(log) as file:
        text = file.read().decode()
    return [int(number) for number in re.findall(rf"{name} line (\d{{4}})", text)]


def test_processes_with_one_output_rotate_it_and_lose_no_line(tmp_path: Path) -> None:
    log = tmp_path / "worker-0.log"
    children = [_started(log, name, 9_000) for name in ("a", "b")]
    assert [child.wait(60) for child in children] == [0, 0]
    assert _lines(log, "a") == _lines(log, "b") == list(range(LINES))
    with open_log(log) as file:
        assert len(re.findall(rb"printed [ab] \d+", file.read())) == 8
    assert len(renamed_parts(log)) >= 4
    assert all(part.stat().st_size < 30_000 for _, part in renamed_parts(log))


def test_the_oldest_parts_are_removed_with_a_note(tmp_path: Path) -> None:
    log = tmp_path / "worker-0.log"
    assert _started(log, "a", 2).wait(60) == 0
    assert len(renamed_parts(log)) == 2
    assert _lines(log, "a") == list(range(LINES))[-len(_lines(log, "a")) :]
    assert '"lines":' in (tmp_path / "worker-0.log.removed").read_text()


def test_a_file_that_a_person_chose_is_never_renamed(tmp_path: Path) -> None:
    own, other = tmp_path / "own.txt", tmp_path / "worker-0.log"
    assert _started(own, "a", 5, known=False).wait(60) == 0
    environment = {**os.environ, **PLACES, LOG_FILE: str(other)}
    with own.open("ab") as output:
        words = code_command(PROGRAM, "b", "5")
        assert subprocess.run(words, stdout=output, stderr=output, env=environment, check=False).returncode == 0
    assert [path.name for path in tmp_path.iterdir()] == ["own.txt"]
    assert _lines(own, "b") == list(range(LINES))


def test_the_log_of_a_command_is_rotated(tmp_path: Path) -> None:
    log = tmp_path / "fleet.log"
    words, environment = code_command(PROGRAM, "a", "9000", str(log)), {**os.environ, **PLACES}
    assert subprocess.run(words, capture_output=True, env=environment, check=False).returncode == 0
    assert _lines(log, "a") == list(range(LINES))
    assert len(renamed_parts(log)) >= 3
