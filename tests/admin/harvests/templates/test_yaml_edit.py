"""admin/harvests/templates/yaml_edit.py: only what changes is another text, in every style of YAML."""

from __future__ import annotations

import difflib
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.each_value import each_value

from admin.harvests.templates.stock import DEFAULT_TEMPLATE, STOCK_TEMPLATES, stock_text
from admin.harvests.templates.yaml_edit import EditRefused, block_lines, changed_text, flow_text, scalar_text
from frontier.definition.yaml_document import YamlScalar, read_document

ODD = """\
# head
scope: domain   # wide
hops:    20
exclude:
  # calendars
  - '/calendar/'   # c
  - "x y"
  # last
  - plain
limits: {bytes: null, urls:   5, }  # limits
politeness:

    delay_factor: 2.0  # f

    # q
headers:
  X-A: 'b'
  Accept-Language: "de"
redact_headers: [ X-A,  'X-B' ]
include: [
  'a',   # first
  'b'    # second
  ]
user_agent:
# end
"""


def changes(text: str, wanted: dict[str, Any]) -> list[str]:
    """Return the lines that go and come, marked by - and +."""
    result = changed_text(text, wanted)
    assert read_document(result).values() == wanted
    difference = difflib.ndiff(text.splitlines(keepends=True), result.splitlines(keepends=True))
    return [line.rstrip("\r\n") for line in difference if line[0] in "-+"]


def with_changes(text: str, **given: Any) -> dict[str, Any]:
    values = {**read_document(text).values(), **given}
    return {name: value for name, value in values.items() if value is not ...}


@each_value(
    ("given", "expected"),
    [
        ({}, []),
        ({"hops": 3}, ["- hops:    20", "+ hops:    3"]),
        ({"hops": None}, ["- hops:    20", "+ hops:    null"]),
        ({"scope": ...}, ["- scope: domain   # wide"]),
        ({"scope": "any"}, ["- scope: domain   # wide", "+ scope: any   # wide"]),
        ({"exclude": ["x y", "plain"]}, ["-   - '/calendar/'   # c"]),
        ({"exclude": ["/calendar/", "x z", "plain"]}, ['-   - "x y"', '+   - "x z"']),
        ({"exclude": ["/calendar/", "x y", "plain", "a: b"]}, ["+   - 'a: b'"]),
        ({"exclude": ["new", "/calendar/", "x y", "plain"]}, ["+   - new"]),
        (
            {"exclude": []},
            ["- exclude:", "+ exclude: []", "-   - '/calendar/'   # c", '-   - "x y"', "-   - plain"],
        ),
        (
            {"limits": {"bytes": 7, "urls": 5, "pages": 3}},
            ["- limits: {bytes: null, urls:   5, }  # limits", "+ limits: {bytes: 7, urls:   5, pages: 3, }  # limits"],
        ),
        ({"limits": {}}, ["- limits: {bytes: null, urls:   5, }  # limits", "+ limits: {}  # limits"]),
        ({"politeness": {"delay_factor": 2.5}}, ["-     delay_factor: 2.0  # f", "+     delay_factor: 2.5  # f"]),
        ({"politeness": {"delay_factor": 2.0, "per_host": 1}}, ["+     per_host: 1"]),
        ({"politeness": {}}, ["- politeness:", "+ politeness: {}", "-     delay_factor: 2.0  # f"]),
        ({"headers": {"X-A": "it's", "Accept-Language": "de"}}, ["-   X-A: 'b'", "+   X-A: 'it''s'"]),
        (
            {"headers": {"X-A": "b", "Accept-Language": 'a"b'}},
            ['-   Accept-Language: "de"', '+   Accept-Language: "a\\"b"'],
        ),
        ({"redact_headers": ["X-B"]}, ["- redact_headers: [ X-A,  'X-B' ]", "+ redact_headers: [ 'X-B' ]"]),
        ({"include": ["a", "b", "c"]}, ["-   'b'    # second", "+   'b',    # second", "+   c"]),
        ({"include": ["b"]}, ["-   'a',   # first"]),
        ({"user_agent": "a: b"}, ["- user_agent:", "+ user_agent: 'a: b'"]),
        ({"robots": "obey"}, ["+ robots: obey"]),
        ({"robots": "obey", "user_agent": ...}, ["- user_agent:", "+ robots: obey"]),
    ],
)
@each_value("end", ["\n", "\r\n"])
@each_value("mark", ["", "\ufeff"])
def test_only_the_lines_that_must_change_differ(
    given: dict[str, Any], expected: list[str], end: str, mark: str
) -> None:
    text = mark + ODD.replace("\n", end)
    assert sorted(changes(text, with_changes(text, **given))) == sorted(expected)


