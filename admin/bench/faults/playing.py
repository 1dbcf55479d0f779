"""One home and what befalls it: a few faults one after the other under load, then a look at what is left."""

from __future__ import annotations

import random
import shutil
import tempfile
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from admin.bench.faults.case import Evidence, digest
from admin.bench.faults.clients import Load
from admin.bench.faults.disks import DISKS, Folder
from admin.bench.faults.house import COLLECTION, DidNotWork, House, wait
from admin.bench.faults.judge import Violation, judge
from admin.bench.faults.kinds import Kind, Scene
from admin.bench.faults.ledger import Seen
from admin.bench.faults.origin import Origin
from archive.place import closed, growing

_CLIENTS: Final = 8
_TALKERS: Final = 6
_MOST_BEFORE: Final = 200
_AFTER: Final = 25
_LOAD_SECONDS: Final = 150.0


@dataclass(slots=True)
class Round:
    """One fault under load. `seen` counts responses that clients saw to their end by the moment that matters."""

    kind: str
    asked: int = 0
    seen: int = 0
    sockets: int = 0
    """Of those, WebSockets."""
    lost: int = 0
    """Of what was seen, what can't be read from a WARC."""
    refused: int = 0
    broken: int = 0
    told_after: float | None = None
    """Seconds from the fault until clients were refused, where they have to be."""
    back_after: float | None = None
    """Seconds from the fault's end, or the new start's, until responses came whole again."""


@dataclass(slots=True)
class Episode:
    """The rounds that one home went through; what is broken in the end is nobody's of them alone."""

    seed: int
    rounds: list[Round] = field(default_factory=list)
    revisits: int = 0
    cut: int = 0
    """WebSockets of which there is a beginning."""
    seconds: float = 0.0
    violations: list[Violation] = field(default_factory=list)

    @property
    def again(self) -> str:
        """The options of `ghostfleet bench faults` that repeat it."""
        only = " ".join(f"--only {one.kind}" for one in self.rounds)
        return f"--seed {self.seed} --rounds {len(self.rounds)} {only}"


def play(
    kinds: Sequence[Kind], seed: int, *, settings: Mapping[str, Any] | None = None, keep: Path | None = None
) -> Episode:
    """Plays faults of the same place in a temporary home. Raises DiskProblem when their disk can't be had.

    `settings` are for the fleet, over those that the seed chooses. `keep`: a folder for what is left of a home in
    which something was found broken.
    """
    began = time.monotonic()
    draw = random.Random(f"{seed} {[kind.name for kind in kinds]}")
    found = Episode(seed)
    base = Path(tempfile.mkdtemp(prefix="gf-faults-"))
    try:
        disk = DISKS[kinds[0].where](base)
        try:
            chosen = {**_chosen(draw), **{name: x for kind in kinds for name, x in kind.settings.items()}}
            house = House(disk.home, base / "fleet.log", {**chosen, **(settings or {})})
            with Origin() as origin:
                _Play(house, disk, origin, draw, found).play(kinds)
            if keep and found.violations:
                target = keep / f"{seed}-{'-'.join(dict.fromkeys(kind.name for kind in kinds))}"
                shutil.copytree(disk.home, target / "home", dirs_exist_ok=True)
                shutil.copy(base / "fleet.log", target)
        finally:
            disk.close()
    finally:
        shutil.rmtree(base, ignore_errors=True)
    found.seconds = time.monotonic() - began
    return found


def _chosen(draw: random.Random) -> dict[str, Any]:
    """The settings that a home is played with."""
    return {
        "proxy.processes": draw.choice([1, 1, 2]),
        "archive.warc_max_bytes": draw.choice([100_000, 1_000_000, 1_000_000_000]),
        "archive.min_free_bytes": draw.choice([0, 0, 1_000_000]),
        "archive.warc_folder": draw.choice(["", "", "{prefix}/{process}"]),
        "archive.compression": draw.choice(["gzip", "gzip", "gzip", "zstd"]),
        "proxy.keep_alive_seconds": draw.choice([0.5, 30]),
        "proxy.websocket_segment_bytes": draw.choice([1_000, 20_000, 67_108_864]),
    }


