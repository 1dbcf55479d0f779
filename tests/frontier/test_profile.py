"""Profile files: what they say, and how a mistake in one reads."""

from __future__ import annotations

from pathlib import Path

import pytest

from frontier.definition.job import JobError, Profile
from frontier.definition.profile import check_profile, load_profile, make_profile, profile_problems, with_lists_of
from frontier.definition.profile_files import stock_names
from frontier.definition.toml_lines import toml_lines


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


def problem_lines(file: Path) -> list[tuple[str, int | None, str]]:
    found = check_profile(file).problems
    return [(each.file.name if each.file else "", each.line, each.key) for each in found]


def test_all_problems_of_a_toml_file_have_their_lines(tmp_path: Path) -> None:
    file = tmp_path / "p.toml"
    file.write_text('hop = 1\nexclude = [\n  "a",\n  "(", # wrong\n]\n[limits]\npages = "many"\n')
    assert problem_lines(file) == [("p.toml", 1, "hop"), ("p.toml", 4, "exclude.1"), ("p.toml", 7, "limits.pages")]


def test_all_problems_of_a_json_file_have_their_lines(tmp_path: Path) -> None:
    file = tmp_path / "p.json"
    file.write_text('{\n "hop": 1,\n "limits": {\n\t"pages": "many"}\n}')
    assert problem_lines(file) == [("p.json", 2, "hop"), ("p.json", 4, "limits.pages")]


@pytest.mark.parametrize(("name", "text", "line"), [("a.toml", "\n\nscope = ", 3), ("a.json", "{\n}}", 2)])
def test_a_file_that_can_not_be_read_is_named_with_the_line(tmp_path: Path, name: str, text: str, line: int) -> None:
    file = tmp_path / name
    file.write_text(text)
    assert problem_lines(file) == [(name, line, "")]


def test_every_problem_of_a_yaml_text_is_named(tmp_path: Path) -> None:
    file = tmp_path / "p.yaml"
    file.write_text("hops: &a 1\nscope: *a\nhops: 2\n")
    assert [line for _, line, _ in problem_lines(file)] == [1, 2, 3]


@pytest.mark.parametrize(
    ("values", "key", "said"),
    [
        ("user_agent: Ours/1", "user_agent", "has no contact; add your page or mail address"),
        ("politeness: {min_delay_seconds: 9, max_delay_seconds: 3}", "politeness.min_delay_seconds", "is more than"),
        ("rules: [REJECT SurtListFile nowhere.txt]", "rules.0", "nowhere.txt can't be read"),
    ],
)
def test_values_that_do_not_fit_each_other_are_refused(tmp_path: Path, values: str, key: str, said: str) -> None:
    file = tmp_path / "p.yaml"
    file.write_text(values)
    (problem,) = check_profile(file).problems
    assert problem.key == key
    assert said in problem.message
    with pytest.raises(JobError, match="line 1"):
        load_profile(file)


@pytest.mark.parametrize(
    ("values", "key"),
    [
        ("scope: any\ninclude: [a]", "include"),
        ("rules: [REJECT All]", "rules.0"),
        ("behaviors: []", "behaviors"),
        ("rendered_fraction: 1", "rendered_fraction"),
    ],
)
def test_values_without_effect_are_warnings(tmp_path: Path, values: str, key: str) -> None:
    file = tmp_path / "p.yaml"
    file.write_text(values)
    found = check_profile(file)
    assert [(each.key, each.is_warning) for each in found.problems] == [(key, True)]
    assert found.profile is not None


@pytest.mark.parametrize("agent", ["x (+https://nb.no/crawl)", "x (crawl@nb.no)"])
def test_a_user_agent_has_a_contact_or_says_that_it_has_none(tmp_path: Path, agent: str) -> None:
    file = tmp_path / "p.yaml"
    file.write_text(f"user_agent: '{agent}'")
    assert load_profile(file).user_agent == agent
    file.write_text("user_agent: x\nuser_agent_contact: optional\n")
    assert load_profile(file).user_agent == "x"


