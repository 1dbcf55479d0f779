"""A form keeps what a person typed, and shows beside each field what was wrong with it.

A view makes a `Form`, shows it on GET, and on POST lets `Form.run` call a use case:

    form = Form({"name": domain.name, "comments": domain.comments, "edition": domain.edition})
    if form.is_sent and form.run(save, DomainChange, present=read_again) is not None:
        return done(…)
    return page("domains/edit.html", form=form)

With `present`, the page of an edit conflict shows both versions: what is saved now, and what the person typed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from flask import request
from pydantic import BaseModel, ValidationError

from admin.models.errors import EditConflict, Forbidden, InvalidInput, Problem, UseCaseError
from admin.web.kept_forms import kept_fields

_SENT_FIELD: Final = "csrf_token"
_EDITION: Final = "edition"


@dataclass(frozen=True, slots=True)
class Difference:
    """A field of a form differs from what somebody else has saved meanwhile."""

    label: str
    typed: str
    saved: str


class Form:
    """A form holds the values of the thing that it edits, or those that a person has just sent."""

    def __init__(
        self,
        values: Mapping[str, Any] | None = None,
        *,
        lists: Iterable[str] = (),
        switches: Iterable[str] = (),
        places: Mapping[str, str] | None = None,
    ) -> None:
        """Take the values, or what was sent. `lists` are fields that may be sent several times; `switches` are check
        boxes, which are absent when they are off. `places` says beside which field of the form a problem stands whose
        field has another name.
        """
        self._lists, self._switches, self._places = frozenset(lists), frozenset(switches), dict(places or {})
        self.values: dict[str, Any] = dict(values or {})
        self.problems: dict[str, list[str]] = {}
        self.whole: list[str] = []
        """The fault of the form as a whole."""
        self.is_conflict = False
        """Somebody else has changed the thing meanwhile."""
        self.differences: list[Difference] = []
        """How the present values differ from those of the form, after an edit conflict."""
        self.is_sent = request.method == "POST"
        declared = frozenset(self.values) | self._lists | self._switches
        kept = None if self.is_sent else kept_fields(declared - {_EDITION})
        self.is_kept = kept is not None
        """Return whether the form shows the values that the person typed before the session ended."""
        self.typed = request.form if kept is None else kept
        if self.is_sent or self.is_kept:
            self.values.update(self.sent())

    def sent(self) -> dict[str, Any]:
        """Return what the person sent, by field."""
        found: dict[str, Any] = {}
        for name in self.typed:
            if name != _SENT_FIELD:
                found[name] = self.typed.getlist(name) if name in self._lists else self.typed[name]
        for name in self._lists - found.keys():
            found[name] = []
        for name in self._switches:
            found[name] = name in self.typed
        return found

    def run[M: BaseModel, R](
        self,
        use_case: Callable[[M], R],
        model: type[M],
        convert: Callable[[dict[str, Any]], dict[str, Any]] = lambda values: values,
        present: Callable[[], Mapping[str, Any]] | None = None,
    ) -> R | None:
        """Check what was sent by `model`, and call the use case. Return its result; None when something was wrong.

        `convert` turns texts of the form into what the model takes. It may raise InvalidInput. `present` reads the
        values anew, edition included, when somebody else has changed them.
        """
        try:
            return use_case(model.model_validate(convert(self.sent())))
        except ValidationError as error:
            for each in error.errors(include_url=False, include_context=False):
                self.add(".".join(map(str, each["loc"])), each["msg"])
        except Forbidden:
            raise  # the answer is 403: no other value of a field helps
        except UseCaseError as error:
            self.take(error)
            if self.is_conflict and present is not None:
                self.compare(present())
        return None

    def is_saved_by[M: BaseModel](
        self,
        use_case: Callable[[M], object],
        model: type[M],
        convert: Callable[[dict[str, Any]], dict[str, Any]] = lambda values: values,
        present: Callable[[], Mapping[str, Any]] | None = None,
    ) -> bool:
        """Return whether the form was sent and the use case took it; the arguments are those of `run`."""
        return self.is_sent and self.run(use_case, model, convert, present) is not None

    def compare(self, present: Mapping[str, Any]) -> None:
        """Show the values that somebody else has saved beside those of the form, which stay as they were typed.

        The form then has the present edition: who sends it again has seen both versions.
        """
        for name, saved in present.items():
            typed = self.values.get(name)
            if name != _EDITION and _shown(typed) != _shown(saved):
                label = name.replace("_", " ").capitalize()
                self.differences.append(Difference(label, _shown(typed), _shown(saved)))
        self.values[_EDITION] = present[_EDITION]

    def take(self, error: UseCaseError) -> None:
        """Show why a use case refused: each problem beside its field, anything else above the form.

        What a person may not do at all gets the page of its own (403), so Forbidden is raised again.
        """
        if isinstance(error, Forbidden):
            raise error
        if isinstance(error, InvalidInput):
            for problem in error.problems:
                self.add_problem(problem)
            return
        self.is_conflict = isinstance(error, EditConflict)
        self.whole.append(str(error))

    def add_problem(self, problem: Problem) -> None:
        """Show a problem beside its field."""
        where = f"line {problem.line}: " if problem.line is not None else ""
        self.add(problem.field, where + problem.message)

    def add(self, field: str, message: str) -> None:
        """Show a message beside a field, or above the form when no field of the form has that name."""
        field = self._places.get(field, field)
        name = field if field in self.values or field in self._switches else field.partition(".")[0]
        if (name in self.values and name != _EDITION) or name in self._switches or name in self._lists:
            self.problems.setdefault(name, []).append(message)
        else:
            self.whole.append(f"{field}: {message}" if field else message)

    def value(self, name: str, default: Any = "") -> Any:
        """Return the field's value, as it is shown."""
        found = self.values.get(name, default)
        return default if found is None else found

    @property
    def has_problems(self) -> bool:
        return bool(self.problems or self.whole)


def _shown(value: Any) -> str:
    """Return a value as a person compares it; browsers send line ends as CR LF."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list | tuple):
        return ", ".join(sorted(map(str, value)))
    return str(value).replace("\r\n", "\n").strip()
