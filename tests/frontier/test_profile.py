"""Profile files: what they say, and how a mistake in one reads."""

from __future__ import annotations

from pathlib import Path

import pytest

from frontier.definition.job import JobError, Profile
from frontier.definition.profile import load_profile, make_profile, profile_problems


def test_a_profile_is_read_from_a_toml_file(tmp_path: Path) -> None:
    file = tmp_path / "broad.toml"
    file.write_text('scope = "domain"\nhops = 3\n[limits]\npages = 10\n[politeness]\nmin_delay_seconds = 1\n')
    profile = load_profile(file)
    assert (profile.scope, profile.hops, profile.limits.pages) == ("domain", 3, 10)
    assert profile.politeness.min_delay_seconds == 1


def test_a_json_file_gives_the_same_profile_as_toml(tmp_path: Path) -> None:
    file = tmp_path / "broad.json"
    file.write_text('{"scope": "domain", "limits": {"pages": 10}}')
    assert load_profile(file) == make_profile({"scope": "domain", "limits": {"pages": 10}}, "here")


@pytest.mark.parametrize("name", ["broad.yaml", "broad.yml", "broad.YAML"])
def test_a_yaml_file_makes_the_same_profile(tmp_path: Path, name: str) -> None:
    file = tmp_path / name
    file.write_bytes(b"\xef\xbb\xbf# broad\r\nscope: domain\r\nlimits:\r\n  pages: 10 # enough\r\n")
    assert load_profile(file) == make_profile({"scope": "domain", "limits": {"pages": 10}}, "here")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (b"scope: domain\nhop: 1\n", "line 2: unknown key hop; did you mean hops?"),
        (b"limits:\n  bytes: 1\n  pages: many\n", "line 3: limits.pages = 'many' can't be used"),
        (b"exclude:\n  - a\n  - b(\n", "line 3: exclude.1 = 'b(' can't be used: 'b(' is not a regular expression"),
        (b"exclude:\n", "line 1: exclude = 'None' can't be used: Input should be a valid tuple; write a list"),
        (b"headers:\n  X-A: 1\n", "line 2: headers.X-A can't be used: Input should be a valid string; write it in"),
        (b"limits:\n  seconds: .inf\n", "line 2: limits.seconds = 'inf' can't be used"),
        (b"hops: 1\nhops: 2\n", "line 2: the key 'hops' is given twice, first in line 1; remove one"),
        (b"hops: &x 1\n", "line 1: the anchor &x is not allowed"),
        (b"scope: planet\nhops: -1\n", "line 1: scope = 'planet' can't be used"),
        (b"scope: planet\nhops: -1\n", "(and 1 more problems)"),
        (b"a: \xff", "can't be read: 'utf-8' codec can't decode byte 0xff"),
        (b"#" * 1_000_001, "it has more than 1,000,000 bytes; shorten it"),
        (b"<html>", "line 1: the text holds no table of keys and values"),
    ],
)
def test_a_mistake_in_a_yaml_file_is_named_with_its_line(tmp_path: Path, text: bytes, said: str) -> None:
    file = tmp_path / "p.yaml"
    file.write_bytes(text)
    with pytest.raises(JobError) as caught:
        load_profile(file)
    assert str(caught.value).startswith(f"profile {file}")
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)


def test_all_problems_of_a_profile_are_found_at_once() -> None:
    values = {"scop": 1, "hops": -1, "exclude": ["(", "a", "["], "headers": {"A B": "x", "Host": "y", "X": "z"}}
    assert [each.key for each in profile_problems(values)] == [
        "scop", "hops", "exclude.0", "exclude.2", "headers.A B", "headers.Host",
    ]  # fmt: skip


def test_thousands_of_unknown_keys_are_all_named() -> None:
    found = profile_problems({f"unknown{n}": n for n in range(5000)})
    assert len(found) == 5000


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({"scop": "host"}, "unknown key scop; did you mean scope?"),
        ({"limits": {"page": 1}}, "unknown key limits.page; did you mean limits.pages?"),
        ({"politeness": {"min_delay": 1}}, "did you mean politeness.min_delay_seconds?"),
        ({"zzz": 1}, "unknown key zzz; leave it out"),
        ({"scope": "planet"}, "scope = 'planet' can't be used"),
        ({"hops": -1}, "hops = '-1' can't be used"),
        ({"limits": {"pages": "many"}}, "limits.pages = 'many' can't be used"),
        ({"limits": 3}, "limits = '3' can't be used"),
        ({"exclude": ["a("]}, "is not a regular expression"),
        (
            {"behaviours": ["scroll"]},
            "the key behaviours was removed: the key behaviors has the names of those to run; leave it out for all",
        ),
        ({"headers": {"User-Agent": "x"}}, "User-Agent can't be set: set user_agent, or --user-agent, instead"),
        ({"headers": {"Host": "x"}}, "Host can't be set: the client sets this header for each connection"),
        ({"headers": {"Proxy-Authorization": "x"}}, "Proxy-Authorization can't be set: this header is for proxies"),
        (
            {"headers": {"Warcprox-Meta": "{}"}},
            "Warcprox-Meta can't be set: this header gives commands to the recording proxy",
        ),
        ({"headers": {"A B": "x"}}, "'A B' is not a header name"),
        ({"headers": {"X-A": "x", "x-a": "y"}}, "x-a is given twice; write it once"),
        ({"headers": {"X-A": "x\r\nX-B: y"}}, "the value of X-A has a character that is not printable ASCII"),
        ({"user_agent": "x\r\ny"}, "write printable ASCII on one line"),
        ({"redact_headers": ["a:b"]}, "'a:b' is not a header name"),
    ],
)
def test_an_error_is_one_line_that_names_the_key(values: dict[str, object], said: str) -> None:
    with pytest.raises(JobError) as caught:
        make_profile(values, "profile x.toml")
    message = str(caught.value)
    assert message.startswith("profile x.toml: ")
    assert said in message
    assert "\n" not in message


@pytest.mark.parametrize(("name", "text"), [("a.toml", "scope = "), ("a.json", "{"), ("b.json", "[1]")])
def test_the_error_about_an_unreadable_profile_names_the_file(tmp_path: Path, name: str, text: str) -> None:
    file = tmp_path / name
    file.write_text(text)
    with pytest.raises(JobError, match=f"profile .*{name} "):
        load_profile(file)


def test_the_error_about_a_missing_file_names_it(tmp_path: Path) -> None:
    with pytest.raises(JobError, match=r"nowhere.toml can't be read: .*No such file"):
        load_profile(tmp_path / "nowhere.toml")


def test_an_error_about_a_header_does_not_show_its_value() -> None:
    with pytest.raises(JobError) as caught:
        make_profile({"headers": {"Authorization": "Bearer s3cret\n"}}, "profile x.toml")
    assert "Authorization" in str(caught.value)
    assert "s3cret" not in str(caught.value)


def test_credentials_are_never_recorded_and_redact_headers_names_others() -> None:
    headers = {"Authorization": "Bearer a", "X-Api-Key": "b", "Accept-Language": "de"}
    assert make_profile({"headers": headers}, "here").unrecorded_headers == ("authorization",)
    assert make_profile({"redact_headers": ["X-Api-Key"]}, "here").unrecorded_headers == ("x-api-key",)


def test_a_job_stored_by_an_earlier_release_can_be_read() -> None:
    assert Profile.model_validate_json('{"scope": "host", "behaviours": []}') == Profile()
