"""A Firefox whose worker was killed ends, too. A program that waits stands for Firefox."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import psutil
from support.processes.ends import is_at_work
from support.processes.waiting import until

_WORKER = """
import sys, time
from pathlib import Path
from browsers.engines.firefox.process import FirefoxProcess
print(FirefoxProcess.start(Path(sys.argv[1]), Path(sys.argv[2]), sandbox=True).pid, flush=True)
sys.stdin.read()
"""


def test_the_browser_ends_with_a_worker_that_is_killed(tmp_path: Path) -> None:
    program = tmp_path / "firefox"
    program.write_text("#!/bin/sh\nexec sleep 600\n")
    program.chmod(0o700)
    command = [sys.executable, "-c", _WORKER, str(program), str(tmp_path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as worker:
        assert worker.stdout is not None
        browser = psutil.Process(int(worker.stdout.readline()))
        assert is_at_work(browser)
        worker.kill()

    until(lambda: not is_at_work(browser), what="the end of the browser")
