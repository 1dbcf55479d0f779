"""Profile files: what they say, and how a mistake in one reads."""

from __future__ import annotations

from pathlib import Path

import pytest

from frontier.job import JobError
from frontier.profile import load_profile, make_profile


def test_a_toml_file_makes_a_profile(tmp_path: Path) -> None:
    file = tmp_path / "broad.toml"
    file.write_text('scope = "domain"\nhops = 3\n[limits]\npages = 10\n[politeness]\nmin_delay_seconds = 1\n')
    profile = load_profile(file)
    assert (profile.scope, profile.hops, profile.limits.pages) == ("domain", 3, 10)
    assert profile.politeness.min_delay_seconds == 1


def test_a_json_file_makes_the_same_profile(tmp_path: Path) -> None:
    file = tmp_path / "broad.json"
    file.write_text('{"scope": "domain", "limits": {"pages": 10}}')
    assert load_profile(file) == make_profile({"scope": "domain", "limits": {"pages": 10}}, "here")


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({"scop": "host"}, "unknown key scop; did you mean scope?"),
        ({"limits": {"page": 1}}, "unknown key limits.page; did you mean limits.pages?"),
        ({"politeness": {"min_delay": 1}}, "did you mean politeness.min_delay_seconds?"),
        ({"scope": "planet"}, "scope = 'planet' can't be used"),
        ({"hops": -1}, "hops = '-1' can't be used"),
        ({"limits": {"pages": "many"}}, "limits.pages = 'many' can't be used"),
        ({"limits": 3}, "limits = '3' can't be used"),
        ({"exclude": ["a("]}, "is no regular expression"),
    ],
)
def test_a_mistake_is_named_in_one_line(values: dict[str, object], said: str) -> None:
    with pytest.raises(JobError) as caught:
        make_profile(values, "profile x.toml")
    message = str(caught.value)
    assert message.startswith("profile x.toml: ")
    assert said in message
    assert "\n" not in message


@pytest.mark.parametrize(("name", "text"), [("a.toml", "scope = "), ("a.json", "{"), ("b.json", "[1]")])
def test_a_file_that_is_no_profile_is_named(tmp_path: Path, name: str, text: str) -> None:
    file = tmp_path / name
    file.write_text(text)
    with pytest.raises(JobError, match=f"profile .*{name} "):
        load_profile(file)


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(JobError, match=r"nowhere.toml can't be read: .*No such file"):
        load_profile(tmp_path / "nowhere.toml")
