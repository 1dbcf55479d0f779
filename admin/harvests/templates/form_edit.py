"""This module puts values that people typed into a form into the text; an untouched field changes nothing."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Final

from admin.harvests.templates.form_fields import TemplateField, fields_of, shown_value, typed_values, with_values

NONE: Final = "none"
"""People write null in this way for an attribute of a configuration, where an empty text follows the template."""
_LINE_ENDS: Final = str.maketrans({"\r": "\n"})


def with_typed(text: str, typed: Mapping[str, str], unset: Collection[str] = ()) -> str:
    """Return the text with the values that people typed, by dotted keys, and without the keys in `unset`.

    Raises InvalidInput with every field that can't be used, and for a text that is no YAML.
    """
    fields = {each.key: each for each in fields_of(text)}
    changed = {
        key: value
        for key, value in typed.items()
        if key not in unset and not (key in fields and _is_shown(fields[key], value))
    }
    given = typed_values(changed)
    return with_values(text, given, sorted(key for key in unset if key not in fields or fields[key].is_set))


def attribute_value(field: TemplateField) -> str:
    """Return an attribute of a configuration as people edit it: empty for one that follows the template."""
    return NONE if field.is_set and field.value is None else shown_value(field) if field.is_set else ""


def with_attributes(text: str, typed: Mapping[str, str]) -> str:
    """Return the text of a configuration's attributes with what people typed, by dotted keys.

    An empty text takes an attribute away, so that the template's value counts. `none` is null where null is allowed.
    Raises InvalidInput with every field that can't be used, and for a text that is no YAML.
    """
    fields = {each.key: each for each in fields_of(text)}
    changed: dict[str, str] = {}
    unset: list[str] = []
    for key, value in typed.items():
        field = fields.get(key)
        if field is not None and _plain(attribute_value(field)) == _plain(value):
            continue
        if field is not None and not value.strip():
            unset.append(key)
        else:
            changed[key] = "" if field is not None and field.may_be_null and value.strip() == NONE else value
    return with_values(text, typed_values(changed), sorted(unset))


def _is_shown(field: TemplateField, typed: str) -> bool:
    """Return whether a browser would send this for a field that nobody touched."""
    return _plain(shown_value(field)) == _plain(typed)


def _plain(text: str) -> str:
    return text.replace("\r\n", "\n").translate(_LINE_ENDS).rstrip("\n")
