"""An episode causes a few faults in one home under load, and then checks the home."""

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

from archive.names.warc_paths import closed, growing
from bench.faults.checks.check_input import Expectations, digest
from bench.faults.checks.home_check import Violation, check_home
from bench.faults.disks import DISKS, Folder
from bench.faults.fleet_home import COLLECTION, FleetFailure, FleetHome, wait_for
from bench.faults.kinds import FaultContext, FaultKind
from bench.faults.traffic.clients import RunningLoad
from bench.faults.traffic.ledger import SeenResponse
from bench.faults.traffic.origin import FaultyOrigin

_CLIENTS: Final = 8
_WEBSOCKET_CLIENTS: Final = 6
_MOST_BEFORE: Final = 200
_AFTER: Final = 25
_LOAD_SECONDS: Final = 150.0


@dataclass(slots=True)
class Round:
    """A round is one fault under load. `seen` counts the responses that clients saw whole and that must be kept."""

    kind: str
    asked: int = 0
    seen: int = 0
    sockets: int = 0
    """The WebSockets among the seen responses."""
    lost: int = 0
    """Seen responses that can't be read from a WARC file."""
    refused: int = 0
    broken: int = 0
    told_after: float | None = None
    """Seconds from the fault until requests were refused, where they must be."""
    back_after: float | None = None
    """Seconds from the end of the fault, or from the restart, until responses came whole again."""


@dataclass(slots=True)
class Episode:
    """The result of an episode has the rounds of one home."""

    seed: int
    rounds: list[Round] = field(default_factory=list)
    revisits: int = 0
    cut: int = 0
    """WebSockets of which the beginning is kept, and not the end."""
    seconds: float = 0.0
    violations: list[Violation] = field(default_factory=list)

    @property
    def again(self) -> str:
        """Return the options of `ghostfleet bench faults` that repeat the episode."""
        only = " ".join(f"--only {one.kind}" for one in self.rounds)
        return f"--seed {self.seed} --rounds {len(self.rounds)} {only}"


def run_episode(
    kinds: Sequence[FaultKind], seed: int, *, settings: Mapping[str, Any] | None = None, keep: Path | None = None
) -> Episode:
    """Run an episode with these faults in a temporary home. Raises DiskProblem when the disk can't be made.

    `settings` override the settings that the seed chooses. `keep` is a folder to which a home with errors is copied.
    """
    began = time.monotonic()
    draw = random.Random(f"{seed} {[kind.name for kind in kinds]}")
    found = Episode(seed)
    base = Path(tempfile.mkdtemp(prefix="gf-faults-"))
    try:
        disk = DISKS[kinds[0].where](base)
        try:
            chosen = {**_random_settings(draw), **{name: x for kind in kinds for name, x in kind.settings.items()}}
            fleet = FleetHome(disk.home, base / "fleet.log", {**chosen, **(settings or {})})
            with FaultyOrigin() as origin:
                _EpisodeRun(fleet, disk, origin, draw, found).run(kinds)
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


def _random_settings(draw: random.Random) -> dict[str, Any]:
    """Return random settings for a home."""
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
class _LoadRecord:
    """The record of a load says which of its responses are checked."""

    round: Round
    load: RunningLoad
    until: float = float("inf")
    is_logged: bool = True

    def seen(self) -> list[SeenResponse]:
        return [one for one in self.load.seen if one.at <= self.until]


