"""Filters accept what pywb's would, and refuse what could run for ever."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.archive.capture_rows import capture

from dedupdb.captures import filters
from dedupdb.captures.filters import MAX_STEPS, FilterError

PAGE = capture("http://example.org/films/a.html?b=1", status=200, mime="text/html", job=None)


@pytest.mark.parametrize(
    ("text", "accepted"),
    [
        ("mime:html", True),
        ("mime:image", False),
        ("!mime:image", True),
        ("=mime:text/html", True),
        ("=mime:text", False),
        ("!=status:200", False),
        ("=statuscode:200", True),
        ("mimetype:html", True),
        ("original:films", True),
        ("~mime:text/.*", True),
        ("~mime:html", False),
        ("~status:[23]..", True),
        ("!~status:[45]..", True),
        (r"~url:https?://[^/]+/films/.*\.html", True),
        ("~url:.*(pdf|html|png)", True),
        ("=job:-", True),
        ("=method:GET", True),
        ("url:b=1", True),
        ("url:", True),
        ("~urlkey:org,example\\)/", True),
        ("~filename:(?i)NEWS", True),
    ],
)
def test_a_filter_accepts(text: str, accepted: bool) -> None:
    assert filters.parse(text).accepts(PAGE) is accepted


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "no colon"),
        ("mime", "no colon"),
        ("colour:red", "there is no field 'colour'; there are urlkey, timestamp, url"),
        ("~url:(", "not a regular expression"),
        ("~url:[z-a]", "not a regular expression"),
        ("~url:a{99999999999}", "not a regular expression"),
        ("~url:" + "a" * 201, "201 characters, more than 200"),
        ("~url:(a+)+$", "repeated group"),
        ("~url:(a|aa)+$", "repeated group"),
        ("~url:((a*)b)*c", "repeated group"),
        ("~url:(?:a?b)*c", "repeated group"),
        ("~url:([a-z]+){10}", "repeated group"),
        ("~url:.*a.*b.*c.*d", "may take too long"),
        ("~url:" + "a?" * 40 + "a" * 40, "may take too long"),
        ("~url:" + "(a|aa)" * 30 + "b", "may take too long"),
        (r"~url:(a)\1", "not supported"),
        ("~url:[[a]", "within a set"),
        ("~url:(?=a)b", "not supported"),
        ("~url:(?<!a)b", "not supported"),
        ("~url:(?P<x>a)", "not supported"),
    ],
)
def test_a_filter_is_refused_with_its_reason(text: str, reason: str) -> None:
    with pytest.raises(FilterError) as caught:
        filters.parse(text)
    assert reason in str(caught.value)


@given(st.text(alphabet="ab()|*+?{},1.[]\\^$-&~", max_size=30))
def test_no_pattern_breaks_the_estimate(pattern: str) -> None:
    try:
        condition = filters.parse(f"~url:{pattern}")
    except FilterError:
        return
    assert filters.worst_steps(pattern) <= MAX_STEPS
    url = "http://" + "ab" * 20
    assert condition.accepts(capture(url)) is (re.match(pattern, url) is not None)
