"""Descriptions of a model's fields are the docstrings below them, read when `--help` or OpenAPI is made.

pydantic's own `use_attribute_docstrings` parses the source of each model at import, which each start would pay for.
"""

from __future__ import annotations

import ast
import inspect
import sys
from collections.abc import Mapping
from functools import cache
from itertools import pairwise
from typing import Any

from pydantic import BaseModel
from pydantic.json_schema import GenerateJsonSchema


class DescribedSchema(GenerateJsonSchema):
    """The generator of JSON schemas adds the descriptions of fields."""

    def model_schema(self, schema: Any) -> dict[str, Any]:
        """Return the schema of a model, with the description of each field that has one."""
        found = super().model_schema(schema)
        properties = found.get("properties", {})
        for name, text in descriptions(schema["cls"]).items():
            if name in properties:
                properties[name].setdefault("description", text)
        return found


@cache
def descriptions(model: type[BaseModel]) -> Mapping[str, str]:
    """Return the descriptions of a model's fields, also of those that the model has from a base class."""
    found: dict[str, str] = {}
    for base in reversed(model.__mro__):
        for name in vars(base).get("__annotations__", ()):
            found.pop(name, None)
        if base is not BaseModel and issubclass(base, BaseModel):
            found |= _of_module(base.__module__).get(base.__qualname__, {})
    return found


@cache
def _of_module(module: str) -> Mapping[str, Mapping[str, str]]:
    """Return the docstrings of attributes, by the class's name and the attribute's. No source is no docstring."""
    try:
        tree = ast.parse(inspect.getsource(sys.modules[module]))
    except (OSError, KeyError):
        return {}
    return {node.name: _of_class(node) for node in tree.body if isinstance(node, ast.ClassDef)}


def _of_class(node: ast.ClassDef) -> dict[str, str]:
    return {
        first.target.id: inspect.cleandoc(second.value.value)
        for first, second in pairwise(node.body)
        if isinstance(first, ast.AnnAssign)
        and isinstance(first.target, ast.Name)
        and isinstance(second, ast.Expr)
        and isinstance(second.value, ast.Constant)
        and isinstance(second.value.value, str)
    }
