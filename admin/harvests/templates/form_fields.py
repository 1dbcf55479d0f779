"""A form shows the values of a template as typed fields, and puts changed values back into the text.

Form and raw text edit one document: comments, order and every line that need not change stay as their author wrote
them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from enum import StrEnum
from functools import cache
from typing import Any, Final

from pydantic import Field

from admin.harvests.input_checks import refuse
from admin.harvests.templates.required_keys import REQUIRED_KEYS
from admin.harvests.templates.verification import TEXT, read_text
from admin.harvests.templates.yaml_edit import EditRefused, changed_text
from admin.models.errors import InvalidInput, Problem
from admin.models.operation import OutputModel
from frontier.definition.job import Profile
from frontier.definition.sheets import present_visitor
from frontier.definition.yaml_document import YamlRefused

_LONGEST_INPUT: Final = 1_000_000
_EMPTY_LIST: Final = "[]"
"""People write an empty list in this way where an empty text is null."""
type FieldValue = str | int | float | bool | list[str] | dict[str, str] | None


class ValueKind(StrEnum):
    """The kinds of values that a field of a template may have."""

    TEXT = "text"
    WHOLE_NUMBER = "whole-number"
    NUMBER = "number"
    CHOICE = "choice"
    TEXTS = "texts"
    """A list of texts; a form has one on each line."""
    TABLE = "table"
    """Names with their values; a form has `Name: value` on each line."""


class TemplateField(OutputModel):
    """A field of the form is a key of the profile, with its kind and the value that it has in a text."""

    key: str
    """Dotted, such as limits.pages."""
    kind: ValueKind
    title: str
    """The name of the key in the words of curators."""
    description: str
    choices: list[str] = Field([])
    minimum: float | None = None
    above: float | None = None
    """The value must be greater than this number."""
    maximum: float | None = None
    may_be_null: bool = False
    default: Any = None
    required: str | None = None
    """To what jobs set the key; a template must have it. None for keys that a template may leave out."""
    is_set: bool = False
    value: Any = None
    """The value in the text, or the default when the text does not have the key."""
    line: int | None = None


def fields_of(text: str) -> list[TemplateField]:
    """Return every key of the profile with its value in the text. Raises InvalidInput for a text that is no YAML."""
    document = read_text(text)
    values = document.values()
    return [_filled(each, values, document.line_of(tuple(each.key.split(".")))) for each in known_fields()]


@cache
def known_fields() -> tuple[TemplateField, ...]:
    """Return every key that a profile may have, with its default."""
    return tuple(_walk(Profile.model_json_schema(), "", Profile().model_dump(mode="json")))


def differs(field: TemplateField) -> bool:
    """Return whether the text sets the key to another value than the default."""
    default = list(field.default) if isinstance(field.default, tuple) else field.default
    return field.is_set and field.value != default


def with_values(text: str, given: Mapping[str, FieldValue], unset: Sequence[str] = ()) -> str:
    """Return the text with these values of dotted keys, and without the keys in `unset`. Raises InvalidInput.

    Headers are set as a whole, or one by one, such as headers.Accept-Language.
    """
    refuse(_unknown([*given, *unset]))
    wanted = read_text(text).values()
    for key in unset:
        group, name = _place(wanted, key)
        group.pop(name, None)
    for key, value in given.items():
        group, name = _place(wanted, key)
        group[name] = value
    try:
        return changed_text(text, wanted)
    except (EditRefused, YamlRefused) as error:
        raise InvalidInput(Problem(TEXT, str(error))) from error


def typed_values(form: Mapping[str, str]) -> dict[str, FieldValue]:
    """Return the values that people typed into fields, by dotted keys. Raises InvalidInput with all problems.

    An empty text is null where null is allowed, and otherwise an empty list or table. A list that may be null is empty
    when its text is `[]`.
    """
    refuse(_unknown(form))
    fields = {each.key: each for each in known_fields()}
    values: dict[str, FieldValue] = {}
    problems = []
    for key, typed in form.items():
        try:
            values[key] = _typed(fields[key], typed) if key in fields else typed
        except ValueError as error:
            problems.append(Problem(key, f"{fields[key].title}: {error}"))
    refuse(problems)
    return values


def shown_value(field: TemplateField) -> str:
    """Return the field's value as people edit it in a form; the opposite of `typed_values`."""
    value = field.value
    if value is None:
        return ""
    if isinstance(value, list):
        return "\n".join(map(str, value)) or (_EMPTY_LIST if field.may_be_null else "")
    if isinstance(value, Mapping):
        return "\n".join(f"{name}: {each}" for name, each in value.items())
    return str(value)


def _typed(field: TemplateField, typed: str) -> FieldValue:
    if len(typed) > _LONGEST_INPUT:
        raise ValueError(f"{field.key} has {len(typed):,} characters; use at most {_LONGEST_INPUT:,}")
    bare = typed.strip()
    if field.kind is ValueKind.TEXTS:
        if field.may_be_null and bare in ("", _EMPTY_LIST):
            return [] if bare else None
        return [line.strip() for line in typed.splitlines() if line.strip()]
    if field.kind is ValueKind.TABLE:
        return _table(field, typed)
    if not bare and field.may_be_null:
        return None
    if field.kind is ValueKind.WHOLE_NUMBER:
        return _whole_number(field, bare)
    if field.kind is ValueKind.NUMBER:
        return _number(field, bare)
    if field.key == "visitor":
        bare = present_visitor(bare)
    if field.kind is ValueKind.CHOICE and bare not in field.choices:
        raise ValueError(f"{field.key} = {bare[:100]!r} is none of the choices; use {', '.join(field.choices)}")
    return bare


