"""Complaints of pydantic become the problems that use cases name."""

from __future__ import annotations

import json

from pydantic import SecretStr, ValidationError

from admin.models.errors import InvalidInput, Problem


def problems_of(error: ValidationError) -> InvalidInput:
    """Return pydantic's complaints as an InvalidInput: a problem for each field."""
    return InvalidInput(
        *(
            Problem(".".join(map(str, each["loc"])), _message(each["type"], each["msg"], each["input"]))
            for each in error.errors(include_url=False, include_context=False)
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