@each_value(
    ("text", "given", "expected"),
    [
        ("a:\n- x\n- y\n", {"b": ["z"]}, "a:\n- x\n- y\nb:\n- z\n"),
        ("a:\n    - x\n", {"b": ["z"]}, "a:\n    - x\nb:\n    - z\n"),
        ("a:\n    b: 1\n", {"c": {"d": 1}}, "a:\n    b: 1\nc:\n    d: 1\n"),
        ("a:\n- x\n- y\n", {"a": ["x", "w", "y"]}, "a:\n- x\n- w\n- y\n"),
        ("a:\n  - x", {"a": ["x", "w"]}, "a:\n  - x\n  - w"),
        ("a: 1", {"b": 2}, "a: 1\nb: 2"),
        ("", {"b": 2}, "b: 2\n"),
        ("# only a comment\n", {"b": 2}, "# only a comment\nb: 2\n"),
        ("{a: 1}\n", {"b": "x"}, "{a: 1, b: x}\n"),
        ("{}\n", {"b": "x"}, "{b: x}\n"),
        ("a: []  # none\n", {"a": ["x", "^y$"]}, "a:  # none\n  - x\n  - '^y$'\n"),
        ("a: {}\n", {"a": {"b": 1}}, "a:\n  b: 1\n"),
        ("a:\n  b: 1\n# after\n", {"a": {}, "c": 1}, "a: {}\nc: 1\n# after\n"),
        ("a: |\n  one\n  two\nb: 1\n", {"a": "x"}, "a: x\nb: 1\n"),
        ("a: |\n  one\n\nb: 1\n", {"b": 2}, "a: |\n  one\n\nb: 2\n"),
        ("a: one\n  two\nb: 1\n", {"a": "x"}, "a: x\nb: 1\n"),
        ("? a\n: 1\n? b\n: 2\n", {"a": 3, "b": ...}, "? a\n: 3\n"),
        ("'a': 1\n\"b\": 2\n", {"a": 3, "b": 4}, "'a': 3\n\"b\": 4\n"),
        ("--- # start\na: 1\n...\n", {"b": 2}, "--- # start\na: 1\nb: 2\n...\n"),
        ("a: [x, y]\n", {"a": ["y", "z", "w"]}, "a: [y, z, w]\n"),
        ("a: [\n  x,\n  y,\n]\n", {"a": ["x", "z", "y", "w"]}, "a: [\n  x,\n  z,\n  y,\n  w,\n]\n"),
        ("a: [x # one\n  , y]\n", {"a": ["x", "z"]}, "a: [x # one\n  , z]\n"),
        ("a: {b, c: 1}\n", {"a": {"b": 2, "c": 1}}, "a: {b: 2, c: 1}\n"),
        ("a: {b: [1, 2], c: {d: 1}}\n", {"a": {"b": [1, 3], "c": {"e": 1}}}, "a: {b: [1, 3], c: {e: 1}}\n"),
        ("a:\n  - x\n  -\n  - y\n", {"a": ["x", "z", "y"]}, "a:\n  - x\n  - z\n  - y\n"),
        ("a:\n  -   x\n", {"a": ["z"]}, "a:\n  -   z\n"),
        ("a:\n  - |\n    x\n  - y\n", {"a": ["z", "y"]}, "a:\n  - z\n  - y\n"),
        ("a:   # comment\n  b\nc: 1\n", {"a": "d"}, "a: d\nc: 1\n"),
    ],
)
def test_the_style_of_the_text_is_kept(text: str, given: dict[str, Any], expected: str) -> None:
    assert changed_text(text, with_changes(text, **given)) == expected


WORDS = ["null", "true", "yes", "NO", "~", "1", "0x1", "1.5", ".inf", "2026-11-23", "12:30", "<<", "=", "é"]
SIGNS = [
    "",
    " x",
    "x ",
    "a: b",
    "a #b",
    "- a",
    "'",
    '"',
    "\\",
    "@x",
    "`",
    "%",
    "&a",
    "*a",
    "!t",
    "|",
    ">",
    "{}",
    "[]",
    "?",
]
UNSEEN = ["\n", "\t", "\x85", "\u2028", "\u200f", "\U0001f600", "\x1b", "\x7f", "\ufffe"]


