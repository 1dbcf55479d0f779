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
from typing import Final

import uvloop
from prometheus_client import CollectorRegistry
from tornado.httpserver import HTTPServer

from archive.settings import Settings
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
from proxy.vitals import Vitals

log = logging.getLogger(__name__)

TOKEN_FILE: Final = "control.token"


def serve_process(
    settings: Settings, *, listen_fd: int, control_fd: int, index: int, redis_url: str, ready: Callable[[], None]
) -> None:
    """Run one recording process until SIGTERM or SIGINT, then drain, close the WARC files and return.

    `listen_fd` and `control_fd` are bound TCP sockets; `ready` is called once both are served.
    """
    listener, control = socket.socket(fileno=listen_fd), socket.socket(fileno=control_fd)
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(_serve(settings, listener, control, index, redis_url, ready))


async def _serve(
    settings: Settings,
    listener: socket.socket,
    control: socket.socket,
    index: int,
    redis_url: str,
    ready: Callable[[], None],
) -> None:
    process = Process(settings, listener, control, index, redis_url)
    await process.start()
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for name in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(name, stop.set)
    ready()
    await stop.wait()
    await process.stop()
    for name in (signal.SIGTERM, signal.SIGINT):
        loop.remove_signal_handler(name)
        signal.signal(name, signal.SIG_IGN)  # everything is closed: a late signal must not make it look like a death


class Process:
    """The parts of one recording process and how they hang together: `connection.House` and `control.Controlled`."""

    def __init__(
        self, settings: Settings, listener: socket.socket, control: socket.socket, index: int, redis_url: str
    ) -> None:
        self.settings = settings
        self.loop = asyncio.get_running_loop()
        self.connections: dict[str, ClientConnection] = {}
        self.max_head_bytes = settings.proxy.max_head_bytes
        self.registry = CollectorRegistry()
        self._listener, self._control = listener, control
        self._control_server: HTTPServer | None = None
        self._parts = parts = Parts.assemble(settings, index, redis_url, self.loop)
        self.gate, self.recorder = parts.gate, parts.recorder
        self._doors = Doors(self, SessionPorts(settings.proxy.session_ports, index, settings.proxy.processes))
        rates, vitals = Rates(), Vitals(settings.proxy, parts, self.connections)
        self._clock = Clock(settings, parts, self.connections, rates)
        self._heartbeat = Heartbeat(
            Registry(redis_url, timeout_seconds=settings.redis.timeout_seconds),
            Member.here(_host_and_port(listener), _host_and_port(control)),
            vitals.load,
            every_seconds=settings.proxy.heartbeat_seconds,
        )
        address = listener.getsockname()
        self.status = Status((address[0], address[1]), index, vitals.facts, rates)
        self.registry.register(Collector(vitals.facts))
        ca_folder = settings.home / "ca"
        endpoints = Endpoints(self.status, self.registry, ensure_ca(ca_folder).read_bytes())
        desk = Desk(self.gate, parts.services, parts.replayer, endpoints, parts.extensions)
        relay = Relay(self.connections, desk, self.max_head_bytes)
        master = start_master(relay, ca_folder, self.loop, http2=settings.proxy.http2)
        self.options, self.addons = master.options, master.addons
        self.scripts = ScriptFolder(settings.proxy, master, self.gate.counts)
        self.gate.default.scripts = self.scripts.by_setting(settings.proxy.scripts)

    async def start(self) -> None:
        """Serve both ports."""
        self.recorder.start()
        self._clock.start(self.loop)
        await self._doors.open(self._listener)
        token = (self.settings.home / TOKEN_FILE).read_text("ascii").strip()
        self._control_server = start_control(self, token, self._control)
        self._heartbeat.start()

    async def stop(self) -> None:
        """Take no more connections, finish what is in flight, write everything, close the files."""
        self.gate.is_draining = True
        withdrawn = self.loop.run_in_executor(None, self._heartbeat.close)
        self._doors.close()
        self._close_idle()
        await self._drained()
        await withdrawn
        self._clock.stop()
        await self.loop.run_in_executor(None, self.recorder.stop)
        if self._control_server is not None:
            self._control_server.stop()
        self._close_idle()
        for connection in list(self.connections.values()):
            if connection.stream is not None:
                connection.abort()
        self._parts.close()

    async def open_session(self, spec: SessionSpec, *, listen: bool) -> tuple[Session, str, int]:
        """A new session; with `listen` on a port of its own, else on this process's, chosen by credentials."""
        return await self._doors.open_session(spec, listen=listen)

    async def close_session(self, session: Session) -> None:
        """Close its port, and the connections that came in by it."""
        await self._doors.close_session(session)

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


def _host_and_port(listener: socket.socket) -> str:
    """`127.0.0.1:8000`, or `[::1]:8000`."""
    host, port = listener.getsockname()[:2]
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
