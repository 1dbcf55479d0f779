"""This module has the kinds of faults: how each is injected, and how the fleet recovers from it."""

from __future__ import annotations

import random
import resource
import shutil
import signal
import threading
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Final

from bench.faults.disks import Cut, Dying, Failing, Folder, Small, Where
from bench.faults.fleet_home import FleetHome, is_alive, send_signal, wait_for
from bench.faults.hostile_crawl import crawl_hostile_pages
from bench.faults.traffic.clients import RunningLoad
from bench.faults.traffic.origin import FaultyOrigin

_NOTICE_SECONDS: Final = 60.0


@dataclass(slots=True)
class FaultContext:
    """A fault may use all of these objects."""

    fleet: FleetHome
    disk: Folder
    origin: FaultyOrigin
    draw: random.Random
    load: RunningLoad
    cut_at: float | None = None
    """The time of the power loss. The copy of the disk does not hold what clients saw later."""
    refused_after: float | None = None
    """Seconds from the fault to the first request that was refused with 503, where requests must be refused."""
    limits: dict[int, tuple[int, int]] = field(default_factory=dict)

    def pause(self, shortest: float, longest: float) -> None:
        """Wait for a random time between `shortest` and `longest` seconds."""
        threading.Event().wait(self.draw.uniform(shortest, longest))

    def until_refused(self) -> None:
        """Wait until a request is refused. Raises FleetFailure after a minute."""
        before = self.load.ledger.counts["refused"]
        self.refused_after = wait_for(
            lambda: self.load.ledger.counts["refused"] > before,
            "the refusal of requests (503) while nothing can be written",
            _NOTICE_SECONDS,
        )


@dataclass(frozen=True, slots=True)
class FaultKind:
    """A kind of fault can be injected and recovered from.

    With `survives`, the fleet continues by itself; else it is started again.
    """

    name: str
    meaning: str
    inject: Callable[[FaultContext], None]
    recover: Callable[[FaultContext], None] = lambda context: None
    where: Where = "folder"
    survives: bool = True
    loses_log: bool = False
    """Lines of crawl.log may be missing, since the file is on the failed disk and is not synced."""
    loses_dedup: bool = False
    """Redis may have fewer entries than the disk."""
    removes: bool = False
    """The fault removes earlier records. Only later records are checked then."""
    settings: Mapping[str, Any] = field(default_factory=dict)


def _kill_one(context: FaultContext) -> None:
    pids = context.fleet.recording()
    victim = context.draw.choice(pids)
    send_signal(victim, signal.SIGKILL)
    wait_for(lambda: not is_alive(victim), "the end of a killed process", 30)
    wait_for(lambda: len(context.fleet.recording()) == len(pids), "the replacement of a killed process", 90)


def _kill_all(context: FaultContext) -> None:
    context.fleet.kill()


def _kill_supervisor(context: FaultContext) -> None:
    context.fleet.kill_supervisor()


def _kill_redis(context: FaultContext) -> None:
    victim = context.fleet.redis()
    send_signal(victim, signal.SIGKILL)
    context.pause(0.1, 1.5)


def _hang_redis(context: FaultContext) -> None:
    send_signal(context.fleet.redis(), signal.SIGSTOP)
    context.pause(0.5, 3.0)


def _resume_redis(context: FaultContext) -> None:
    send_signal(context.fleet.redis(), signal.SIGCONT)


def _fill_disk(context: FaultContext) -> None:
    assert isinstance(context.disk, Small)
    context.disk.fill(context.draw.randrange(400_000))
    context.until_refused()
    context.pause(0.1, 1.5)


def _free_disk(context: FaultContext) -> None:
    assert isinstance(context.disk, Small)
    context.disk.free()


def _limit_files(context: FaultContext) -> None:
    """Set a limit on the size of files: a write is cut short, and later writes fail."""
    sizes: list[int] = []
    for path in context.fleet.home.glob("collections/*/archive/**/*.open"):
        with suppress(FileNotFoundError):  # the file was closed and renamed after it was listed
            sizes.append(path.stat().st_size)
    for pid in context.fleet.recording():
        soft, hard = resource.prlimit(pid, resource.RLIMIT_FSIZE)
        context.limits[pid] = soft, hard
        resource.prlimit(pid, resource.RLIMIT_FSIZE, (min(sizes, default=0) + context.draw.randrange(40_000), hard))
    context.until_refused()
    context.pause(0.1, 1.0)


