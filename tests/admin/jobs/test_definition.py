"""What a person asks for becomes seeds, profile and names, or one clear line."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from admin.definition import Definition, define
from frontier.job import JobError


def _define(**given: Any) -> Definition:
    defaults: dict[str, Any] = {
        "seeds": ["http://example.org/"],
        "seeds_file": None,
        "profile_file": None,
        "flags": {},
        "collection": "garden",
        "job": None,
    }
    return define(**{**defaults, **given})


def test_the_same_question_gives_the_same_job_whatever_the_order_and_the_limits() -> None:
    first = _define(seeds=["http://a.example/", "http://b.example/"], flags={"limits.pages": 5})
    second = _define(seeds=["http://b.example/", "http://a.example"], flags={"limits.pages": 9})
    assert first.job == second.job
    assert first.job.startswith("garden-")
    assert first.limits == {"pages": 5}


@pytest.mark.parametrize("flags", [{"scope": "domain"}, {"hops": 2}, {"visitor": "chromium"}])
def test_another_idea_of_what_belongs_to_it_is_another_job(flags: dict[str, Any]) -> None:
    assert _define(flags=flags).job != _define().job


def test_flags_win_over_the_profile_and_what_is_not_given_stays(tmp_path: Path) -> None:
    file = tmp_path / "profile.toml"
    file.write_text('scope = "domain"\nhops = 3\n[limits]\npages = 7\n')
    profile = _define(profile_file=file, flags={"hops": 1, "scope": None, "politeness.min_delay_seconds": 0.5}).profile
    assert (profile.scope, profile.hops, profile.limits.pages) == ("domain", 1, 7)
    assert profile.politeness.min_delay_seconds == 0.5


def test_seeds_come_from_the_command_and_the_file_each_once(tmp_path: Path) -> None:
    file = tmp_path / "seeds.txt"
    file.write_text("# ours\nhttp://example.org/\n\nhttps://example.net/a b\n", encoding="utf-8-sig")
    found = _define(seeds_file=file).seeds
    assert [seed.url for seed in found] == ["http://example.org/", "https://example.net/a%20b"]


def test_a_long_collection_still_leaves_room_for_the_timestamp() -> None:
    assert len(_define(collection="c" * 64).job) == 49


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"seeds": []}, "nothing to crawl; name at least one seed"),
        ({"seeds": ["example.org"]}, "'example.org' can't be used: it has no scheme; write http://example.org/"),
        ({"seeds": ["ftp://example.org/"]}, "ftp://example.org/"),
        ({"collection": "../etc"}, "collection '../etc' can't be used"),
        ({"job": "j" * 50}, "at most 49"),
        ({"seeds_file": Path("/does/not/exist")}, "seeds file /does/not/exist can't be read"),
        ({"profile_file": Path("/does/not/exist.toml")}, "profile /does/not/exist.toml can't be read"),
    ],
)
def test_what_can_not_be_used_is_named_in_one_line(given: dict[str, Any], message: str) -> None:
    with pytest.raises(JobError) as caught:
        _define(**given)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_an_unknown_profile_key_is_named_with_the_nearest_one(tmp_path: Path) -> None:
    file = tmp_path / "profile.json"
    file.write_text('{"hopps": 3}')
    with pytest.raises(JobError, match="unknown key hopps; did you mean hops"):
        _define(profile_file=file)


def test_the_first_bad_line_of_a_seeds_file_is_shown_and_the_others_counted(tmp_path: Path) -> None:
    file = tmp_path / "seeds.txt"
    file.write_text("http://example.org/\njavascript:alert(1)\nnonsense\n")
    with pytest.raises(JobError, match=r"seeds.txt line 2: .*javascript.*\(and 1 more lines like it\)"):
        _define(seeds_file=file)
