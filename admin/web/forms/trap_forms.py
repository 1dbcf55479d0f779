"""Forms of crawler traps have the expressions one on each line, and sample URLs to test them with before they are kept.

Traps of a domain or a harvest stand in two fields, one for active and one for inactive expressions. Pure but for the
test, which is a use case.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from pydantic import BaseModel, ValidationError

from admin.harvests.domains.crawler_traps import TrapInput, TrapTest, TrapView, try_traps
from admin.harvests.domains.seeds import split_lines
from admin.harvests.domains.trap_expressions import TrapResult, trap_lines
from admin.models.errors import InvalidInput, Problem, UseCaseError
from admin.web.forms.form import Form
from admin.web.page import reading

ACTIVE: Final = "active"
INACTIVE: Final = "inactive"
SAMPLES: Final = "samples"


@dataclass(frozen=True, slots=True)
class TrapTestReport:
    """The report says what came of the test of each expression with each sample URL."""

    samples: Sequence[str]
    results: Sequence[TrapResult]

    @property
    def excluded(self) -> Sequence[bool]:
        """Return for each sample whether any expression excludes it."""
        matches = [each.matches for each in self.results if each.matches]
        return [any(row[place] for row in matches) for place in range(len(self.samples))]


def edit[M: BaseModel](
    read: Callable[[], tuple[Sequence[TrapView], int]], model: type[M], save: Callable[[M], object]
) -> tuple[Form, TrapTestReport | None, bool]:
    """Show the traps of a domain or a harvest in a form; test what was sent, or keep it.

    `read` returns the present traps and their edition, and `save` takes a `model` with the fields `traps` and
    `edition`. Return the form, the report of a test, and whether the traps were saved.
    """

    def present() -> dict[str, Any]:
        traps, edition = read()
        return {**values_of(traps), "edition": edition}

    form = Form({**present(), SAMPLES: ""})
    if not form.is_sent:
        return form, None, False
    if form.value("action") == "test":
        return form, tested(form, trap_lines(str(form.value(ACTIVE))), ACTIVE), False

    def keep(given: M) -> bool:
        placed(form.values, lambda: save(given))
        return True

    def convert(sent: dict[str, Any]) -> dict[str, Any]:
        return {"traps": traps_of(sent), "edition": sent.get("edition")}

    return form, None, form.run(keep, model, convert, present) is True


def values_of(traps: Sequence[TrapView]) -> dict[str, Any]:
    """Return the values of the two fields."""
    return {
        ACTIVE: "\n".join(each.expression for each in traps if each.is_active),
        INACTIVE: "\n".join(each.expression for each in traps if not each.is_active),
    }


def traps_of(sent: Mapping[str, Any]) -> list[TrapInput]:
    """Return the traps of the two fields, the active ones first."""
    return [
        TrapInput(expression=expression, is_active=name == ACTIVE)
        for name in (ACTIVE, INACTIVE)
        for _, expression in trap_lines(str(sent.get(name, "")))
    ]


def placed[R](sent: Mapping[str, Any], use_case: Callable[[], R], field: str = "traps") -> R:
    """Call a use case that takes `traps_of`, and let its problems name the lines of the two fields."""
    places = [(name, line) for name in (ACTIVE, INACTIVE) for line, _ in trap_lines(str(sent.get(name, "")))]
    try:
        return use_case()
    except InvalidInput as error:
        problems: list[Problem] = []
        for each in error.problems:
            if each.field != field:
                problems.append(each)
            elif each.line is None or each.line > len(places):
                problems.append(Problem(ACTIVE, each.message))
            else:
                name, line = places[each.line - 1]
                problems.append(Problem(name, each.message, line))
        raise InvalidInput(*problems) from error


def tested(form: Form, expressions: Sequence[tuple[int, str]], field: str) -> TrapTestReport | None:
    """Test expressions with the sample URLs of the form. Return None when the form has problems, which are shown."""
    samples = [line.strip() for line in split_lines(str(form.value(SAMPLES))) if line.strip()]
    if not expressions:
        form.add(field, "there is no expression to test; write one on each line")
        return None
    try:
        given = TrapTest(expressions=tuple(text for _, text in expressions), samples=tuple(samples))
        with reading() as opened:
            results = try_traps(opened, given).items
    except ValidationError as error:
        form.add(field, error.errors()[0]["msg"])
        return None
    except UseCaseError as error:
        form.take(error)
        return None
    numbered = [each.model_copy(update={"line": line}) for each, (line, _) in zip(results, expressions, strict=True)]
    return TrapTestReport(samples, numbered)