def _lift_limits(context: FaultContext) -> None:
    for pid, both in context.limits.items():
        resource.prlimit(pid, resource.RLIMIT_FSIZE, both)


def _fail_disk(context: FaultContext) -> None:
    assert isinstance(context.disk, Failing | Dying)
    context.disk.fail()
    context.until_refused()
    context.pause(0.1, 1.0)


def _heal_disk(context: FaultContext) -> None:
    assert isinstance(context.disk, Failing)
    context.disk.heal()


def _let_disk_die(context: FaultContext) -> None:
    assert isinstance(context.disk, Dying)
    try:
        _fail_disk(context)
    finally:  # the checks need the disk in any case
        context.fleet.kill()
        context.disk.replace()


def _cut_power(context: FaultContext) -> None:
    assert isinstance(context.disk, Cut)
    context.cut_at = context.disk.cut()
    context.fleet.kill()
    context.disk.swap()


def _remove_files(context: FaultContext) -> None:
    """Remove the files of a collection, remove its folder, or move the folder elsewhere, without a command of ours."""
    for folder in sorted((context.fleet.home / "collections").iterdir()):
        match context.draw.choice(["files", "folder", "moved"]):
            case "files":
                for path in sorted((folder / "archive").rglob("*.warc.*")):
                    path.unlink(missing_ok=True)
            case "folder":
                shutil.rmtree(folder, ignore_errors=True)  # a writer may make the folder again at the same time
            case _:
                folder.rename(context.fleet.home / f"moved-{context.draw.getrandbits(32):08x}")
    context.pause(0.1, 1.5)


def _reset_origin_connections(context: FaultContext) -> None:
    context.origin.breaking = 0.4
    context.pause(0.5, 2.0)


def _keep_origin_connections(context: FaultContext) -> None:
    context.origin.breaking = 0.0


def _reset_client_connections(context: FaultContext) -> None:
    context.load.ledger.leaving = 0.4
    context.pause(0.5, 2.0)


def _keep_client_connections(context: FaultContext) -> None:
    context.load.ledger.leaving = 0.0


def _crawl_hostile_pages(context: FaultContext) -> None:
    crawl_hostile_pages(context.draw)


_QUICK_REDIS: Final = {"redis.timeout_seconds": 0.5, "dedup.claim_seconds": 3}
KINDS: Final[Mapping[str, FaultKind]] = {
    kind.name: kind
    for kind in (
        FaultKind("kill-process", "kill -9 of a recording process", _kill_one, loses_dedup=True, settings=_QUICK_REDIS),
        FaultKind("kill-all", "kill -9 of every process at once", _kill_all, survives=False, loses_dedup=True),
        FaultKind("kill-supervisor", "kill -9 of the parent alone", _kill_supervisor, survives=False, loses_dedup=True),
        FaultKind("kill-redis", "kill -9 of Redis", _kill_redis, loses_dedup=True, settings=_QUICK_REDIS),
        FaultKind(
            "hang-redis", "Redis stops answering", _hang_redis, _resume_redis, loses_dedup=True, settings=_QUICK_REDIS
        ),
        FaultKind(
            "disk-full", "no room on the disk", _fill_disk, _free_disk, "small", loses_log=True, loses_dedup=True
        ),
        FaultKind("file-limit", "a limit on the size of files", _limit_files, _lift_limits, loses_log=True),
        FaultKind(
            "fsync-error",
            "writing back to the disk fails",
            _fail_disk,
            _heal_disk,
            "failing",
            loses_log=True,
            loses_dedup=True,
        ),
        FaultKind(
            "disk-dies",
            "the file system fails for good",
            _let_disk_die,
            where="dying",
            survives=False,
            loses_log=True,
            loses_dedup=True,
        ),
        FaultKind(
            "power-loss",
            "the disk loses power at one moment",
            _cut_power,
            where="cut",
            survives=False,
            loses_log=True,
            loses_dedup=True,
        ),
        FaultKind(
            "files-removed", "files of a collection are removed while it is written", _remove_files, removes=True
        ),
        FaultKind(
            "origin-reset",
            "origins reset connections within bodies and WebSockets",
            _reset_origin_connections,
            _keep_origin_connections,
        ),
        FaultKind("poison-page", "a crawl visits pages that are made to stop its workers", _crawl_hostile_pages),
        FaultKind(
            "client-reset",
            "clients reset connections within bodies and WebSockets",
            _reset_client_connections,
            _keep_client_connections,
        ),
    )
}
