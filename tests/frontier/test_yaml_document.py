"""YAML documents: what is read, what is refused and in which line, and how long the worst inputs take."""

from __future__ import annotations

import io
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from ruamel.yaml import YAML

from frontier.definition.yaml_document import MAX_BYTES, MAX_KEYS, MAX_LINES, MAX_VALUES, YamlRefused, read_document


def refused(text: str) -> list[tuple[int | None, str]]:
    with pytest.raises(YamlRefused) as caught:
        read_document(text)
    return [(each.line, each.message) for each in caught.value.problems]


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("x", "x"),
        ("", None),
        ("null", None),
        ("~", None),
        ("true", True),
        ("False", False),
        ("yes", "yes"),
        ("on", "on"),
        ("12", 12),
        ("-12", -12),
        ("010", 10),
        ("0x1F", 31),
        ("0o17", 15),
        ("10_000", 10_000),
        ("0.5", 0.5),
        ("1e3", 1000.0),
        (".5", 0.5),
        ("'12'", "12"),
        ('"true"', "true"),
        ('"\\x41\\u00e9"', "Aé"),
        ("2026-11-23", "2026-11-23"),
        ("12:30:45", "12:30:45"),
        ("=", "="),
        ("-.inf", -math.inf),
        ("1" * 401, "1" * 401),
        ("[1, 'a', {b: c}]", [1, "a", {"b": "c"}]),
        ("{}", {}),
        ("|\n  one\n  two\n", "one\ntwo\n"),
        (">-\n  one\n  two\n", "one two"),
    ],
)
def test_values_are_those_of_the_core_schema(text: str, value: object) -> None:
    assert read_document(f"key: {text}").values() == {"key": value}


def test_not_a_number_is_a_number() -> None:
    assert math.isnan(read_document("key: .nan").values()["key"])


@pytest.mark.parametrize("text", ["", "\n\n", "# comments alone\n", "---\n", "\ufeff"])
def test_a_text_without_keys_is_an_empty_table(text: str) -> None:
    assert read_document(text).values() == {}


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_lines_are_counted_with_each_kind_of_line_end(end: str) -> None:
    document = read_document(end.join(("\ufeff# first", "a: 1", "", "b:", "  - x", "  # more", "  - y", "c: {d: 1}")))
    assert document.values() == {"a": 1, "b": ["x", "y"], "c": {"d": 1}}
    places: list[tuple[str | int, ...]] = [("a",), ("b",), ("b", 0), ("b", 1), ("c", "d"), ("b", 7), ("nothing",)]
    assert [document.line_of(path) for path in places] == [2, 4, 5, 7, 8, 4, None]


