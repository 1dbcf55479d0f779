"""Two versions of a template are compared by their lines and by their values. Pure."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from pydantic import Field

from admin.models.operation import OutputModel
from frontier.yaml_document import YamlRefused, read_document

_MOST_STEPS: Final = 4_000_000
"""Lines of one text times lines of the other; beyond, the part that differs is shown as replaced in whole."""
_CONTEXT: Final = 3
_LINE_END: Final = re.compile(r"\r\n|\r|\n")


class ValueDifference(OutputModel):
    """The model names a key whose value differs. Lists say what came and what went besides."""

    key: str
    """Dotted, such as limits.pages."""
    old: Any = None
    new: Any = None
    was_set: bool
    """Whether the old version had the key."""
    is_set: bool
    """Whether the new version has the key."""
    added: list[Any] = Field([])
    removed: list[Any] = Field([])


def unified_difference(old: str, new: str, old_name: str, new_name: str) -> str:
    """Return the unified difference of two texts; empty when they are the same."""
    if old == new:
        return ""
    before, after = _lines(old), _lines(new)
    if len(before) * len(after) <= _MOST_STEPS:
        return "\n".join(difflib.unified_diff(before, after, old_name, new_name, lineterm="", n=_CONTEXT)) + "\n"
    return "\n".join(_replaced_whole(before, after, old_name, new_name)) + "\n"


def value_differences(old: str, new: str) -> list[ValueDifference]:
    """Return the keys whose values differ, sorted. A text that can't be read has no values."""
    before, after = dict(_flat(_values(old))), dict(_flat(_values(new)))
    return [
        _difference(key, before, after)
        for key in sorted({*before, *after})
        if key not in before or key not in after or _typed(before[key]) != _typed(after[key])
    ]


def _difference(key: str, before: Mapping[str, Any], after: Mapping[str, Any]) -> ValueDifference:
    old, new = before.get(key), after.get(key)
    added: list[Any] = []
    removed: list[Any] = []
    if isinstance(old, list) and isinstance(new, list):
        known, present = set(map(_typed, old)), set(map(_typed, new))
        added = [each for each in new if _typed(each) not in known]
        removed = [each for each in old if _typed(each) not in present]
    return ValueDifference(
        key=key, old=old, new=new, was_set=key in before, is_set=key in after, added=added, removed=removed
    )


def _typed(value: Any) -> str:
    """Return a text that tells 1 from true and from "1"."""
    return repr(value)


def _values(text: str) -> Mapping[str, Any]:
    try:
        return read_document(text).values()
    except YamlRefused:
        return {}


def _flat(values: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    for name, value in values.items():
        if isinstance(value, Mapping) and value:
            yield from _flat(value, f"{prefix}{name}.")
        else:
            yield prefix + name, value


def _lines(text: str) -> list[str]:
    """Return the lines with a visible sign for what else would not be seen."""
    lines = _LINE_END.split(text)
    if lines[-1] == "":
        lines.pop()
    else:
        lines[-1] += " (no line end)"
    return lines


def _replaced_whole(before: list[str], after: list[str], old_name: str, new_name: str) -> Iterator[str]:
    low = 0
    while low < min(len(before), len(after)) and before[low] == after[low]:
        low += 1
    high = 0
    while high < min(len(before), len(after)) - low and before[-1 - high] == after[-1 - high]:
        high += 1
    start = max(0, low - _CONTEXT)
    end, new_end = len(before) - high, len(after) - high
    tail = before[end : end + _CONTEXT]
    yield f"--- {old_name}"
    yield f"+++ {new_name}"
    yield f"@@ -{start + 1},{end + len(tail) - start} +{start + 1},{new_end + len(tail) - start} @@"
    yield from (" " + line for line in before[start:low])
    yield from ("-" + line for line in before[low:end])
    yield from ("+" + line for line in after[low:new_end])
    yield from (" " + line for line in tail)
