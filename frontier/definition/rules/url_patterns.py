"""Patterns of people are searched in URLs within a time limit: one that blows up must not stop a crawl.

Most patterns are simple: at most one repeat without end, not of a group. `re` searches these, which takes a fraction
of a microsecond, and its time grows at most with the square of the URL's length. All others are searched by `regex`,
which knows a time limit, and whose clock costs some microseconds. A pattern that exceeds the limit counts as not found
in that URL, so that nothing is left out by mistake; after three times it is not used any more in this process, as each
time costs a tenth of a second. A long list has an index (`pattern_index`), and its patterns are compiled when they are
first searched.
"""

from __future__ import annotations

import logging
import re
import threading
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from typing import Final
from weakref import WeakValueDictionary

import regex

from frontier.definition.rules.pattern_index import PatternIndex

logger = logging.getLogger(__name__)

SEARCH_SECONDS: Final = 0.1
MOST_TIMEOUTS: Final = 3
"""The number of URLs in which a pattern took too long before it is switched off."""
_ESCAPED: Final = re.compile(r"\\.", re.DOTALL)
_EDGE: Final = re.compile(r"(?:\.\*\??(?![*+?{]))+")
_TAIL: Final = re.compile(r"(?<!\\)(?:\.\*)+$")
_GROUP_REPEAT: Final = re.compile(r"\)[*+{]")
_COUNTED: Final = re.compile(r"(?<!\))\{[1-6]?\d\}", re.ASCII)
"""A repeat with one number, at most 69."""
_ENDLESS: Final = re.compile(r"[*+{]")
_OPTION: Final = re.compile(r"(?<!\()\?")
_MOST_OPTIONS: Final = 4
_MOST_ALTERNATIVES: Final = 10
_GLOBAL_FLAGS: Final = re.compile(r"\(\?[aiLmsux]+\)")
_START: Final = r"\A"
_END: Final = r"\Z"
MOST_WITHOUT_INDEX: Final = 100
"""A list of more patterns has an index."""
_INDEXES: Final = WeakValueDictionary[tuple[str, ...], PatternIndex]()
"""The indexes of the lists in force. An edit that leaves a list of 100,000 alone makes no new one."""
_SPECIAL: Final = re.compile(r"\(\?(?!:|i\))|\\[1-9g]")
"""Lookarounds and back-references. A pattern with one of them is never called simple."""


class UrlPattern:
    """A pattern is searched in URLs."""

    __slots__ = ("_guarded", "is_off", "simple", "text", "timeouts")

    def __init__(self, text: str, *, whole: bool = False) -> None:
        """Compile the pattern. With `whole`, it must match a URL from end to end. Raises re.error or regex.error."""
        self.text = text
        self.timeouts = 0
        self.is_off = False
        bare = text = anchored(text) if whole else text
        bare = without_edges(bare)
        self.simple: Callable[[str], object] | None = None
        """Searches a simple pattern; None for one that needs a time limit."""
        self._guarded: regex.Pattern[str] | None = None
        if is_simple(bare):
            self.simple = re.compile(bare).search
        else:
            re.compile(text)  # what only `regex` reads would mean something else elsewhere
            self._guarded = regex.compile(text)

    def found_in(self, url: str) -> bool | None:
        """Return whether the pattern is found in the URL; None when the search took too long."""
        if self.simple is not None:
            return self.simple(url) is not None
        assert self._guarded is not None
        if self.is_off:
            return None
        try:
            return self._guarded.search(url, timeout=SEARCH_SECONDS) is not None
        except TimeoutError:
            return None


type _Search = tuple[Callable[[str], object] | None, UrlPattern]