@dataclass(slots=True)
class _Told:
    """What the clients of one load saw, and what may be asked of it."""

    round: Round
    load: Load
    until: float = float("inf")
    is_logged: bool = True

    def seen(self) -> list[Seen]:
        return [one for one in self.load.seen if one.at <= self.until]


class _Play:
    """The course of an episode."""

    def __init__(self, house: House, disk: Folder, origin: Origin, draw: random.Random, found: Episode) -> None:
        self._house, self._disk, self._origin = house, disk, origin
        self._draw, self._found = draw, found
        self._folder = house.home / "collections" / COLLECTION
        self._published: dict[str, bytes] = {}
        self._told: list[_Told] = []

    def play(self, kinds: Sequence[Kind]) -> None:
        """Fills in what is found."""
        try:
            self._house.start()
            for kind in kinds:
                self._round(kind)
            self._house.stop()
            if list(growing(self._folder)):  # a start mends what nobody could close
                self._house.start()
                self._house.stop()
        except DidNotWork as error:
            self._found.violations.append(Violation("the fleet goes on", f"{error}; {self._house.last_words()}"))
            self._try_again()
        for told in self._told:
            told.load.finish()
        self._sum_up(dedup_is_whole=not any(kind.loses_dedup for kind in kinds))

    def _try_again(self) -> None:
        """What is judged after a failure is what a new start makes of it, if it can."""
        with suppress(DidNotWork):
            if self._house.runs:
                self._house.kill()
            self._house.start()
            self._house.stop()

    def _round(self, kind: Kind) -> None:
        found = Round(kind.name)
        self._found.rounds.append(found)
        told = self._start_load(found, is_logged=not kind.loses_log)
        scene = Scene(self._house, self._disk, self._origin, self._draw, told.load)
        enough = self._draw.randrange(10, _MOST_BEFORE)
        wait(lambda: len(told.load.seen) >= enough, f"{enough} responses", _LOAD_SECONDS)
        self._published |= {place.name: digest(place.warc) for place in closed(self._folder)}
        kind.strike(scene)
        kind.lift(scene)
        found.told_after, told.until = scene.told_after, scene.cut_at or told.until
        if not kind.survives:
            told.load.finish()
            self._house.start()
            told = self._start_load(found, is_logged=not kind.loses_log)
        before = len(told.load.seen)
        found.back_after = wait(
            lambda: len(told.load.seen) >= before + _AFTER, f"{_AFTER} responses after {kind.name}", _LOAD_SECONDS
        )
        told.load.finish()

    def _start_load(self, found: Round, *, is_logged: bool) -> _Told:
        name = f"{len(self._told)}-{found.kind}"
        load = Load(self._house.address, self._origin, name=name, clients=_CLIENTS, talkers=_TALKERS)
        self._told.append(_Told(found, load, is_logged=is_logged))
        return self._told[-1]

    def _sum_up(self, *, dedup_is_whole: bool) -> None:
        found = self._found
        verdict = judge(
            Evidence(
                home=self._house.home,
                collection=COLLECTION,
                seen=[one for told in self._told for one in told.seen()],
                logged=[one for told in self._told if told.is_logged for one in told.seen()],
                published=self._published,
                log_is_whole=all(told.is_logged for told in self._told),
                dedup_is_whole=dedup_is_whole,
            )
        )
        found.violations += [Violation("origins get the clients' bytes", text) for text in self._origin.wrong[:5]]
        for told in self._told:
            ledger = told.load.ledger
            found.violations += [Violation("clients get the origin's bytes", text) for text in ledger.wrong[:5]]
            told.round.asked += ledger.counts["asked"]
            told.round.refused += ledger.counts["refused"]
            told.round.broken += ledger.counts["broken"]
            told.round.seen += len(told.seen())
            told.round.sockets += sum(one.is_socket for one in told.seen())
            told.round.lost += sum(one.url in verdict.lost for one in told.seen())
        found.revisits, found.cut = verdict.revisits, verdict.cut
        found.violations += verdict.violations
