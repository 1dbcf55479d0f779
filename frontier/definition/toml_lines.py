"""The lines of a TOML text are found by key, since the reader of the standard library does not tell them. Pure.

The text has been read before, so that it is TOML: this module only finds where its keys and the items of its lists
begin.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator
from typing import Final

type TomlPath = tuple[str | int, ...]

_BARE: Final = re.compile(r"[A-Za-z0-9_-]+")
_BLANK: Final = re.compile(r"(?:[ \t\r\n]|#[^\n]*)*")
_SPACE: Final = re.compile(r"[ \t]*")
_STRINGS: Final = (
    re.compile(r'"""(?:[^"\\]|\\.|"(?!""))*"{3,5}', re.DOTALL),
    re.compile(r"'''(?:[^']|'(?!''))*'{3,5}", re.DOTALL),
    re.compile(r'"(?:[^"\\\n]|\\.)*"'),
    re.compile(r"'[^'\n]*'"),
)
_SCALAR: Final = re.compile(r"[^\s,\]}#][^,\]}#\n]*")


def toml_lines(text: str) -> dict[TomlPath, int]:
    """Return the line, from 1, of each key and of each item of a list."""
    starts = [0, *(found.end() for found in re.finditer("\n", text))]
    return {path: bisect_right(starts, at) for path, at in _places(text)}


def _places(text: str) -> Iterator[tuple[TomlPath, int]]:
    at = 0
    table: TomlPath = ()
    counts: dict[TomlPath, int] = {}
    while (at := _after(_BLANK, text, at)) < len(text):
        start = at
        if text[at] == "[":
            is_list = text.startswith("[[", at)
            names, at = _key(text, at + 1 + is_list)
            table = tuple(names)
            if is_list:
                number = counts[table] = counts.get(table, -1) + 1
                table = (*table, number)
            yield table, start
            at = text.find("]", at) + 1 + is_list
            continue
        names, at = _key(text, at)
        path = (*table, *names)
        for depth in range(len(table) + 1, len(path) + 1):
            yield path[:depth], start
        at = _after(_SPACE, text, text.find("=", at) + 1)
        items: list[tuple[TomlPath, int]] = []
        at = _value(text, at, path, items)
        yield from items


def _key(text: str, at: int) -> tuple[list[str], int]:
    """Return the parts of a dotted key, and the place behind it."""
    names: list[str] = []
    while True:
        at = _after(_SPACE, text, at)
        if text[at : at + 1] in ('"', "'"):
            end = _after_string(text, at)
            names.append(text[at + 1 : end - 1])
        else:
            end = _after(_BARE, text, at)
            names.append(text[at:end])
        at = _after(_SPACE, text, end)
        if text[at : at + 1] != ".":
            return names, at
        at += 1


def _value(text: str, at: int, path: TomlPath, items: list[tuple[TomlPath, int]]) -> int:
    """Return the place behind a value, and note the items of lists and the keys of tables in braces."""
    opened: list[tuple[str, TomlPath, int]] = []
    """The lists and tables around the place, each with its path and the number of its next item."""
    while True:
        if opened:
            at = _after(_BLANK, text, at)
            bracket, own, number = opened[-1]
            if text[at : at + 1] in ("]", "}", ""):
                opened.pop()
                at += 1
            elif text[at] == ",":
                opened[-1] = (bracket, own, number + 1)
                at += 1
                continue
            else:
                start = at
                if bracket == "{":
                    names, at = _key(text, at)
                    path = (*own, *names)
                    at = _after(_SPACE, text, text.find("=", at) + 1)
                else:
                    path = (*own, number)
                items.append((path, start))
                at = _scalar(text, at, path, opened)
                continue
        else:
            at = _scalar(text, at, path, opened)
        if not opened:
            return at


def _scalar(text: str, at: int, path: TomlPath, opened: list[tuple[str, TomlPath, int]]) -> int:
    """Return the place behind a single value, or behind the bracket that begins a list or table."""
    if text[at : at + 1] in ("[", "{"):
        opened.append((text[at], path, 0))
        return at + 1
    if text[at : at + 1] in ('"', "'"):
        return _after_string(text, at)
    return max(_after(_SCALAR, text, at), at + 1)


def _after_string(text: str, at: int) -> int:
    return next((found.end() for each in _STRINGS if (found := each.match(text, at)) is not None), at + 1)


def _after(pattern: re.Pattern[str], text: str, at: int) -> int:
    found = pattern.match(text, at)
    return found.end() if found is not None else at
