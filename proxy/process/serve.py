"""One recording process puts its parts together, serves, drains and stops.

The parent opens the listening sockets and keeps them open. So a process can die or be replaced, and no connection is
refused.
"""

from __future__ import annotations

import asyncio
import logging
import signal
import socket
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Final

import uvloop
from prometheus_client import CollectorRegistry
from tornado.httpserver import HTTPServer

from archive.listener_access import Clients, HostNames
from archive.local_endpoints import host_and_port
from archive.settings.load import Settings
from archive.warc.writing.writer import KeepError
from dedupdb.fleet.registry import Member, MemberHeartbeat, Registry
from proxy.clients.connection import ClientConnection
from proxy.clients.dispatcher import Dispatcher
from proxy.clients.endpoints import Endpoints
from proxy.process.assembly import Assembly
from proxy.process.control import start_control
from proxy.process.handover.succession import Succession
from proxy.process.handover_messages import SessionCommand, SessionVerb
from proxy.process.layers import Relay, ensure_ca, start_master
from proxy.process.leaf_certificates import ensure_leaf_key, spki_line
from proxy.process.listeners import ProcessListeners, SessionPorts
from proxy.process.status import ProcessMetrics, Rates, StatusCollector, WarcproxStatus
from proxy.process.ticker import TICK_SECONDS, Ticker
from proxy.scripting.scripts import ScriptFolder
from proxy.sessions.path_from_seed import log_ending
from proxy.sessions.session import Session
from proxy.sessions.spec import SessionSpec

log = logging.getLogger(__name__)

TOKEN_FILE: Final = "control.token"


@dataclass(frozen=True, slots=True)
class ProcessContext:
    """The context of a process has descriptors from its parent, and the one Redis of the fleet."""

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
    settings: Settings,
    context: ProcessContext,
    *,
    ready: Callable[[], None],
    retired: Callable[[], None] = lambda: None,
) -> None:
    """Run one recording process until SIGTERM or SIGINT, then drain, close the WARC files and return.

    `ready` is called once both ports are served. `retired` is called when another process has taken this one's place;
    the function then returns when the last connection has ended. Raises KeepError when a batch was lost at the end, or
    a file could not be given its final name.
    """
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(_serve(settings, context, ready, retired))


async def _serve(
    settings: Settings, context: ProcessContext, ready: Callable[[], None], retired: Callable[[], None]
) -> None:
    process = Process(settings, context, retired)
    loop = asyncio.get_running_loop()
    # The handlers come before the start: the process answers requests, and writes, before the start has ended.
    for name in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(name, process.over.set)
    await process.start()
    ready()
    await process.over.wait()
    unfinished = await process.stop()
    for name in (signal.SIGTERM, signal.SIGINT):
        loop.remove_signal_handler(name)
        signal.signal(name, signal.SIG_IGN)  # everything is closed: a late signal must not make it look like a death
    if unfinished:
        raise KeepError(unfinished)


