"""Every exchange of a process shares these services. They also know the exchanges in progress."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from archive.dates import Micros
from archive.digest import Algorithm
from archive.settings import ProxySettings
from proxy.fetch.provenance import Provenance
from proxy.origins.egress import Routes
from proxy.origins.malformed_answers import MalformedAnswers
from proxy.origins.upstream import Pool
from proxy.recording.recorder import Recorder
from proxy.sessions.admission import Admission
from proxy.sessions.gate import Gate
from proxy.sessions.pacing import Pacing


class Ongoing(Protocol):
    """An exchange under way, as the process sees it that drives its clock and may have to end."""

    started: Micros

    @property
    def shown_url(self) -> str:
        """The URL as status pages and log lines may have it."""

    @property
    def is_with_writer(self) -> bool:
        """Return whether all that is left to do is keeping it."""

    @property
    def ends_with_client(self) -> bool:
        """Return whether there is no end but the client's leaving."""

    def tick(self, now: float) -> None:
        """End the exchange when one of its deadlines has passed."""

    def break_off(self) -> None:
        """End it now."""


@dataclass(slots=True)
class Services:
    """Every exchange of a process shares these objects."""

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
    """The exchanges that go on without their client."""
    tasks: set[asyncio.Task[None]]
    admission: Admission
    pacing: Pacing
    malformed: MalformedAnswers
    via: bytes = b""
    """A Via header line of ours; empty for none."""

    @property
    def takes_orphans(self) -> bool:
        """Return whether one more may go on without its client."""
        return len(self.orphans) < self.settings.orphans

    def run(self, steps: Coroutine[None, None, None]) -> None:
        """Take these steps beside the caller's."""
        task = self.loop.create_task(steps)
        self.tasks.add(task)
        task.add_done_callback(self.tasks.discard)
