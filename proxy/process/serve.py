"""One recording process: puts its parts together, serves, drains, stops.

The listening sockets come from the parent, which keeps them open: so a process can die or be replaced without one
connection being refused.
"""

from __future__ import annotations

import asyncio
import logging
import signal
import socket
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

import uvloop
from prometheus_client import CollectorRegistry
from tornado.httpserver import HTTPServer

from archive.settings import Settings
from archive.warcfile import KeepError
from dedupdb.registry import Heartbeat, Member, Registry
from proxy.addons import Relay, ensure_ca, start_master
from proxy.clock import TICK_SECONDS, Clock
from proxy.connection import ClientConnection
from proxy.control import start_control
from proxy.desk import Desk
from proxy.doors import Doors
from proxy.gate import Session, SessionSpec
from proxy.meta import Collector, Endpoints, Status
from proxy.parts import Parts
from proxy.ports import SessionPorts
from proxy.rates import Rates
from proxy.scripts import ScriptFolder
from proxy.succession import Succession
from proxy.vitals import Vitals

log = logging.getLogger(__name__)

TOKEN_FILE: Final = "control.token"


@dataclass(frozen=True, slots=True)
class Place:
    """Where a process stands: descriptors from its parent, and the one Redis of the fleet."""

    listen_fd: int
    control_fd: int
    """Both are bound TCP sockets."""
    index: int
    redis_url: str
    predecessor_fd: int = -1
    """The link to the process whose place it takes; -1 without one."""
    successor_fd: int = -1
    """The link to the one that will take its place; -1 without one."""


def serve_process(
    settings: Settings, place: Place, *, ready: Callable[[], None], retired: Callable[[], None] = lambda: None
) -> None:
    """Run one recording process until SIGTERM or SIGINT, then drain, close the WARC files and return.

    `ready` is called once both ports are served, `retired` when another process has taken its place: then it returns
    by itself when its last connection has ended. Raises KeepError when at the end a batch was lost, or a file could not
    be given its final name.
    """
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(_serve(settings, place, ready, retired))


async def _serve(settings: Settings, place: Place, ready: Callable[[], None], retired: Callable[[], None]) -> None:
    process = Process(settings, place, retired)
    await process.start()
    loop = asyncio.get_running_loop()
    for name in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(name, process.over.set)
    ready()
    await process.over.wait()
    unfinished = await process.stop()
    for name in (signal.SIGTERM, signal.SIGINT):
        loop.remove_signal_handler(name)
        signal.signal(name, signal.SIG_IGN)  # everything is closed: a late signal must not make it look like a death
    if unfinished:
        raise KeepError(unfinished)


