"""One recording process: puts its parts together, serves, drains, stops.

The listening sockets come from the parent, which keeps them open: so a process can die or be replaced without one
connection being refused.
"""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import socket
from collections.abc import Callable
from functools import partial
from typing import Any, Final

import uvloop
from prometheus_client import CollectorRegistry
from tornado.httpserver import HTTPServer

from archive.settings import Settings
from dedupdb.captures import Captures
from dedupdb.claims import Claims
from dedupdb.quotas import Quotas
from dedupdb.registry import Heartbeat, Member, Registry
from proxy.addons import Relay, ensure_ca, start_master
from proxy.admission import Admission
from proxy.connection import ClientConnection
from proxy.control import start_control
from proxy.desk import Desk
from proxy.diskwatch import DiskWatch
from proxy.egress import Routes
from proxy.fetch import Services
from proxy.gate import Gate, Session, SessionSpec
from proxy.heads import via_line
from proxy.keep import Keeper
from proxy.memento import Archive
from proxy.meta import Collector, Endpoints, Status, load
from proxy.opener import Opener, resolver_of
from proxy.ports import SessionPorts
from proxy.provenance import Provenance
from proxy.rates import Rates
from proxy.recorder import Recorder
from proxy.refusal import Refused
from proxy.replayer import Replayer
from proxy.upstream import Pool

log = logging.getLogger(__name__)

