"""What measurements add up to."""

from __future__ import annotations

import json
from io import StringIO

import pytest
from rich.console import Console

from bench.peers import KINDS
from bench.process import ResourceUsage
from bench.proxies.report import as_json, comparison, rows, table
from bench.proxies.rounds import BenchPlan, Checked, RoundResult
from bench.traffic.load import Result


def measure(peer: str, *, seconds: float, cpu: float, number: int = 1, missing: tuple[str, ...] = ()) -> RoundResult:
    result = Result(
        seconds=seconds,
        latencies_ms=[float(ms) for ms in range(1, 101)],
        acknowledged=list(range(100)),
        errors={"status-503": 2},
    )
    used = ResourceUsage(cpu=cpu, redis_cpu=0.1, peak_bytes=90_000_000)
    return RoundResult(peer, "http", number, result, used, ResourceUsage(), 0.5, Checked(1_000_000, missing))


def test_rounds_of_a_peer_become_one_row() -> None:
    (row,) = rows([measure("ghostfleet", seconds=s, cpu=c, number=n) for n, s, c in [(1, 1, 1), (2, 2, 2), (3, 4, 3)]])

    assert (row.rounds, row.acknowledged, row.errors) == (3, 300, {"status-503": 6})
    assert (row.per_second, row.slowest_per_second, row.fastest_per_second) == (50, 25, 100)
    assert row.cpu_ms == pytest.approx(20)
    assert row.redis_cpu_ms == pytest.approx(1)
    assert (row.p50_ms, row.p99_ms) == (51, 100)
    assert (row.memory_mb, row.warc_mb) == (90, 3)


def test_our_proxy_is_compared_with_each_peer() -> None:
    found = rows([measure("ghostfleet", seconds=1, cpu=0.1), measure("warcprox", seconds=8, cpu=0.4)])

    assert comparison(found, "ghostfleet") == [
        "http: ghostfleet has 8.0 times the speed of warcprox and 0.25 times its CPU use"
    ]


def test_a_round_without_responses_gives_a_row() -> None:
    nothing = RoundResult("warcprox", "http", 1, Result(seconds=1), ResourceUsage(), ResourceUsage(), 0, Checked())
    found = rows([measure("ghostfleet", seconds=1, cpu=1), nothing])

    assert (found[1].per_second, found[1].cpu_ms, found[1].p99_ms) == (0, 0, 0)
    assert comparison(found, "ghostfleet") == []


def test_the_table_shows_lost_responses() -> None:
    output = StringIO()
    lost = measure("warcprox", seconds=1, cpu=1, missing=("http://a/", "http://b/"))

    Console(file=output, width=120).print(table(rows([lost]), "a run"))

    assert ["http", "warcprox", "100", "10.00", "1.000", "51.0", "100.0", "90", "2", "2"] in [
        line.split() for line in output.getvalue().splitlines()
    ]


def test_the_json_has_plan_machine_and_rows() -> None:
    plan = BenchPlan([KINDS["direct"]()], ["http"], 1, 100, 60, 32, 1)

    document = json.loads(as_json(plan, rows([measure("direct", seconds=1, cpu=0)])))

    assert document["plan"]["peers"] == ["direct"]
    assert document["plan"]["connections"] == 32
    assert document["machine"]["cores"] >= 1
    assert document["rows"][0]["per_second"] == 100
