"""Errors of use cases become problem documents (RFC 9457)."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from http import HTTPStatus
from typing import Final

from flask import Response

from admin.models.errors import (
    DatabaseRefused,
    EditConflict,
    Forbidden,
    IllegalState,
    InvalidInput,
    NotFound,
    Problem,
    UseCaseError,
)

RETRY_SECONDS: Final = "10"
"""A program that got no answer since the database was away may ask again after this time."""
PROBLEM_TYPE: Final = "application/problem+json"
_KINDS: Final[tuple[tuple[type[Exception], int, str, str], ...]] = (
    (InvalidInput, 422, "invalid-input", "The input can't be used"),
    (NotFound, 404, "not-found", "There is no such thing"),
    (EditConflict, 409, "edit-conflict", "Somebody else changed it"),
    (Forbidden, 403, "forbidden", "The role does not have the right"),
    (IllegalState, 409, "illegal-state", "This can't be done in the present state"),
    (UseCaseError, 409, "refused", "The change was refused"),
    (DatabaseRefused, 503, "database-away", "The database can't be used"),
)


def problem(
    status: int,
    kind: str,
    title: str,
    detail: str,
    problems: Sequence[Problem] = (),
    headers: Mapping[str, str] | None = None,
) -> Response:
    """Return a problem document. `kind` is the last part of its type, a name that programs may rely on."""
    body: dict[str, object] = {
        "type": f"urn:ghostfleet:problem:{kind}",
        "title": title,
        "status": status,
        "detail": detail,
    }
    if problems:
        body["problems"] = [
            {"field": each.field, "message": each.message} | ({"line": each.line} if each.line else {})
            for each in problems
        ]
    response = Response(json.dumps(body, ensure_ascii=False), status, content_type=PROBLEM_TYPE)
    response.headers.extend(headers or {})
    return response


class RequestRefused(Exception):
    """The request is refused before any use case: the status and the kind say why."""

    def __init__(self, status: int, kind: str, title: str, detail: str) -> None:
        super().__init__(detail)
        self.status, self.kind, self.title = status, kind, title


def problem_of(error: Exception) -> Response:
    """Return the problem document of an error that a use case raised."""
    if isinstance(error, RequestRefused):
        return problem(error.status, error.kind, error.title, str(error))
    for kind, status, name, title in _KINDS:
        if isinstance(error, kind):
            found = error.problems if isinstance(error, InvalidInput) else ()
            headers = {"Retry-After": RETRY_SECONDS} if status == HTTPStatus.SERVICE_UNAVAILABLE else None
            return problem(status, name, title, str(error), found, headers)
    raise error