def test_a_profile_extends_others_in_order(tmp_path: Path) -> None:
    (tmp_path / "parts").mkdir()
    (tmp_path / "parts" / "traps.txt").write_text("example.com\n")
    (tmp_path / "parts" / "traps.yaml").write_text("rules:\n  - REJECT SurtListFile traps.txt\nhops: 5\n")
    (tmp_path / "base.toml").write_text('exclude = ["a"]\n[limits]\npages = 1\nurls = 2\n')
    file = tmp_path / "p.json"
    file.write_text(
        '{"extends": ["polite", "base.toml", "parts/traps.yaml"], "exclude": ["b"], "limits": {"pages": 3},'
        ' "rules": ["ACCEPT All"]}'
    )
    found = load_profile(file)
    assert (found.exclude, found.hops, found.limits.pages, found.limits.urls) == (("a", "b"), 5, 3, 2)
    assert found.rules == (f"REJECT SurtListFile {tmp_path}/parts/traps.txt", "ACCEPT All")
    assert found.politeness.min_delay_seconds == 10
    assert found.limits.host_pages == 20_000


def test_a_problem_names_the_file_that_was_extended(tmp_path: Path) -> None:
    (tmp_path / "base.yaml").write_text("exclude:\n  - a\n  - (\n")
    file = tmp_path / "p.yaml"
    file.write_text("extends: [base.yaml]\nexclude:\n  - b\n  - '['\n")
    assert problem_lines(file) == [("base.yaml", 3, "exclude.1"), ("p.yaml", 4, "exclude.3")]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("extends: [p.yaml]", "leads back to itself"),
        ("extends: [nowhere.yaml]", "is neither a file beside the profile nor one of browser, polite"),
        ("extends: 3", "is no list of profiles"),
        ("extends: [d1.yaml]", "goes too deep"),
    ],
)
def test_extends_is_bounded(tmp_path: Path, text: str, said: str) -> None:
    for number in range(1, 9):
        (tmp_path / f"d{number}.yaml").write_text(f"extends: [d{number + 1}.yaml]")
    file = tmp_path / "p.yaml"
    file.write_text(text)
    with pytest.raises(JobError, match=said) as caught:
        load_profile(file)
    assert "line 1: extends" in str(caught.value)


def test_a_profile_that_extends_itself_over_another_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text("extends: [b.yaml]")
    (tmp_path / "b.yaml").write_text("hops: 1\nextends: [a.yaml]")
    with pytest.raises(JobError, match=r"b\.yaml line 2: extends 'a\.yaml' leads back to itself"):
        load_profile(tmp_path / "a.yaml")


def test_extends_is_for_files_alone() -> None:
    with pytest.raises(JobError, match="only profile files have files beside them"):
        make_profile({"extends": ["polite"]}, "the template")


@pytest.mark.parametrize("name", stock_names())
def test_stock_profiles_can_be_used_by_name_without_a_warning(name: str) -> None:
    found = check_profile(Path(name))
    assert found.profile is not None
    assert found.problems == ()


def test_a_template_names_lists_of_the_home_alone(tmp_path: Path) -> None:
    found = with_lists_of(Profile(rules=("REJECT SurtListFile traps.txt", "ACCEPT All")), tmp_path)
    assert found.rules == (f"REJECT SurtListFile {tmp_path}/traps.txt", "ACCEPT All")
    with pytest.raises(JobError, match="names a file outside of"):
        with_lists_of(Profile(rules=("REJECT SurtListFile ../../etc/passwd",)), tmp_path)


def test_the_lines_of_a_toml_text() -> None:
    text = (
        'a = """x\n]"""\nb = [ # c ]\n  "]", \'[\',\n  {c = [1,\n 2]}]\n'
        '["d.e".f]\ng.h = 1\n[[i]]\nj = 1\n[[i]]\nj = 2\n'
    )
    found = toml_lines(text)
    assert (found[("a",)], found[("b",)], found[("b", 1)], found[("b", 2, "c", 1)]) == (1, 3, 4, 6)
    assert (found[("d.e", "f", "g", "h")], found[("i", 0, "j")], found[("i", 1, "j")]) == (8, 10, 12)
