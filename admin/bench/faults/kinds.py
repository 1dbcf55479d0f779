"""The faults: where each can happen, how it strikes, how it is lifted."""

from __future__ import annotations

import random
import resource
import signal
import threading
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Final

from admin.bench.faults.clients import Load
from admin.bench.faults.disks import Cut, Dying, Failing, Folder, Small, Where
from admin.bench.faults.house import House, lives, send, wait
from admin.bench.faults.origin import Origin

_NOTICE_SECONDS: Final = 60.0


@dataclass(slots=True)
class Scene:
    """Everything that a fault may reach for."""

    house: House
    disk: Folder
    origin: Origin
    draw: random.Random
    load: Load
    cut_at: float | None = None
    """When the power went: what clients saw later is not in the copy."""
    told_after: float | None = None
    """Seconds from the fault to the first request that was refused with 503, where that is to be so."""
    limits: dict[int, tuple[int, int]] = field(default_factory=dict)

    def pause(self, shortest: float, longest: float) -> None:
        """Lets a part of a second, or some, pass: how long is the seed's choice, and nothing is expected of it."""
        threading.Event().wait(self.draw.uniform(shortest, longest))

    def until_refused(self) -> None:
        """Waits until clients are told. Raises DidNotWork when they never are."""
        before = self.load.ledger.counts["refused"]
        self.told_after = wait(
            lambda: self.load.ledger.counts["refused"] > before,
            "requests to be refused (503) once nothing can be written",
            _NOTICE_SECONDS,
        )


@dataclass(frozen=True, slots=True)
class Kind:
    """One kind of fault. `survives`: the fleet goes on by itself; else it is started again."""

    name: str
    meaning: str
    strike: Callable[[Scene], None]
    lift: Callable[[Scene], None] = lambda scene: None
    where: Where = "folder"
    survives: bool = True
    loses_log: bool = False
    """Whether crawl.log may lack lines, since it is on the disk that failed, and is not synced."""
    loses_dedup: bool = False
    """Whether Redis may know less than the disk does."""
    settings: Mapping[str, Any] = field(default_factory=dict)


def _kill_one(scene: Scene) -> None:
    pids = scene.house.recording()
    victim = scene.draw.choice(pids)
    send(victim, signal.SIGKILL)
    wait(lambda: not lives(victim), "a killed process to be dead", 30)
    wait(lambda: len(scene.house.recording()) == len(pids), "a killed process to be replaced", 90)


def _kill_all(scene: Scene) -> None:
    scene.house.kill()


def _kill_supervisor(scene: Scene) -> None:
    scene.house.kill_supervisor()


def _kill_redis(scene: Scene) -> None:
    victim = scene.house.redis()
    send(victim, signal.SIGKILL)
    scene.pause(0.1, 1.5)


def _hang_redis(scene: Scene) -> None:
    send(scene.house.redis(), signal.SIGSTOP)
    scene.pause(0.5, 3.0)


def _resume_redis(scene: Scene) -> None:
    send(scene.house.redis(), signal.SIGCONT)


def _fill_disk(scene: Scene) -> None:
    assert isinstance(scene.disk, Small)
    scene.disk.fill(scene.draw.randrange(400_000))
    scene.until_refused()
    scene.pause(0.1, 1.5)


def _free_disk(scene: Scene) -> None:
    assert isinstance(scene.disk, Small)
    scene.disk.free()


def _limit_files(scene: Scene) -> None:
    """A quota of the system's on the size of files: a write comes back short, then fails."""
    sizes: list[int] = []
    for path in scene.house.home.glob("collections/*/archive/**/*.open"):
        with suppress(FileNotFoundError):  # closed, and called otherwise, since it was listed
            sizes.append(path.stat().st_size)
    for pid in scene.house.recording():
        soft, hard = resource.prlimit(pid, resource.RLIMIT_FSIZE)
        scene.limits[pid] = soft, hard
        resource.prlimit(pid, resource.RLIMIT_FSIZE, (min(sizes, default=0) + scene.draw.randrange(40_000), hard))
    scene.until_refused()
    scene.pause(0.1, 1.0)


def _lift_limits(scene: Scene) -> None:
    for pid, both in scene.limits.items():
        resource.prlimit(pid, resource.RLIMIT_FSIZE, both)


def _fail_disk(scene: Scene) -> None:
    assert isinstance(scene.disk, Failing | Dying)
    scene.disk.fail()
    scene.until_refused()
    scene.pause(0.1, 1.0)


def _heal_disk(scene: Scene) -> None:
    assert isinstance(scene.disk, Failing)
    scene.disk.heal()


def _let_disk_die(scene: Scene) -> None:
    assert isinstance(scene.disk, Dying)
    try:
        _fail_disk(scene)
    finally:  # whatever came of it, what is left can be looked at
        scene.house.kill()
        scene.disk.replace()


def _cut_power(scene: Scene) -> None:
    assert isinstance(scene.disk, Cut)
    scene.cut_at = scene.disk.cut()
    scene.house.kill()
    scene.disk.swap()


def _break_origin(scene: Scene) -> None:
    scene.origin.breaking = 0.4
    scene.pause(0.5, 2.0)


def _mend_origin(scene: Scene) -> None:
    scene.origin.breaking = 0.0


def _clients_leave(scene: Scene) -> None:
    scene.load.ledger.leaving = 0.4
    scene.pause(0.5, 2.0)


def _clients_stay(scene: Scene) -> None:
    scene.load.ledger.leaving = 0.0


_QUICK_REDIS: Final = {"redis.timeout_seconds": 0.5, "dedup.claim_seconds": 3}
KINDS: Final[Mapping[str, Kind]] = {
    kind.name: kind
    for kind in (
        Kind("kill-process", "kill -9 of a recording process", _kill_one, loses_dedup=True, settings=_QUICK_REDIS),
        Kind("kill-all", "kill -9 of every process at once", _kill_all, survives=False, loses_dedup=True),
        Kind("kill-supervisor", "kill -9 of the parent alone", _kill_supervisor, survives=False, loses_dedup=True),
        Kind("kill-redis", "kill -9 of Redis", _kill_redis, loses_dedup=True, settings=_QUICK_REDIS),
        Kind(
            "hang-redis", "Redis stops answering", _hang_redis, _resume_redis, loses_dedup=True, settings=_QUICK_REDIS
        ),
        Kind("disk-full", "no room on the disk", _fill_disk, _free_disk, "small", loses_log=True, loses_dedup=True),
        Kind("file-limit", "a limit on the size of files", _limit_files, _lift_limits, loses_log=True),
        Kind(
            "fsync-error",
            "writing back to the disk fails",
            _fail_disk,
            _heal_disk,
            "failing",
            loses_log=True,
            loses_dedup=True,
        ),
        Kind(
            "disk-dies",
            "the file system is given up",
            _let_disk_die,
            where="dying",
            survives=False,
            loses_log=True,
            loses_dedup=True,
        ),
        Kind(
            "power-loss",
            "the disk as it is at a moment",
            _cut_power,
            where="cut",
            survives=False,
            loses_log=True,
            loses_dedup=True,
        ),
        Kind("origin-reset", "origins break off bodies and WebSockets", _break_origin, _mend_origin),
        Kind("client-reset", "clients leave within bodies and WebSockets", _clients_leave, _clients_stay),
    )
}
