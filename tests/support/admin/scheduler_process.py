"""A scheduler in a process of its own, for tests that kill it.

`python -m support.admin.scheduler_process URL NAME SECONDS` runs it with a lease of so many seconds. It stores jobs in
small parts, so that there is time for a kill, and has a short period.
"""

from __future__ import annotations

import json
import logging
import os
import signal
import subprocess
import sys
import threading
from types import TracebackType
from typing import Final, Self

from support.places import ROOT, TESTS

LEASE_SECONDS: Final = 2


class SchedulerProcess:
    """Runs from `with` to its end."""

    def __init__(self, url: str, name: str, *, lease_seconds: float = LEASE_SECONDS) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "support.admin.scheduler_process", url, name, str(lease_seconds)],
            stderr=subprocess.PIPE,
            text=True,
            cwd=ROOT,
            env={**os.environ, "PYTHONPATH": f"{ROOT}{os.pathsep}{TESTS}"},
        )
        self.log = ""
        self._reader = threading.Thread(target=self._read)
        self._reader.start()

    def kill(self) -> None:
        """As kill -9 does."""
        self._process.kill()
        self._process.wait(30)

    def end(self) -> int:
        """As SIGTERM does; the exit code."""
        self._process.terminate()
        return self._process.wait(60)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.kill()
        self._reader.join(10)

    def _read(self) -> None:
        assert self._process.stderr is not None
        with self._process.stderr as stream:
            for line in stream:
                self.log += line


def main(url: str, name: str, lease_seconds: str) -> None:
    """Run a scheduler until SIGTERM."""
    from admin.harvests.generation import run
    from admin.models.database import Database
    from admin.scheduler.scheduler import Scheduler
    from support.admin.harvest_world import settings_with

    logging.basicConfig(level=logging.INFO)
    run.CONFIGURATIONS_STORED_TOGETHER = 10  # type: ignore[misc]
    stop = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: stop.set())
    settings = settings_with(period_seconds=0.2, lease_seconds=float(lease_seconds), chunk_configurations=10)
    database = Database(url)
    Scheduler(database, settings, owner=name).run(stop)
    database.close()
    print(json.dumps({"ended": name}))


if __name__ == "__main__":
    main(*sys.argv[1:])
