"""admin/harvests/templates/verification.py: each required key, all problems at once, and hostile uploads."""

from __future__ import annotations

import pytest

from admin.harvests.templates.required_keys import REQUIRED_KEYS
from admin.harvests.templates.stock import DEFAULT_TEMPLATE, STOCK_TEMPLATES, stock_text
from admin.harvests.templates.verification import checked_profile, decoded, problems_of, typed_text
from admin.harvests.templates.yaml_edit import changed_text
from admin.models.errors import InvalidInput
from frontier.definition.job import Profile
from frontier.definition.yaml_document import read_document

GOOD = stock_text(DEFAULT_TEMPLATE)


def without(key: str) -> str:
    values = read_document(GOOD).values()
    group, dot, name = key.partition(".")
    (values[group] if dot else values).pop(name if dot else group)
    return changed_text(GOOD, values)


@pytest.mark.parametrize("name", STOCK_TEMPLATES)
def test_the_stock_templates_have_every_key_with_a_comment(name: str) -> None:
    text = stock_text(name)
    values = read_document(text).values()
    assert problems_of(text) == ()
    assert set(values) == set(Profile.model_fields)
    assert set(values["limits"]) == set(Profile().limits.model_dump())
    assert set(values["politeness"]) == set(Profile().politeness.model_dump())
    for required in REQUIRED_KEYS:
        lines = text.splitlines()
        at = next(n for n, line in enumerate(lines) if line.strip().startswith(required.key.split(".")[-1] + ":"))
        assert "(job)" in lines[at - 1], required.key


def test_the_default_template_is_the_default_profile_apart_from_scope_and_traps() -> None:
    profile = checked_profile(GOOD)
    assert profile == Profile(scope="domain", hops=20, exclude=profile.exclude)


@pytest.mark.parametrize("required", REQUIRED_KEYS, ids=lambda each: each.key)
def test_a_template_that_lacks_one_required_key_has_one_problem_that_names_the_key(required: object) -> None:
    key = required.key  # type: ignore[attr-defined]
    (problem,) = problems_of(without(key))
    assert problem.field == key
    assert f"the key {key} is absent, and jobs set it to " in problem.message
    assert problem.line == (None if "." not in key else problems_line("limits:", without(key)))


def problems_line(start: str, text: str) -> int:
    return next(number for number, line in enumerate(text.splitlines(), 1) if line.startswith(start))


def test_the_example_of_each_required_key_can_be_used() -> None:
    for required in REQUIRED_KEYS:
        values = read_document(required.example).values()
        assert problems_of(changed_text(GOOD, {**read_document(GOOD).values(), **values, "limits": {
            "urls": None, "bytes": None, "seconds": None}})) == ()  # fmt: skip


def test_a_required_key_may_be_null_but_not_commented_out() -> None:
    assert problems_of(GOOD.replace("hops: 20", "hops: null")) == ()
    assert [each.field for each in problems_of(GOOD.replace("\nhops: 20", "\n# hops: 20"))] == ["hops"]


def test_an_empty_text_lacks_every_required_key() -> None:
    assert [each.field for each in problems_of("")] == [each.key for each in REQUIRED_KEYS]


def test_all_problems_are_named_with_their_lines_in_the_order_of_the_lines() -> None:
    text = GOOD.replace("visitor: plain", "visitor: robot").replace("max_links: 6000", "max_link: 6000")
    text = text.replace("  urls: null", "  urls: many").replace("headers: {}", "headers: {Host: x}")
    text = text.replace("\nhops: 20", "").replace("'[?&](sort", "'[?&]((sort")
    found = problems_of(text)
    lines = text.splitlines()
    assert [each.field for each in found] == [
        "hops",
        "visitor",
        "exclude.1",
        "max_link",
        "limits.urls",
        "headers.Host",
    ]
    for each in found[1:]:
        assert each.line is not None
        assert (
            each.field.split(".")[0 if each.field.startswith(("exclude", "headers")) else -1] in (lines[each.line - 1])
            or each.field == "exclude.1"
        )
    assert "did you mean max_links?" in found[3].message
    assert "unbalanced parenthesis" in found[2].message or "missing )" in found[2].message


@pytest.mark.parametrize(
    ("agent", "said"),
    [
        ("Mozilla/5.0 (+https://www.example.org/about)", "a placeholder; write your own address"),
        ("Mozilla/5.0 (+https://archive.example/about)", "a placeholder"),
        ("Mozilla/5.0 (+ENTER_AN_URL_HERE)", "a placeholder"),
        ("Mozilla/5.0 (compatible)", "has no contact; add your page or mail address"),
        ("Mozilla/5.0 (+https://netarkivet.dk/om)", None),
        ("nb (crawl@nb.no)", None),
        ("http://exampleoracle.com/x", None),
    ],
)
def test_a_user_agent_has_a_contact_that_somebody_reads(agent: str, said: str | None) -> None:
    text = GOOD.replace("user_agent: ''", f"user_agent: '{agent}'")
    found = problems_of(text)
    assert [each.field for each in found] == ([] if said is None else ["user_agent"])
    assert said is None or said in found[0].message
    assert said is None or found[0].line == problems_line("user_agent:", text)


