"""The report compares the peers in a table and as JSON."""

from __future__ import annotations

import dataclasses
import json
import os
import platform
import statistics
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from rich.box import SIMPLE_HEAD
from rich.table import Table

from bench.proxies.rounds import BenchPlan, RoundResult


@dataclass(frozen=True, slots=True)
class ReportRow:
    """A row adds up all rounds of one peer with one scheme.

    Rates are per second, CPU and latencies in ms, sizes in MB (10^6 bytes). CPU and latencies are computed over all
    rounds together. `per_second` is the median of the rounds, and memory is the largest peak of a round.
    """

    scheme: str
    peer: str
    rounds: int
    acknowledged: int
    per_second: float
    slowest_per_second: float
    fastest_per_second: float
    cpu_ms: float
    redis_cpu_ms: float
    cpu_ms_by_process: dict[str, float]
    p50_ms: float
    p99_ms: float
    memory_mb: float
    redis_memory_mb: float
    warc_mb: float
    tail_seconds: float
    origin_cpu_ms: float
    load_cpu_ms: float
    connects: int
    errors: dict[str, int]
    missing: int
    damaged: int


def rows(measured: Iterable[RoundResult]) -> list[ReportRow]:
    """Return one row for each scheme and peer, in the order of their first measurements."""
    groups: dict[tuple[str, str], list[RoundResult]] = {}
    for one in measured:
        groups.setdefault((one.scheme, one.peer), []).append(one)
    ordered = sorted(groups.items(), key=lambda item: [scheme for scheme, _ in groups].index(item[0][0]))
    return [_row(scheme, peer, group) for (scheme, peer), group in ordered]


def table(found: Sequence[ReportRow], title: str) -> Table:
    """Return the rows as a table."""
    shown = Table(
        title=title,
        box=SIMPLE_HEAD,
        caption="CPU and Redis: ms per exchange; p50 and p99: ms; MB: peak memory; lost: not in a WARC file",
    )
    for heading in ("scheme", "peer"):
        shown.add_column(heading, no_wrap=True)
    for heading in ("per s", "CPU", "Redis", "p50", "p99", "MB", "err", "lost"):
        shown.add_column(heading, justify="right", no_wrap=True)
    for row in found:
        shown.add_row(
            row.scheme,
            row.peer,
            f"{row.per_second:,.0f}",
            f"{row.cpu_ms:.2f}",
            f"{row.redis_cpu_ms:.3f}",
            f"{row.p50_ms:.1f}",
            f"{row.p99_ms:.1f}",
            f"{row.memory_mb:.0f}",
            str(sum(row.errors.values())),
            str(row.missing) if row.warc_mb else "",
        )
    return shown


def comparison(found: Sequence[ReportRow], ours: str) -> list[str]:
    """Return one line for each scheme and other peer, which compares its speed and CPU use with ours."""
    mine = {row.scheme: row for row in found if row.peer == ours}
    return [
        f"{row.scheme}: {ours} has {mine[row.scheme].per_second / row.per_second:.1f} "
        f"times the speed of {row.peer} and "
        f"{mine[row.scheme].cpu_ms / row.cpu_ms:.2f} times its CPU use"
        for row in found
        if row.peer != ours and row.scheme in mine and row.per_second and row.cpu_ms
    ]


def as_json(plan: BenchPlan, found: Sequence[ReportRow]) -> str:
    """Return the rows, the plan and the machine as JSON."""
    document: dict[str, Any] = {
        "bench": "proxy",
        "plan": {**_plain(plan), "peers": [peer.name for peer in plan.peers]},
        "machine": {"cores": os.cpu_count(), "system": platform.platform(), "python": platform.python_version()},
        "rows": [dataclasses.asdict(row) for row in found],
    }
    return json.dumps(document, indent=2)


def _plain(plan: BenchPlan) -> dict[str, Any]:
    return {field.name: getattr(plan, field.name) for field in dataclasses.fields(plan) if field.name != "peers"}


def _row(scheme: str, peer: str, group: Sequence[RoundResult]) -> ReportRow:
    done = sum(len(one.result.acknowledged) for one in group)
    rates = [len(one.result.acknowledged) / one.result.seconds for one in group]
    latencies = sorted(latency for one in group for latency in one.result.latencies_ms)
    errors: Counter[str] = Counter()
    for one in group:
        errors.update(one.result.errors)
    titles = dict.fromkeys(title for one in group for title in one.used.by_title)
    return ReportRow(
        scheme=scheme,
        peer=peer,
        rounds=len(group),
        acknowledged=done,
        per_second=statistics.median(rates),
        slowest_per_second=min(rates),
        fastest_per_second=max(rates),
        cpu_ms=_each_ms([one.used.cpu for one in group], done),
        redis_cpu_ms=_each_ms([one.used.redis_cpu for one in group], done),
        cpu_ms_by_process={
            title: _each_ms([one.used.by_title.get(title, 0.0) for one in group], done) for title in titles
        },
        p50_ms=_quantile(latencies, 0.50),
        p99_ms=_quantile(latencies, 0.99),
        memory_mb=max(one.used.peak_bytes for one in group) / 1e6,
        redis_memory_mb=max(one.used.redis_peak_bytes for one in group) / 1e6,
        warc_mb=sum(one.checked.warc_bytes for one in group) / 1e6,
        tail_seconds=max(one.tail_seconds for one in group),
        origin_cpu_ms=_each_ms([one.origin.cpu for one in group], done),
        load_cpu_ms=_each_ms([one.result.cpu for one in group], done),
        connects=sum(one.result.connects for one in group),
        errors=dict(errors),
        missing=sum(len(one.checked.missing) for one in group),
        damaged=sum(len(one.checked.damage) for one in group),
    )


def _each_ms(seconds: Sequence[float], done: int) -> float:
    return sum(seconds) * 1000 / done if done else 0.0


def _quantile(ordered: Sequence[float], share: float) -> float:
    return ordered[min(len(ordered) - 1, int(len(ordered) * share))] if ordered else 0.0
