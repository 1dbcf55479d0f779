"""Keys of the crawl profile are fields of forms: those of templates, and those of a configuration's attributes."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from admin.harvests.templates.form_fields import TemplateField, ValueKind, known_fields
from admin.web.forms.template_sections import FieldSection

VALUE: Final = "key."
"""A form's field for the value of a key has this before the key."""
_PLAIN_NUMBER: Final = re.compile(r"-?[0-9]+(?:\.[0-9]+)?", re.ASCII)


class EditorView(StrEnum):
    """The editor shows a document in one of these ways."""

    FIELDS = "fields"
    TEXT = "text"


@dataclass(frozen=True, slots=True)
class EditedField:
    """A field of the form has a key of the profile, and what the page needs to show it."""

    field: TemplateField
    name: str
    """The name in the form."""
    shown: str
    unit: str
    default: str
    is_left_out: bool
    """The person has asked to take the key out of the text."""
    problems: list[str]
    is_own: bool
    """The field has another value than the default, or is to be looked at."""

    @property
    def input_type(self) -> str:
        """Return the kind of the input. A text that is no number needs an input for texts, which keeps it."""
        is_number = self.field.kind in (ValueKind.NUMBER, ValueKind.WHOLE_NUMBER)
        return "number" if is_number and (not self.shown or _PLAIN_NUMBER.fullmatch(self.shown)) else "text"


@dataclass(frozen=True, slots=True)
class EditedSection:
    """A section of the form has its fields. The section is open when one of them was changed or is wrong."""

    section: FieldSection
    fields: list[EditedField]

    @property
    def is_open(self) -> bool:
        return self.section.is_first or any(each.is_own for each in self.fields)


def key_of(field: str) -> str | None:
    """Return the key of the field beside which a problem stands, such as exclude for exclude.3; None for none."""
    while field:
        if field in _KEYS:
            return field
        field = field.rpartition(".")[0]
    return None


_KEYS: Final = frozenset(each.key for each in known_fields())
