"""`ghostfleet profile from-heritrix` writes a profile and says what became of each key."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from support.heritrix.beans import configuration

from admin.cli import ghostfleet


def run(*words: object) -> Result:
    return CliRunner().invoke(ghostfleet, ["profile", "from-heritrix", *map(str, words)])


@pytest.fixture
def beans(tmp_path: Path) -> Path:
    path = tmp_path / "crawler-beans.cxml"
    path.write_bytes(configuration(simple="crawlController.maxToeThreads=50\n"))
    return path


def test_the_profile_is_written_and_loads(beans: Path, tmp_path: Path) -> None:
    output, seeds = tmp_path / "profile.yaml", tmp_path / "seeds.txt"
    result = run(beans, "--output", output, "--seeds-output", seeds)
    assert result.exit_code == 0, result.output
    assert f"The profile loads; it is in {output}." in result.stdout
    assert "scope.rules[2] TooManyHops" in result.stdout
    assert "--workers" in result.stdout
    assert seeds.read_text("utf-8").splitlines() == ["http://example.org/", "https://www.example.net/a/b"]
    checked = CliRunner().invoke(ghostfleet, ["profile", "check", str(output)])
    assert checked.exit_code == 0, checked.output
    assert json.loads(checked.stdout)["hops"] == 20


def test_without_output_the_profile_is_on_standard_output(beans: Path) -> None:
    result = run(beans)
    assert result.exit_code == 0
    assert "scope: prefix\n" in result.stdout
    assert "Mapped" not in result.stdout
    assert "Not mapped (" in result.stderr


def test_json_has_the_profile_and_each_key(beans: Path) -> None:
    facts = json.loads(run(beans, "--json").stdout)
    assert facts["loads"] is True
    assert facts["profile"]["politeness"]["delay_factor"] == 5
    threads = next(each for each in facts["findings"] if each["key"] == "crawlController.maxToeThreads")
    assert threads["outcome"] == "not-mapped"
    assert threads["value"] == "50"
    assert sum(facts["counts"].values()) == len(facts["findings"])


def test_files_are_not_overwritten(beans: Path, tmp_path: Path) -> None:
    output = tmp_path / "profile.yaml"
    output.write_text("mine", "utf-8")
    result = run(beans, "--output", output)
    assert result.exit_code == 2
    assert "exists already" in result.stderr
    assert output.read_text("utf-8") == "mine"
    assert "must end in .yaml" in run(beans, "--output", tmp_path / "profile.toml").stderr


@pytest.mark.parametrize(
    ("content", "wanted"),
    [
        (b"<html></html>", "not <beans>"),
        (b"<beans><bean></beans>", "is not XML: mismatched tag"),
        (b'<!DOCTYPE b [<!ENTITY a "x">]><beans>&a;</beans>', "entity 'a', which is refused"),
        (b"%PDF-1.4", "is not XML"),
    ],
)
def test_other_files_are_refused_in_one_line(tmp_path: Path, content: bytes, wanted: str) -> None:
    path = tmp_path / "file"
    path.write_bytes(content)
    result = run(path)
    assert result.exit_code == 2
    assert wanted in result.stderr
    assert result.stderr.count("\n") == 1
    assert run(tmp_path / "none").exit_code == 2
