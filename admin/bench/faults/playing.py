"""One round of the campaign, from a kind of fault and a seed to what clients saw and what was found broken."""

from __future__ import annotations

import random
import shutil
import tempfile
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from admin.bench.faults.clients import Load
from admin.bench.faults.disks import DISKS
from admin.bench.faults.house import COLLECTION, DidNotWork, House, wait
from admin.bench.faults.judge import Evidence, Violation, digest, judge
from admin.bench.faults.kinds import Kind, Scene
from admin.bench.faults.origin import Origin
from archive.source import warc_files

_CLIENTS: Final = 8
_MOST_BEFORE: Final = 250
_AFTER: Final = 25
_LOAD_SECONDS: Final = 120.0


@dataclass(slots=True)
class Round:
    """What came of a round. `seen` counts responses that clients saw to their end by the moment that matters."""

    kind: str
    seed: int
    asked: int = 0
    seen: int = 0
    lost: int = 0
    """Of those, what can't be read from a WARC."""
    refused: int = 0
    broken: int = 0
    revisits: int = 0
    told_after: float | None = None
    """Seconds from the fault until clients were refused, where they have to be."""
    back_after: float | None = None
    """Seconds from the fault's end, or the new start's, until responses came whole again."""
    seconds: float = 0.0
    violations: list[Violation] = field(default_factory=list)


def play(kind: Kind, seed: int, *, settings: Mapping[str, Any] | None = None, keep: Path | None = None) -> Round:
    """Plays a round in a temporary folder. Raises DiskProblem when the disk that it needs can't be had.

    `settings` are for the fleet, over those that the seed chooses. `keep`: a folder for what is left of a round in
    which something was found broken.
    """
    began = time.monotonic()
    draw = random.Random(f"{kind.name} {seed}")
    found = Round(kind.name, seed)
    base = Path(tempfile.mkdtemp(prefix="gf-faults-"))
    try:
        disk = DISKS[kind.where](base)
        try:
            house = House(disk.home, base / "fleet.log", {**_chosen(draw), **kind.settings, **(settings or {})})
            with Origin() as origin:
                _Play(kind, Scene(house, disk, origin, draw), found).play()
            if keep and found.violations:
                target = keep / f"{kind.name}-{seed}"
                shutil.copytree(disk.home, target / "home", dirs_exist_ok=True)
                shutil.copy(base / "fleet.log", target)
        finally:
            disk.close()
    finally:
        shutil.rmtree(base, ignore_errors=True)
    found.seconds = time.monotonic() - began
    return found


def _chosen(draw: random.Random) -> dict[str, Any]:
    """The settings that a round is played with."""
    return {
        "proxy.processes": draw.choice([1, 1, 2]),
        "archive.warc_max_bytes": draw.choice([100_000, 1_000_000, 1_000_000_000]),
        "archive.min_free_bytes": draw.choice([0, 0, 1_000_000]),
        "archive.compression": draw.choice(["gzip", "gzip", "gzip", "zstd"]),
        "proxy.keep_alive_seconds": draw.choice([0.5, 30]),
    }


class _Play:
    """The course of a round."""

    def __init__(self, kind: Kind, scene: Scene, found: Round) -> None:
        self._kind, self._scene, self._found = kind, scene, found
        self._published: dict[str, bytes] = {}
        self._loads: list[Load] = []

    def play(self) -> None:
        """Fills in what is found."""
        house = self._scene.house
        try:
            self._before_and_fault()
            if not self._kind.survives or list(house.home.glob("collections/*/archive/*.open")):
                self._after()
        except DidNotWork as error:
            self._found.violations.append(Violation("the fleet goes on", f"{error}; {house.last_words()}"))
        finally:
            if house.runs:
                house.kill()
            for load in self._loads:
                load.finish()
        self._sum_up()

    def _before_and_fault(self) -> None:
        scene, house = self._scene, self._scene.house
        load = self._start("before")
        scene.load = load
        enough = scene.draw.randrange(10, _MOST_BEFORE)
        wait(lambda: len(load.seen) >= enough, f"{enough} responses", _LOAD_SECONDS)
        closed = warc_files(house.home / "collections" / COLLECTION / "archive")
        self._published = {path.name: digest(path) for path in closed}
        self._kind.strike(scene)
        self._kind.lift(scene)
        self._found.told_after = scene.told_after
        if self._kind.survives:
            self._until_back(load)
            load.finish()
            house.stop()
        else:
            load.finish()

    def _after(self) -> None:
        """A new start mends what the fault has left, and the archive goes on."""
        load = self._start("after")
        self._until_back(load)
        load.finish()
        self._scene.house.stop()

    def _start(self, name: str) -> Load:
        self._scene.house.start()
        load = Load(self._scene.house.address, self._scene.origin, name=name, clients=_CLIENTS)
        self._loads.append(load)
        return load

    def _until_back(self, load: Load) -> None:
        before = len(load.seen)
        took = wait(lambda: len(load.seen) >= before + _AFTER, f"{_AFTER} more responses", _LOAD_SECONDS)
        self._found.back_after = max(took, self._found.back_after or 0.0)

    def _sum_up(self) -> None:
        kind, scene, found = self._kind, self._scene, self._found
        seen = [one for load in self._loads for one in load.seen]
        if scene.cut_at is not None:
            late = {one.url for one in self._loads[0].seen if one.at > scene.cut_at}
            seen = [one for one in seen if one.url not in late]
        for load in self._loads:
            found.violations += [Violation("clients get the origin's bytes", text) for text in load.wrong[:5]]
            found.asked += load.counts["asked"]
            found.refused += load.counts["refused"]
            found.broken += load.counts["broken"]
        verdict = judge(
            Evidence(
                home=scene.house.home,
                collection=COLLECTION,
                seen=seen,
                published=self._published,
                log_is_whole=not kind.loses_log,
                dedup_is_whole=not kind.loses_dedup,
            )
        )
        found.seen, found.lost, found.revisits = len(seen), verdict.lost, verdict.revisits
        found.violations += verdict.violations
