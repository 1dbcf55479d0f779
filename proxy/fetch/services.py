"""What every exchange of a process shares, and the exchanges under way."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from archive.dates import Micros
from archive.digest import Algorithm
from archive.sections import ProxySettings
from proxy.admission import Admission
from proxy.egress import Routes
from proxy.gate import Gate
from proxy.pacing import Pacing
from proxy.provenance import Provenance
from proxy.recorder import Recorder
from proxy.upstream import Pool


class Ongoing(Protocol):
    """An exchange under way, as the process sees it that drives its clock and may have to end."""

    started: Micros

    @property
    def ends_with_client(self) -> bool:
        """Whether there is no end but the client's leaving."""

    def tick(self, now: float) -> None:
        """End the exchange when one of its deadlines has passed."""

    def break_off(self) -> None:
        """End it now."""


@dataclass(slots=True)
class Services:
    """What every exchange of a process shares."""

    settings: ProxySettings
    loop: asyncio.AbstractEventLoop
    gate: Gate
    pool: Pool
    recorder: Recorder
    provenance: Provenance
    routes: Routes
    spool_folder: Path
    digest: Algorithm
    active: set[Ongoing]
    orphans: set[Ongoing]
    """Those that go on without their client."""
    tasks: set[asyncio.Task[None]]
    admission: Admission
    pacing: Pacing
    via: bytes = b""
    """A Via header line of ours; empty for none."""

    @property
    def takes_orphans(self) -> bool:
        """Whether one more may go on without its client."""
        return len(self.orphans) < self.settings.orphans

    def run(self, steps: Coroutine[None, None, None]) -> None:
        """Take these steps beside the caller's."""
        task = self.loop.create_task(steps)
        self.tasks.add(task)
        task.add_done_callback(self.tasks.discard)
