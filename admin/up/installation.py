"""The installation is a fleet with the admin site, a scheduler, harvesters and a replay proxy, all supervised.

Redis, recording proxies and indexer are what the others rest on: when one of these can't be kept alive, the whole
installation ends. Another part that dies again and again is left alone for `admin.part_retry_seconds`, and the rest
goes on.

At the end, harvesters and scheduler end first, and the site last but Redis and indexer: people can watch the end of
running jobs.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

from admin.fleet import home_folder
from admin.fleet.fleet import Fleet
from admin.fleet.installation_file import Part, PartState
from admin.fleet.process import StartError
from admin.fleet.sockets import address
from admin.fleet.supervisor import Slot
from admin.up.roles import (
    capture_role,
    harvester_role,
    qa_role,
    replay_role,
    scheduler_role,
    site_role,
    view_role,
)
from archive.dates import Micros, now_micros
from archive.listener_access import exposure, view_exposure
from archive.settings.load import Settings

log = logging.getLogger(__name__)

PORT_OPTION: Final = "--port"
PROXY_PORT_OPTION: Final = "--proxy-port"
REPLAY_PORT_OPTION: Final = "--replay-port"
VIEW_PORT_OPTION: Final = "--view-port"
_MICROS: Final = 1_000_000


@dataclass(frozen=True, slots=True)
class Harvesting:
    """The harvesting of an installation is the set of its harvesters."""

    channels: tuple[str, ...]
    per_channel: int = 1

    def each(self) -> list[tuple[str, int]]:
        """Return the channel of each harvester, and its number from 1 on."""
        return [(channel, number) for channel in self.channels for number in range(1, self.per_channel + 1)]


class InstallationProcesses:
    """An installation's processes are started and ended together. Its owner calls `tick` a few times a second.

    `note` is called with one line for each event that people should know. While the installation starts, `abandon` is
    called often; when it returns True, the start ends with StartInterrupted.
    """

    def __init__(
        self, settings: Settings, harvesting: Harvesting, note: Callable[[str], None], abandon: Callable[[], bool]
    ) -> None:
        """Start nothing yet."""
        self._settings, self._harvesting, self._note = settings, harvesting, note
        self.fleet = Fleet(settings, note, abandon, port_option=PROXY_PORT_OPTION)
        self._own: list[Slot] = []
        self._given_up: set[str] = set()
        self._is_ending = False
        self._since: dict[int, Micros] = {}
        self.addresses: Mapping[str, str] = {}

    def start(self) -> None:
        """Start all processes, and return when they are ready.

        Raises PortError, HomeError, StartError or StartInterrupted; then no process runs.
        """
        fleet, chosen = self.fleet, self._settings.admin
        if problem := exposure(self._settings) or view_exposure(self._settings):
            raise StartError(problem)
        if mended := home_folder.prepare(self._settings.home, self._settings.archive.readable_by):
            self._note(mended)
        try:
            (site,) = fleet.listen(chosen.host, chosen.port, 1, PORT_OPTION)
            (replay,) = fleet.listen(self._settings.proxy.host, chosen.replay_port, 1, REPLAY_PORT_OPTION)
            (view,) = fleet.listen(self._settings.view.host, self._settings.view.port, 1, VIEW_PORT_OPTION)
            (control,) = fleet.listen("127.0.0.1", 0, 1, "0")
            found = fleet.start()
            roles = [
                replay_role(fleet.settings, fleet, replay, control),
                site_role(self._settings, site, replay),
                view_role(self._settings, view),
                scheduler_role(),
                qa_role(self._settings),
                capture_role(self._settings),
                *(harvester_role(self._settings, *each) for each in self._harvesting.each()),
            ]
            self._own = [fleet.add(role, self._give_up) for role in roles]
            self.addresses = {
                "admin": address(site),
                "proxy": found.proxy,
                "replay": address(replay),
                "replay_control": address(control),
                "view": address(view),
                "cdx": found.cdx,
            }
            fleet.await_ready(self._own)
        except BaseException:
            fleet.stop(hurry=lambda: True)
            raise

    def tick(self) -> None:
        """Check the processes once. Raises RestartLimitReached or StartError when the installation can't go on."""
        self.fleet.tick()
        self._given_up = {
            slot.role.name
            for slot in self._own
            if slot.role.name in self._given_up and not (slot.is_filled and slot.child.is_ready)
        }

    def stop(self, hurry: Callable[[], bool]) -> None:
        """End all processes in order; from when `hurry` returns True, soon."""
        self._is_ending = True
        self.fleet.stop(hurry)

    def parts(self) -> list[Part]:
        """Return the health of all parts."""
        return [self._part(slot) for slot in self.fleet.slots]

    def _give_up(self, slot: Slot, why: str) -> None:
        """Leave a part alone for a while, after which it starts again."""
        pause = self._settings.admin.part_retry_seconds
        log.error("%s: %s; it is started again in %.0f s", slot.role.name, why, pause)
        self._note(f"{why}; {slot.role.name} is started again in {pause:.0f} s")
        slot.last_end = why
        self._given_up.add(slot.role.name)
        self.fleet.try_again(slot, pause)

    def _part(self, slot: Slot) -> Part:
        child, name = slot.child, slot.role.name
        runs = slot.is_filled and child.exit_code is None
        if name in self._given_up:
            state = PartState.FAILED
        elif self._is_ending:
            state = PartState.ENDING
        elif not runs:
            state = PartState.RESTARTING
        else:
            state = PartState.READY if child.is_ready else PartState.STARTING
        started = now_micros() - int((time.monotonic() - child.started) * _MICROS)
        since = self._since.setdefault(child.pid, started)
        return Part(_SHOWN.get(name, name), state, child.pid if runs else 0, slot.restarts, since, slot.last_end)


_SHOWN: Final = {"redis-keeper": "redis", "indexer-0": "indexer"}
"""Names of parts that people know by another name than their log."""
