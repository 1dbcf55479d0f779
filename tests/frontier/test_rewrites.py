"""Rewrites say which URLs are the same."""

from __future__ import annotations

import pytest

from frontier.definition.job import SeenRules
from frontier.definition.rules.rewrites import Rewriter, parse_rewrite
from frontier.seen import compared_form, fingerprint


def test_parts_of_urls_make_no_difference_or_another_one() -> None:
    rules = SeenRules(rewrites=(r"(?<=[?&])utm_[a-z]+=[^&]*(?:&|$) =>", r"/print/(\d+)$ => /article/\1"))
    assert compared_form("http://a.org/x?utm_source=s&b=1", rules) == "http org,a)/x?b=1"
    assert fingerprint("http://a.org/print/12", rules) == fingerprint("http://a.org/article/12", rules)
    assert fingerprint("http://a.org/print/12") != fingerprint("http://a.org/article/12")


def test_what_makes_no_url_changes_nothing() -> None:
    assert Rewriter(["^.* => nothing"]).rewritten("http://a.org/x") == "http://a.org/x"
    assert Rewriter(["^http://a => ftp://b"]).rewritten("http://a.org/x") == "http://a.org/x"


def test_a_rewrite_that_takes_too_long_is_switched_off() -> None:
    slow = Rewriter([r"(?:a+)+b =>", "x => y"])
    url = "http://a.org/x?" + "a" * 4_000
    assert [slow.rewritten(url) for _ in range(4)] == [url.replace("x", "y")] * 4
    assert slow._timeouts == [3, 0]


@pytest.mark.parametrize("line", ["", "=>", " => x", "a", "(a => x", r"a => \2", "a" * 3_000 + " => "])
def test_a_line_that_is_no_rewrite_is_refused_with_an_example(line: str) -> None:
    with pytest.raises(ValueError, match="write for example"):
        parse_rewrite(line)
