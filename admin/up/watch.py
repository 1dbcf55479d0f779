"""Watch a running installation until a signal asks it to end: its health, its file, what its harvesters do."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Final

from admin.fleet.installation_file import InstallationFile
from admin.harvests.dispatch.harvesters import HarvesterView, list_harvesters
from admin.models.database import Database
from admin.models.errors import DatabaseRefused
from admin.models.job_tables import HarvesterState
from admin.models.transaction import COMMAND_LINE
from admin.up.demo_home import finished_jobs
from admin.up.display import InstallationDisplay
from admin.up.installation import InstallationProcesses

_DATABASE_SECONDS: Final = 2.0
_SHOWS_SECONDS: Final = 0.2


class Watch:
    """A watch looks at an installation; call `look` a few times a second."""

    def __init__(
        self,
        processes: InstallationProcesses,
        database: Database,
        file: InstallationFile,
        display: InstallationDisplay,
        *,
        tells_jobs: bool = False,
    ) -> None:
        """Look at nothing yet. With `tells_jobs`, a line tells of each job that ends from now on."""
        self._processes, self._database, self._file, self._display = processes, database, file, display
        self._work: Mapping[int, str] = {}
        self._asked = self._shown = -1.0
        self._tells_jobs = tells_jobs
        self._known: set[int] = self._unless_away(lambda: {number for number, _ in finished_jobs(database)}, set())

    def look(self) -> None:
        """Show and publish the health of the parts."""
        now = time.monotonic()
        if now - self._asked >= _DATABASE_SECONDS:
            self._asked = now
            self._work = self._unless_away(self._harvesters, {})
            if self._tells_jobs:
                self._unless_away(self._tell_jobs, None)
        if now - self._shown >= _SHOWS_SECONDS:
            self._shown = now
            parts = self._processes.parts()
            self._display.show(parts, self._work)
            self._file.write(self._processes.addresses, parts)

    def _harvesters(self) -> Mapping[int, str]:
        with self._database.reading(COMMAND_LINE) as reading:
            return {each.pid: _activity(each) for each in list_harvesters(reading)}

    def _tell_jobs(self) -> None:
        for number, status in finished_jobs(self._database):
            if number not in self._known:
                self._known.add(number)
                site = self._processes.addresses["admin"]
                self._display.say(f"job {number} is {status}: http://{site}/jobs/{number}")

    @staticmethod
    def _unless_away[T](ask: Callable[[], T], otherwise: T) -> T:
        try:
            return ask()
        except DatabaseRefused:
            return otherwise


def _activity(harvester: HarvesterView) -> str:
    if harvester.job_id is not None:
        return f"job {harvester.job_id}, {harvester.state}"
    if harvester.state is HarvesterState.READY:
        return "waits for a job"
    return f"{harvester.state}: {harvester.why}" if harvester.why else str(harvester.state)