class Process:
    """The process connects the parts of one recording process.

    It is the `ConnectionHost` of its connections, the control port acts upon it, and a successor takes its state over.
    """

    def __init__(self, settings: Settings, context: ProcessContext, retired: Callable[[], None]) -> None:
        self.settings = settings
        self.over = asyncio.Event()
        """Set when the process shall stop."""
        self.loop = asyncio.get_running_loop()
        self.connections: dict[str, ClientConnection] = {}
        self.max_head_bytes = settings.proxy.max_head_bytes
        self.registry = CollectorRegistry()
        self._listener, self._control = (
            socket.socket(fileno=context.listen_fd),
            socket.socket(fileno=context.control_fd),
        )
        self._retired = retired
        self._retiring: asyncio.Task[None] | None = None
        self._deregistered: asyncio.Future[None] | None = None
        self._control_server: HTTPServer | None = None
        self._parts = parts = Assembly.assemble(settings, context.index, context.redis_url, self.loop)
        self.gate, self.recorder = parts.gate, parts.recorder
        ports = SessionPorts(settings.proxy.session_ports, context.index, settings.proxy.processes)
        self._process_listeners = ProcessListeners(self, ports, parts.listeners, Clients(settings.proxy.allow_clients))
        self._succession = Succession(
            self, self._process_listeners, before=_stream(context.predecessor_fd), after=_stream(context.successor_fd)
        )
        rates, collector = Rates(), StatusCollector(settings.proxy, parts, self.connections)
        self._ticker = Ticker(settings, parts, self.connections, rates)
        self._heartbeat = MemberHeartbeat(
            Registry(context.redis_url, timeout_seconds=settings.redis.timeout_seconds),
            Member.here(*(host_and_port(*each.getsockname()[:2]) for each in (self._listener, self._control))),
            collector.load,
            every_seconds=settings.proxy.heartbeat_seconds,
            listens=parts.own.published,
            hear=parts.own.update,
        )
        address = self._listener.getsockname()
        if settings.proxy.log_dir:
            self.gate.default.spec = replace(self.gate.default.spec, log_ending=log_ending(address[1]))
        self.status = WarcproxStatus((address[0], address[1]), context.index, collector.status, rates)
        self.registry.register(ProcessMetrics(collector.status))
        ca_folder = settings.home / "ca"
        self._names = HostNames(settings.proxy.host, settings.proxy.host_names, "proxy.host_names")
        ca_pem = ensure_ca(ca_folder).read_bytes()
        leaf_spki = spki_line(ensure_leaf_key(ca_folder))
        endpoints = Endpoints(self.gate, self.status, self.registry, ca_pem, leaf_spki, self._names)
        dispatcher = Dispatcher(
            self.gate, parts.services, parts.replayer, endpoints, parts.conditions, parts.user_addons
        )
        relay = Relay(self.connections, dispatcher, self.max_head_bytes)
        master = start_master(relay, ca_folder, self.loop, http2=settings.proxy.http2)
        self.options, self.addons = master.options, master.addons
        self.scripts = ScriptFolder(settings.proxy, master, self.gate.counts)
        self.gate.default.scripts = self.scripts.by_setting(settings.proxy.scripts)

    async def start(self) -> None:
        """Serve both ports, and those that a predecessor served."""
        self.recorder.start()
        self._ticker.start(self.loop)
        self._parts.listeners.add(self._control)
        await self._succession.begin()
        await self._process_listeners.open(self._listener)
        token = (self.settings.home / TOKEN_FILE).read_text("ascii").strip()
        self._control_server = start_control(self, token, self._control, self._names)
        self._heartbeat.start()

    async def stop(self) -> str:
        """Accept no more connections, finish the exchanges in progress, write everything and close the files.

        Return in one line what was not possible; empty when everything was.
        """
        self._withdraw()
        self._close_idle()
        await self._drained()
        if self._deregistered is not None:
            await self._deregistered
        self._ticker.stop()
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
        self._parts.listeners.clear()
        return self.recorder.unfinished

    def retire(self) -> None:
        """Serve no new connections; end the exchanges in progress, and then this process."""
        self._withdraw()
        if self._control_server is not None:
            self._control_server.stop()
        self._retired()
        self._retiring = self.loop.create_task(self._until_unused())

    @property
    def has_retired(self) -> bool:
        """Return whether another process has taken this one's place."""
        return self._succession.has_retired

    async def open_session(self, request_json: dict[str, Any]) -> tuple[Session, str, int]:
        """Open a session, as `control.Controlled` asks."""
        session, host, port = await self._process_listeners.open_session(request_json)
        command = SessionCommand(SessionVerb.OPEN, session.id, session.request_json, session.token)
        await self._succession.forward(command, session)
        return session, host, port

    async def change_session(self, session: Session, request_json: dict[str, Any]) -> None:
        """Change a session, as `control.Controlled` asks."""
        session.spec, session.request_json = SessionSpec.from_json(request_json), request_json
        await self._succession.forward(SessionCommand(SessionVerb.CHANGE, session.id, request_json), session)

    async def refresh(self, session: Session) -> None:
        """Note what an earlier process has counted of a session, as `control.Controlled` asks."""
        await self._succession.refresh(session)

    async def close_session(self, session: Session, *, finish_files: bool, keep_port_seconds: float = 0.0) -> bool:
        """Close a session, as `control.Controlled` asks. A port whose clients an earlier process serves is not kept."""
        command = SessionCommand(SessionVerb.FINISH, session.id, finish_files=finish_files)
        seconds = 0.0 if self._succession.has_predecessor else keep_port_seconds
        await self._succession.forward(command, session)
        is_kept = await self._process_listeners.close_session(session, keep_port_seconds=seconds)
        if finish_files:
            await self.finish_files(session)
        return is_kept

    def give_up_port(self, session_id: str) -> bool:
        """Close the port that a closed session left, as `control.Controlled` asks."""
        return self._process_listeners.give_up_port(session_id)

    async def finish_files(self, session: Session) -> None:
        """Close the WARC files of the session's prefix, or of its whole collection when it has no prefix."""
        finished = asyncio.Event()
        self.recorder.close_collection(session.spec.collection, finished.set, prefix=session.spec.options.prefix)
        await finished.wait()

    def _withdraw(self) -> None:
        """Let responses close their connections from now on, and accept no new connections."""
        self.gate.is_draining = True
        self._process_listeners.close()
        if self._deregistered is None:
            self._deregistered = self.loop.run_in_executor(None, self._heartbeat.close)

    async def _until_unused(self) -> None:
        """Wait until no connection is in use. An idle connection may bring one more request."""
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
            log.warning("%d exchanges are still in progress after proxy.drain_seconds and are broken off", len(active))
        for fetch in list(active):
            fetch.break_off()


def _stream(fd: int) -> socket.socket | None:
    return socket.socket(fileno=fd) if fd >= 0 else None