def test_a_placeholder_in_the_from_header_is_refused_without_the_values_of_other_headers() -> None:
    text = GOOD.replace("headers: {}", "headers:\n  Authorization: Basic s3cret\n  From: me@example.org")
    (problem,) = problems_of(text)
    assert problem.field == "headers.From"
    assert "s3cret" not in str(problem)


@pytest.mark.parametrize("pattern", ["(a+)+$", "(a|a)*b", "(.*)*x", "([a-z]+/?)+!!", "^(([a-z])+.)+[A-Z]([a-z])+$"])
def test_a_pattern_that_takes_long_is_named_with_its_line_and_the_remedy(pattern: str) -> None:
    text = GOOD.replace("include: []", f"include:\n  - 'fine'\n  - '{pattern}'")
    (problem,) = problems_of(text)
    assert problem.field == "include.1"
    assert problem.line == problems_line("include:", text) + 2
    assert "takes too long on hostile addresses" in problem.message
    assert "remove a repeat within a repeat" in problem.message


@pytest.mark.parametrize(
    "pattern",
    [
        r".*/(calendar|kalender)/.*\d{4}[-/]\d{2}.*",
        r"^https?://[^/]+/.*?([^/]+)/.*?\1/.*?\1/",
        r"[?&](sort|order|replytocom)=",
        r"^.*/[^/]*\?.*&.*&.*&.*$",
        r"(?!.*/keep/).*\.(iso|zip|exe)([?#]|$)",
    ],
)
def test_patterns_as_web_archives_have_them_are_fast_enough(pattern: str) -> None:
    assert problems_of(GOOD.replace("include: []", f"include:\n  - '{pattern}'")) == ()


def test_a_thousand_patterns_are_tried() -> None:
    patterns = "".join(f"  - '/page{number}/.*'\n" for number in range(999))
    text = GOOD.replace("include: []\n", f"include:\n{patterns}  - '(a+)+$'\n")
    assert [each.field for each in problems_of(text)] == ["include.999"]


def test_patterns_that_are_slow_together_are_refused() -> None:
    patterns = "".join(f"  - '.*/p{number}/.*x.*y.*'\n" for number in range(1000))
    (problem,) = problems_of(GOOD.replace("include: []\n", f"include:\n{patterns}"))
    assert "the patterns up to this one take more than 3 seconds" in problem.message


def test_a_list_of_slow_patterns_is_not_tried_to_its_end() -> None:
    patterns = "".join(f"  - '(a{number}?a+)+$'\n" for number in range(200))
    assert len(problems_of(GOOD.replace("include: []\n", f"include:\n{patterns}"))) == 5


@pytest.mark.parametrize(
    ("include", "said"),
    [
        ("[" + "'a'," * 1001 + "]", "include has 1,001 patterns; use at most 1,000"),
        ("['" + "a" * 4001 + "']", "String should have at most 4000 characters"),
        ("['" + "(" * 2000 + "']", "is not a regular expression"),
        ("['" + "(?:" * 1000 + ")" * 1000 + "']", ""),
        ("[1]", "include.0 = '1' can't be used: Input should be a valid string; write it in quotes"),
        ("x", "write a list, which may be empty: []"),
    ],
)
def test_odd_patterns_are_refused_in_one_line(include: str, said: str) -> None:
    found = problems_of(GOOD.replace("include: []", f"include: {include}"))
    assert len(found) <= 1
    assert said == "" or said in found[0].message


@pytest.mark.parametrize(
    ("data", "line", "said"),
    [
        (b"\xff\xfeh\0o\0", None, "the file is UTF-16; save it as UTF-8"),
        (b"hops: 1\nscope: \xe9\n", 2, "the byte 0xe9 is no UTF-8"),
        (b"x" * 1_000_001, None, "the file has 1,000,001 bytes; a template has at most 1,000,000"),
    ],
)
def test_a_file_that_is_no_text_is_refused(data: bytes, line: int | None, said: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        decoded(data)
    assert caught.value.problems[0].line == line
    assert said in caught.value.problems[0].message


def test_a_byte_order_mark_and_windows_line_ends_are_kept_and_harmless() -> None:
    data = b"\xef\xbb\xbf" + GOOD.replace("\n", "\r\n").encode()
    text = decoded(data)
    assert text.encode() == data
    assert problems_of(text) == ()


@pytest.mark.parametrize("before", ["a: 1\nb: 2\n", "a: 1\r\nb: 2\r\n", "a: 1"])
def test_a_form_that_is_sent_back_has_the_line_ends_that_the_text_had(before: str) -> None:
    sent = before.replace("\r\n", "\n").replace("\n", "\r\n")
    assert typed_text(sent, before) == before


@pytest.mark.parametrize(
    "text",
    [
        "<!DOCTYPE html><html><body>hops: 1</body></html>",
        GOOD + "\0",
        "x: " + "y" * 2_000_000,
        "".join(f"key{number}: 1\n" for number in range(5_000)),
        "a: &a [*a]\n",
        "[" * 50_000,
        "- hops\n",
        "hops: 1\nhops: 2\n",
    ],
)
def test_a_hostile_text_is_refused_with_a_bounded_list_of_problems(text: str) -> None:
    found = problems_of(text)
    assert found
    assert all(len(str(each)) < 1_000 for each in found)
