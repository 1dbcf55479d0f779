"""Two versions of a template are compared by their lines and by their values. Pure."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator, Mapping
from enum import StrEnum
from typing import Any, Final

from pydantic import Field

from admin.models.operation import OutputModel
from frontier.definition.yaml_document import YamlRefused, read_document

_MOST_STEPS: Final = 4_000_000
"""Lines of one text times lines of the other; beyond, the part that differs is shown as replaced in whole."""
MOST_ROWS: Final = 2_000
"""Rows of two texts side by side."""
_CONTEXT: Final = 3
_LINE_END: Final = re.compile(r"\r\n|\r|\n")


class ValueDifference(OutputModel):
    """A value difference names a key whose value differs. Lists say what came and what went besides."""

    key: str
    """Dotted, such as limits.pages."""
    old: Any = None
    new: Any = None
    was_set: bool
    """The old version had the key."""
    is_set: bool
    """The new version has the key."""
    added: list[Any] = Field([])
    removed: list[Any] = Field([])


class RowChange(StrEnum):
    """A row of two texts side by side has one of these changes."""

    EQUAL = "equal"
    CHANGED = "changed"
    ADDED = "added"
    REMOVED = "removed"
    SKIPPED = "skipped"


class ComparedRow(OutputModel):
    """A compared row is one row of two texts side by side: a line of the old text, of the new one, or of both."""

    change: RowChange
    old_number: int | None = None
    old: str = ""
    new_number: int | None = None
    new: str = ""
    """For `skipped` rows, how many equal lines are left out."""


def side_by_side(old: str, new: str) -> list[ComparedRow]:
    """Return the rows that differ, with three equal lines around them; at most 2,000 rows."""
    before, after = _lines(old), _lines(new)
    rows: list[ComparedRow] = []
    for tag, low, high, new_low, new_high in _steps(before, after):
        if len(rows) >= MOST_ROWS:
            rows.append(ComparedRow(change=RowChange.SKIPPED, new="the rest is left out"))
            break
        if tag == "equal":
            rows += _equal(before, low, high, new_low, is_first=low == 0, is_last=high == len(before))
            continue
        for offset in range(min(max(high - low, new_high - new_low), MOST_ROWS)):
            left, right = low + offset, new_low + offset
            has_old, has_new = left < high, right < new_high
            alone = RowChange.REMOVED if has_old else RowChange.ADDED
            rows.append(
                ComparedRow(
                    change=RowChange.CHANGED if has_old and has_new else alone,
                    old_number=left + 1 if has_old else None,
                    old=before[left] if has_old else "",
                    new_number=right + 1 if has_new else None,
                    new=after[right] if has_new else "",
                )
            )
    return rows


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


def _steps(before: list[str], after: list[str]) -> Iterator[tuple[str, int, int, int, int]]:
    if len(before) * len(after) <= _MOST_STEPS:
        yield from difflib.SequenceMatcher(None, before, after).get_opcodes()
        return
    low, end, new_end = _differing(before, after)
    if low:
        yield "equal", 0, low, 0, low
    yield "replace", low, end, low, new_end
    if end < len(before):
        yield "equal", end, len(before), new_end, len(after)


def _equal(
    lines: list[str], low: int, high: int, new_low: int, *, is_first: bool, is_last: bool
) -> Iterator[ComparedRow]:
    """Yield the equal lines that stand next to a difference."""
    head = 0 if is_first else _CONTEXT
    tail = 0 if is_last else _CONTEXT
    shift = new_low - low
    for index in range(low, high):
        if high - low > head + tail + 1 and low + head <= index < high - tail:
            if index == low + head:
                count = high - tail - low - head
                text = f"{count:,} equal lines"
                yield ComparedRow(change=RowChange.SKIPPED, new=text)
            continue
        yield ComparedRow(
            change=RowChange.EQUAL,
            old_number=index + 1,
            old=lines[index],
            new_number=index + shift + 1,
            new=lines[index],
        )


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
    low, end, new_end = _differing(before, after)
    start = max(0, low - _CONTEXT)
    tail = before[end : end + _CONTEXT]
    yield f"--- {old_name}"
    yield f"+++ {new_name}"
    yield f"@@ -{start + 1},{end + len(tail) - start} +{start + 1},{new_end + len(tail) - start} @@"
    yield from (" " + line for line in before[start:low])
    yield from ("-" + line for line in before[low:end])
    yield from ("+" + line for line in after[low:new_end])
    yield from (" " + line for line in tail)


def _differing(before: list[str], after: list[str]) -> tuple[int, int, int]:
    """Return where the part that differs begins, and where it ends in the old and in the new lines."""
    low = 0
    while low < min(len(before), len(after)) and before[low] == after[low]:
        low += 1
    high = 0
    while high < min(len(before), len(after)) - low and before[-1 - high] == after[-1 - high]:
        high += 1
    return low, len(before) - high, len(after) - high
