"""The proxy bench, small: the real origin, the real load generator, the real proxy."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from bench.cli import bench
from bench.peers import KINDS
from bench.proxies.rounds import Bench, BenchPlan, RoundResult


def run(peer: str, schemes: list[str], requests: int = 60) -> list[RoundResult]:
    running = Bench(BenchPlan([KINDS[peer]()], schemes, 1, requests, 60, 8, 1))
    try:
        return list(running.run(lambda _: None))
    finally:
        running.close()


def test_without_a_proxy_every_file_arrives() -> None:
    measured = run("direct", ["http", "connect"])

    assert [one.scheme for one in measured] == ["http", "connect"]
    for one in measured:
        assert sorted(one.result.acknowledged) == list(range(60))
        assert one.result.errors == {}
        assert one.result.connects == 8


def test_our_proxy_keeps_everything_it_answers() -> None:
    for one in run("ghostfleet", ["http", "connect", "absolute"]):
        assert sorted(one.result.acknowledged) == list(range(60))
        assert (one.result.errors, one.checked.missing, one.checked.damage) == ({}, (), ())
        assert one.checked.warc_bytes > 0
        assert one.used.peak_bytes > 0


def test_the_command_writes_a_file_with_its_results(tmp_path: Path) -> None:
    output = tmp_path / "results" / "proxy.json"

    done = CliRunner().invoke(
        bench,
        [
            "proxy",
            "--peers",
            "direct",
            "--schemes",
            "http",
            "--requests",
            "20",
            "--rounds",
            "1",
            "--output",
            str(output),
        ],
    )

    assert done.exit_code == 0, done.output
    assert json.loads(output.read_text("utf-8"))["rows"][0]["acknowledged"] == 20


@pytest.mark.parametrize(("flag", "value"), [("--peers", "warcprox,moss"), ("--schemes", "gopher")])
def test_an_unknown_name_is_refused_with_those_that_exist(flag: str, value: str) -> None:
    done = CliRunner().invoke(bench, ["proxy", flag, value])

    assert done.exit_code == 2
    assert "choose from" in done.output
