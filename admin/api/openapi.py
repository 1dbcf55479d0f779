"""The OpenAPI 3.1 document of the API, made from the operations and the models that check their data."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from pydantic import BaseModel
from pydantic.json_schema import models_json_schema

from admin.api.arguments import has_edition, parameters_model, path_parameters, query_parameters
from admin.api.problems import PROBLEM_TYPE
from admin.models.field_descriptions import DescribedSchema
from admin.models.operation import Operation
from archive.version import version

_REF: Final = "#/components/schemas/{model}"
_PROBLEM: Final = {
    "type": "object",
    "description": "A problem document (RFC 9457).",
    "required": ["type", "title", "status", "detail"],
    "properties": {
        "type": {"type": "string", "format": "uri"},
        "title": {"type": "string"},
        "status": {"type": "integer"},
        "detail": {"type": "string"},
        "problems": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {
                    "field": {"type": "string"},
                    "message": {"type": "string"},
                    "line": {"type": "integer"},
                },
            },
        },
    },
}


def document(operations: Sequence[Operation], prefix: str) -> dict[str, Any]:
    """Return the document; `prefix` is the path of the API, such as /api/v1."""
    models: dict[tuple[type[BaseModel], str], None] = {}
    for operation in operations:
        if operation.input is not None:
            models[operation.input, "validation"] = None
        if operation.output is not None:
            models[operation.output, "serialization"] = None
    references, schemas = models_json_schema(
        list(models),  # type: ignore[arg-type]
        ref_template=_REF,
        schema_generator=DescribedSchema,
    )
    paths: dict[str, dict[str, Any]] = {}
    for operation in operations:
        paths.setdefault(operation.path, {})[operation.method.lower()] = _described(operation, references)
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Ghostfleet",
            "version": version(),
            "description": "Harvest management: everything that the site does, for programs.",
        },
        "servers": [{"url": prefix}],
        "security": [{"token": []}, {"session": []}],
        "paths": paths,
        "components": {
            "schemas": {**schemas.get("$defs", {}), "Problem": _PROBLEM},
            "securitySchemes": {
                "token": {"type": "http", "scheme": "bearer"},
                "session": {"type": "apiKey", "in": "cookie", "name": "session"},
            },
        },
    }


def status_of(operation: Operation) -> int:
    """Return the status of an answer without a problem: 204 when there is no output."""
    has_content = operation.output is not None or operation.media_type != "application/json"
    return operation.status if has_content else 204


def _described(operation: Operation, references: dict[Any, Any]) -> dict[str, Any]:
    described: dict[str, Any] = {
        "operationId": operation.name,
        "summary": operation.summary,
        "tags": list(operation.tags) or [operation.name.partition(".")[0]],
        "x-right": operation.right.value,
        "parameters": list(_parameters(operation)),
        "responses": {
            str(status_of(operation)): _answer(operation, references),
            "default": {
                "description": "A problem.",
                "content": {PROBLEM_TYPE: {"schema": {"$ref": _REF.format(model="Problem")}}},
            },
        },
    }
    if has_edition(operation):
        described["parameters"].append(
            {
                "name": "If-Match",
                "in": "header",
                "required": False,
                "description": "The ETag that was read with the thing, or * for any; a change of something that exists"
                " needs it, or `edition`.",
                "schema": {"type": "string"},
            }
        )
    if operation.input is not None:
        described["requestBody"] = {
            "required": True,
            "content": {"application/json": {"schema": references[operation.input, "validation"]}},
        }
    elif operation.takes_file:
        described["requestBody"] = {
            "required": True,
            "content": {"application/octet-stream": {"schema": {"type": "string", "format": "binary"}}},
        }
    elif operation.takes_lines:
        described["requestBody"] = {
            "required": True,
            "content": {"text/plain": {"schema": {"type": "string"}}},
        }
    return described


def _parameters(operation: Operation) -> list[dict[str, Any]]:
    schema = parameters_model(operation).model_json_schema(ref_template=_REF, schema_generator=DescribedSchema)
    required = schema.get("required", ())
    found = []
    for name in [*path_parameters(operation), *query_parameters(operation)]:
        is_path = name in path_parameters(operation)
        found.append(
            {
                "name": name,
                "in": "path" if is_path else "query",
                "required": is_path or name in required,
                "schema": _inlined(schema["properties"][name], schema.get("$defs", {})),
            }
        )
    return found


def _inlined(schema: Any, definitions: dict[str, Any]) -> Any:
    """Return a schema whose references are replaced by what they refer to; parameters have small schemas only."""
    if isinstance(schema, dict):
        if "$ref" in schema:
            return _inlined(definitions[schema["$ref"].rpartition("/")[2]], definitions)
        return {key: _inlined(value, definitions) for key, value in schema.items()}
    if isinstance(schema, list):
        return [_inlined(each, definitions) for each in schema]
    return schema


def _answer(operation: Operation, references: dict[Any, Any]) -> dict[str, Any]:
    if operation.media_type != "application/json":
        return {
            "description": "The download.",
            "content": {operation.media_type.partition(";")[0]: {"schema": {"type": "string"}}},
        }
    if operation.output is None:
        return {"description": "It is done."}
    schema = references[operation.output, "serialization"]
    if operation.is_list:
        schema = {
            "type": "object",
            "required": ["items", "next", "total"],
            "properties": {
                "items": {"type": "array", "items": schema},
                "next": {"type": ["string", "null"]},
                "total": {"type": ["integer", "null"]},
            },
        }
    return {"description": "The result.", "content": {"application/json": {"schema": schema}}}
