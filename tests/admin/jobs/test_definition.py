"""What a person asks for becomes seeds, profile and names, or one clear line."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from admin.jobs.definition import Definition, define, headers_of
from frontier.definition.job import JobError


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


def test_the_same_seeds_and_scope_give_the_same_job_name() -> None:
    first = _define(seeds=["http://a.example/", "http://b.example/"], flags={"limits.pages": 5})
    second = _define(seeds=["http://b.example/", "http://a.example"], flags={"limits.pages": 9})
    assert first.job == second.job
    assert first.job.startswith("garden-")
    assert first.limits == {"pages": 5}


@pytest.mark.parametrize("flags", [{"scope": "domain"}, {"hops": 2}, {"visitor": "browser"}])
def test_another_scope_gives_another_job_name(flags: dict[str, Any]) -> None:
    assert _define(flags=flags).job != _define().job


def test_flags_win_over_the_profile_and_other_keys_keep_their_values(tmp_path: Path) -> None:
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


def test_a_long_collection_name_is_cut_so_that_the_timestamp_fits() -> None:
    assert len(_define(collection="c" * 64).job) == 49


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"seeds": []}, "there are no seeds; name at least one URL"),
        ({"seeds": ["example.org"]}, "'example.org' can't be used: it has no scheme; write http://example.org/"),
        ({"seeds": ["ftp://example.org/"]}, "ftp://example.org/"),
        ({"collection": "../etc"}, "collection '../etc' can't be used"),
        ({"job": "j" * 50}, "at most 49"),
        ({"seeds_file": Path("/does/not/exist")}, "--seeds-file /does/not/exist can't be read"),
        ({"profile_file": Path("/does/not/exist.toml")}, "profile /does/not/exist.toml can't be read"),
    ],
)
def test_bad_input_is_named_in_one_line(given: dict[str, Any], message: str) -> None:
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
    with pytest.raises(JobError, match=r"seeds.txt line 2: .*javascript.*\(and 1 more line\)"):
        _define(seeds_file=file)


def test_patterns_and_headers_of_the_command_line_are_added_to_the_profiles(tmp_path: Path) -> None:
    file = tmp_path / "profile.toml"
    file.write_text('exclude = ["/a"]\n[headers]\nAccept-Language = "de"\nX-A = "1"\n')
    flags = {"exclude": ("/b",), "include": ("/c",), "headers": headers_of(["accept-language: fr", "X-B:2"])}
    profile = _define(profile_file=file, flags=flags).profile
    assert (profile.include, profile.exclude) == (("/c",), ("/a", "/b"))
    assert profile.headers == {"X-A": "1", "accept-language": "fr", "X-B": "2"}


@pytest.mark.parametrize("texts", [["no colon s3cret"], [": s3cret"], ["A: s3cret", "a: s3cret"]])
def test_a_bad_header_is_named_without_its_value(texts: list[str]) -> None:
    with pytest.raises(JobError, match="--header") as caught:
        headers_of(texts)
    assert "s3cret" not in str(caught.value)


@pytest.mark.parametrize("visitor", ["browser", "chromium"])
def test_a_job_of_an_earlier_release_keeps_its_name_and_its_visitor(visitor: str, tmp_path: Path) -> None:
    file = tmp_path / "profile.toml"
    file.write_text(f'visitor = "{visitor}"\nsheets = ["org,example) visitor={visitor}"]\n')

    found = _define(seeds=["http://example.org/"], profile_file=file)

    assert found.job == "garden-8afd75f8", "earlier releases gave this name to the visitor `chromium`"
    assert found.profile.visitor == "browser"
    assert found.profile.page_rules().rules_for("http://example.org/").visitor == "browser"
