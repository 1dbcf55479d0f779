"""The commands `scope explain` and `profile`, as people type them."""

from __future__ import annotations

import json
from pathlib import Path

from click.testing import CliRunner

from admin.cli import ghostfleet
from admin.jobs.runs import resume_or_create

RULES = "scope: host\nrules:\n  - REJECT MatchesRegex .*/print/.*\nsheets:\n  - example.org min_delay_seconds=20\n"


def run(*words: str) -> tuple[int, str, str]:
    done = CliRunner().invoke(ghostfleet, words)
    return done.exit_code if isinstance(done.exit_code, int) else 1, done.stdout, done.stderr


def test_a_scope_is_explained(tmp_path: Path) -> None:
    file = tmp_path / "p.yaml"
    file.write_text(RULES)
    words = ("scope", "explain", "--home", str(tmp_path), "--profile", str(file), "--seed", "http://example.org/")
    _, text, _ = run(*words, "http://example.org/print/1")
    assert "reject (regex)  rule 1: REJECT MatchesRegex .*/print/.*\n" in text
    assert "  rejected as regex by rule 1: REJECT MatchesRegex .*/print/.*\n" in text
    assert "min_delay_seconds = 20.0  by sheet 1: example.org min_delay_seconds=20\n" in text
    _, text, _ = run(*words, "--json", "http://example.org/a", "http://example.net/")
    assert [json.loads(line)["decision"] for line in text.splitlines()] == ["accept", "reject"]


def test_the_scope_of_a_job_has_its_seeds(tmp_path: Path) -> None:
    made = resume_or_create(tmp_path / "collections" / "garden" / "jobs", "garden", "spring", {})
    made.append_seeds(["http://example.org/"])
    made.save_profile({"rules": ["REJECT MatchesRegex .*/print/.*"]})
    words = ("scope", "explain", "--home", str(tmp_path), "--job")
    _, text, _ = run(*words, "spring", "http://example.org/")
    assert "accepted by seed" in text
    code, _, error = run(*words, "summer", "http://example.org/")
    assert code == 2
    assert "there is no such job" in error


def test_a_damaged_run_is_one_line(tmp_path: Path) -> None:
    made = resume_or_create(tmp_path / "collections" / "garden" / "jobs", "garden", "spring", {})
    (made.folder / "run.json").write_text("{")
    code, _, error = run("scope", "explain", "http://example.org/", "--home", str(tmp_path), "--job", "summer")
    assert (code, error.count("\n")) == (2, 1), error
    assert f"{made.folder / 'run.json'} is damaged" in error


def test_bad_input_is_refused(tmp_path: Path) -> None:
    for words in (("--hops", "LZ"), ("--seed", "ftp://x"), ("--profile", "a", "--job", "b")):
        code, _, error = run("scope", "explain", "--home", str(tmp_path), *words, "http://example.org/")
        assert code == 2
        assert error.startswith("ghostfleet: ")


def test_all_problems_of_a_profile_are_printed(tmp_path: Path) -> None:
    file = tmp_path / "p.toml"
    file.write_text('hop = 1\nscope = "planet"\nrules = ["REJECT Some"]\n')
    code, _, error = run("profile", "check", str(file))
    assert code == 2
    assert [line.partition(": ")[2].partition(":")[0] for line in error.splitlines()] == [
        f"profile {file} line {number}" for number in (1, 2, 3)
    ]
    _, text, _ = run("profile", "check", "--json", str(file))
    assert [each["line"] for each in json.loads(text)["problems"]] == [1, 2, 3]


def test_stock_profiles_are_listed_and_shown(tmp_path: Path) -> None:
    names = [line.split()[0] for line in run("profile", "list")[1].splitlines()]
    assert {"polite", "snapshot", "selective", "single-page", "browser", "video-poor"} <= set(names)
    shown = json.loads(run("profile", "show", "polite", "--home", str(tmp_path))[1])
    assert shown["politeness"]["min_delay_seconds"] == 10


def test_the_values_of_a_url_are_shown_with_their_sources(tmp_path: Path) -> None:
    file = tmp_path / "p.yaml"
    file.write_text(RULES)
    words = ("profile", "show", "--home", str(tmp_path), "--profile", str(file), "--json", "--url")
    found = {each["key"]: each for each in json.loads(run(*words, "http://www.example.org/")[1])}
    assert found["min_delay_seconds"]["source"] == "sheet 1: example.org min_delay_seconds=20"
    assert found["max_retries"]["source"] == "setting frontier.max_retries"


def test_a_user_agent_without_a_contact_begins_no_crawl(tmp_path: Path) -> None:
    code, _, error = run("crawl", "http://example.org/", "--home", str(tmp_path), "--user-agent", "Ours/1")
    assert code == 2
    assert "user_agent = 'Ours/1' has no contact" in error


def test_rules_that_wait_and_sheets_by_address_are_shown(tmp_path: Path) -> None:
    file = tmp_path / "p.yaml"
    file.write_text(
        "rules:\n  - REJECT ContentTypeMatchesRegex video/.*\nsheets:\n  - address:127.0.0.0/8 min_delay_seconds=20\n"
    )
    words = ("--home", str(tmp_path), "--profile", str(file))
    code, text, _ = run("scope", "explain", *words, "--seed", "http://localhost/", "http://localhost/a")
    assert code == 0
    assert (
        "pass  rule 1: REJECT ContentTypeMatchesRegex video/.*, which decides when the URL has been fetched\n" in text
    )
    assert text.endswith("  a rule may reject the URL when the URL has been fetched\n")
    _, text, _ = run("profile", "show", *words, "--url", "http://127.0.0.9/")
    (line,) = [line for line in text.splitlines() if line.startswith("min_delay_seconds")]
    assert line.split()[1:4] == ["20.0", "sheet", "1:"]
