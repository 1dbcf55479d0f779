"""The bench of harvests, with few domains."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from bench.cli import bench


def test_two_generated_runs_of_a_snapshot_are_equal() -> None:
    result = CliRunner().invoke(bench, ["harvests", "--configurations", "60", "--json"])
    assert result.exit_code == 0, result.output
    first, second = json.loads(result.stdout)
    assert first["configurations"] == second["configurations"] == 60
    assert first["jobs"] == second["jobs"] > 1
    assert first["content_hash"] == second["content_hash"]


def test_a_database_that_has_domains_is_left_alone(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'admin.db'}"
    arguments = ["harvests", "--configurations", "10", "--database-url", url]
    assert CliRunner().invoke(bench, arguments).exit_code == 0
    again = CliRunner().invoke(bench, arguments)
    assert again.exit_code == 1
    assert "the database has domains already; give the bench an empty one" in again.output


@pytest.mark.slow
@pytest.mark.timeout(400)
def test_pages_are_measured_on_a_filled_database(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'admin.db'}"
    amounts = ["--jobs", "2000", "--history", "4000", "--requests", "3", "--keep", str(tmp_path / "kept")]
    result = CliRunner().invoke(bench, ["harvests", "--pages", "--database-url", url, "--json", *amounts])
    found = json.loads(result.stdout)
    assert {one["concurrency"] for one in found} == {1, 4}
    assert {"overview", "jobs: domain", "running job", "audit"} <= {one["page"] for one in found}
    assert [one["page"] for one in found if one["errors"]] == []
    again = CliRunner().invoke(bench, ["harvests", "--pages", "--database-url", url, "--only", "fleet", *amounts])
    assert "jobs: 2,000" not in again.stderr, "the rows are there already"
