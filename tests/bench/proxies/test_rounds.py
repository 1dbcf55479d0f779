"""The proxy bench, small: the real origin, the real load generator, the real proxy."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from bench.cli import bench
from bench.peers import KINDS
from bench.proxies import rounds

REQUESTS = 40


@pytest.mark.parametrize("schemes", [["http", "connect"], pytest.param(["absolute"], marks=pytest.mark.slow)])
def test_each_file_arrives_and_our_proxy_keeps_everything_it_answers(
    schemes: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rounds, "WARM_REQUESTS", 10)
    output = tmp_path / "results" / "proxy.json"
    plan = ["--rounds", "1", "--requests", str(REQUESTS), "--connections", "8", "--schemes", ",".join(schemes)]

    done = CliRunner().invoke(bench, ["proxy", "--peers", "direct,ghostfleet", *plan, "--output", str(output)])

    assert done.exit_code == 0, done.output
    rows = {(row["scheme"], row["peer"]): row for row in json.loads(output.read_text("utf-8"))["rows"]}
    peers = {"direct": KINDS["direct"], "ghostfleet": KINDS["ghostfleet"]}
    assert rows.keys() == {
        (scheme, name) for name, kind in peers.items() for scheme in schemes if scheme in kind.schemes
    }
    for (_, peer), row in rows.items():
        assert (row["acknowledged"], row["errors"], row["missing"], row["damaged"]) == (REQUESTS, {}, 0, 0)
        if peer == "direct":
            assert row["connects"] == 8
        else:
            assert row["warc_mb"] > 0
            assert row["memory_mb"] > 0


@pytest.mark.parametrize(("flag", "value"), [("--peers", "warcprox,moss"), ("--schemes", "gopher")])
def test_an_unknown_name_is_refused_with_those_that_exist(flag: str, value: str) -> None:
    done = CliRunner().invoke(bench, ["proxy", flag, value])

    assert done.exit_code == 2
    assert "choose from" in done.output