def _table(field: TemplateField, typed: str) -> dict[str, str]:
    table: dict[str, str] = {}
    for number, line in enumerate(typed.splitlines(), 1):
        name, colon, value = line.partition(":")
        if not line.strip():
            continue
        if not colon or not name.strip():
            raise ValueError(f"line {number} of {field.key} has no name and colon; write Name: value")
        if name.strip() in table:
            raise ValueError(f"line {number} of {field.key} has the name {name.strip()[:100]!r} again; remove one")
        table[name.strip()] = value.strip()
    return table


def _whole_number(field: TemplateField, bare: str) -> int:
    digits = bare.replace("_", "").replace(" ", "").removeprefix("+")
    if not (digits.removeprefix("-").isdecimal() and digits.isascii() and len(digits) <= 18):
        raise ValueError(f"{field.key} = {bare[:100]!r} is no whole number; write digits such as 20")
    return int(_bounded(field, int(digits)))


def _number(field: TemplateField, bare: str) -> float | int:
    try:
        value = float(bare)
    except ValueError:
        value = float("nan")
    if value != value or value in (float("inf"), float("-inf")) or "_" in bare:
        raise ValueError(f"{field.key} = {bare[:100]!r} is no number; write one such as 0.5")
    _bounded(field, value)
    return int(value) if value.is_integer() and "." not in bare and abs(value) < 10**15 else value


def _bounded(field: TemplateField, value: float) -> float:
    if field.minimum is not None and value < field.minimum:
        raise ValueError(f"{field.key} = {value:g} is too small; use {field.minimum:g} or more")
    if field.above is not None and value <= field.above:
        raise ValueError(f"{field.key} = {value:g} is too small; use more than {field.above:g}")
    if field.maximum is not None and value > field.maximum:
        raise ValueError(f"{field.key} = {value:g} is too large; use {field.maximum:g} or less")
    return value


def _unknown(keys: Sequence[str] | Mapping[str, Any]) -> Iterator[Problem]:
    known = {each.key for each in known_fields()}
    for key in keys:
        if key not in known and not (key.startswith("headers.") and key != "headers."):
            yield Problem(key[:200], f"{key[:200]!r} is no key of a template; `template-keys` lists them")


def _place(values: dict[str, Any], key: str) -> tuple[dict[str, Any], str]:
    """Return the table in which the key stands, which is made when it is absent, and the key's last part."""
    group, dot, name = key.partition(".")
    if not dot:
        return values, key
    if not isinstance(values.get(group), dict):
        values[group] = {}
    table: dict[str, Any] = values[group]
    return table, name


def _walk(schema: Mapping[str, Any], prefix: str, defaults: Mapping[str, Any]) -> Iterator[TemplateField]:
    definitions = schema.get("$defs", {})
    for name, given in schema["properties"].items():
        described = _resolved(given, definitions)
        if described.get("properties"):
            inner = {**described, "$defs": definitions}
            yield from _walk(inner, f"{prefix}{name}.", defaults[name])
        else:
            yield _field(f"{prefix}{name}", given, described, definitions, defaults[name])


def _field(
    key: str, given: Mapping[str, Any], described: Mapping[str, Any], definitions: Mapping[str, Any], default: Any
) -> TemplateField:
    kinds = [_resolved(each, definitions) for each in described.get("anyOf", [described])]
    value = next(each for each in kinds if each.get("type") != "null")
    return TemplateField(
        key=key,
        kind=_KINDS["enum" if "enum" in value else value["type"]],
        title=given.get("title", key),
        description=given.get("description", ""),
        choices=list(value.get("enum", [])),
        minimum=value.get("minimum"),
        above=value.get("exclusiveMinimum"),
        maximum=value.get("maximum"),
        may_be_null=len(kinds) > 1,
        default=default,
        required=_REQUIRED.get(key),
    )


def _resolved(schema: Mapping[str, Any], definitions: Mapping[str, Any]) -> Mapping[str, Any]:
    return definitions[schema["$ref"].rpartition("/")[2]] if "$ref" in schema else schema


def _filled(field: TemplateField, values: Mapping[str, Any], line: int | None) -> TemplateField:
    node: Any = values
    for part in field.key.split("."):
        if not isinstance(node, Mapping) or part not in node:
            return field.model_copy(update={"value": field.default})
        node = node[part]
    if field.key == "visitor":
        node = present_visitor(node)
    return field.model_copy(update={"value": node, "is_set": True, "line": line})


_REQUIRED: Final = {each.key: each.reason for each in REQUIRED_KEYS}
_KINDS: Final = {
    "enum": ValueKind.CHOICE,
    "string": ValueKind.TEXT,
    "integer": ValueKind.WHOLE_NUMBER,
    "number": ValueKind.NUMBER,
    "array": ValueKind.TEXTS,
    "object": ValueKind.TABLE,
}
"""The kind of a field by its type in the JSON schema."""