@pytest.mark.parametrize(
    ("text", "line", "said"),
    [
        ("a: &x 1\n", 1, "the anchor &x is not allowed; repeat the value instead"),
        ("a: 1\nb: *x\n", 2, "the alias *x is not allowed; repeat the value instead"),
        ("a: &a [*a]\n", 1, "the anchor &a is not allowed"),
        ("a: !!python/object:os.system x\n", 1, "the tag tag:yaml.org,2002:python/object:os.system is not allowed"),
        ("--- !x\na: 1\n", 1, "the tag !x is not allowed"),
        ("a: 1\nb: 2\na: 3\n", 3, "the key 'a' is given twice, first in line 1; remove one"),
        ("a: {b: 1,\n  b: 2}\n", 2, "the key 'b' is given twice, first in line 1"),
        ("a: 1\n---\nb: 1\n", 2, "a second document begins here"),
        ("%YAML 1.1\n---\na: yes\n", 1, "this is YAML 1.2"),
        ("%TAG ! tag:x,2000:\n---\na: 1\n", 1, "the text has a directive"),
        ("a: 1\n1: x\n", 2, "a key is a text on one line"),
        ("? [a]\n: 1\n", 1, "a key is a text on one line"),
        ("? |\n  a\n: 1\n", 1, "a key is a text on one line"),
        ("<!DOCTYPE html>\n<html><body>", 1, "the text holds no table of keys and values"),
        ("- a\n- b\n", 1, "the text holds no table of keys and values"),
        ("a: 1\nb: 'x\n", 3, "quote"),
        ("a: 1\nb: x: y\n", 2, "column 5 is no YAML: mapping values are not allowed here; put a text with a colon in"),
        ("a: 1\n\tb: 2\n", 2, "indent by spaces"),
        ("a: @x\n", 1, "put the text in quotes"),
        ("a: 1\nb: \x00\n", 2, "a null character is not allowed; remove it"),
        ("a: \x07", 1, "a control character is not allowed"),
        ("a: 1\nb: \ud800", 2, "save the file as UTF-8"),
        ("a: [1, 2\nb: 3\n", 2, "brackets"),
        ("[" * 100_000, 1, "8 levels of tables and lists"),
        ("a: " + "[" * 100_000, 1, "8 levels of tables and lists"),
        ("a: " + "{a: " * 100_000, 1, "8 levels of tables and lists"),
        ("".join(" " * n + "a:\n" for n in range(1000)), 9, "8 levels of tables and lists"),
        ("".join(f"k{n}: 1\n" for n in range(MAX_KEYS + 1)), MAX_KEYS + 1, "5,000 keys"),
        ("a: [" + "1," * (MAX_VALUES + 1) + "]", 1, "20,000 values"),
        ("#\n" * (MAX_LINES + 1), MAX_LINES, "20,000 lines"),
        ("a: " + "x" * MAX_BYTES, None, "1,000,000 bytes"),
        ("a: " + "é" * (MAX_BYTES // 2), None, "1,000,000 bytes"),
    ],
)
def test_what_is_refused_is_named_with_its_line_and_the_remedy(text: str, line: int | None, said: str) -> None:
    found = refused(text)
    assert found[0][0] == line
    assert said in found[0][1]


def test_all_problems_are_named_at_once() -> None:
    found = refused("a: &x 1\nb: *x\na: !t 2\n1: x\nb: 2\n")
    assert [line for line, _ in found] == [1, 2, 3, 4, 3, 5]


def test_a_list_of_problems_ends_after_a_hundred() -> None:
    assert len(refused("".join(f"k{n}: &a{n} 1\n" for n in range(1000)))) == 100


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("a: " + "x " * (MAX_BYTES // 2 - 5), marks=pytest.mark.slow),
        pytest.param("a: '" + "''" * (MAX_BYTES // 2 - 5) + "'", marks=pytest.mark.slow),
        'a: "' + "\\x41" * (MAX_BYTES // 4 - 5) + '"',
        pytest.param("a: " + "x\n  " * (MAX_LINES - 1), marks=pytest.mark.slow),
        pytest.param("a: |\n" + "  x\n" * (MAX_LINES - 2), marks=pytest.mark.slow),
        pytest.param("#" + " x" * (MAX_BYTES // 2 - 5), marks=pytest.mark.slow),
        pytest.param("\n" * MAX_LINES, marks=pytest.mark.slow),
        pytest.param(" " * MAX_BYTES, marks=pytest.mark.slow),
        "".join(f"k{n}: 'x'\n" for n in range(MAX_KEYS)),
        "a: [" + "'x'," * (MAX_VALUES - 2) + "]",
    ],
)
def test_the_largest_texts_are_read_within_the_time_of_a_test(text: str) -> None:
    assert len(text.encode()) <= MAX_BYTES
    assert len(read_document(text).values()) in (0, 1, MAX_KEYS)


TEXTS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x85"), max_size=12)
"""Ruamel writes U+0085 as it is, and reads a space or the end of a line there."""
PLAIN = st.one_of(st.none(), st.booleans(), st.integers(-(10**12), 10**12), TEXTS)
TREES = st.dictionaries(
    TEXTS, st.one_of(PLAIN, st.lists(PLAIN, max_size=4), st.dictionaries(TEXTS, PLAIN, max_size=3)), max_size=6
)


@given(TREES)
def test_what_ruamel_writes_is_read_as_it_was(tree: dict[str, object]) -> None:
    stream = io.StringIO()
    yaml = YAML()
    yaml.width = 10**6
    yaml.dump(tree, stream)
    assert read_document(stream.getvalue()).values() == tree
