"""What a campaign adds up to: a table for people, JSON for programs."""

from __future__ import annotations

import json
import os
import platform
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from rich.box import SIMPLE_HEAD
from rich.table import Table

from admin.bench.faults.kinds import KINDS
from admin.bench.faults.playing import Episode, Round


def table(episodes: Sequence[Episode], seed: int) -> Table:
    """One row for each kind of fault, and the sum."""
    shown = Table(
        title=f"{sum(len(one.rounds) for one in episodes)} faults in {len(episodes)} homes, seed {seed}",
        box=SIMPLE_HEAD,
        caption="seen: to their end, by clients; told, back: seconds until refused, until whole again (longest)",
    )
    shown.add_column("fault", no_wrap=True)
    for heading in ("rounds", "asked", "seen", "sockets", "kept", "lost", "refused", "broken", "told", "back"):
        shown.add_column(heading, justify="right", no_wrap=True)
    played = [one for episode in episodes for one in episode.rounds]
    for name in KINDS:
        if some := [one for one in played if one.kind == name]:
            shown.add_row(*_row(name, some))
    if played:
        shown.add_section()
        shown.add_row(*_row("all", played))
    return shown


def broken(episodes: Sequence[Episode]) -> list[str]:
    """Each broken promise, under the options that repeat it."""
    lines: list[str] = []
    for episode in episodes:
        if episode.violations:
            lines.append(f"ghostfleet bench faults {episode.again}")
            lines += [f"  {violation.promise}: {violation.message}" for violation in episode.violations]
    return lines


def as_json(episodes: Sequence[Episode], seed: int) -> str:
    """Everything, with where it was played."""
    document: dict[str, Any] = {
        "bench": "faults",
        "seed": seed,
        "machine": {"cores": os.cpu_count(), "system": platform.platform(), "python": platform.python_version()},
        "homes": [{**asdict(episode), "again": episode.again} for episode in episodes],
    }
    return json.dumps(document, indent=2)


def _row(name: str, some: Sequence[Round]) -> list[str]:
    def total(what: str) -> int:
        return sum(getattr(one, what) for one in some)

    def longest(what: str) -> str:
        found = [value for one in some if (value := getattr(one, what)) is not None]
        return f"{max(found):.1f}" if found else ""

    seen, lost = total("seen"), total("lost")
    counts = [len(some), total("asked"), seen, total("sockets"), seen - lost, lost, total("refused"), total("broken")]
    return [name, *(f"{count:,}" for count in counts), longest("told_after"), longest("back_after")]