@each_value("value", [*WORDS, *SIGNS, *UNSEEN])
@each_value("style", ["", "'", '"'])
def test_a_text_stays_a_text(value: str, style: str) -> None:
    assert read_document(f"a: {scalar_text(value, style)}\nb: [{scalar_text(value, style)}]\n").values() == {
        "a": value,
        "b": [value],
    }


def test_a_style_that_the_form_cannot_change_is_refused_with_the_remedy() -> None:
    with pytest.raises(EditRefused, match="change the text by hand"):
        changed_text("a:\n  - - x\n    - y\n", {"a": ["z"]})


SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(10**9), 10**9),
    st.floats(allow_nan=False, allow_infinity=False),
    st.text(st.characters(exclude_categories=["Cs"]), max_size=8),
)
TEXTS = st.lists(st.sampled_from(["a", "b", "/c/", "d e", "f: g", "#", "-", "null"]), max_size=6)
TABLES = st.dictionaries(st.sampled_from(["p", "q", "r r", "s"]), SCALARS, max_size=4)
TREES = st.dictionaries(st.sampled_from(["k", "l", "m m", "n", "o"]), st.one_of(SCALARS, TEXTS, TABLES), max_size=5)


@st.composite
def documents(draw: st.DrawFn) -> str:
    """A document in a mixture of styles, with comments and blank lines at odd places."""
    tree = draw(TREES)
    end = draw(st.sampled_from(["\n", "\r\n"]))
    lines = list(draw(st.sampled_from([[], ["# head"], ["---"], [""]])))
    for key, value in tree.items():
        if draw(st.booleans()):
            made = list(block_lines(key, value, draw(st.integers(1, 4)), draw(st.integers(0, 4))))
        else:
            made = [f"{scalar_text(key)}:{' ' * draw(st.integers(1, 3))}{flow_text(value)}"]
            if isinstance(value, list) and value and draw(st.booleans()):
                inner = [f"   {flow_text(each)},  # {number}" for number, each in enumerate(value)]
                made = [f"{scalar_text(key)}: [", *inner, " ]"]
        for line in made:
            lines.append(line + draw(st.sampled_from(["", "", "  # why", " "])))
            lines += draw(st.sampled_from([[], [], [""], ["# between"], ["      # far in"]]))
    return end.join(lines) + draw(st.sampled_from(["", end]))


@given(documents(), TREES, st.sets(st.sampled_from(["k", "l", "m m", "n", "o"])))
def test_any_change_gives_the_wanted_values_and_leaves_other_lines(
    text: str, other: dict[str, Any], taken: set[str]
) -> None:
    old = read_document(text).values()
    wanted = {name: value for name, value in old.items() if name not in taken or name in other}
    wanted.update({name: value for name, value in other.items() if name in taken})
    result = changed_text(text, wanted)
    assert json.dumps(read_document(result).values(), sort_keys=True) == json.dumps(wanted, sort_keys=True)
    document = read_document(text)
    for entry in document.top.entries:
        is_one_piece = isinstance(entry.value, YamlScalar) or entry.value.is_flow
        end = entry.value.end if is_one_piece else entry.key.end  # a block's end is where the next thing begins
        if entry.name in wanted and json.dumps(old[entry.name]) == json.dumps(wanted[entry.name]):
            assert text[entry.key.start : end] in result


@pytest.mark.parametrize(
    "name",
    [name if name == DEFAULT_TEMPLATE else pytest.param(name, marks=pytest.mark.slow) for name in STOCK_TEMPLATES],
)
def test_every_key_of_a_stock_template_can_be_changed_by_itself(name: str) -> None:
    text = stock_text(name)
    values = read_document(text).values()
    for key, value in values.items():
        if isinstance(value, dict) and value:
            for inner in value:
                assert len(changes(text, {**values, key: {**value, inner: 77}})) == 2
        elif not isinstance(value, list | dict):
            assert len(changes(text, {**values, key: "other"})) == 2


def test_a_list_of_thousands_is_changed_in_time() -> None:
    text = "a:\n" + "".join(f"  - 'x{number}'\n" for number in range(5_000))
    wanted = [f"x{number}" for number in reversed(range(5_000))]
    assert read_document(changed_text(text, {"a": wanted})).values() == {"a": wanted}
