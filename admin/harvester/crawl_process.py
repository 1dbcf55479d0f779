"""A harvester starts the crawl of a job as a process of its own, asks it to end, and kills it when it does not.

When the harvester itself is killed, the crawl hears it (`admin.fleet.child`) and ends in order.
"""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path
from typing import Final

from admin.fleet.process import Child, Lifeline, ProcessRole, ShutdownStage
from admin.harvester.job_folder import JobFolder
from archive.settings.load import Settings

OUTPUT_FILE: Final = "crawler.log"
"""Standard output and standard error of the crawl's process."""


class CrawlProcess:
    """A crawl process is the crawl of one job, running. `close` lets go of it."""

    def __init__(self, settings: Settings, folder: JobFolder) -> None:
        """Start the process. Raises StartError."""
        fd, self._lifeline = os.pipe()
        try:
            with folder.presence() as presence_fd:
                role = ProcessRole(
                    "crawler",
                    ShutdownStage.WORKERS,
                    (
                        "_harvest-job",
                        *("--folder", str(folder.path)),
                        *("--job", folder.job_name),
                        *("--presence-fd", str(presence_fd)),
                    ),
                    fds=(presence_fd,),
                    environment=settings.for_child(),
                )
                self._child = Child(role, Lifeline(fd, ()), os.environ, folder.path)
        except BaseException:
            os.close(self._lifeline)
            raise
        finally:
            os.close(fd)
        self.signals = 0
        """How often the crawl was asked to end."""

    @property
    def pid(self) -> int:
        """Return its process id."""
        return self._child.pid

    @property
    def exit_code(self) -> int | None:
        """Return the exit code; None while it runs, negative when a signal ended it."""
        return self._child.exit_code

    @property
    def run_folder(self) -> Path | None:
        """Return the run's folder, once the process has reported it; the run has the folder's name."""
        report = self._child.report
        return Path(report.run) if report.ready and report.run else None

    @property
    def refusal(self) -> str:
        """Return why the crawl could not begin, as its process said; empty when it did not say so."""
        return self._child.report.error

    def ask_to_end(self) -> None:
        """Ask it to finish its visits and end; the second time, to end now."""
        self.signals += 1
        if self.signals == 1:
            self._child.terminate()
        else:
            self._child.hurry()

    def kill(self) -> None:
        """End it now."""
        self._child.kill()

    def close(self) -> None:
        """Reap the process; should it still run, it is killed. Its own children end by themselves then."""
        self._child.reap()
        with suppress(OSError):
            os.close(self._lifeline)
        self._lifeline = -1
