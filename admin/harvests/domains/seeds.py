"""Seeds stand one on each line; blank lines and lines that begin with # are kept and are no seeds. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import Any, Final

import regex

from admin.harvests.domains.names import shortened
from admin.models.errors import Problem
from archive.names.characters import in_words
from frontier.definition.job import JobError, Seed, read_seeds

LONGEST_TEXT: Final = 5_000_000
"""Characters of one seed list."""
REGEX_SECONDS: Final = 0.1
"""The time that `harvests.seed_regex` may take for one seed."""
_LINE_END: Final = re.compile(r"\r\n|\r|\n")
_OTHER_LINE_END: Final = re.compile(r"[\v\f\x1c-\x1e\x85\u2028\u2029]")
_SCHEME: Final = re.compile(r"[a-zA-Z][a-zA-Z0-9+.-]*:(//|[^0-9])")


def split_lines(text: str) -> list[str]:
    """Return the lines of a text as editors count them: they end with CR, LF, or both."""
    return _LINE_END.split(text)


def seed_lines(text: str) -> Iterator[str]:
    """Yield the seeds of a seed list, as their author wrote them."""
    for line in split_lines(text):
        seed = line.strip().lstrip("\ufeff")
        if seed and not seed.startswith("#"):
            yield seed


def has_seeds(text: str) -> bool:
    """Return whether there is any line that is a seed."""
    return next(seed_lines(text), None) is not None


def tidy(text: str) -> str:
    """Return the text of a seed list as it is kept: lines end with a line feed, and no byte order mark is first."""
    return "\n".join(line.rstrip() for line in split_lines(text.lstrip("\ufeff")))


def seed_problems(text: str, pattern: str, field: str = "seeds") -> Iterator[Problem]:
    """Yield what is wrong with a seed list, by line. `pattern` is `harvests.seed_regex`."""
    if len(text) > LONGEST_TEXT:
        yield Problem(field, f"the seed list has {len(text)} characters; write at most {LONGEST_TEXT}")
        return
    if "\0" in text:
        line = text[: text.index("\0")].count("\n") + 1
        yield Problem(field, "the line has a NUL character, which no seed has; leave it out", line)
        return
    lines = split_lines(text)
    for number, found in read_seeds(lines):
        if isinstance(found, JobError):
            yield Problem(field, str(found), number)
        elif refusal := _against_line_ends(lines[number - 1]) or against_pattern(found.url, pattern):
            yield Problem(field, refusal, number)


def parse_seed(text: str, pattern: str) -> str:
    """Return a seed of an upload, with http:// in front when it has no scheme.

    Raises ValueError with a sentence that names the seed and the remedy.
    """
    bare = text.strip().lstrip("\ufeff")
    seed = bare if _SCHEME.match(bare) else f"http://{bare.lstrip('/')}"
    parsed = Seed.parse(seed)
    if refusal := _against_line_ends(seed) or against_pattern(parsed.url, pattern):
        raise ValueError(refusal)
    return seed


def _against_line_ends(seed: str) -> str | None:
    """Return why a seed is refused that has a character inside which other programs take for the end of a line."""
    if found := _OTHER_LINE_END.search(seed.strip()):
        return f"{shortened(seed)} has {in_words(found[0])} in it, which may end a line; write one seed on each line"
    return None


def against_pattern(seed: str, pattern: str) -> str | None:
    """Return why the setting `harvests.seed_regex` refuses a seed; None when it does not."""
    try:
        if _compiled(pattern).fullmatch(seed, timeout=REGEX_SECONDS):
            return None
    except TimeoutError:
        return f"the setting harvests.seed_regex takes too long for {shortened(seed)}; write a simpler expression"
    return f"{shortened(seed)} does not match the setting harvests.seed_regex, {shortened(pattern)}"


@lru_cache(maxsize=8)
def _compiled(pattern: str) -> Any:
    return regex.compile(pattern)
