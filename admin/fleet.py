"""The fleet on this machine: which children there are, in which order they start, and where they listen.

Redis first, because everybody asks it; then, together, the recording proxies and the indexer with its CDX server;
workers last. A proxy that died is replaced after the files it left open have been repaired, so that what it had made
durable is findable and nothing half-written is served.
"""

from __future__ import annotations

import logging
import os
import socket
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from admin import homefolder, sockets
from admin.process import Role, Stage, StartError
from admin.reload import changed_for_later, possible_now
from admin.supervise import Post, Supervisor
from archive.repair import repair
from archive.settings import Settings
from frontier.embedded import RedisProblem
from frontier.fitness import check_redis

log = logging.getLogger(__name__)

READY_SECONDS: Final = 600.0
"""The indexer is ready when it has read what is new in the sidecars, and a large archive may have been copied in."""
_PROXY_MARGIN_SECONDS: Final = 20.0
"""Beyond the drain, for the last batch's fsync and the files' final names."""
_INDEX_SECONDS: Final = 60.0
_REDIS_SECONDS: Final = 310.0
"""A large append-only file takes its time to load."""


@dataclass(frozen=True, slots=True)
class Addresses:
    """Where a running fleet is spoken to."""

    proxy: str
    controls: tuple[str, ...]
    cdx: str
    redis_url: str