class UrlPatterns:
    """A list of patterns is searched in their order. Threads may share a list."""

    def __init__(self, texts: Iterable[str] = (), *, whole: bool = False) -> None:
        """Compile the patterns, unless there are many. With `whole`, they must match a URL from end to end."""
        self._whole = whole
        texts = list(texts)
        self._many = _ManyPatterns(texts, whole) if len(texts) > MOST_WITHOUT_INDEX else None
        self._searches = () if self._many is not None else _searches(texts, whole)
        self._timeouts: Counter[str] = Counter()
        self._switched_off: dict[str, str] = {}
        self._lock = threading.Lock()

    def __iter__(self) -> Iterator[UrlPattern]:
        many = self._many.all() if self._many is not None else ()
        return iter((*many, *(pattern for _, pattern in self._searches)))

    def __bool__(self) -> bool:
        return self._many is not None or bool(self._searches)

    def add(self, texts: Iterable[str]) -> None:
        """Add further patterns behind the others."""
        self._searches += _searches(texts, self._whole)

    def first_found(self, url: str) -> str | None:
        """Return the first pattern that is found in the URL; None when there is none."""
        if self._many is not None and (found := self._first_of(self._many.searches(url), url)) is not None:
            return found
        return self._first_of(self._searches, url)

    def _first_of(self, searches: Iterable[_Search], url: str) -> str | None:
        for search, pattern in searches:
            if search is not None:
                if search(url) is not None:
                    return pattern.text
                continue
            found = pattern.found_in(url)
            if found:
                return pattern.text
            if found is None:
                self._note(pattern, url)
        return None

    def take_timeouts(self) -> Counter[str]:
        """Return how often each pattern was passed over since the last call."""
        if not self._timeouts:
            return Counter()
        with self._lock:
            taken, self._timeouts = self._timeouts, Counter()
        return taken

    def take_switched_off(self) -> dict[str, str]:
        """Return the patterns that were switched off since the last call, each with the URL that was the last one."""
        if not self._switched_off:
            return {}
        with self._lock:
            taken, self._switched_off = self._switched_off, {}
        return taken

    def _note(self, pattern: UrlPattern, url: str) -> None:
        """Count a URL in which the pattern was passed over; log the first one, and when the pattern is switched off."""
        with self._lock:
            self._timeouts[pattern.text] += 1
            if pattern.is_off:
                return
            pattern.timeouts += 1
            pattern.is_off = pattern.timeouts >= MOST_TIMEOUTS
            if pattern.is_off:
                self._switched_off[pattern.text] = url
        if pattern.is_off:
            logger.warning(
                "the pattern %s took too long %d times; it is not used any more in this process", pattern.text,
                MOST_TIMEOUTS,
            )  # fmt: skip
        elif pattern.timeouts == 1:
            logger.warning("the pattern %s takes too long on %s; it counts as not found there", pattern.text, url)


class _ManyPatterns:
    """Compiles the patterns of a long list when they are first searched. An index chooses those to search."""

    def __init__(self, texts: list[str], whole: bool) -> None:
        self._texts = texts
        self._whole = whole
        self._index = _index_of(tuple(texts))
        self._compiled: dict[int, _Search] = {}

    def searches(self, url: str) -> Iterator[_Search]:
        """Yield the patterns that may be found in a URL, in order."""
        return map(self._search, self._index.candidates(url))

    def all(self) -> Iterator[UrlPattern]:
        """Yield all patterns."""
        return (self._search(number)[1] for number in range(len(self._texts)))

    def _search(self, number: int) -> _Search:
        found = self._compiled.get(number)
        if found is None:
            pattern = UrlPattern(self._texts[number], whole=self._whole)
            found = self._compiled.setdefault(number, (pattern.simple, pattern))
        return found


def _index_of(texts: tuple[str, ...]) -> PatternIndex:
    found = _INDEXES.get(texts)
    if found is None:
        found = _INDEXES[texts] = PatternIndex(texts)
    return found


def _searches(texts: Iterable[str], whole: bool) -> tuple[_Search, ...]:
    """Return the patterns with their searches, as one look-up less for each link counts."""
    return tuple((pattern.simple, pattern) for pattern in (UrlPattern(text, whole=whole) for text in texts))


def anchored(text: str) -> str:
    """Return a pattern that is found in a URL when `text` matches the URL from end to end.

    `.*` at an end is left out, which makes most patterns simple.
    """
    if _GLOBAL_FLAGS.match(text) or "|" in text:
        flags = found[0] if (found := _GLOBAL_FLAGS.match(text)) else ""
        return rf"{flags}\A(?:{text[len(flags) :]})\Z"
    start = _EDGE.match(text)
    end = _TAIL.search(text, start.end() if start else 0)
    bare = text[start.end() if start else 0 : end.start() if end else len(text)]
    return f"{'' if start else _START}{bare}{'' if end else _END}"


def is_simple(text: str) -> bool:
    """Return whether the time of a search grows at most with the square of the URL's length."""
    if _SPECIAL.search(text):
        return False
    bare = _COUNTED.sub("", _ESCAPED.sub("x", text))
    if bare.count("|") > _MOST_ALTERNATIVES and bare.count("(") > 1:
        return False
    if _GROUP_REPEAT.search(bare):
        return False
    return len(_ENDLESS.findall(bare)) <= 1 and len(_OPTION.findall(bare)) <= _MOST_OPTIONS


def without_edges(text: str) -> str:
    """Return the pattern without `.*` at its ends, which change nothing about whether it is found in a URL."""
    start = _EDGE.match(text)
    bare = text[start.end() :] if start else text
    return _TAIL.sub("", bare)
