"""admin/harvests/templates/form_fields.py: typed fields of a text, and values that go back into it."""

from __future__ import annotations

import difflib

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.each_value import each_value

from admin.harvests.templates.form_edit import with_typed
from admin.harvests.templates.form_fields import (
    FieldValue,
    TemplateField,
    ValueKind,
    fields_of,
    known_fields,
    shown_value,
    typed_values,
    with_values,
)
from admin.harvests.templates.required_keys import REQUIRED_KEYS
from admin.harvests.templates.stock import DEFAULT_TEMPLATE, STOCK_TEMPLATES, stock_text
from admin.harvests.templates.verification import problems_of
from admin.models.errors import InvalidInput
from frontier.definition.job import DeviceOverrides, Limits, PolitenessOverrides, Profile, RevisitRules, SeenRules
from frontier.definition.yaml_document import read_document

GOOD = stock_text(DEFAULT_TEMPLATE)


def field(key: str, text: str = GOOD) -> TemplateField:
    return next(each for each in fields_of(text) if each.key == key)


def test_every_key_of_the_profile_is_a_field_with_words() -> None:
    groups = {
        "limits": Limits,
        "seen": SeenRules,
        "politeness": PolitenessOverrides,
        "device": DeviceOverrides,
        "revisit": RevisitRules,
    }
    expected = [name for name in Profile.model_fields if name not in groups]
    expected += [f"{group}.{name}" for group, model in groups.items() for name in model.model_fields]
    assert sorted(each.key for each in known_fields()) == sorted(expected)
    assert all(each.description for each in known_fields())
    assert {each.key for each in known_fields() if each.required} == {each.key for each in REQUIRED_KEYS}


@each_value(
    ("key", "kind", "may_be_null", "bounds", "choices"),
    [
        ("visitor", ValueKind.CHOICE, False, (None, None, None), ["plain", "browser", "mixed"]),
        ("robots", ValueKind.CHOICE, True, (None, None, None), ["obey", "ignore"]),
        ("rendered_fraction", ValueKind.NUMBER, False, (0, None, 1), []),
        ("hops", ValueKind.WHOLE_NUMBER, True, (0, None, None), []),
        ("max_links", ValueKind.WHOLE_NUMBER, False, (1, None, None), []),
        ("limits.seconds", ValueKind.NUMBER, True, (None, 0, None), []),
        ("politeness.per_host", ValueKind.WHOLE_NUMBER, True, (1, None, 64), []),
        ("exclude", ValueKind.TEXTS, False, (None, None, None), []),
        ("headers", ValueKind.TABLE, False, (None, None, None), []),
        ("user_agent", ValueKind.TEXT, False, (None, None, None), []),
    ],
)
def test_a_field_has_the_kind_and_the_bounds_of_the_profile(
    key: str, kind: ValueKind, may_be_null: bool, bounds: tuple[float | None, ...], choices: list[str]
) -> None:
    found = field(key)
    assert (found.kind, found.may_be_null, found.choices) == (kind, may_be_null, choices)
    assert (found.minimum, found.above, found.maximum) == bounds


def test_a_field_has_the_value_of_the_text_and_its_line_or_the_default() -> None:
    text = "scope: domain\n\nlimits:\n  pages: 7\nexclude: [a]\n"
    found = {each.key: (each.is_set, each.value, each.line) for each in fields_of(text)}
    assert found["scope"] == (True, "domain", 1)
    assert found["limits.pages"] == (True, 7, 4)
    assert found["exclude"] == (True, ["a"], 5)
    assert found["limits.bytes"] == (False, None, None)
    assert found["max_links"] == (False, 6000, None)


def test_wrong_values_are_shown_as_they_are_so_that_a_form_keeps_them() -> None:
    assert field("limits.pages", "limits:\n  pages: many\n").value == "many"
    assert field("limits.pages", "limits: 3\n").value is None


def test_a_text_that_is_no_yaml_has_no_fields_but_a_problem() -> None:
    with pytest.raises(InvalidInput, match="line 3"):
        fields_of("a: 1\nb: 'x\n")


@pytest.mark.parametrize("name", STOCK_TEMPLATES)
def test_a_form_that_is_sent_back_unchanged_changes_nothing(name: str) -> None:
    text = stock_text(name)
    form = {each.key: shown_value(each) for each in fields_of(text)}
    again = with_values(text, typed_values(form))
    lines = [line for line in difflib.ndiff(text.splitlines(), again.splitlines()) if line[0] in "-+"]
    assert lines == []


def test_changed_fields_change_their_lines_alone() -> None:
    typed = typed_values({"hops": "3", "limits.bytes": "1_000_000", "headers": "From: crawl@nb.no", "robots": "obey"})
    text = with_values(GOOD, typed)
    changed = [line for line in difflib.ndiff(GOOD.splitlines(), text.splitlines()) if line[0] in "-+"]
    assert changed == [
        "- hops: 20",
        "+ hops: 3",
        "-   bytes: null",
        "+   bytes: 1000000",
        "- robots: null",
        "+ robots: obey",
        "- headers: {}",
        "+ headers:",
        "+   From: 'crawl@nb.no'",
    ]
    assert problems_of(text) == ()


