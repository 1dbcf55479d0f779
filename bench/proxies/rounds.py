"""The proxy bench measures the peers by turns, so that a disturbance of the machine affects all of them."""

from __future__ import annotations

import shutil
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from threading import Event
from typing import Final

from bench.peers import Peer, PeerSetup, RunningPeer
from bench.process import ResourceUsage, resource_usage
from bench.traffic import warc_check
from bench.traffic.corpus import Corpus
from bench.traffic.load import LoadOrder, LoadProcess, Result
from bench.traffic.origin import OriginProcess

ORIGIN_ADDRESS: Final = "127.0.1.1"
"""An address other than 127.0.0.1, which warcprox refuses."""
WARM_REQUESTS: Final = 200
_QUIET_SECONDS: Final = 0.3
_LONGEST_TAIL_SECONDS: Final = 60.0


@dataclass(frozen=True, slots=True)
class BenchPlan:
    """A plan has all parameters of a measurement."""

    peers: Sequence[Peer]
    schemes: Sequence[str]
    rounds: int
    requests: int
    seconds: float
    connections: int
    processes: int


@dataclass(frozen=True, slots=True)
class Checked:
    """A check describes the WARC files of a measurement. `missing` are acknowledged URLs without a record."""

    warc_bytes: int = 0
    missing: tuple[str, ...] = ()
    damage: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class RoundResult:
    """A round result is measured with one peer and one scheme.

    `tail_seconds` is the time during which the peer still worked after the last response. This work is counted, too.
    """

    peer: str
    scheme: str
    round: int
    result: Result
    used: ResourceUsage
    origin: ResourceUsage
    tail_seconds: float
    checked: Checked


class Bench:
    """The bench uses one origin and one load generator for all measurements."""

    def __init__(self, plan: BenchPlan) -> None:
        self._plan = plan
        self._corpus = Corpus()
        self._origin = OriginProcess(ORIGIN_ADDRESS)
        self._load = LoadProcess()

    def close(self) -> None:
        """End the origin and the load generator."""
        self._load.close()
        self._origin.close()

    def run(self, tell: Callable[[str], None]) -> Iterator[RoundResult]:
        """Yield all measurements. Each round begins with another peer. `tell` receives messages about the progress."""
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

    def _measure(self, peer: Peer, scheme: str, number: int) -> RoundResult:
        name = f"{scheme}-{number}"
        folder = Path(tempfile.mkdtemp(prefix=f"ghostfleet-bench-{peer.name}-"))
        try:
            started = peer.start(PeerSetup(folder, self._plan.processes, self._origin.certificate))
            try:
                self._ask(started, scheme, f"warm-{name}", WARM_REQUESTS)
                _until_quiet(started)
                before, origin_before = _usage(started), resource_usage(self._origin.pid)
                result = self._ask(started, scheme, name, self._plan.requests)
                tail = _until_quiet(started)
                used, origin = _usage(started).since(before), resource_usage(self._origin.pid).since(origin_before)
            finally:
                started.stop()
            checked = self._check(started, scheme, name, result) if peer.records else Checked()
            return RoundResult(peer.name, scheme, number, result, used, origin, tail, checked)
        finally:
            shutil.rmtree(folder, ignore_errors=True)

    def _ask(self, started: RunningPeer, scheme: str, name: str, requests: int) -> Result:
        order = LoadOrder(
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

    def _check(self, started: RunningPeer, scheme: str, name: str, result: Result) -> Checked:
        kept = warc_check.read(started.warcs)
        protocol = "http" if scheme == "http" else "https"
        told = [(index, self._origin.url(protocol, name, index)) for index in result.acknowledged]
        lost = warc_check.missing(kept, self._corpus, name, told)
        return Checked(kept.warc_bytes, tuple(lost), kept.damage)


def _usage(started: RunningPeer) -> ResourceUsage:
    return resource_usage(started.process.pid, started.mark) if started.process else ResourceUsage()


def _until_quiet(started: RunningPeer) -> float:
    """Wait until the peer is idle, and return the seconds that this took."""
    began, pause = time.monotonic(), Event()
    last = _usage(started)
    while (waited := time.monotonic() - began) < _LONGEST_TAIL_SECONDS:
        pause.wait(_QUIET_SECONDS)
        now = _usage(started)
        if now.since(last).cpu <= 0.05 * _QUIET_SECONDS:
            return waited
        last = now
    return waited