class _EpisodeRun:
    """An episode run has the state of one episode."""

    def __init__(
        self, fleet: FleetHome, disk: Folder, origin: FaultyOrigin, draw: random.Random, found: Episode
    ) -> None:
        self._fleet, self._disk, self._origin = fleet, disk, origin
        self._draw, self._episode = draw, found
        self._folder = fleet.home / "collections" / COLLECTION
        self._published: dict[str, bytes] = {}
        self._loads: list[_LoadRecord] = []

    def run(self, kinds: Sequence[FaultKind]) -> None:
        """Run the faults and add the results to the episode."""
        try:
            self._fleet.start()
            for kind in kinds:
                self._round(kind)
            self._fleet.stop()
            if list(growing(self._folder)):  # a start repairs files that could not be closed
                self._fleet.start()
                self._fleet.stop()
        except FleetFailure as error:
            self._episode.violations.append(Violation("the fleet goes on", f"{error}; {self._fleet.log_end()}"))
            self._try_again()
        for record in self._loads:
            record.load.finish()
        self._sum_up(dedup_is_whole=not any(kind.loses_dedup for kind in kinds))

    def _try_again(self) -> None:
        """Start the fleet again after a failure, if it can start, so that its repaired home is checked."""
        with suppress(FleetFailure):
            if self._fleet.runs:
                self._fleet.kill()
            self._fleet.start()
            self._fleet.stop()

    def _round(self, kind: FaultKind) -> None:
        found = Round(kind.name)
        self._episode.rounds.append(found)
        record = self._start_load(found, is_logged=not kind.loses_log)
        context = FaultContext(self._fleet, self._disk, self._origin, self._draw, record.load)
        enough = self._draw.randrange(10, _MOST_BEFORE)
        wait_for(lambda: len(record.load.seen) >= enough, f"{enough} responses", _LOAD_SECONDS)
        self._published |= {place.name: digest(place.warc) for place in closed(self._folder)}
        kind.inject(context)
        kind.recover(context)
        found.told_after, record.until = context.refused_after, context.cut_at or record.until
        if kind.removes:
            record.load.finish()
            self._forget_all()
            record = self._start_load(found, is_logged=not kind.loses_log)
        if not kind.survives:
            record.load.finish()
            self._fleet.start()
            record = self._start_load(found, is_logged=not kind.loses_log)
        before = len(record.load.seen)
        found.back_after = wait_for(
            lambda: len(record.load.seen) >= before + _AFTER, f"{_AFTER} responses after {kind.name}", _LOAD_SECONDS
        )
        record.load.finish()

    def _forget_all(self) -> None:
        """Exclude all that was recorded until now from the checks."""
        for record in self._loads:
            record.until = float("-inf")
        self._published.clear()

    def _start_load(self, found: Round, *, is_logged: bool) -> _LoadRecord:
        name = f"{len(self._loads)}-{found.kind}"
        load = RunningLoad(
            self._fleet.address, self._origin, name=name, clients=_CLIENTS, websocket_clients=_WEBSOCKET_CLIENTS
        )
        self._loads.append(_LoadRecord(found, load, is_logged=is_logged))
        return self._loads[-1]

    def _sum_up(self, *, dedup_is_whole: bool) -> None:
        found = self._episode
        verdict = check_home(
            Expectations(
                home=self._fleet.home,
                collection=COLLECTION,
                seen=[one for record in self._loads for one in record.seen()],
                logged=[one for record in self._loads if record.is_logged for one in record.seen()],
                published=self._published,
                log_is_whole=all(record.is_logged for record in self._loads),
                dedup_is_whole=dedup_is_whole,
                removed=[record.load.ledger.name for record in self._loads if record.until == float("-inf")],
            )
        )
        found.violations += [Violation("origins get the clients' bytes", text) for text in self._origin.wrong[:5]]
        for record in self._loads:
            ledger = record.load.ledger
            found.violations += [Violation("clients get the origin's bytes", text) for text in ledger.wrong[:5]]
            record.round.asked += ledger.counts["asked"]
            record.round.refused += ledger.counts["refused"]
            record.round.broken += ledger.counts["broken"]
            record.round.seen += len(record.seen())
            record.round.sockets += sum(one.is_websocket for one in record.seen())
            record.round.lost += sum(one.url in verdict.lost for one in record.seen())
        found.revisits, found.cut = verdict.revisits, verdict.cut
        found.violations += verdict.violations