def test_keys_can_be_taken_out_and_put_in() -> None:
    text = with_values(
        "limits:\n  pages: 1\nhops: 2\n", {"politeness.per_host": 2, "headers.X-A": "b"}, ["limits.pages"]
    )
    assert text == "limits: {}\nhops: 2\npoliteness:\n  per_host: 2\nheaders:\n  X-A: b\n"


@each_value(
    ("form", "said"),
    [
        ({"hops": "two"}, "hops = 'two' is no whole number; write digits such as 20"),
        ({"hops": "1.5"}, "hops = '1.5' is no whole number"),
        ({"hops": "-1"}, "hops = -1 is too small; use 0 or more"),
        ({"hops": "9" * 5000}, "is no whole number"),
        ({"hops": "٣"}, "is no whole number"),
        ({"max_links": ""}, "max_links = '' is no whole number"),
        ({"rendered_fraction": "2"}, "rendered_fraction = 2 is too large; use 1 or less"),
        ({"rendered_fraction": "nan"}, "is no number; write one such as 0.5"),
        ({"rendered_fraction": "1e999"}, "is no number"),
        ({"limits.seconds": "0"}, "limits.seconds = 0 is too small; use more than 0"),
        ({"visitor": "robot"}, "visitor = 'robot' is none of the choices; use plain, browser, mixed"),
        ({"visitor": ""}, "is none of the choices"),
        ({"headers": "no colon"}, "line 1 of headers has no name and colon; write Name: value"),
        ({"headers": "A: 1\nA: 2"}, "line 2 of headers has the name 'A' again"),
        ({"user_agent": "x" * 1_000_001}, "use at most 1,000,000"),
        ({"hop": "2"}, "'hop' is no key of a template"),
        ({"headers.": "2"}, "'headers.' is no key of a template"),
        ({"limits": "2"}, "'limits' is no key of a template"),
    ],
)
def test_a_wrong_value_is_refused_before_it_reaches_the_text(form: dict[str, str], said: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        typed_values(form)
    assert caught.value.problems[0].field == next(iter(form))
    assert said in caught.value.problems[0].message


def test_all_wrong_values_of_a_form_are_named_at_once() -> None:
    with pytest.raises(InvalidInput) as caught:
        typed_values({"hops": "x", "max_links": "0", "scope": "domain"})
    assert [each.field for each in caught.value.problems] == ["hops", "max_links"]


def test_an_unknown_key_is_refused_by_the_text_too() -> None:
    with pytest.raises(InvalidInput, match=r"'limits.page' is no key of a template"):
        with_values(GOOD, {"limits.page": 1})


VALUES: dict[str, st.SearchStrategy[FieldValue]] = {
    "hops": st.one_of(st.none(), st.integers(0, 100)),
    "scope": st.sampled_from(["page", "host", "any"]),
    "rendered_fraction": st.floats(0, 1),
    "exclude": st.lists(st.sampled_from(["a", "/b/", r"\d+: #", "it's", '"']), max_size=4),
    "headers": st.dictionaries(
        st.sampled_from(["X-A", "X-B", "Accept"]), st.sampled_from(["a", "b: c", ""]), max_size=3
    ),
    "limits.pages": st.one_of(st.none(), st.integers(1, 9)),
    "limits.seconds": st.one_of(st.none(), st.floats(0.5, 9)),
    "politeness.per_host": st.one_of(st.none(), st.integers(1, 64)),
}


@settings(max_examples=10, deadline=None)
@given(st.fixed_dictionaries({}, optional=VALUES))
def test_values_that_were_set_are_read_back_and_stay_templates(values: dict[str, FieldValue]) -> None:
    text = with_values(GOOD, values)
    found = {each.key: each.value for each in fields_of(text)}
    assert {key: found[key] for key in values} == values
    assert problems_of(text) == ()
    assert read_document(text).line_of(("max_links",)) is not None


def test_a_list_that_may_be_null_tells_null_from_empty() -> None:
    text = with_values(stock_text(DEFAULT_TEMPLATE), typed_values({"behaviors": "[]"}))
    empty = {each.key: each for each in fields_of(text)}["behaviors"]

    assert empty.value == []
    assert shown_value(empty) == "[]"
    assert typed_values({"behaviors": ""}) == {"behaviors": None}
    assert typed_values({"behaviors": "click\nscroll"}) == {"behaviors": ["click", "scroll"]}


def test_a_visitor_of_an_earlier_release_is_shown_by_its_present_name_and_stays_untouched() -> None:
    text = "visitor: chromium\n"
    (field,) = (each for each in fields_of(text) if each.key == "visitor")

    assert field.value == "browser"
    assert with_typed(text, {"visitor": "browser"}) == text
    assert with_typed(text, {"visitor": "mixed"}) == "visitor: mixed\n"
