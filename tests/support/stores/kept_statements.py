"""The SQL of statements, which all databases of a process of the tests share.

SQLAlchemy compiles each statement once for each engine, and each test has an engine of its own. Compiling takes most of
the time of a test that runs few statements.
"""

from __future__ import annotations

from types import ModuleType
from typing import Any, Final

from sqlalchemy import Engine, create_engine
from sqlalchemy.util import LRUCache

_COMPILED: Final[LRUCache[Any, Any]] = LRUCache(10_000)
_KINDS: Final[dict[type, type]] = {}


def keep_statements(*modules: ModuleType) -> None:
    """Let the engines that these modules make share their compiled statements."""
    for module in modules:
        module.create_engine = _engine  # type: ignore[attr-defined]


def _engine(*given: Any, **options: Any) -> Engine:
    engine = create_engine(*given, **options)
    kind = type(engine.dialect)
    if kind not in _KINDS:
        names = {"__eq__": _is_same_kind, "__hash__": _number_of_kind, "supports_statement_cache": True}
        _KINDS[kind] = type(kind.__name__, (kind,), names)
    engine.dialect.__class__ = _KINDS[kind]
    engine._compiled_cache = _COMPILED
    return engine


def _is_same_kind(dialect: object, other: object) -> bool:
    """Return whether statements of one dialect are those of the other: all servers of a process are of one release."""
    return type(dialect) is type(other)


def _number_of_kind(dialect: object) -> int:
    return id(type(dialect))
