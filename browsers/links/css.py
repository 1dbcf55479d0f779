"""This module finds links in CSS (`url()`, `@import`) and in `srcset`. Pure, and linear in the length of the text."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from browsers.links.collector import LinkCollector

_SPACE: Final = " \t\r\n\f"
_MAX_ESCAPES: Final = 2000
"""Largest number of escapes in one string or URL."""
_STRING: Final = rf"""(?:[^{{0}}\\\n\r\f]*+(?:\\[\s\S][^{{0}}\\\n\r\f]*+){{{{0,{_MAX_ESCAPES}}}}}+)"""
_TOKEN: Final = re.compile(
    r"(?P<comment>/\*)"
    rf"|\"(?P<double>{_STRING.format('"')})\"?+|'(?P<single>{_STRING.format("'")})'?+"
    rf"|(?<![\w-])url\(\s*+(?P<url>(?![\s\"'()])[^\s\"'()\\]*+(?:\\[^\n][^\s\"'()\\]*+){{0,{_MAX_ESCAPES}}}+)\s*+(?:\)|\Z)"
    r"|(?P<before>(?<![\w-])(?:url|src)\(|@import(?![\w-]))",
    re.IGNORECASE,
)
"""A comment, a string, a URL, or the function in front of a URL in a string."""
_ESCAPE: Final = re.compile(r"\\(?:([0-9a-fA-F]{1,6})(?:\r\n|[ \t\r\n\f])?|(\r\n|[\s\S]))")


def collect(found: LinkCollector, text: str, context: str) -> None:
    """Add every URL of a stylesheet or a `style` attribute. All are parts of the page."""
    for reference in references(text):
        found.add(reference, "E", context)


def references(text: str) -> Iterator[str]:
    """Yield the URLs as written: `url(…)`, `url("…")`, `@import "…"`. Comments and broken URLs are skipped."""
    position, expected = 0, -1  # a string that begins at `expected`, or behind spaces there, is an address
    while (token := _TOKEN.search(text, position)) is not None:
        position = token.end()
        is_next = expected >= 0 and not text[expected : token.start()].strip(_SPACE)
        match token.lastgroup:
            case "comment":
                end = text.find("*/", position)
                position = end + 2 if end >= 0 else len(text)
                expected = position if is_next else -1
            case "before":
                expected = position
            case "url":
                yield _unescaped(token["url"])
                expected = -1
            case _:
                if is_next:
                    yield _unescaped(token[token.lastgroup or 0])
                expected = -1


def _unescaped(text: str) -> str:
    return _ESCAPE.sub(_character, text) if "\\" in text else text


def _character(match: re.Match[str]) -> str:
    """Resolve an escape (CSS Syntax section 4.3.7); one at the end of a line joins two lines of a string."""
    if match[1]:
        number = int(match[1], 16)
        return chr(number) if 0 < number < 0x110000 and not 0xD800 <= number < 0xE000 else "\ufffd"
    return "" if match[2] in ("\n", "\r\n", "\r", "\f") else match[2]


def srcset(value: str) -> Iterator[str]:
    """Yield the addresses of a `srcset`, by the steps of HTML section 4.8.4.2.2: they may contain commas themselves."""
    position, end = 0, len(value)
    while position < end:
        while position < end and value[position] in _SPACE + ",":
            position += 1
        start = position
        while position < end and value[position] not in _SPACE:
            position += 1
        address = value[start:position]
        if stripped := address.rstrip(","):
            yield stripped
        if address == stripped:
            position = _end_of_descriptors(value, position)


def _end_of_descriptors(value: str, position: int) -> int:
    """Return where a candidate's descriptors end: at a comma outside parentheses."""
    depth = 0
    while position < len(value):
        char = value[position]
        if char == "," and depth == 0:
            break
        depth += (char == "(") - (char == ")" and depth > 0)
        position += 1
    return position
