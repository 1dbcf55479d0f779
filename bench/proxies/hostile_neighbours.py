"""This bench measures how long clients of an honest origin wait while hostile origins use the same process."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from rich.box import SIMPLE_HEAD
from rich.table import Table

from bench.peers import PeerSetup, RunningPeer
from bench.peers.ours import Ghostfleet
from bench.proxies.hostile import KINDS, HostileProcess
from bench.traffic.load import LoadOrder, LoadProcess
from bench.traffic.origin import OriginProcess

ALONE: Final = "alone"
ALL: Final = "all-at-once"
"""All kinds of hostile origins but `plain` at the same time, each at the given rate."""
_HONEST: Final = "127.0.1.1"
_HOSTILE: Final = "127.0.1.2"


@dataclass(frozen=True, slots=True)
class WaitTimes:
    """Wait times are those of the honest origin's requests beside hostile origins of one kind, in ms."""

    beside: str
    answered: int
    errors: int
    p50_ms: float
    p99_ms: float
    ended: int = 0
    """Number of exchanges of the hostile origins that ended in this time."""
    sent_bytes: int = 0
    """Bytes that the hostile origins sent in this time."""


@dataclass(frozen=True, slots=True)
class HonestLoad:
    """The load on the honest origin is limited in requests, connections and seconds.

    The hostile origins send `rate` bytes per second; 0 is as fast as the proxy reads them.
    """

    requests: int
    connections: int
    seconds: float
    rate: int = 0


def measure(kinds: Sequence[str], load: HonestLoad) -> Iterator[WaitTimes]:
    """Yield the waiting times without hostile origins, then beside each kind. All loads use one recording process."""
    folder = Path(tempfile.mkdtemp(prefix="ghostfleet-bench-neighbours-"))
    origin, loader = OriginProcess(_HONEST), LoadProcess()
    try:
        started = Ghostfleet().start(PeerSetup(folder, 1, origin.certificate))
        try:
            _wait("warm-up", started, origin, loader, load)
            for beside in (ALONE, *kinds):
                yield _wait(beside, started, origin, loader, load)
        finally:
            started.stop()
    finally:
        loader.close()
        origin.close()
        shutil.rmtree(folder, ignore_errors=True)


def table(found: Sequence[WaitTimes]) -> Table:
    """Return the waiting times as a table."""
    shown = Table(
        title="requests to an honest origin",
        box=SIMPLE_HEAD,
        caption="p50 and p99: ms; ratio: p99 compared with the honest origin alone",
    )
    shown.add_column("beside", no_wrap=True)
    for heading in ("answered", "err", "p50", "p99", "ratio", "hostile ended", "hostile MB"):
        shown.add_column(heading, justify="right", no_wrap=True)
    alone = found[0].p99_ms
    for one in found:
        times = f"{one.p99_ms / alone:.1f}" if alone else ""
        times_and_more = (times, f"{one.ended:,}", f"{one.sent_bytes / 1e6:,.1f}")
        shown.add_row(
            *(one.beside, f"{one.answered:,}", str(one.errors), f"{one.p50_ms:.1f}", f"{one.p99_ms:.1f}"),
            *times_and_more,
        )
    return shown


def _wait(beside: str, started: RunningPeer, origin: OriginProcess, loader: LoadProcess, load: HonestLoad) -> WaitTimes:
    order = LoadOrder(
        scheme="http",
        name=beside,
        requests=load.requests,
        connections=load.connections,
        seconds=load.seconds,
        proxy_host=started.host,
        proxy_port=started.port,
        origin_host=origin.address,
        origin_port=origin.http,
    )
    if beside == ALL:
        kinds = [kind for kind in KINDS if kind != "plain"]
    else:
        kinds = [] if beside in (ALONE, "warm-up") else [beside]
    hostile = [HostileProcess(kind, _HOSTILE, started.host, started.port, load.rate) for kind in kinds]
    ended = sent = 0
    try:
        result = loader.run(order)
    finally:
        for one in hostile:
            more_ended, more_sent = one.close()
            ended, sent = ended + more_ended, sent + more_sent
    waits = sorted(result.latencies_ms)
    p50, p99 = (waits[int(len(waits) * share)] if waits else 0.0 for share in (0.50, 0.99))
    return WaitTimes(beside, len(result.acknowledged), sum(result.errors.values()), p50, p99, ended, sent)
