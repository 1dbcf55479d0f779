"""The process that records for capture sessions has a recording proxy, Redis and an indexer while sessions are open."""

from __future__ import annotations

import logging
import secrets
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from typing import Final

from sqlalchemy import exists, select

from admin.capture_sessions.recording import RECORDER, CaptureRecording
from admin.capture_sessions.screens import Screens
from admin.capture_sessions.sessions import SILENT_SECONDS
from admin.fleet.fleet import Addresses, Fleet
from admin.fleet.home_folder import control_token
from admin.fleet.process import StartError, StartInterrupted
from admin.fleet.sockets import PortError
from admin.fleet.supervisor import RestartLimitReached
from admin.jobs.crawling.crawl import single_machine_settings
from admin.models.capture_tables import CaptureDoor, CaptureSession, CaptureState
from admin.models.database import Database
from admin.models.errors import DatabaseRefused
from admin.qa.leases import new_owner
from archive.settings.load import Settings
from browsers.proxying.control_client import Control
from browsers.visit import FleetUnavailable

log = logging.getLogger(__name__)
type Wait = Callable[[float], bool]
"""A function that waits so many seconds at most, and returns True when the process is asked to end."""
_CONTROL_SECONDS: Final = 3.0
"""Longest wait for the proxy's answer. The socket of a proxy that died takes requests, which nobody answers until the
same thread has started the next proxy."""
_MICROS: Final = 1_000_000
_IDLE_SECONDS: Final = 600.0
"""The proxy ends when no session was open for so long. Until then it tells browsers that their session has ended."""
_DEAD_SECONDS: Final = 5.0
"""A site that could not be reached is asked again after this time at the latest: a person waits for it."""


class ProxyMissing(Exception):
    """The recording proxy could not be started, or can't be kept alive. The message is one line."""


@dataclass(frozen=True, slots=True)
class RunningProxy:
    """A recording proxy runs, with its control port."""

    settings: Settings
    addresses: Addresses
    control: Control
    tick: Callable[[], bool]
    """The owner calls this several times a second. It restarts children that died, and returns whether the proxy
    serves. It raises ProxyMissing when it can't restart one."""


@contextmanager
def running_proxy(
    settings: Settings, note: Callable[[str], None], abandon: Callable[[], bool], *, is_window: bool
) -> Iterator[RunningProxy]:
    """Start a recording proxy for as long as the context lasts. Raises ProxyMissing and StartInterrupted."""
    chosen = _settings(settings, is_window=is_window)
    fleet = Fleet(chosen, note, abandon, port_option="capture.port")
    try:
        addresses = fleet.start()
    except (StartError, PortError) as error:
        raise ProxyMissing(str(error)) from error
    try:
        token = control_token(chosen.home)
        with closing(Control(addresses.controls[0], token, timeout_seconds=_CONTROL_SECONDS)) as control:

            def tick() -> bool:
                try:
                    fleet.tick()
                except (RestartLimitReached, StartError) as error:
                    raise ProxyMissing(str(error)) from error
                return fleet.is_serving

            yield RunningProxy(chosen, addresses, control, tick)
    finally:
        fleet.stop(abandon)


class CaptureProcess:
    """The process serves the sessions of people's own browsers, any number at once, until it is asked to end."""

    def __init__(self, settings: Settings, database: Database, note: Callable[[str], None]) -> None:
        """Start nothing yet. `note` is called with one line for each event that people should know."""
        self._settings, self._database, self._note = settings, database, note
        self.owner = new_owner()

    def run(self, wait: Wait, asked_to_stop: Callable[[], bool]) -> None:
        """Record until the end is asked for."""
        while not asked_to_stop():
            try:
                if self._has_work():
                    self._record(wait, asked_to_stop)
            except (ProxyMissing, DatabaseRefused) as error:
                log.error("captures by hand are not recorded now: %s", error)
                self._note(f"captures by hand are not recorded now: {error}")
            except StartInterrupted:
                return
            if wait(self._settings.capture.process_seconds):
                return

    def _has_work(self) -> bool:
        """Return whether a session waits for a proxy, or for its end while no command records it."""
        with self._database.reading(RECORDER) as reading:
            is_open = CaptureSession.state != CaptureState.ENDED
            silent = reading.now - SILENT_SECONDS * _MICROS
            is_unheard = (CaptureSession.state == CaptureState.ENDING) & CaptureSession.heard.is_(None)
            is_ours = (CaptureSession.door != CaptureDoor.WINDOW) | (CaptureSession.heard < silent) | is_unheard
            return bool(reading.session.scalar(select(exists().where(is_open, is_ours))))

    def _record(self, wait: Wait, asked_to_stop: Callable[[], bool]) -> None:
        with running_proxy(self._settings, self._note, asked_to_stop, is_window=False) as proxy:
            recording = CaptureRecording(self._settings, self._database, proxy.control, self.owner, None)
            screens = Screens(self._settings, recording, proxy.addresses.proxy)
            recording.before_end = screens.close_session
            last_work = time.monotonic()
            try:
                while not wait(self._settings.capture.process_seconds):
                    tick_steadily(recording, is_serving=proxy.tick())
                    if recording.has_live:
                        last_work = time.monotonic()
                    elif time.monotonic() - last_work > _IDLE_SECONDS:
                        return
            finally:
                screens.close()
                recording.close()


def tick_steadily(recording: CaptureRecording, *, is_serving: bool) -> None:
    """Let the recording look at its sessions. A proxy that is replaced, or a busy database, is asked again later."""
    try:
        recording.tick(is_serving=is_serving)
    except FleetUnavailable as error:
        log.warning("the recording proxy does not answer, and is asked again: %s", error)
    except DatabaseRefused as error:
        log.warning("the database does not answer, and is asked again: %s", error)


def _settings(settings: Settings, *, is_window: bool) -> Settings:
    """Return the settings of a fleet beside others, whose ports it must not want.

    Nobody knows the password of its main port, so that only sessions can be chosen there, by their credentials.
    """
    single, capture = single_machine_settings(settings), settings.capture
    listening = {"host": "127.0.0.1", "port": 0} if is_window else {"host": capture.host, "port": capture.port}
    proxy = {
        "processes": 1,
        "control_port": 0,
        "session_ports": "",
        "mode": "record",
        "password": secrets.token_hex(32),
        "dead_host_seconds": min(single.proxy.dead_host_seconds, _DEAD_SECONDS),
    }
    return single.model_copy(
        update={
            "proxy": single.proxy.model_copy(update={**proxy, **listening}),
            "admin": single.admin.model_copy(update={"cdx_port": 0}),
        }
    )
