"""The fleet of a home consists of a private Redis, recording proxies, an indexer and workers.

Redis, the proxies and the indexer start at the same time: proxies and indexer load their code while Redis starts, then
wait for Redis. Workers start last. Until all children are ready, requests on the proxies' ports are answered with 503
(`startup_responder`). When a proxy dies, the files that it left open are repaired before a new one starts. So its
durable records can be found, and no incomplete record is served.
"""

from __future__ import annotations

import logging
import os
import socket
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from admin.fleet import home_folder, sockets
from admin.fleet.process import ProcessRole, ShutdownStage, StartError
from admin.fleet.reload import reloaded_settings, settings_that_need_restart
from admin.fleet.startup_responder import StartupResponder
from admin.fleet.supervisor import Slot, Supervisor
from archive.listener_access import exposure
from archive.local_endpoints import Listeners
from archive.program_name import command
from archive.settings.load import Settings
from archive.warc.upkeep.repair import repair
from frontier.private_redis.server import RedisProblem, expected_url

log = logging.getLogger(__name__)

READY_SECONDS: Final = 600.0
"""The indexer is ready when it has read all new sidecar lines, which takes long after a large archive was copied in."""
_PROXY_MARGIN_SECONDS: Final = 20.0
"""Time after the drain for the last batch's fsync and the files' final names."""
_INDEX_SECONDS: Final = 60.0
WORKER: Final = "worker-"
RENDER_WORKER: Final = "render-worker-"
"""The names of worker processes are one of these prefixes and a number."""
_REDIS_SECONDS: Final = 310.0
"""Redis may load a large append-only file for minutes."""


@dataclass(frozen=True, slots=True)
class Addresses:
    """A running fleet listens at these addresses."""

    proxy: str
    controls: tuple[str, ...]
    cdx: str
    redis_url: str


