"""An operation has these arguments: its path's parameters, its query's, and its body, checked by pydantic models."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from functools import cache
from typing import Any, Final, get_type_hints

from pydantic import BaseModel, ConfigDict, create_model

from admin.models.operation import Operation

BODY: Final = "given"
"""The use case's argument that is the body."""
LINES: Final = "lines"
"""The use case's argument that is an upload, as an iterator of lines."""
UPLOAD: Final = "upload"
"""The use case's argument that is the path of an uploaded file."""
EDITION: Final = "edition"
"""The field or parameter that is the edition of what is to be changed."""
_IN_PATH: Final = re.compile(r"\{(\w+)\}")


def path_parameters(operation: Operation) -> list[str]:
    """Return the names in braces of the operation's path."""
    return _IN_PATH.findall(operation.path)


@cache
def parameters_model(operation: Operation) -> type[BaseModel]:
    """Return a model whose fields are the use case's arguments, apart from the transaction and the body."""
    hints = get_type_hints(operation.use_case, include_extras=True)
    fields: dict[str, Any] = {}
    for name, default in _parameters(operation):
        fields[name] = (hints.get(name, str), ... if default is inspect.Parameter.empty else default)
    return create_model(
        f"{''.join(part.title() for part in re.split(r'[._-]', operation.name))}Parameters",
        __config__=ConfigDict(extra="forbid", frozen=True, str_max_length=10_000),
        **fields,
    )


def query_parameters(operation: Operation) -> list[str]:
    """Return the names of the parameters that come with the query."""
    in_path = path_parameters(operation)
    return [name for name, _ in _parameters(operation) if name not in in_path]


def has_edition(operation: Operation) -> bool:
    """Return whether a caller may name the edition that is to be changed, in the body or in the query."""
    in_body = operation.input is not None and EDITION in operation.input.model_fields
    return operation.method != "POST" and (in_body or EDITION in parameters_model(operation).model_fields)


def _parameters(operation: Operation) -> Iterator[tuple[str, Any]]:
    parameters = list(inspect.signature(operation.use_case).parameters.values())
    for parameter in parameters[1:]:
        if parameter.name not in (BODY, LINES, UPLOAD):
            yield parameter.name, parameter.default
