"""The ways in which a use case refuses. Web pages, API and commands each turn these errors into an answer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


class UseCaseError(Exception):
    """The use case was not carried out, and nothing was changed. The message is for people."""


@dataclass(frozen=True, slots=True)
class Problem:
    """A problem names one thing that is wrong with an input: the field, and what to do about it."""

    field: str
    """The field's name, dotted for those in groups; empty when the whole is wrong."""
    message: str
    """The fault and the remedy, in a sentence that names the value."""
    line: int | None = None
    """The line of a document or an upload, counted from 1."""

    def __str__(self) -> str:
        place = f" line {self.line}" if self.line is not None else ""
        return f"{self.field or 'input'}{place}: {self.message}"


class InvalidInput(UseCaseError):
    """Fields have values that can't be used; all problems are named at once."""

    def __init__(self, *problems: Problem) -> None:
        super().__init__("; ".join(map(str, problems)))
        self.problems: Sequence[Problem] = problems


class NotFound(UseCaseError):
    """There is no such thing."""

    def __init__(self, entity: str, name: object) -> None:
        super().__init__(f"there is no {entity} {str(name)[:200]!r}")
        self.entity, self.name = entity, str(name)


class EditConflict(UseCaseError):
    """The row was changed by somebody else after the actor had read it, so the change is refused."""

    def __init__(self, entity: str, name: object, given: int, present: int) -> None:
        super().__init__(
            f"{entity} {str(name)[:200]!r} was changed by somebody else: you have edition {given}, the present one is"
            f" {present}; read it again and repeat your change"
        )
        self.given, self.present = given, present


class Forbidden(UseCaseError):
    """The actor's role does not have the right."""


class IllegalState(UseCaseError):
    """The thing is in a state in which this can't be done; the message names the state and what can be done."""


class DatabaseRefused(Exception):
    """The database can't be used; the message says why, and names the command that helps."""