class Fleet:
    """The fleet runs Redis, proxies and indexer as supervised children, and workers on request.

    `note` is called with one line for each event that users should know, such as the death of a child. While the fleet
    starts, `abandon` is called often; when it returns True, the start ends with StartInterrupted.
    """

    def __init__(
        self,
        settings: Settings,
        note: Callable[[str], None],
        abandon: Callable[[], bool],
        *,
        fds: tuple[int, ...] = (),
        port_option: str = "--port",
    ) -> None:
        """Start nothing yet. All children inherit `fds`. `port_option` is the option that sets the proxies' port."""
        self._fds, self._port_option = fds, port_option
        self.settings = settings
        self._abandon = abandon
        self.addresses: Addresses | None = None
        self._note = note
        self._supervisor: Supervisor | None = None
        self._listeners: list[socket.socket] = []
        self._published_listeners = Listeners(settings.home)
        self._proxy_sockets: list[socket.socket] = []
        self._control_sockets: list[socket.socket] = []
        self._proxies: list[Slot] = []

    @property
    def pids(self) -> list[int]:
        """Process ids of the children that run now."""
        return [slot.child.pid for slot in self._supervisor.slots if slot.is_filled] if self._supervisor else []

    @property
    def slots(self) -> list[Slot]:
        """Return the slots of all children."""
        return self._supervisor.slots if self._supervisor else []

    @property
    def restarts(self) -> int:
        """Return how often a new child replaced a dead one."""
        return sum(slot.restarts for slot in self._supervisor.slots) if self._supervisor else 0

    def start(self) -> Addresses:
        """Start all children and return when they are ready.

        Raises PortError, HomeError, StartError or StartInterrupted; then no child runs.
        """
        if problem := exposure(self.settings):
            raise StartError(problem)
        if mended := home_folder.prepare(self.settings.home, self.settings.archive.readable_by):
            self._note(mended)
        self._published_listeners.sweep()
        try:
            return self._start()
        except BaseException:
            self.stop(hurry=lambda: True)
            raise

    def restart(self, settings: Settings, abandon: Callable[[], bool]) -> None:
        """Replace the proxies one after the other by new ones with these settings, without an effect on clients.

        Returns when the last new proxy is ready. Raises StartError when a new proxy can't serve; then the old one and
        those after it continue. Raises StartInterrupted when `abandon` returns True while a proxy starts, and
        RestartLimitReached when another child can't be kept alive meanwhile.
        """
        assert self._supervisor is not None
        for name in settings_that_need_restart(self.settings, settings):
            self._note(f"setting {name} was changed; stop the fleet and start it again to apply the change")
        chosen = reloaded_settings(self.settings, settings)
        if problem := exposure(chosen):
            raise StartError(problem)
        for index, slot in enumerate(self._proxies):
            role = self._proxy_role(index, chosen)
            log.info("%s is being replaced", role.name)
            self._supervisor.replace(slot, role, READY_SECONDS, abandon)
        self.settings = chosen

    def add(self, role: ProcessRole, on_failure: Callable[[Slot, str], None]) -> Slot:
        """Start a further child, which is supervised like the others. Raises StartError.

        When the child can't be kept alive, `on_failure` is called with the reason, and the others go on.
        """
        assert self._supervisor is not None
        return self._supervisor.start(role, on_failure)

    def await_ready(self, slots: Sequence[Slot]) -> None:
        """Return when these children are ready. Raises StartError or StartInterrupted."""
        assert self._supervisor is not None
        self._supervisor.wait_ready(slots, READY_SECONDS, self._abandon, self._note)

    def try_again(self, slot: Slot, seconds: float) -> None:
        """Start a child again that the supervisor has given up, after so many seconds."""
        assert self._supervisor is not None
        self._supervisor.try_again(slot, seconds)

    def add_worker(
        self,
        index: int,
        *,
        job: str,
        at_once: int,
        log_dir: Path,
        stop_seconds: float,
        before_restart: Callable[[], None] | None = None,
        renders: bool = False,
    ) -> None:
        """Start one worker process, which visits URLs until the job is finished or stopped.

        With `renders`, the worker takes the job's queue of renders. When the worker dies, `before_restart` is called
        before a new one starts.
        """
        assert self._supervisor is not None
        assert self.addresses is not None
        name = f"{RENDER_WORKER if renders else WORKER}{index}"
        arguments = ["worker", "--job", job, "--name", name, "--at-once", str(at_once), "--log-dir", str(log_dir)]
        arguments += ["--renders"] if renders else []
        arguments += ["--proxy", self.addresses.proxy, *self.redis_arguments()]
        arguments += [part for control in self.addresses.controls for part in ("--control", control)]
        self._supervisor.start(
            ProcessRole(
                name,
                ShutdownStage.WORKERS,
                tuple(arguments),
                stop_seconds=stop_seconds,
                ends_by_itself=True,
                before_restart=before_restart,
            )
        )

    def tick(self) -> None:
        """Check the children once. Raises RestartLimitReached or StartError when one can't be kept alive."""
        assert self._supervisor is not None
        self._supervisor.tick()

    @property
    def is_serving(self) -> bool:
        """Return whether each recording proxy is ready."""
        return all(slot.is_filled and slot.child.is_ready for slot in self._proxies)

    @property
    def has_workers(self) -> bool:
        """Return whether a worker runs or will be restarted."""
        return bool(self._supervisor and self._supervisor.remaining(ShutdownStage.WORKERS))

    def stop_workers(self, hurry: Callable[[], bool] = lambda: False) -> None:
        """End the workers. They finish their visits first, unless `hurry` returns True."""
        assert self._supervisor is not None
        self._supervisor.stop_stage(ShutdownStage.WORKERS, hurry)

    def stop(self, hurry: Callable[[], bool] = lambda: False) -> None:
        """End all children, stage by stage, and close the ports. May be called again.

        WARC files that a killed proxy left open are repaired.
        """
        for listener in self._listeners:
            listener.close()
        self._listeners = []
        self._published_listeners.clear()
        if self._supervisor and self._supervisor.stop(hurry):
            repair_open_files(self.settings)

    @property
    def failures(self) -> list[str]:
        """Return one line for each child that failed when it was asked to end."""
        return self._supervisor.failures if self._supervisor else []

    def _start(self) -> Addresses:
        proxy, chosen = self.settings.proxy, self.settings.admin
        main_sockets = self.listen(proxy.host, proxy.port, proxy.processes, self._port_option)
        controls = [self._control_socket(index) for index in range(proxy.processes)]
        (cdx,) = self.listen(chosen.host, chosen.cdx_port, 1, "the setting admin.cdx_port")
        self._proxy_sockets, self._control_sockets = main_sockets, controls
        environment = {**os.environ, **self.settings.for_child()}
        self._supervisor = supervisor = Supervisor(self.settings.home / "logs", environment, self._note, fds=self._fds)
        with StartupResponder([*main_sockets, *controls]):
            redis_url, redis_slot = self._begin_redis()
            repair_open_files(self.settings)
            control_addresses = tuple(sockets.address(control) for control in controls)
            main_address = sockets.address(main_sockets[0])
            self.addresses = Addresses(main_address, control_addresses, sockets.address(cdx), redis_url)
            roles = [self._indexer_role(cdx)]
            roles += [self._proxy_role(index, self.settings) for index in range(proxy.processes)]
            slots = [supervisor.start(_awaiting_redis(role) if redis_slot else role) for role in roles]
            self._proxies = slots[1:]
            if redis_slot:
                supervisor.wait_ready([redis_slot], _REDIS_SECONDS, self._abandon, self._note)
            supervisor.wait_ready(slots, READY_SECONDS, self._abandon, self._note)
            for slot, role in zip(slots, roles, strict=True):
                slot.role = role  # a child that is started again does not wait while Redis is away
        return self.addresses

    def listen(self, host: str, port: int, count: int, option: str) -> list[socket.socket]:
        """Open `count` sockets on a port, which the fleet closes at its end. Raises PortError, which names `option`."""
        opened = sockets.listen(host, port, count, option=option)
        self._listeners += opened
        for listener in opened:
            self._published_listeners.add(listener)
        return opened

    def _control_socket(self, index: int) -> socket.socket:
        first = self.settings.proxy.control_port
        (control,) = self.listen("127.0.0.1", first + index if first else 0, 1, "the setting proxy.control_port")
        return control

    def _begin_redis(self) -> tuple[str, Slot | None]:
        """Return the URL of Redis, and the slot of the home's private Redis while that may still be starting."""
        assert self._supervisor is not None
        if chosen := self.settings.redis.url:
            self._check_redis(chosen)
            return chosen, None
        slot = self._supervisor.start(
            ProcessRole("redis-keeper", ShutdownStage.REDIS, ("_redis",), does="start Redis and load its data")
        )
        if url := expected_url(self.settings.home):
            return url, slot
        self._supervisor.wait_ready([slot], _REDIS_SECONDS, self._abandon, self._note)
        return slot.child.report.url, None

    def _check_redis(self, redis_url: str) -> None:
        from frontier.redis_check import check_redis

        try:
            warnings = check_redis(redis_url, timeout_seconds=self.settings.redis.timeout_seconds)
        except RedisProblem as error:
            raise StartError(str(error)) from error
        for warning in warnings:
            self._note(warning)

    def redis_arguments(self) -> tuple[str, ...]:
        """Return the options that name the home's private Redis to a child; none with the setting redis.url.

        A child reads that setting itself. Its URL may have a password, which a command line would show to all users.
        """
        assert self.addresses is not None
        return () if self.settings.redis.url else ("--redis-url", self.addresses.redis_url)

    def _indexer_role(self, cdx: socket.socket) -> ProcessRole:
        storage = self.settings.storage
        return ProcessRole(
            "indexer-0",
            ShutdownStage.INDEX,
            ("indexer", "--cdx-fd", str(cdx.fileno()), *self.redis_arguments()),
            does="read what is new in the index files",
            fds=(cdx.fileno(),),
            stop_seconds=_INDEX_SECONDS + (storage.drain_seconds if storage.url else 0),
        )

    def _proxy_role(self, index: int, settings: Settings) -> ProcessRole:
        assert self.addresses is not None
        fds = (self._proxy_sockets[index].fileno(), self._control_sockets[index].fileno())
        descriptors = ("--listen-fd", str(fds[0]), "--control-fd", str(fds[1]))
        return ProcessRole(
            f"proxy-{index}",
            ShutdownStage.PROXIES,
            ("_proxy-process", "--index", str(index), *descriptors, *self.redis_arguments()),
            does="load its code",
            fds=fds,
            stop_seconds=settings.proxy.drain_seconds + _PROXY_MARGIN_SECONDS,
            before_restart=lambda: repair_open_files(settings),
            environment=settings.for_child(),
            hands_over=True,
        )


def _awaiting_redis(role: ProcessRole) -> ProcessRole:
    """Return the role with the option to wait for a Redis that starts at the same time."""
    return replace(role, arguments=(*role.arguments, "--await-redis"))


def repair_open_files(settings: Settings) -> None:
    """Repair the WARC files that dead processes left open, in all collections. Errors are logged."""
    for collection in home_folder.collections(settings):
        try:
            repair(settings, collection)
        except OSError:
            log.exception("collection %s can't be repaired; run `%s`", collection, command(f"repair {collection}"))
