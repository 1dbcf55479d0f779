"""The proxy bench from start to end: peers take turns, round after round, so that a noisy minute hits them all."""

from __future__ import annotations

import shutil
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from threading import Event
from typing import Final

from admin.bench import checking
from admin.bench.corpus import Corpus
from admin.bench.load import LoadProcess, Order, Result
from admin.bench.origin import OriginProcess
from admin.bench.peers import Peer, Set, Started
from admin.bench.process import Spent, spent

ORIGIN_ADDRESS: Final = "127.0.1.1"
"""Not 127.0.0.1, which warcprox refuses."""
WARM_REQUESTS: Final = 200
_QUIET_SECONDS: Final = 0.3
_LONGEST_TAIL_SECONDS: Final = 60.0


@dataclass(frozen=True, slots=True)
class Plan:
    """What is to be measured."""

    peers: Sequence[Peer]
    schemes: Sequence[str]
    rounds: int
    requests: int
    seconds: float
    connections: int
    processes: int


@dataclass(frozen=True, slots=True)
class Checked:
    """What the WARC files of one measurement hold; `missing` are acknowledged URLs without their record."""

    warc_bytes: int = 0
    missing: tuple[str, ...] = ()
    damage: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Measured:
    """One peer, one scheme, one round: what the client got, what the peer and the origin spent on it.

    `tail_seconds` is how long the peer went on working after the last answer; that work is counted too.
    """

    peer: str
    scheme: str
    round: int
    result: Result
    used: Spent
    origin: Spent
    tail_seconds: float
    checked: Checked


class Bench:
    """The origin and the load generator, used for every measurement of a run."""

    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        self._corpus = Corpus()
        self._origin = OriginProcess(ORIGIN_ADDRESS)
        self._load = LoadProcess()

    def close(self) -> None:
        """Ends both."""
        self._load.close()
        self._origin.close()

    def run(self, tell: Callable[[str], None]) -> Iterator[Measured]:
        """All measurements, in turns; `tell` hears what is going on. Each round begins with another peer."""
        plan = self._plan
        for peer in plan.peers:
            tell(f"preparing {peer.name}")
            peer.prepare()
        for number in range(1, plan.rounds + 1):
            turn = number % len(plan.peers)
            for scheme in plan.schemes:
                for peer in [*plan.peers[turn:], *plan.peers[:turn]]:
                    if scheme in peer.schemes:
                        tell(f"round {number} of {plan.rounds}: {scheme}, {peer.name}")
                        yield self._measure(peer, scheme, number)

    def _measure(self, peer: Peer, scheme: str, number: int) -> Measured:
        name = f"{scheme}-{number}"
        folder = Path(tempfile.mkdtemp(prefix=f"ghostfleet-bench-{peer.name}-"))
        try:
            started = peer.start(Set(folder, self._plan.processes, self._origin.certificate))
            try:
                self._ask(started, scheme, f"warm-{name}", WARM_REQUESTS)
                _until_quiet(started)
                before, origin_before = _spent(started), spent(self._origin.pid)
                result = self._ask(started, scheme, name, self._plan.requests)
                tail = _until_quiet(started)
                used, origin = _spent(started).since(before), spent(self._origin.pid).since(origin_before)
            finally:
                started.stop()
            checked = self._check(started, scheme, name, result) if peer.records else Checked()
            return Measured(peer.name, scheme, number, result, used, origin, tail, checked)
        finally:
            shutil.rmtree(folder, ignore_errors=True)

    def _ask(self, started: Started, scheme: str, name: str, requests: int) -> Result:
        order = Order(
            scheme=scheme,
            name=name,
            requests=requests,
            connections=self._plan.connections,
            seconds=self._plan.seconds,
            proxy_host=started.host,
            proxy_port=started.port,
            origin_host=self._origin.address,
            origin_port=self._origin.http if scheme == "http" else self._origin.https,
        )
        return self._load.run(order)

    def _check(self, started: Started, scheme: str, name: str, result: Result) -> Checked:
        kept = checking.read(started.warcs)
        protocol = "http" if scheme == "http" else "https"
        told = [(index, self._origin.url(protocol, name, index)) for index in result.acknowledged]
        lost = checking.missing(kept, self._corpus, name, told)
        return Checked(kept.warc_bytes, tuple(lost), kept.damage)


def _spent(started: Started) -> Spent:
    return spent(started.process.pid, started.mark) if started.process else Spent()


def _until_quiet(started: Started) -> float:
    """Waits until the peer does next to nothing any more; how long that took, in seconds."""
    began, pause = time.monotonic(), Event()
    last = _spent(started)
    while (waited := time.monotonic() - began) < _LONGEST_TAIL_SECONDS:
        pause.wait(_QUIET_SECONDS)
        now = _spent(started)
        if now.since(last).cpu <= 0.05 * _QUIET_SECONDS:
            return waited
        last = now
    return waited
