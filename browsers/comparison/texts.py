"""The text of a page's capture is compared with the text of its replay.

Equal lines are taken out first, wherever they stand. The words of the other lines are compared by the longest common
subsequence (Indel). Large texts are sampled by content: a line or a word is in the sample of both texts or of neither,
so that a sample of two equal texts is equal. Pure.
"""

from __future__ import annotations

import re
import zlib
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final

from rapidfuzz.distance import Indel

MAX_NAMED_LINES: Final = 20
"""Largest number of lines that a comparison names as missing, and as added."""
MAX_LINE_CHARACTERS: Final = 200
"""Largest number of characters of a line that a comparison names."""
_MOST_CHARACTERS: Final = 20_000_000
"""The rest of a longer text is not compared."""
_MOST_LINES: Final = 100_000
_MOST_TOKENS: Final = 20_000
"""Two such lists of words take 30 ms. The time grows with the square."""
_MOST_TOKEN_TEXT: Final = 2_000_000
"""Largest number of characters whose words are looked at."""

_LINE: Final = re.compile(r"[^\r\n]{1,1000}")
"""A longer line is cut in pieces, so that one line can't be the whole text."""
_TOKEN: Final = re.compile(
    r"[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u2e80-\u9fff\uac00-\ud7af\U00020000-\U0003ffff]"
    r"|[^\W\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u2e80-\u9fff\uac00-\ud7af\U00020000-\U0003ffff]{1,40}"
)
"""A token is a word, or one character of a script that writes no spaces between words."""
_NUMBER: Final = re.compile(r"\d+(?:[.,:]\d+)*")


@dataclass(frozen=True, slots=True)
class TextComparison:
    """The two texts differ so."""

    similarity: float
    """The share of the text that both have, from 0 to 1, counted in characters and words."""
    missing: tuple[str, ...]
    """The first lines that the replay lacks."""
    added: tuple[str, ...]
    """The first lines that only the replay has."""
    only_digits: bool
    """The texts differ in digits alone, as a clock or a counter does."""


def compare_texts(capture: str, replay: str) -> TextComparison:
    """Return how the texts differ. White space and the order of equal lines make no difference.

    The time is bounded: two unlike texts of 10 MB take a few seconds.
    """
    capture, replay = capture[:_MOST_CHARACTERS], replay[:_MOST_CHARACTERS]
    every = _every(max(_ends(capture), _ends(replay)), _MOST_LINES)
    ours, theirs = Counter(_lines(capture, every)), Counter(_lines(replay, every))
    missing, added = ours - theirs, theirs - ours
    total = _characters(ours) + _characters(theirs)
    apart = _characters(missing) + _characters(added)
    if not apart:
        return TextComparison(1.0, (), (), False)
    similarity = (total - apart + _similarity(missing, added) * apart) / total
    return TextComparison(
        similarity, _named(missing), _named(added), _without_numbers(missing) == _without_numbers(added)
    )


def _every(size: int, bound: int) -> int:
    return max(1, -(-size // bound))


def _ends(text: str) -> int:
    """Return the largest number of lines that the text can have."""
    return text.count("\n") + text.count("\r") + len(text) // 1000


def _lines(text: str, every: int) -> Iterator[str]:
    """Yield the lines that are not empty, with single spaces, or one of so many of them."""
    for match in _LINE.finditer(text):
        line = match[0].strip()
        if line and (every == 1 or _is_sampled(line, every)):
            yield " ".join(line.split())


def _is_sampled(text: str, every: int) -> bool:
    return zlib.crc32(text.encode("utf-8", "surrogatepass")) % every == 0


def _characters(lines: Counter[str]) -> int:
    return sum(len(line) * count for line, count in lines.items())


def _named(lines: Counter[str]) -> tuple[str, ...]:
    return tuple(line[:MAX_LINE_CHARACTERS] for line, _ in zip(lines, range(MAX_NAMED_LINES), strict=False))


def _without_numbers(lines: Counter[str]) -> Counter[str]:
    found = Counter[str]()
    for line, count in lines.items():
        found[_NUMBER.sub("0", line)] += count
    return found


def _similarity(missing: Counter[str], added: Counter[str]) -> float:
    """Return the similarity of the words of these lines. A text without words is like no other."""
    every = _every(max(_characters(missing), _characters(added)), _MOST_TOKEN_TEXT)
    ours, theirs = (list(_tokens(_sample(list(lines.elements()), every))) for lines in (missing, added))
    every = _every(max(len(ours), len(theirs)), _MOST_TOKENS)
    ours, theirs = _sample(ours, every)[:_MOST_TOKENS], _sample(theirs, every)[:_MOST_TOKENS]
    return Indel.normalized_similarity(ours, theirs) if ours and theirs else 0.0


def _sample(parts: list[str], every: int) -> list[str]:
    """Return one of so many parts, by content, or the first ones where no content is in the sample."""
    if every == 1:
        return parts
    return [part for part in parts if _is_sampled(part, every)] or parts[: len(parts) // every + 1]


def _tokens(lines: Iterable[str]) -> Iterator[str]:
    room = _MOST_TOKEN_TEXT
    for line in lines:
        yield from _TOKEN.findall(line)
        room -= len(line)
        if room < 0:
            return
