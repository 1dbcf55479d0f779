"""This module has the filters of a CDX query: `[!][=|~]field:expression`, as pywb has them.

Without a sign, the field contains the expression. With `=`, the field equals it. With `~`, the regular expression
matches from the field's start. A leading `!` inverts the condition. An absent field is "-".

A regular expression of Python can take very long. Expressions that might are refused: see `worst_steps`.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from archive.capture import Capture

MAX_PATTERN: Final = 200
MAX_STEPS: Final = 100_000_000
MATCHED_LENGTH: Final = 2048
"""A regular expression sees this many characters of a field."""

FIELDS: Final[dict[str, Callable[[Capture], str]]] = {
    "urlkey": lambda capture: capture.key,
    "timestamp": lambda capture: capture.timestamp,
    "url": lambda capture: capture.url,
    "mime": lambda capture: capture.cdx_mime,
    "status": lambda capture: _text(capture.status),
    "digest": lambda capture: _text(capture.digest),
    "length": lambda capture: str(capture.length),
    "offset": lambda capture: str(capture.offset),
    "filename": lambda capture: capture.filename,
    "method": lambda capture: capture.method,
    "requestBody": lambda capture: _text(capture.request_body),
    "kind": lambda capture: capture.kind,
    "job": lambda capture: _text(capture.job),
    "page": lambda capture: _text(capture.page_id),
    "id": lambda capture: capture.record_id,
    "size": lambda capture: str(capture.payload_length),
    "sha256": lambda capture: _text(capture.sha256),
    "truncated": lambda capture: _text(capture.truncated),
}
"""The fields by which a query may filter and for which it may ask, by name; each gives text, "-" for nothing."""

ALIASES: Final = {
    "original": "url",
    "mimetype": "mime",
    "statuscode": "status",
    "key": "urlkey",
    "surt": "urlkey",
    "file": "filename",
    "record_id": "id",
    "requestbody": "requestBody",
}
"""Names that other CDX servers use for the same fields."""

_TOKEN: Final = re.compile(r"\\.|\[\^?\]?(?:\\.|[^\]\\])*\]|\(\?i\)|\(\?:|\{\d+\}|\{\d*,\d*\}|.", re.DOTALL)
_FORBIDDEN: Final = re.compile(r"\\[1-9]|\(\?(?!:|i\))")
_AMBIGUOUS: Final = re.compile(r"\[\^?\[|--|&&|~~|\|\|")
"""The signs that Python may read as operations on sets one day, and warns of."""


class FilterError(ValueError):
    """A filter can't be used. The message says why."""


@dataclass(frozen=True, slots=True)
class Filter:
    """A filter is one condition on a capture."""

    value_of: Callable[[Capture], str]
    holds: Callable[[str], bool]
    negated: bool

    def accepts(self, capture: Capture) -> bool:
        """Return whether the capture fulfils the condition."""
        return self.holds(self.value_of(capture)) is not self.negated


def parse(text: str) -> Filter:
    """Return the filter that a query's text describes. Raises FilterError."""
    rest = text.removeprefix("!")
    sign = rest[:1] if rest[:1] in ("=", "~") else ""
    name, colon, expression = rest[len(sign) :].partition(":")
    if not colon:
        raise FilterError(f"{text[:80]!r} has no colon; write [!][=|~]field:expression")
    return Filter(FIELDS[field_name(name)], _condition(sign, expression), text.startswith("!"))


def field_name(name: str) -> str:
    """Return our name of a field. Raises FilterError for an unknown field."""
    known = ALIASES.get(name.lower(), name.lower())
    if known not in FIELDS:
        raise FilterError(f"there is no field {name[:40]!r}; there are {', '.join(FIELDS)}")
    return known


def worst_steps(pattern: str) -> int:
    """Return about how many steps the regular expression may need on one field. The expression is not run.

    A repetition without a fixed count may try every length of the text. Each `?` and each alternative multiplies the
    number of ways. Repetitions of groups that contain a repetition or an alternative grow faster than that, so they are
    refused, as are back-references and look-around. Raises FilterError for those.
    """
    if _FORBIDDEN.search(pattern):
        raise FilterError("back-references, look-around and inline flags other than (?i) are not supported")
    if _AMBIGUOUS.search(pattern):
        raise FilterError("write \\[ within a set, and neither of -- && ~~ ||")
    levels = [_Level()]
    closed: _Level | None = None
    for token in _TOKEN.findall(pattern.removesuffix("$").removesuffix(".*")):
        level = levels[-1]
        if token in ("(", "(?:"):
            levels.append(_Level())
        elif token == ")" and len(levels) > 1:
            closed = levels.pop()
            levels[-1].take(closed)
            continue
        elif token == "|":
            level.alternatives += 1
        elif ways := _ways(token):
            if closed is not None and closed.branches:
                raise FilterError("a repeated group may not contain a repetition or an alternative")
            level.steps *= ways
            level.repeats = True
        closed = None
    return math.prod(level.alternatives * level.steps for level in levels)


@dataclass(slots=True)
class _Level:
    """A level is one group of a regular expression, up to the position that was read."""

    alternatives: int = 1
    steps: int = 1
    repeats: bool = False

    @property
    def branches(self) -> bool:
        """Return whether the group's content can match in more than one way, or more than once."""
        return self.repeats or self.alternatives > 1

    def take(self, inner: _Level) -> None:
        """Count a group that was closed inside this one."""
        self.steps *= inner.alternatives * inner.steps
        self.repeats |= inner.branches


def _ways(token: str) -> int:
    """Return in how many ways a quantifier may match, or 0 for a text that is no quantifier."""
    if token in ("*", "+"):
        return MATCHED_LENGTH
    if token == "?":
        return 2
    if token[0] != "{" or len(token) == 1:
        return 0
    low, comma, high = token[1:-1].partition(",")
    if not comma:
        return 1
    return max(1, int(high) - int(low or 0) + 1) if high else MATCHED_LENGTH


def _condition(sign: str, expression: str) -> Callable[[str], bool]:
    if sign == "=":
        return lambda value: value == expression
    if sign == "":
        return lambda value: expression in value
    matches = _regular_expression(expression).match
    return lambda value: matches(value[:MATCHED_LENGTH]) is not None


def _regular_expression(pattern: str) -> re.Pattern[str]:
    if len(pattern) > MAX_PATTERN:
        raise FilterError(f"the regular expression has {len(pattern)} characters, more than {MAX_PATTERN}")
    if worst_steps(pattern) > MAX_STEPS:
        raise FilterError(f"the regular expression {pattern!r} may take too long; split it into several filters")
    try:
        return re.compile(pattern)
    except (re.error, RecursionError, OverflowError) as error:
        raise FilterError(f"{pattern!r} is not a regular expression: {error}") from error


def _text(value: object) -> str:
    return "-" if value is None else str(value)
