"""This bench samples memory and file descriptors under a long load, and decides whether they grow."""

from __future__ import annotations

import shutil
import tempfile
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from statistics import linear_regression
from typing import Final

from bench.peers import PeerSetup, RunningPeer
from bench.peers.ours import Ghostfleet
from bench.process import tree
from bench.traffic.load import LoadOrder, LoadProcess
from bench.traffic.origin import OriginProcess

ORIGIN_ADDRESS: Final = "127.0.1.1"
FLAT_MB_PER_HOUR: Final = 20.0
"""Growth of resident memory that counts as none. A leak of 100 bytes per exchange is more, at 100 exchanges a second.
"""
FLAT_DESCRIPTORS_PER_HOUR: Final = 10.0
LEAST_SAMPLES: Final = 3
"""The growth is that between samples of the second half, which has two of three samples."""
_PAGE_BYTES: Final = 4096
_TITLE: Final = b"ghostfleet: proxy"


@dataclass(frozen=True, slots=True)
class Sample:
    """A sample of the recording processes after `seconds` of load has their ids, memory and descriptors."""

    seconds: float
    pids: frozenset[int]
    resident_bytes: int
    descriptors: int

    def __str__(self) -> str:
        return f"{self.seconds:6.0f} s  {self.resident_bytes / 1e6:7.1f} MB  {self.descriptors:5d} descriptors"


@dataclass(frozen=True, slots=True)
class SoakResult:
    """The result has the samples in order, the first one after the warm-up, and the numbers of requests."""

    samples: Sequence[Sample]
    acknowledged: int
    errors: int

    @property
    def problem(self) -> str:
        """Return why the samples don't tell the growth, in one line; an empty text when they do."""
        if len(self.samples) < LEAST_SAMPLES:
            return (
                f"samples taken: {len(self.samples)}; the growth needs {LEAST_SAMPLES} of them: "
                "give a longer time with --seconds, or a shorter one with --every"
            )
        if len({one.pids for one in self.samples}) > 1 or not self.samples[0].pids:
            return "a recording process ended during the load, so that the growth is unknown"
        return ""

    @property
    def mb_per_hour(self) -> float:
        """Return the growth of memory in the second half of the time."""
        return self._per_hour([one.resident_bytes / 1e6 for one in self._later])

    @property
    def descriptors_per_hour(self) -> float:
        """Return the growth of descriptors in the second half of the time."""
        return self._per_hour([one.descriptors for one in self._later])

    @property
    def is_flat(self) -> bool:
        """Return whether neither memory nor descriptors grow in the second half. Caches fill in the first half."""
        return self.mb_per_hour < FLAT_MB_PER_HOUR and self.descriptors_per_hour < FLAT_DESCRIPTORS_PER_HOUR

    @property
    def _later(self) -> Sequence[Sample]:
        return self.samples[len(self.samples) // 2 :]

    def _per_hour(self, values: Sequence[float]) -> float:
        return linear_regression([one.seconds for one in self._later], values).slope * 3600


def soak(seconds: float, every: float, scheme: str, connections: int, tell: Callable[[Sample], None]) -> SoakResult:
    """Load the proxy for `seconds`. `tell` receives a sample every `every` seconds. `scheme` is http, connect or
    absolute.
    """
    folder = Path(tempfile.mkdtemp(prefix="ghostfleet-bench-soak-"))
    origin, load = OriginProcess(ORIGIN_ADDRESS), LoadProcess()
    try:
        started = Ghostfleet().start(PeerSetup(folder, 1, origin.certificate))
        try:
            order = LoadOrder(
                scheme=scheme,
                name="soak",
                requests=1 << 40,
                connections=connections,
                seconds=seconds,
                proxy_host=started.host,
                proxy_port=started.port,
                origin_host=origin.address,
                origin_port=origin.http if scheme == "http" else origin.https,
            )
            return _watched(started, load, order, every, tell)
        finally:
            started.stop()
    finally:
        load.close()
        origin.close()
        shutil.rmtree(folder, ignore_errors=True)


def _watched(
    started: RunningPeer, load: LoadProcess, order: LoadOrder, every: float, tell: Callable[[Sample], None]
) -> SoakResult:
    samples: list[Sample] = []
    over = threading.Event()
    began = time.monotonic()

    def watch() -> None:
        while not over.wait(every) and time.monotonic() - began < order.seconds:  # at its end the load is over
            samples.append(_sample(started, time.monotonic() - began))
            tell(samples[-1])

    with ThreadPoolExecutor(1) as pool:
        watching = pool.submit(watch)
        try:
            result = load.run(order)
        finally:
            over.set()
        watching.result()
    return SoakResult(samples, len(result.acknowledged), sum(result.errors.values()))


def _sample(started: RunningPeer, seconds: float) -> Sample:
    assert started.process is not None
    pids, pages, descriptors = set[int](), 0, 0
    for pid in tree(started.process.pid, started.mark):
        folder = Path(f"/proc/{pid}")
        with suppress(OSError):  # the process has ended
            if (folder / "cmdline").read_bytes().startswith(_TITLE):
                resident = int((folder / "statm").read_text("ascii").split()[1])
                descriptors += len(list((folder / "fd").iterdir()))
                pages += resident
                pids.add(pid)
    return Sample(seconds, frozenset(pids), pages * _PAGE_BYTES, descriptors)
