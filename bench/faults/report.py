"""The report of a campaign is a table or JSON."""

from __future__ import annotations

import json
import os
import platform
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from rich.box import SIMPLE_HEAD
from rich.table import Table

from archive.program_name import command
from bench.faults.episode import Episode, Round
from bench.faults.kinds import KINDS


def table(episodes: Sequence[Episode], seed: int) -> Table:
    """Return a table with one row for each kind of fault, and the sum."""
    shown = Table(
        title=f"{sum(len(one.rounds) for one in episodes)} faults in {len(episodes)} homes, seed {seed}",
        box=SIMPLE_HEAD,
        caption="seen: responses that clients received whole; 503, back: longest "
        "time in seconds until requests were refused,"
        " and until responses came whole again",
    )
    shown.add_column("fault", no_wrap=True)
    for heading in ("rounds", "asked", "seen", "sockets", "kept", "lost", "refused", "broken", "503", "back"):
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
    """Return the failed checks, each under the command that repeats them."""
    lines: list[str] = []
    for episode in episodes:
        if episode.violations:
            lines.append(command(f"bench faults {episode.again}"))
            lines += [f"  {violation.invariant}: {violation.message}" for violation in episode.violations]
    return lines


def as_json(episodes: Sequence[Episode], seed: int) -> str:
    """Return all episodes and the machine as JSON."""
    document: dict[str, Any] = {
        "bench": "faults",
        "seed": seed,
        "machine": {"cores": os.cpu_count(), "system": platform.platform(), "python": platform.python_version()},
        "homes": [_home(episode) for episode in episodes],
    }
    return json.dumps(document, indent=2)


def _home(episode: Episode) -> dict[str, Any]:
    violations = [{"promise": one.invariant, "message": one.message} for one in episode.violations]
    return {**asdict(episode), "violations": violations, "again": episode.again}


def _row(name: str, some: Sequence[Round]) -> list[str]:
    def total(what: str) -> int:
        return sum(getattr(one, what) for one in some)

    def longest(what: str) -> str:
        found = [value for one in some if (value := getattr(one, what)) is not None]
        return f"{max(found):.1f}" if found else ""

    seen, lost = total("seen"), total("lost")
    counts = [len(some), total("asked"), seen, total("sockets"), seen - lost, lost, total("refused"), total("broken")]
    return [name, *(f"{count:,}" for count in counts), longest("told_after"), longest("back_after")]
