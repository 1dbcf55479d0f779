"""An index says which of many regular expressions can be found in a URL at all, so that only these are searched. Pure.

Most patterns have a text that each match must hold, such as `/calendar/` in `.*/calendar/\\d+`. Four characters in a
row of this text, in lower case, are the pattern's place in the index. A look-up takes one step for each character of
the URL. Patterns without such a text are searched in each URL.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from typing import Final

GRAM: Final = 4
_FLAGS: Final = re.compile(r"\(\?([a-zA-Z]*)(?:-[a-zA-Z]+)?[:)]")
_MOST_ALTERNATIVES: Final = 50
_RUN: Final = re.compile(r"\\[a-zA-Z0-9]|((?:[^\\\[\](){}|.^$*+?]|\\[^a-zA-Z0-9])+)([*?]?)")
"""A class or an assertion of one letter, or characters that stand for themselves with what follows them."""
_STRUCTURE: Final = frozenset("[({|)")
_ESCAPED: Final = re.compile(r"\\(.)")
_CLASS: Final = r"\[\^?(?:a-z|A-Z|0-9|[a-zA-Z0-9_./?=%]|\\[dDwWsS])+\]"
_ATOM: Final = rf"(?:[^\\\[\](){{}}|.^$*+?]|\.|\\[dDwWsS]|\\[^a-zA-Z0-9]|{_CLASS})"
_REPEAT: Final = r"(?:(?:[*+?]|\{[1-9][0-9]?,?\})\??)?"
_FLAT: Final = rf"(?:{_ATOM}{_REPEAT}|[$^])*+"
_PLAIN: Final = re.compile(rf"(?:{_ATOM}{_REPEAT}|[$^]|\((?:\?:)?{_FLAT}(?:\|{_FLAT})*+\){_REPEAT})*+", re.ASCII)
"""Patterns of characters, classes and groups with repeats, which are regular expressions whatever their characters are.
Groups in groups and anything else are not among them."""


class PatternIndex:
    """The index gives the numbers of the patterns that may be found in a URL."""

    def __init__(self, texts: Sequence[str]) -> None:
        needed = [required_texts(text) for text in texts]
        grams = [[_grams(each) for each in found] if found else None for found in needed]
        counts = Counter(gram for found in grams if found for each in found for gram in each)
        self._needed = needed
        self._by_gram: dict[str, list[int]] = {}
        self._always: list[int] = []
        for number, found in enumerate(grams):
            if found is None:
                self._always.append(number)
                continue
            # The rarest of a text's places is chosen, since each URL has `http` and most have `www.`.
            for place in {min(each, key=counts.__getitem__) for each in found}:
                self._by_gram.setdefault(place, []).append(number)

    def candidates(self, url: str) -> list[int]:
        """Return the numbers of the patterns that may be found in a URL, in order."""
        lower, by_gram = url.lower(), self._by_gram
        found: set[int] = set()
        for gram in {lower[at : at + GRAM] for at in range(len(lower) - GRAM + 1)}:
            if (numbers := by_gram.get(gram)) is not None:
                found.update(number for number in numbers if self._is_held(number, lower))
        return sorted(found.union(self._always))

    def _is_held(self, number: int, lower: str) -> bool:
        return any(text in lower for text in self._needed[number] or ())


def required_texts(pattern: str) -> list[str] | None:
    """Return texts in lower case, one of which is in each match of a pattern; None when there are no such texts.

    The pattern is ASCII without verbose mode, or there are none, since case is folded by other rules then.
    """
    if not pattern.isascii() or any("x" in found[1] for found in _FLAGS.finditer(pattern)):
        return None
    if _STRUCTURE.isdisjoint(pattern):
        text = max(map(_text_of_run, _RUN.finditer(pattern)), key=len, default="")
        return [text.lower()] if len(text) >= GRAM else None
    texts: list[str] = []
    longest, run, at = "", "", 0
    while at < len(pattern):
        char = pattern[at]
        step = 1
        ended = True
        if char == "\\":
            if at + 1 >= len(pattern):
                return None
            step = 2
            if not pattern[at + 1].isalnum():
                run, ended = run + pattern[at + 1], False
        elif char == "[":
            step = _length_of_class(pattern, at)
        elif char == "(":
            step = _length_of_group(pattern, at)
        elif char in "*?{":
            run = run[:-1]
            step = _length_of_count(pattern, at) if char == "{" else 1
        elif char == "|":
            texts.append(_longer(longest, run))
            longest = run = ""
        elif char == ")":
            return None
        elif char not in ".^$+":
            run, ended = run + char, False
        if not step:
            return None
        if ended:
            longest, run = _longer(longest, run), ""
        at += step
    texts.append(_longer(longest, run))
    if len(texts) > _MOST_ALTERNATIVES or any(len(each) < GRAM for each in texts):
        return None
    return [each.lower() for each in texts]


def is_plainly_valid(pattern: str) -> bool:
    """Return whether a pattern is so simple that it need not be compiled to know that it is a regular expression."""
    return _PLAIN.fullmatch(pattern) is not None


def _text_of_run(found: re.Match[str]) -> str:
    """Return the characters of a run, without the last one when it may be absent."""
    run = _ESCAPED.sub(r"\1", found[1] or "")
    return run[:-1] if found[2] else run


def _grams(text: str) -> list[str]:
    return [text[at : at + GRAM] for at in range(len(text) - GRAM + 1)]


def _longer(one: str, other: str) -> str:
    return other if len(other) > len(one) else one


def _length_of_class(pattern: str, start: int) -> int:
    """Return the length of a class such as [^a-z]; 0 when it has no end."""
    at = start + 1
    if pattern[at : at + 1] == "^":
        at += 1
    if pattern[at : at + 1] == "]":
        at += 1
    while at < len(pattern):
        if pattern[at] == "\\":
            at += 1
        elif pattern[at] == "]":
            return at + 1 - start
        at += 1
    return 0


def _length_of_group(pattern: str, start: int) -> int:
    """Return the length of a group with the groups in it; 0 when it has no end."""
    at, depth = start, 0
    while at < len(pattern):
        char = pattern[at]
        if char == "\\":
            at += 1
        elif char == "[":
            length = _length_of_class(pattern, at)
            if not length:
                return 0
            at += length - 1
        elif char in "()":
            depth += 1 if char == "(" else -1
            if not depth:
                return at + 1 - start
        at += 1
    return 0


def _length_of_count(pattern: str, start: int) -> int:
    """Return the length of a count such as {2,3}; 0 when the brace is none."""
    found = re.compile(r"\{[0-9,]*\}").match(pattern, start)
    return found.end() - start if found else 0
