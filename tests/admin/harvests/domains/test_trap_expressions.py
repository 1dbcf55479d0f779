"""admin/harvests/domains/trap_expressions.py: large, slow and wrong expressions are refused."""

from __future__ import annotations

import re

import pytest

from admin.harvests.domains import trap_expressions
from admin.harvests.domains.trap_expressions import (
    LONGEST_EXPRESSION,
    MOST_EXPRESSIONS,
    check_expressions,
    run_trap_test,
    trap_lines,
)
from admin.models.errors import InvalidInput

SAMPLES = ("http://example.org/calendar/2027/01", "http://example.org/about")


def problem_of(expression: str) -> str | None:
    return run_trap_test([(1, expression)])[0].problem


def test_the_result_says_for_each_expression_which_samples_it_is_found_in() -> None:
    results = run_trap_test([(1, r"/calendar/\d{4}/"), (3, "["), (4, "sessionid=")], SAMPLES)
    assert [(result.line, result.matches) for result in results] == [(1, [True, False]), (3, []), (4, [False, False])]
    assert results[1].problem is not None


@pytest.mark.parametrize(
    "expression",
    [
        r"^.*?/(.+?)/.*?/\1/.*?/\1/.*$",
        r".*(cal|calendar).*(\d{4}).*(\d{2}).*",
        r"(?i)^https?://[^/]*example\.org/.*[?&](sid|session|phpsessid)=",
        r"(?=.*a)(?!.*b)/c",
        r"[]{99}]{3}",
        r"\{1000}{1000}",
        r"['\"<>]",
    ],
)
def test_expressions_that_curators_write_are_accepted(expression: str) -> None:
    assert problem_of(expression) is None


@pytest.mark.parametrize(
    ("expression", "reason"),
    [
        ("", "found in every URL"),
        (".*", "found in every URL"),
        ("calendar|", "found in every URL"),
        ("(", "no regular expression"),
        ("[z-a]", "no regular expression"),
        (r"\p{L}+x", "no regular expression"),
        ("(?R)", "no regular expression"),
        ("[[:alpha:]]+x", r"the class \[:alpha:\]"),
        ("(?x)a {1000}", "flag x"),
        ("(?ix:a {1000})", "flag x"),
        ("a\0", "NUL"),
        ("a" * (LONGEST_EXPRESSION + 1), "2001 characters"),
        ("(?:" * 290 + "a" + ")+" * 290, "nested too deeply|longer than"),
        ("((((a{1000}){1000}){1000}){1000})", "multiply to 1,000,000,000,000"),
        ("(a(?#note){1000}){1000}", "multiply"),
        ("((a{0,1000})+{1000}", "multiply|no regular expression"),
        ("(a|aa)+$", "takes longer than 0.1 s"),
        ("^http://example.org/(a|a|aa)*$", "takes longer than 0.1 s"),
        ("(foo|f|o|oo)+$", "takes longer than 0.1 s"),
    ],
)
def test_expressions_that_would_stop_a_crawl_are_refused(expression: str, reason: str) -> None:
    found = problem_of(expression)
    assert found is not None
    assert re.search(reason, found), found


def test_an_expression_that_is_slow_on_a_sample_alone_is_refused() -> None:
    assert problem_of("(~|~~)+$") is None
    found = run_trap_test([(1, "(~|~~)+$")], [f"http://example.org/{'~' * 200}!"])[0].problem
    assert found is not None
    assert "longer than 0.1 s" in found


def test_tests_of_many_slow_expressions_end_after_some(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trap_expressions, "MOST_SLOW", 4)
    results = run_trap_test([(number, f"({number}|a|aa)+$") for number in range(1, 2_000)])
    assert all(result.problem is not None for result in results)
    assert sum("not tested" in (result.problem or "") for result in results) == 1_999 - 4


def test_too_many_expressions_and_samples_are_refused_before_any_test() -> None:
    with pytest.raises(InvalidInput, match="10001 expressions"):
        run_trap_test([(1, "a")] * (MOST_EXPRESSIONS + 1))
    with pytest.raises(InvalidInput, match=r"101 sample URLs"):
        run_trap_test([(1, "a")], ["x"] * 101)
    with pytest.raises(InvalidInput, match="has 5000 characters"):
        run_trap_test([(1, "a")], ["x" * 5_000])


def test_all_bad_lines_of_a_list_are_named_at_once() -> None:
    with pytest.raises(InvalidInput) as caught:
        check_expressions([(2, "["), (5, "ok"), (7, "(")], "text")
    assert [problem.line for problem in caught.value.problems] == [2, 7]
    with pytest.raises(InvalidInput) as caught:
        check_expressions([(number, "[" * number) for number in range(1, 200)], "text")
    assert len(caught.value.problems) == 101


def test_lines_of_an_upload_are_read_without_blanks_comments_and_repeats() -> None:
    text = "\ufeff/a/\r\n\r\n# note\r/b/\n/a/\n"
    assert trap_lines(text) == [(1, "/a/"), (4, "/b/")]
