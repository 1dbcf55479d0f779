"""A search for URLs takes a regular expression of a person, and a bounded time for each URL and in all."""

from __future__ import annotations

import re
import time
from typing import Final

import regex

from frontier.definition.job import JobError
from frontier.definition.rules.url_patterns import MOST_TIMEOUTS, UrlPattern

LONGEST_PATTERN: Final = 2_000
SEARCH_SECONDS: Final = 120.0
"""All searches of an expression that is not simple may take so long together."""
_SHOWN: Final = 200


class UrlSearch:
    """A URL search finds the URLs in which a regular expression is found.

    Raises JobError for an expression that can't be used, and when its search took too long in three URLs or in all of
    them together: an answer that leaves out URLs would not be the answer to the question.
    """

    def __init__(self, text: str, *, seconds: float = SEARCH_SECONDS) -> None:
        if not text or len(text) > LONGEST_PATTERN:
            raise JobError(
                f"the expression has {len(text)} characters; write 1 to {LONGEST_PATTERN}, such as /calendar/"
            )
        self.text = text
        self._timeouts = 0
        self._left = seconds
        try:
            self._pattern = UrlPattern(text)
        except (re.error, regex.error, RecursionError, OverflowError) as error:
            hint = "put \\ before a character that stands for itself"
            raise JobError(f"{text[:_SHOWN]!r} is no regular expression: {error}; {hint}") from error

    def finds(self, url: str) -> bool:
        """Return whether the expression is found in the URL. Raises JobError when searches take too long."""
        if self._pattern.simple is not None:
            return bool(self._pattern.found_in(url))
        begun = time.monotonic()
        found = self._pattern.found_in(url)
        self._left -= time.monotonic() - begun
        self._timeouts += found is None
        if self._timeouts >= MOST_TIMEOUTS or self._left < 0:
            raise JobError(f"{self.text[:_SHOWN]!r} takes too long, for instance in {url[:_SHOWN]}; make it simpler")
        return bool(found)


class SearchTimeOver(Exception):
    """The time of a search is over before all URLs were looked at."""


class TimedSearch:
    """A timed search ends after some seconds, however many URLs there are."""

    def __init__(self, text: str, seconds: float) -> None:
        """Raise JobError for an expression that can't be used."""
        self._search = UrlSearch(text, seconds=seconds)
        self._ends = time.monotonic() + seconds

    def finds(self, url: str) -> bool:
        """Return whether the expression is found in the URL. Raises SearchTimeOver, and JobError as `UrlSearch`."""
        if time.monotonic() >= self._ends:
            raise SearchTimeOver
        return self._search.finds(url)