class Process:
    """The parts of one recording process and how they hang together.

    It is the `House` of its connections, what the control port acts upon, and what a successor takes over.
    """

    def __init__(self, settings: Settings, place: Place, retired: Callable[[], None]) -> None:
        self.settings = settings
        self.over = asyncio.Event()
        """Set when it shall stop."""
        self.loop = asyncio.get_running_loop()
        self.connections: dict[str, ClientConnection] = {}
        self.max_head_bytes = settings.proxy.max_head_bytes
        self.registry = CollectorRegistry()
        self._listener, self._control = socket.socket(fileno=place.listen_fd), socket.socket(fileno=place.control_fd)
        self._retired = retired
        self._retiring: asyncio.Task[None] | None = None
        self._withdrawn: asyncio.Future[None] | None = None
        self._control_server: HTTPServer | None = None
        self._parts = parts = Parts.assemble(settings, place.index, place.redis_url, self.loop)
        self.gate, self.recorder = parts.gate, parts.recorder
        self._doors = Doors(self, SessionPorts(settings.proxy.session_ports, place.index, settings.proxy.processes))
        self._succession = Succession(
            self, self._doors, before=_stream(place.predecessor_fd), after=_stream(place.successor_fd)
        )
        rates, vitals = Rates(), Vitals(settings.proxy, parts, self.connections)
        self._clock = Clock(settings, parts, self.connections, rates)
        self._heartbeat = Heartbeat(
            Registry(place.redis_url, timeout_seconds=settings.redis.timeout_seconds),
            Member.here(_host_and_port(self._listener), _host_and_port(self._control)),
            vitals.load,
            every_seconds=settings.proxy.heartbeat_seconds,
        )
        address = self._listener.getsockname()
        self.status = Status((address[0], address[1]), place.index, vitals.facts, rates)
        self.registry.register(Collector(vitals.facts))
        ca_folder = settings.home / "ca"
        endpoints = Endpoints(self.gate, self.status, self.registry, ensure_ca(ca_folder).read_bytes())
        desk = Desk(self.gate, parts.services, parts.replayer, endpoints, parts.conditions, parts.extensions)
        relay = Relay(self.connections, desk, self.max_head_bytes)
        master = start_master(relay, ca_folder, self.loop, http2=settings.proxy.http2)
        self.options, self.addons = master.options, master.addons
        self.scripts = ScriptFolder(settings.proxy, master, self.gate.counts)
        self.gate.default.scripts = self.scripts.by_setting(settings.proxy.scripts)

    async def start(self) -> None:
        """Serve both ports, and those that a predecessor served."""
        self.recorder.start()
        self._clock.start(self.loop)
        await self._succession.begin()
        await self._doors.open(self._listener)
        token = (self.settings.home / TOKEN_FILE).read_text("ascii").strip()
        self._control_server = start_control(self, token, self._control)
        self._heartbeat.start()

    async def stop(self) -> str:
        """Take no more connections, finish what is in flight, write everything, close the files.

        What of it was not possible, in one line; empty when all was.
        """
        self._withdraw()
        self._close_idle()
        await self._drained()
        if self._withdrawn is not None:
            await self._withdrawn
        self._clock.stop()
        await self.loop.run_in_executor(None, self.recorder.stop)
        await self._succession.end()
        if self._control_server is not None:
            self._control_server.stop()
        self._close_idle()
        for connection in list(self.connections.values()):
            if connection.stream is not None:
                connection.abort()
        self.scripts.close()
        self._parts.close()
        return self.recorder.unfinished

    def retire(self) -> None:
        """Serve no new connections; end what is under way, and then this process."""
        self._withdraw()
        if self._control_server is not None:
            self._control_server.stop()
        self._retired()
        self._retiring = self.loop.create_task(self._until_unused())

    @property
    def has_retired(self) -> bool:
        """Whether another process has taken its place."""
        return self._succession.has_retired

    async def open_session(self, given: dict[str, Any]) -> tuple[Session, str, int]:
        """As `control.Controlled` says."""
        session, host, port = await self._doors.open_session(given)
        await self._succession.tell("open", session, given=given, token=session.token)
        return session, host, port

    async def change_session(self, session: Session, given: dict[str, Any]) -> None:
        """As `control.Controlled` says."""
        session.spec, session.given = SessionSpec.from_json(given), given
        await self._succession.tell("change", session, given=given)

    async def refresh(self, session: Session) -> None:
        """As `control.Controlled` says."""
        await self._succession.tell("report", session)

    async def close_session(self, session: Session, *, finish_files: bool) -> None:
        """As `control.Controlled` says."""
        await self._succession.tell("finish", session, files=finish_files)
        await self._doors.close_session(session)
        if finish_files:
            await self.finish_files(session)

    async def finish_files(self, session: Session) -> None:
        """Close the WARC files of its prefix, or of its whole collection when it has none."""
        finished = asyncio.Event()
        self.recorder.close_collection(session.spec.collection, finished.set, prefix=session.spec.wishes.prefix)
        await finished.wait()

    def _withdraw(self) -> None:
        """Responses close their connections from now on, and there are no new ones."""
        self.gate.is_draining = True
        self._doors.close()
        if self._withdrawn is None:
            self._withdrawn = self.loop.run_in_executor(None, self._heartbeat.close)

    async def _until_unused(self) -> None:
        """A connection that was idle may bring one more request; an exchange may take long."""
        active, deadline = self._parts.services.active, self.loop.time() + self.settings.proxy.retire_seconds
        while (self.connections or active or self._succession.has_predecessor) and self.loop.time() < deadline:
            await asyncio.sleep(TICK_SECONDS)
        idle = [connection for connection in self.connections.values() if connection.stream is None]
        for connection in idle:
            connection.hang_up()
        while idle and any(connection.is_open for connection in idle):
            await asyncio.sleep(TICK_SECONDS)
        self.over.set()

    def _close_idle(self) -> None:
        for connection in list(self.connections.values()):
            if connection.stream is None:
                connection.close()

    async def _drained(self) -> None:
        active = self._parts.services.active
        deadline = self.loop.time() + self.settings.proxy.drain_seconds
        for fetch in [fetch for fetch in active if fetch.ends_with_client]:
            fetch.break_off()
        while active and self.loop.time() < deadline:
            await asyncio.sleep(TICK_SECONDS / 5)
        if active:
            log.warning("%d exchanges in flight at the end of the drain are broken off", len(active))
        for fetch in list(active):
            fetch.break_off()


def _stream(fd: int) -> socket.socket | None:
    return socket.socket(fileno=fd) if fd >= 0 else None


def _host_and_port(listener: socket.socket) -> str:
    """`127.0.0.1:8000`, or `[::1]:8000`."""
    host, port = listener.getsockname()[:2]
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
