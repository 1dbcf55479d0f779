"""A form keeps what a person typed, and shows beside each field what was wrong with it.

A view makes a `Form`, shows it on GET, and on POST lets `Form.run` call a use case:

    form = Form({"name": domain.name, "comments": domain.comments}, edition=domain.edition)
    if form.is_sent and (result := form.run(lambda given: change_domain(transaction, given), DomainChange)):
        return done(…)
    return page("domains/edit.html", form=form)
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

from flask import request
from pydantic import BaseModel, ValidationError

from admin.models.errors import EditConflict, InvalidInput, Problem, UseCaseError

_SENT_FIELD: Final = "csrf_token"


class Form:
    """A form holds the values of the thing that it edits, or those that a person has just sent."""

    def __init__(
        self,
        values: Mapping[str, Any] | None = None,
        *,
        lists: Iterable[str] = (),
        switches: Iterable[str] = (),
    ) -> None:
        """Take the values, or what was sent. `lists` are fields that may be sent several times; `switches` are check
        boxes, which are absent when they are off.
        """
        self._lists, self._switches = frozenset(lists), frozenset(switches)
        self.values: dict[str, Any] = dict(values or {})
        self.problems: dict[str, list[str]] = {}
        self.whole: list[str] = []
        """What is wrong with the form as a whole."""
        self.is_conflict = False
        """Whether somebody else has changed the thing meanwhile."""
        self.is_sent = request.method == "POST"
        if self.is_sent:
            self.values.update(self.sent())

    def sent(self) -> dict[str, Any]:
        """Return what the person sent, by field."""
        found: dict[str, Any] = {}
        for name in request.form:
            if name != _SENT_FIELD:
                found[name] = request.form.getlist(name) if name in self._lists else request.form[name]
        for name in self._lists - found.keys():
            found[name] = []
        for name in self._switches:
            found[name] = name in request.form
        return found

    def run[M: BaseModel, R](
        self,
        use_case: Callable[[M], R],
        model: type[M],
        convert: Callable[[dict[str, Any]], dict[str, Any]] = lambda values: values,
    ) -> R | None:
        """Check what was sent by `model`, and call the use case. Return its result; None when something was wrong.

        `convert` turns texts of the form into what the model takes. It may raise InvalidInput.
        """
        try:
            return use_case(model.model_validate(convert(self.sent())))
        except ValidationError as error:
            for each in error.errors(include_url=False, include_context=False):
                self.add(".".join(map(str, each["loc"])), each["msg"])
        except UseCaseError as error:
            self.take(error)
        return None

    def take(self, error: UseCaseError) -> None:
        """Show why a use case refused: each problem beside its field, anything else above the form."""
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
        name = field if field in self.values or field in self._switches else field.partition(".")[0]
        if name in self.values or name in self._switches or name in self._lists:
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
