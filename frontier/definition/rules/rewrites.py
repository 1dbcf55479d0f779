"""The seen test of a job compares URLs in which some parts were replaced, as Heritrix's RegexRule does.

A rewrite is one line: a regular expression, ` => ` and a replacement, which may be empty and may name groups as `\\1`.
Every place of the URL in which the expression is found is replaced. A rewrite that takes too long for three URLs is not
used any more in its process: URLs are then compared without it, and none is lost.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Iterable
from functools import lru_cache
from typing import Final

import regex

from archive.url import UrlError, canonical
from frontier.definition.rules.url_patterns import MOST_TIMEOUTS, SEARCH_SECONDS

log = logging.getLogger(__name__)

MAX_REWRITES: Final = 20
_LONGEST_LINE: Final = 2_000
_LONGEST_URL: Final = 8_192
"""Longer URLs are compared as they are. No scope takes them in."""
_ARROW: Final = " => "


def parse_rewrite(line: str) -> tuple[str, str]:
    """Return the expression and the replacement of a line. Raises ValueError, whose message has the remedy."""
    expression, arrow, replacement = f"{line} ".partition(_ARROW)
    expression, replacement = expression.strip(), replacement.strip()
    example = r"write for example `[?&]utm_[a-z]+=[^&]* => `"
    if not arrow or not expression or len(line) > _LONGEST_LINE:
        raise ValueError(f"{line[:100]!r} is no expression, ` => ` and replacement; {example}")
    try:
        re.compile(expression).sub(replacement, "")
        regex.compile(expression).sub(replacement, "")
    except (re.error, regex.error, RecursionError, OverflowError, IndexError) as error:
        raise ValueError(f"{line[:100]!r} can't be used: {error}; {example}") from error
    return expression, replacement


class Rewriter:
    """A rewriter applies the rewrites of a job in their order. Threads may share it."""

    def __init__(self, lines: Iterable[str]) -> None:
        """Read the lines. Raises ValueError for a line that is no rewrite."""
        parsed = [parse_rewrite(line) for line in lines]
        self._steps = [(regex.compile(expression), replacement) for expression, replacement in parsed]
        self._timeouts = [0] * len(self._steps)

    def rewritten(self, url: str) -> str:
        """Return a canonical URL after all rewrites. A rewrite that makes no URL of it changes nothing."""
        if len(url) > _LONGEST_URL:
            return url
        for number, (pattern, replacement) in enumerate(self._steps):
            if self._timeouts[number] >= MOST_TIMEOUTS:
                continue
            try:
                changed = pattern.sub(replacement, url, timeout=SEARCH_SECONDS)
                url = canonical(changed) if changed != url and len(changed) <= _LONGEST_URL else url
            except UrlError:
                pass
            except TimeoutError:
                self._timeouts[number] += 1
                if self._timeouts[number] == MOST_TIMEOUTS:
                    log.warning("the rewrite %r takes too long and is not used any more", pattern.pattern)
        return url


@lru_cache(maxsize=64)
def rewriter(lines: tuple[str, ...]) -> Rewriter:
    """Return the rewriter of these lines, which one process makes once."""
    return Rewriter(lines)
