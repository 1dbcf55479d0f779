"""Controls are known by words of many languages, which lie in `words/`, in one file for each subject.

A file has a table for each meaning of words, and a table has a list for each language (ISO 639-1).
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Final

WORDS: Final = Path(__file__).with_name("words")


@cache
def word_patterns() -> Mapping[str, str]:
    """Return a pattern of JavaScript for each meaning. It matches any word of any language."""
    return {meaning: "|".join(dict.fromkeys(words)) for meaning, words in _words().items()}


def _words() -> Mapping[str, list[str]]:
    """Return the words of each meaning, in the order of the files."""
    found: dict[str, list[str]] = {}
    for file in sorted(WORDS.glob("*.toml")):
        for meaning, by_language in tomllib.loads(file.read_text("utf-8")).items():
            found.setdefault(meaning, []).extend(word for words in by_language.values() for word in words)
    return found
