"""Characters that people can't use or see in a text are named, or replaced."""

from __future__ import annotations

import unicodedata
from typing import Final

_WORDS: Final = {
    "\0": "a null character",
    "\t": "a tab",
    "\n": "a line break",
    "\r": "a line break",
    " ": "a space",
    "\u00a0": "a space that does not break",
    "\u200b": "a space without a width",
    "\ufeff": "a byte order mark",
}


def in_words(character: str) -> str:
    """Return a character as a message shows it: the character itself in quotes, or the name of one that nobody sees."""
    if character in _WORDS:
        return _WORDS[character]
    if character.isprintable():
        return f"the character '{character}'"
    category = unicodedata.category(character)
    if category == "Cs":
        return "half a character"
    name = unicodedata.name(character, "").lower()
    return f"the character {name!r}" if name else "a control character"


def printable(text: str, instead: str = "\ufffd") -> str:
    """Return a text in which `instead` stands for characters that steer a terminal, or that nobody sees."""
    return "".join(char if char.isprintable() else instead for char in text)