_TICK_SECONDS: Final = 0.25
_DISK_EVERY: Final = 4
_CLIENT_IDLE_SECONDS: Final = 300.0
_BACKLOG: Final = 1024
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
    """The parts of one recording process and how they hang together."""

    def __init__(
        self, settings: Settings, listener: socket.socket, control: socket.socket, index: int, redis_url: str
    ) -> None:
        self.settings = settings
        self.loop = asyncio.get_running_loop()
        self.gate = Gate(settings.proxy)
        self.connections: dict[str, ClientConnection] = {}
        self.registry = CollectorRegistry()
        self._listener = listener
        self._control = control
        self._servers: dict[str, asyncio.Server] = {}
        self._ports = SessionPorts(settings.proxy.session_ports, index, settings.proxy.processes)
        self._control_server: HTTPServer | None = None
        self._ticker: asyncio.Task[None] | None = None
        self._claims = Claims(
            redis_url, claim_seconds=settings.dedup.claim_seconds, timeout_seconds=settings.redis.timeout_seconds
        )
        self._keeper = Keeper(_for_keeping(settings), self._claims, process=str(index))
        self.recorder = Recorder(settings, self._keeper, self.loop)
        self._captures = Captures(settings.database_url)
        self._replayer = Replayer(Archive(settings, self._captures), self.loop)
        self._disk = DiskWatch(settings.home, settings.archive.min_free_bytes)
        self._rates = Rates()
        self._heartbeat = Heartbeat(
            Registry(redis_url, timeout_seconds=settings.redis.timeout_seconds),
            Member.here(_host_and_port(listener), _host_and_port(control)),
            self._load,
            every_seconds=settings.proxy.heartbeat_seconds,
        )
        address = listener.getsockname()
        self.status = Status((address[0], address[1]), index, self.facts, self._rates)
        quotas = Quotas(
            redis_url, hold_seconds=settings.proxy.total_seconds, timeout_seconds=settings.redis.timeout_seconds
        )
        self._opener = Opener(settings.proxy, resolver_of(settings.proxy))
        self.services = Services(
            settings=settings.proxy,
            loop=self.loop,
            gate=self.gate,
            pool=Pool(settings.proxy, self._opener),
            recorder=self.recorder,
            provenance=Provenance(self.recorder),
            routes=Routes(settings.proxy.egress),
            spool_folder=settings.home / "spool",
            digest=settings.archive.digest,
            active=set(),
            orphans=set(),
            tasks=set(),
            admission=Admission(quotas, self.loop, patience_seconds=settings.proxy.limit_seconds),
            via=via_line(settings.proxy.via),
        )
        ca_folder = settings.home / "ca"
        ca_pem = ensure_ca(ca_folder).read_bytes()
        self.desk = Desk(
            self.gate,
            self.services,
            self._replayer,
            Endpoints(self.status, self.registry, ca_pem),
        )
        relay = Relay(self.connections, self.desk, settings.proxy.max_head_bytes)
        master = start_master(relay, ca_folder, self.loop)
        self.options = master.options
        self.addons = master.addons
        self.max_head_bytes = settings.proxy.max_head_bytes
        self.registry.register(Collector(self.facts))

    async def start(self) -> None:
        """Serve both ports."""
        self.recorder.start()
        self._check_disk()
        self._servers["main"] = await self.loop.create_server(
            partial(ClientConnection, self), sock=self._listener, backlog=_BACKLOG
        )
        self._servers["direct"] = await self.loop.create_server(partial(ClientConnection, self), "127.0.0.1", 0)
        token = (self.settings.home / TOKEN_FILE).read_text("ascii").strip()
        self._control_server = start_control(self, token, self._control)
        self._ticker = self.loop.create_task(self._tick())
        self._ticker.add_done_callback(_clock_stopped)
        self._heartbeat.start()

    async def stop(self) -> None:
        """Take no more connections, finish what is in flight, write everything, close the files."""
        self.gate.is_draining = True
        withdrawn = self.loop.run_in_executor(None, self._heartbeat.close)
        for server in self._servers.values():
            server.close()
        for connection in list(self.connections.values()):
            if connection.stream is None:
                connection.close()
        await self._drained()
        await withdrawn
        if self._ticker is not None:
            self._ticker.cancel()
        await self.loop.run_in_executor(None, self.recorder.stop)
        if self._control_server is not None:
            self._control_server.stop()
        for connection in list(self.connections.values()):
            if connection.stream is None:
                connection.close()
            else:
                connection.abort()
        self.services.pool.close_idle(float("inf"))
        self._replayer.stop()
        self.services.admission.stop()
        self._claims.close()
        self._captures.close()

    async def open_session(self, spec: SessionSpec, *, listen: bool) -> tuple[Session, str, int]:
        """A new session; with `listen` on a port of its own, else on this process's, chosen by credentials."""
        session = self.gate.open(spec)
        if listen:
            try:
                self._servers[session.id] = await self._listen_for(session)
            except Refused:
                self.gate.close(session)
                raise
        server = self._servers[session.id if listen else "direct"]
        host, port = server.sockets[0].getsockname()[:2]
        return session, host, port

    async def _listen_for(self, session: Session) -> asyncio.Server:
        taken: OSError | None = None
        for port in self._ports.candidates():
            try:
                return await self.loop.create_server(partial(ClientConnection, self, session), "127.0.0.1", port)
            except OSError as error:
                taken = error
        raise Refused(503, f"no port is free for the session: {taken}", "ports")

    async def close_session(self, session: Session) -> None:
        """Close its port, and the connections that came in by it."""
        server = self._servers.pop(session.id, None)
        if server is not None:
            server.close()
        for connection in list(self.connections.values()):
            if connection.listener is session:
                connection.close()
        self.gate.close(session)

    def facts(self) -> dict[str, Any]:
        """What /status and /metrics are made from."""
        counts = self._keeper.counts
        active = self.services.active
        began = min((fetch.started for fetch in active), default=None)
        waited = self.recorder.waiting
        return {
            "active_requests": len(active),
            "queued_urls": waited,
            "queue_max_size": self.settings.proxy.queue_length,
            "urls_processed": counts["exchanges"],
            "warc_bytes_written": counts["warc_bytes"],
            "earliest_still_active_fetch_start": began,
            "seconds_behind": self.recorder.seconds_behind,
            "closed_because": self.gate.closed_because,
            "ours": {
                "connections": len(self.connections),
                "sessions": len(self.gate.sessions),
                "orphans": len(self.services.orphans),
                "revisits": counts["revisits"],
                "lost": counts["lost"],
                "dedup_unavailable": counts["dedup_unavailable"],
                "log_lines_lost": counts["log_lines_lost"],
                "dead_hosts": len(self._opener.dead),
                **{name: self.gate.counts[name] for name in ("refused", "unauthorized", "control_refused")},
            },
        }

    def _load(self) -> float:
        return load(self.recorder.waiting, self.settings.proxy.queue_length, len(self.services.active))

    async def _drained(self) -> None:
        deadline = self.loop.time() + self.settings.proxy.drain_seconds
        for fetch in [fetch for fetch in self.services.active if fetch.ends_with_client]:
            fetch.break_off()
        while self.services.active and self.loop.time() < deadline:
            await asyncio.sleep(_TICK_SECONDS / 5)
        if self.services.active:
            log.warning("%d exchanges in flight at the end of the drain are broken off", len(self.services.active))
        for fetch in list(self.services.active):
            fetch.break_off()

    async def _tick(self) -> None:
        """The clock of all deadlines: one task instead of a timer for each exchange."""
        count = 0
        while True:
            await asyncio.sleep(_TICK_SECONDS)
            now = self.loop.time()
            for fetch in list(self.services.active):
                fetch.tick(now)
            self._close_idle_clients(now)
            self.services.pool.close_idle(now - self.settings.proxy.keep_alive_seconds)
            self._rates.sample(self._keeper.counts["exchanges"], self._keeper.counts["warc_bytes"])
            count += 1
            if count % _DISK_EVERY == 0:
                self._check_disk()

    def _close_idle_clients(self, now: float) -> None:
        for connection in list(self.connections.values()):
            if connection.awaits_client and now - connection.last_heard > _CLIENT_IDLE_SECONDS:
                connection.close()

    def _check_disk(self) -> None:
        trouble = self._disk.trouble(self.recorder.last_failure)
        if not trouble and not self.recorder.is_alive:
            trouble = "the writer has stopped; restart this process"
        if trouble and trouble != self.gate.closed_because:
            log.error("accepting nothing new: %s", trouble)
        elif self.gate.closed_because and not trouble:
            log.warning("accepting again")
            self.recorder.last_failure = ""
        self.gate.closed_because = trouble


def _for_keeping(settings: Settings) -> Settings:
    """With `deliver = "written"`, files are written and left to the operating system to bring to the disk."""
    if settings.proxy.deliver != "written":
        return settings
    return settings.model_copy(update={"archive": settings.archive.model_copy(update={"fsync": False})})


def _clock_stopped(ticker: asyncio.Task[None]) -> None:
    """Without its clock a process would hold no deadline and no disk watch: it ends, and another takes its place."""
    if not ticker.cancelled() and (error := ticker.exception()) is not None:
        log.critical("the clock stopped, this process ends: %r", error)
        os.kill(os.getpid(), signal.SIGTERM)


def _host_and_port(listener: socket.socket) -> str:
    """`127.0.0.1:8000`, or `[::1]:8000`."""
    host, port = listener.getsockname()[:2]
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
