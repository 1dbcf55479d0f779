"""Lines of logs are searched by regular expressions that people type: bounded in length, and in time for all lines."""

from __future__ import annotations

import time
from typing import Final

import regex

from admin.models.errors import InvalidInput, Problem

LONGEST_PATTERN: Final = 500
_LEAST_SECONDS: Final = 0.001


class LineSearch:
    """The search finds lines in which a pattern is found; every line has the pattern "".

    All lines together get so many seconds. Raises InvalidInput for a pattern that can't be used.
    """

    def __init__(self, pattern: str, seconds: float) -> None:
        self._pattern = pattern
        self._seconds = seconds
        self._left = seconds
        self._compiled = _compiled(pattern) if pattern else None

    def finds(self, line: str) -> bool:
        """Return whether the pattern is found in the line. Raises InvalidInput when the time is over."""
        if self._compiled is None:
            return True
        begun = time.monotonic()
        try:
            return bool(self._compiled.search(line, timeout=max(self._left, _LEAST_SECONDS), concurrent=True))
        except TimeoutError as error:
            message = f"{self._pattern[:100]!r} takes longer than {self._seconds:g} s; make it simpler"
            raise InvalidInput(Problem("pattern", message)) from error
        finally:
            self._left -= time.monotonic() - begun


def _compiled(pattern: str) -> regex.Pattern[str]:
    if len(pattern) > LONGEST_PATTERN:
        raise InvalidInput(
            Problem("pattern", f"the pattern has {len(pattern)} characters; write at most {LONGEST_PATTERN}")
        )
    try:
        return regex.compile(pattern)
    except (regex.error, RecursionError, OverflowError) as error:
        hint = "put \\ before a character that stands for itself"
        message = f"{pattern[:100]!r} is no regular expression: {error}; {hint}"
        raise InvalidInput(Problem("pattern", message)) from error