class Fleet:
    """Redis, proxies and indexer as supervised children; workers when asked for.

    `note` is called with a line for whatever people should know, such as a child that died and starts again;
    `abandon` is asked while the fleet starts, and ends that when it says True.
    """

    def __init__(self, settings: Settings, note: Callable[[str], None], abandon: Callable[[], bool]) -> None:
        self.settings = settings
        self._abandon = abandon
        self.addresses: Addresses | None = None
        self._note = note
        self._supervisor: Supervisor | None = None
        self._listeners: list[socket.socket] = []
        self._mains: list[socket.socket] = []
        self._controls: list[socket.socket] = []
        self._proxies: list[Post] = []

    @property
    def pids(self) -> list[int]:
        """Process ids of the children that run now."""
        return [post.child.pid for post in self._supervisor.posts if post.is_filled] if self._supervisor else []

    @property
    def restarts(self) -> int:
        """How many deaths were answered by a new child."""
        return sum(post.restarts for post in self._supervisor.posts) if self._supervisor else 0

    def start(self) -> Addresses:
        """Return when every child serves. Raises PortError, HomeError, StartError or Abandoned, with nothing left."""
        homefolder.prepare(self.settings.home)
        try:
            return self._start()
        except BaseException:
            self.stop(hurry=lambda: True)
            raise

    def restart(self, settings: Settings, abandon: Callable[[], bool]) -> None:
        """Replace the proxies one after the other by ones with these settings; nobody who fetches through them notices.

        Returns when the last new one serves. Raises StartError when one of them can't: it and those behind it are
        as they were. Raises Abandoned when `abandon` says True while one starts, GaveUp when another dies meanwhile.
        """
        assert self._supervisor is not None
        for name in changed_for_later(self.settings, settings):
            self._note(f"setting {name} was changed; it takes effect when the fleet is started anew")
        chosen = possible_now(self.settings, settings)
        for index, post in enumerate(self._proxies):
            role = self._proxy_role(index, chosen)
            log.info("%s is being replaced", role.name)
            self._supervisor.replace(post, role, READY_SECONDS, abandon)
        self.settings = chosen

    def add_worker(self, index: int, *, job: str, at_once: int, log_dir: Path, stop_seconds: float) -> None:
        """Start one worker process; it visits until the frontier says that the job is finished or stopped."""
        assert self._supervisor is not None
        assert self.addresses is not None
        name = f"worker-{index}"
        arguments = ["worker", "--job", job, "--name", name, "--at-once", str(at_once), "--log-dir", str(log_dir)]
        arguments += ["--proxy", self.addresses.proxy, "--redis-url", self.addresses.redis_url]
        arguments += [part for control in self.addresses.controls for part in ("--control", control)]
        self._supervisor.start(
            Role(name, Stage.WORKERS, tuple(arguments), stop_seconds=stop_seconds, ends_by_itself=True)
        )

    def tick(self) -> None:
        """Look after the children once. Raises GaveUp or StartError when one can't be kept alive."""
        assert self._supervisor is not None
        self._supervisor.tick()

    @property
    def has_workers(self) -> bool:
        """Whether any worker is at work, or will be again."""
        return bool(self._supervisor and self._supervisor.remaining(Stage.WORKERS))

    def stop_workers(self, hurry: Callable[[], bool] = lambda: False) -> None:
        """End the workers: they finish their visits first, unless in a hurry."""
        assert self._supervisor is not None
        self._supervisor.stop_stage(Stage.WORKERS, hurry)

    def stop(self, hurry: Callable[[], bool] = lambda: False) -> None:
        """End everybody in the order that loses nothing, and close the ports. May be called again.

        What a proxy that had to be killed left open is repaired, so that a fleet that has ended leaves whole files.
        """
        for listener in self._listeners:
            listener.close()
        self._listeners = []
        if self._supervisor and self._supervisor.stop(hurry):
            repair_leftovers(self.settings)

    @property
    def failures(self) -> list[str]:
        """What children said that did not end well when they were asked to end: one line each."""
        return self._supervisor.failures if self._supervisor else []

    def _start(self) -> Addresses:
        proxy, chosen = self.settings.proxy, self.settings.admin
        main = self._listen(proxy.host, proxy.port, proxy.processes, "--port")
        controls = [self._control_socket(index) for index in range(proxy.processes)]
        (cdx,) = self._listen(chosen.host, chosen.cdx_port, 1, "the setting admin.cdx_port")
        self._mains, self._controls = main, controls
        environment = {**os.environ, **self.settings.for_child()}
        self._supervisor = Supervisor(self.settings.home / "logs", environment, self._note)
        redis_url = self.settings.redis.url or self._start_redis()
        self._check_redis(redis_url)
        repair_leftovers(self.settings)
        where = tuple(sockets.address(control) for control in controls)
        self.addresses = Addresses(sockets.address(main[0]), where, sockets.address(cdx), redis_url)
        posts = [self._start_indexer(cdx, redis_url)]
        roles = [self._proxy_role(index, self.settings) for index in range(proxy.processes)]
        self._proxies = [self._supervisor.start(role) for role in roles]
        self._supervisor.wait_ready([*posts, *self._proxies], READY_SECONDS, self._abandon)
        return self.addresses

    def _listen(self, host: str, port: int, count: int, option: str) -> list[socket.socket]:
        opened = sockets.listen(host, port, count, option=option)
        self._listeners += opened
        return opened

    def _control_socket(self, index: int) -> socket.socket:
        first = self.settings.proxy.control_port
        (control,) = self._listen("127.0.0.1", first + index if first else 0, 1, "the setting proxy.control_port")
        return control

    def _start_redis(self) -> str:
        assert self._supervisor is not None
        post = self._supervisor.start(Role("redis-keeper", Stage.REDIS, ("_redis",)))
        self._supervisor.wait_ready([post], _REDIS_SECONDS, self._abandon)
        return str((post.child.facts or {})["url"])

    def _check_redis(self, redis_url: str) -> None:
        try:
            warnings = check_redis(redis_url, timeout_seconds=self.settings.redis.timeout_seconds)
        except RedisProblem as error:
            raise StartError(str(error)) from error
        for warning in warnings:
            self._note(warning)

    def _start_indexer(self, cdx: socket.socket, redis_url: str) -> Post:
        assert self._supervisor is not None
        arguments = ("indexer", "--cdx-fd", str(cdx.fileno()), "--redis-url", redis_url)
        storage = self.settings.storage
        seconds = _INDEX_SECONDS + (storage.drain_seconds if storage.url else 0)
        return self._supervisor.start(
            Role("indexer-0", Stage.INDEX, arguments, fds=(cdx.fileno(),), stop_seconds=seconds)
        )

    def _proxy_role(self, index: int, settings: Settings) -> Role:
        assert self.addresses is not None
        fds = (self._mains[index].fileno(), self._controls[index].fileno())
        where = ("--listen-fd", str(fds[0]), "--control-fd", str(fds[1]), "--redis-url", self.addresses.redis_url)
        return Role(
            f"proxy-{index}",
            Stage.PROXIES,
            ("_proxy-process", "--index", str(index), *where),
            fds=fds,
            stop_seconds=settings.proxy.drain_seconds + _PROXY_MARGIN_SECONDS,
            before_restart=lambda: repair_leftovers(settings),
            environment=settings.for_child(),
            hands_over=True,
        )


def repair_leftovers(settings: Settings) -> None:
    """Finish the files that dead writers left open, in every collection; a failure is logged, and stops nobody."""
    for collection in homefolder.collections(settings):
        try:
            repair(settings, collection)
        except OSError:
            log.exception("collection %s could not be repaired; `ghostfleet repair` tries again", collection)
