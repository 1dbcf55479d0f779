"""The editor of a template shows one document in two ways: by fields, or as text. Both ways keep what was typed.

The document travels in the form. A switch between the two ways sends the form, the server puts the typed values into
the text, and the answer shows the other way; so the switch works without JavaScript.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from flask import request

from admin.harvests.templates.file_formats import MAX_FILE_BYTES, text_of_file
from admin.harvests.templates.form_edit import with_typed
from admin.harvests.templates.form_fields import TemplateField, differs, fields_of, known_fields, shown_value
from admin.harvests.templates.verification import TEXT, problems_of, typed_text
from admin.models.errors import InvalidInput, Problem, UseCaseError
from admin.web.forms.form import Form
from admin.web.forms.profile_fields import VALUE, EditedField, EditedSection, EditorView, key_of
from admin.web.forms.template_sections import SECTIONS, unit_of

_UNSET: Final = "unset."
_MOST_LISTED: Final = 100


class TemplateForm(Form):
    """The form has the document, and what is wrong with it at its lines or beside its fields."""

    def __init__(self, text: str, name: str = "", edition: int | str = "") -> None:
        """Take the document that the form begins with, or the one that was sent."""
        super().__init__({"name": name, "comments": "", "text": text, "edition": edition})
        self.document = typed_text(str(self.values["text"]), text)
        self.lines: list[Problem] = []
        """The problems of the document."""
        self.is_verified = False
        """The document was verified, and nothing was wrong with it."""
        self._is_typed = False
        """Return whether the fields show typed values that could not be put into the text."""
        is_typed = self.is_sent or self.is_kept
        shown = self.typed.get("view", EditorView.TEXT) if is_typed else request.args.get("view", "fields")
        self.view = EditorView.TEXT if shown == EditorView.TEXT else EditorView.FIELDS
        self._is_typed = self.is_kept and self.view is EditorView.FIELDS
        if not self.is_sent:
            self._check_readable()

    def accept(self) -> bool:
        """Put what was sent into the document. Return whether the document shall be saved."""
        try:
            self.document = self._sent_document()
        except InvalidInput as error:
            self._is_typed = self.view is EditorView.FIELDS
            self.take(error)
            return False
        action = request.form.get("action", "save")
        if action == "save":
            return True
        if action in (EditorView.FIELDS, EditorView.TEXT):
            self.view = EditorView(action)
        for problem in problems_of(self.document):
            self.add_problem(problem)
        self.is_verified = not self.lines
        self._check_readable()
        return False

    def refused(self, error: UseCaseError) -> None:
        """Show why the document was not saved."""
        self.take(error)
        self._check_readable()

    def add_problem(self, problem: Problem) -> None:
        """Keep a problem of the document with its line, and any other beside its field."""
        if problem.field in ("name", "comments", "edition"):
            super().add_problem(problem)
        else:
            self.lines.append(problem)

    @property
    def has_problems(self) -> bool:
        return super().has_problems or bool(self.lines)

    @property
    def listed(self) -> list[Problem]:
        """Return the problems that the page lists above the document: in the form by fields, those without a field."""
        found = self.lines
        if self.view is EditorView.FIELDS:
            found = [each for each in found if key_of(each.field) is None]
        return found[:_MOST_LISTED]

    @property
    def marks(self) -> list[dict[str, Any]]:
        """Return the problems as the editor's script takes them."""
        return marks_of(self.lines)

    def sections(self) -> Iterator[EditedSection]:
        """Yield the sections of the form with their fields; nothing when the document is no YAML."""
        try:
            fields = {each.key: each for each in fields_of(self.document)}
        except InvalidInput:
            fields = {each.key: each.model_copy(update={"value": each.default}) for each in known_fields()}
        by_key: dict[str, list[str]] = {}
        for problem in self.lines:
            if (key := key_of(problem.field)) is not None:
                by_key.setdefault(key, []).append(problem.message)
        for section in SECTIONS:
            edited = [self._edited(fields[key], by_key.get(key, [])) for key in section.keys]
            yield EditedSection(section, edited)

    def _edited(self, field: TemplateField, problems: list[str]) -> EditedField:
        name = VALUE + field.key
        shown = self.typed[name] if self._is_typed and name in self.typed else shown_value(field)
        default = shown_value(field.model_copy(update={"value": field.default}))
        is_left_out = self._is_typed and _UNSET + field.key in self.typed
        return EditedField(
            field=field,
            name=name,
            shown=shown,
            unit=unit_of(field.key),
            default=default,
            is_left_out=is_left_out,
            problems=problems,
            is_own=differs(field) or is_left_out or bool(problems) or shown != shown_value(field),
        )

    def _sent_document(self) -> str:
        """Return the document with what was typed, or the uploaded one. Raises InvalidInput."""
        file = request.files.get("file")
        if file is not None and file.filename:
            self.view = EditorView.TEXT
            data = file.stream.read(MAX_FILE_BYTES + 1)
            if len(data) > MAX_FILE_BYTES:
                message = f"the file has more than {MAX_FILE_BYTES:,} bytes, the most that a template may have"
                raise InvalidInput(Problem(TEXT, f"{message}; shorten it, or choose another file"))
            return text_of_file(file.filename, data)
        if self.view is EditorView.TEXT:
            return self.document
        typed = {key.removeprefix(VALUE): value for key, value in self.typed.items() if key.startswith(VALUE)}
        unset = {key.removeprefix(_UNSET) for key in self.typed if key.startswith(_UNSET)}
        return with_typed(self.document, typed, unset)

    def _check_readable(self) -> None:
        """Show the text when it is no YAML, as it has no fields then."""
        if self.view is not EditorView.FIELDS or self._is_typed:
            return
        try:
            fields_of(self.document)
        except InvalidInput as error:
            self.view = EditorView.TEXT
            if not self.lines:
                self.take(error)


def marks_of(problems: list[Problem]) -> list[dict[str, Any]]:
    """Return the problems with their lines, as the editor's script takes them."""
    return [{"line": each.line, "message": each.message} for each in problems[:_MOST_LISTED]]
