"""Values made from a JSON schema: good ones, odd ones, and wrong ones. The same seed makes the same values."""

from __future__ import annotations

import random
from collections.abc import Mapping
from typing import Any, Final

ODD_TEXTS: Final = (
    *("", " ", "a", "1", "-1", "null", "\0", "a\0b", "\u202eabc", "\ud800", "é" * 300, "x" * 30_000, "%", "_", "*"),
    *("../../etc/passwd", "a/b", "'; DROP TABLE jobs; --", "<script>", "(" * 500, "(a+)+$", "\r\nSet-Cookie: a=b"),
    *("2027-01-15", "9" * 400, "http://[::1", "http://user:pass@host/", "xn--", "\ufeff", "{", "- [", "a: &a [*a]"),
)
ODD_NUMBERS: Final = (0, 1, -1, 2, 100, 2**31, 2**63 - 1, 2**63, -(2**63) - 1, 10**30, 1.5, -0.0, 1e308)
WRONG: Final = (None, True, [], {}, "text", 7, ["x"], {"x": 1})


class Values:
    """Makes values of schemas; `names` are texts that mean something in the test's database."""

    def __init__(self, schemas: Mapping[str, Any], names: tuple[str, ...], seed: int) -> None:
        self._schemas = schemas
        self._names = names
        self._random = random.Random(seed)

    def of(self, schema: Mapping[str, Any], depth: int = 0) -> Any:
        """A value of the schema; seldom, a wrong one."""
        if self._random.random() < 0.04:
            return self._random.choice(WRONG)
        if "$ref" in schema:
            return self.of(self._schemas[schema["$ref"].rpartition("/")[2]], depth)
        for key in ("anyOf", "oneOf", "allOf"):
            if key in schema:
                return self.of(self._random.choice(schema[key]), depth)
        if "const" in schema:
            return schema["const"]
        if "enum" in schema:
            return self._random.choice(schema["enum"])
        kind = schema.get("type")
        if kind == "object" or "properties" in schema:
            return self._object(schema, depth)
        if kind == "array":
            return [self.of(schema.get("items", {}), depth + 1) for _ in range(self._random.choice((0, 1, 2)))]
        return self.simple(kind)

    def simple(self, kind: Any) -> Any:
        """A value that is no group."""
        if kind in ("integer", "number"):
            return self._random.choice((*range(4), *ODD_NUMBERS) if self._random.random() < 0.5 else (1, 2, 5))
        if kind == "boolean":
            return self._random.random() < 0.5
        if kind == "null":
            return None
        return self._random.choice(self._names if self._random.random() < 0.6 else ODD_TEXTS)

    def _object(self, schema: Mapping[str, Any], depth: int) -> Any:
        required = schema.get("required", ())
        made = {
            name: self.of(inner, depth + 1)
            for name, inner in schema.get("properties", {}).items()
            if (name in required and self._random.random() < 0.97) or self._random.random() < 0.4
        }
        more = schema.get("additionalProperties")
        if isinstance(more, Mapping) and depth < 4 and self._random.random() < 0.5:
            made[str(self.simple("string"))] = self.of(more, depth + 1)
        return made
