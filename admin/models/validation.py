"""Complaints of pydantic become the problems that use cases name, and values that no database keeps are refused."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Any, Final

from pydantic import BaseModel, SecretStr, ValidationError

from admin.models.errors import InvalidInput, Problem
from archive.names.characters import in_words

MOST_PROBLEMS: Final = 100
"""An input may have hundreds of thousands; each takes far more memory than the part of the input that it is about."""
_MOST_KEYS: Final = 1_000
_LARGEST: Final = 2**63 - 1
_CHECKED_BY_LINE: Final = "text"
"""Use cases check long texts themselves, and name the line."""


def check_storable(model: BaseModel) -> None:
    """Raise InvalidInput for numbers and characters that no database keeps."""
    values = {name: getattr(model, name) for name in type(model).model_fields if name != _CHECKED_BY_LINE}
    if problems := list(islice(_unstorable("", values), MOST_PROBLEMS)):
        raise InvalidInput(*problems)


def _unstorable(field: str, value: Any) -> Iterator[Problem]:
    if isinstance(value, int) and not -_LARGEST <= value <= _LARGEST:
        yield Problem(field, "the number is too large; use at most 9,223,372,036,854,775,807")
    elif isinstance(value, str):
        wrong = next((char for char in value if char == "\0" or "\ud800" <= char <= "\udfff"), None)
        if wrong is not None:
            yield Problem(field, f"the text has {in_words(wrong)}, which no database keeps; leave it out")
    elif isinstance(value, BaseModel):
        yield from _unstorable(field, {name: getattr(value, name) for name in type(value).model_fields})
    elif isinstance(value, Mapping):
        for key, inner in value.items():
            yield from _unstorable(field or "input", key)
            yield from _unstorable(f"{field}.{key}" if field else str(key), inner)
    elif isinstance(value, list | tuple):
        for at, inner in enumerate(value):
            yield from _unstorable(f"{field}.{at}", inner)


def validated[M: BaseModel](model: type[M], values: Any) -> M:
    """Return the values as an object of the model. Raises InvalidInput with the first problems of the values."""
    try:
        return model.model_validate(values)
    except ValidationError as error:
        if error.error_count() > MOST_PROBLEMS:
            try:
                model.model_validate(_beginning(values, frozenset(model.model_fields)))
            except ValidationError as first:
                raise problems_of(first) from None
        raise problems_of(error) from error


def _beginning(values: Any, known: frozenset[str] = frozenset()) -> Any:
    """Return the values with shorter lists and objects, which have no more than the first problems."""
    if isinstance(values, list):
        return [_beginning(each) for each in values[: MOST_PROBLEMS + 1]]
    if isinstance(values, dict):
        names = [
            *(name for name in known if name in values),
            *islice(values, MOST_PROBLEMS + 1 if known else _MOST_KEYS),
        ]
        return {name: _beginning(values[name]) for name in names}
    return values


def problems_of(error: ValidationError) -> InvalidInput:
    """Return pydantic's complaints as an InvalidInput: a problem for each field, up to MOST_PROBLEMS."""
    return InvalidInput(
        *(
            Problem(".".join(map(str, each["loc"])), _message(each["type"], each["msg"], each["input"]))
            for each in error.errors(include_url=False, include_context=False)[:MOST_PROBLEMS]
        )
    )


def _message(kind: str, text: str, given: object) -> str:
    if kind == "missing":
        return "the value is missing; give one"
    if kind == "extra_forbidden":
        return "there is no such field; leave it out"
    if isinstance(given, dict | list | tuple | SecretStr):
        return text
    shown = given if isinstance(given, str) else json.dumps(given, default=str)
    return f"{shown[:100]!r}: {text}"
