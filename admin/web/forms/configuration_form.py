"""The form of a domain's configuration shows its attributes as fields, or as text; both keep what was typed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from flask import request

from admin.harvests.templates.form_edit import attribute_value, with_attributes
from admin.harvests.templates.form_fields import TemplateField, fields_of, known_fields, shown_value
from admin.harvests.templates.verification import typed_text
from admin.models.errors import InvalidInput, Problem
from admin.web.forms.form import Form
from admin.web.forms.limit_inputs import given_limits
from admin.web.forms.profile_fields import VALUE, EditedField, EditedSection, EditorView, key_of
from admin.web.forms.template_sections import SECTIONS, unit_of
from admin.web.page import site
from frontier.definition.yaml_document import YamlRefused, read_document

_FIELD: Final = "attributes"
_OWN: Final = frozenset(("view", "action"))
_LIMITS: Final = ("max_bytes", "max_objects")
_LISTS: Final = ("seed_lists", "passwords")


class ConfigurationForm(Form):
    """The form has the text of the attributes, and a field for each key of the crawl profile."""

    def __init__(self, values: Mapping[str, Any]) -> None:
        """Take the values that the form begins with, or those that were sent."""
        super().__init__(values, lists=_LISTS)
        is_typed = self.is_sent or self.is_kept
        shown = self.typed.get("view", EditorView.TEXT) if is_typed else request.args.get("view", "fields")
        self.view = EditorView.TEXT if shown == EditorView.TEXT else EditorView.FIELDS
        self._is_typed = is_typed and self.view is EditorView.FIELDS
        """Return whether the fields show the values that the person typed."""
        self.template: Mapping[str, TemplateField] = {}
        """The fields with the values of the template, by key."""

    def accept(self) -> bool:
        """Put what was typed into the text of the attributes. Return whether the configuration shall be saved."""
        text = typed_text(str(self.value(_FIELD)), "")
        if self.view is EditorView.FIELDS:
            typed = {key.removeprefix(VALUE): value for key, value in request.form.items() if key.startswith(VALUE)}
            try:
                text = with_attributes(text, typed)
            except InvalidInput as error:
                self.take(InvalidInput(*(_of_attributes(each) for each in error.problems)))
                return False
        self.values[_FIELD] = text
        action = request.form.get("action", "save")
        if action not in (EditorView.FIELDS, EditorView.TEXT):
            return True
        try:
            fields_of(text)
        except InvalidInput as error:  # a text that is no YAML has no fields
            self.take(InvalidInput(*(_of_attributes(each) for each in error.problems)))
        else:
            self.view, self._is_typed = EditorView(action), False
        return False

    def given(self, sent: Mapping[str, Any]) -> dict[str, Any]:
        """Return what the use case takes, of the texts of the form. Raises InvalidInput with all problems."""
        values = {key: value for key, value in sent.items() if key not in _OWN and not key.startswith(VALUE)}
        limits, problems = given_limits({key: str(sent.get(key, "")) for key in _LIMITS})
        values |= limits
        try:
            values[_FIELD] = _read(str(self.value(_FIELD)))
        except YamlRefused as error:
            problems += [Problem(_FIELD, each.message, each.line) for each in error.problems]
        if not str(sent.get("max_rate", "")).strip():
            values["max_rate"] = site().settings.harvests.default_max_rate
        if problems:
            raise InvalidInput(*problems)
        return values

    def add(self, field: str, message: str) -> None:
        """Show a problem of an attribute beside its field."""
        key = key_of(field.removeprefix(f"{_FIELD}.")) if field.startswith(f"{_FIELD}.") else None
        if key is None or self.view is EditorView.TEXT:
            super().add(field, message)
        else:
            self.problems.setdefault(VALUE + key, []).append(message)

    def follow(self, template: str) -> None:
        """Show what the text of a template sets, where a field of the form is empty."""
        self.template = {each.key: each for each in fields_of(template)}

    def sections(self) -> Iterator[EditedSection]:
        """Yield the sections of the form with their fields; a text that is no YAML has no values."""
        try:
            fields = {each.key: each for each in fields_of(str(self.value(_FIELD)))}
        except InvalidInput:
            fields = {each.key: each for each in known_fields()}
        for section in SECTIONS:
            yield EditedSection(section, [self._edited(fields[key]) for key in section.keys])

    def _edited(self, field: TemplateField) -> EditedField:
        name = VALUE + field.key
        shown = self.typed.get(name, "") if self._is_typed else attribute_value(field)
        problems = self.problems.get(name, [])
        of_template = self.template.get(field.key)
        return EditedField(
            field=field,
            name=name,
            shown=shown,
            unit=unit_of(field.key),
            default=shown_value(of_template) if of_template is not None else "",
            is_left_out=False,
            problems=problems,
            is_own=bool(shown.strip() or problems),
        )


def _read(text: str) -> dict[str, Any]:
    return read_document(text).values() if text.strip() else {}


def _of_attributes(problem: Problem) -> Problem:
    """Return a problem of the fields as one of the attributes; problems of the text as a whole are theirs, too."""
    field = f"{_FIELD}.{problem.field}" if key_of(problem.field) else _FIELD
    return Problem(field, problem.message, problem.line)
