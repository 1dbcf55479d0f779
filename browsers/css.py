"""Links in CSS (`url()`, `@import`) and in `srcset`. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Final

import tinycss2

from browsers.found import Found

_SPACE: Final = " \t\r\n\f"
_DEEPEST: Final = 100
"""Nesting that no stylesheet needs; deeper is meant to exhaust the stack."""
_URL_FUNCTIONS: Final = frozenset(("url", "src"))


def collect(found: Found, text: str, context: str) -> None:
    """Adds every address of a stylesheet, or of a `style` attribute: all of them are part of the page."""
    for reference in references(text):
        found.add(reference, "E", context)


def references(text: str) -> Iterator[str]:
    """Addresses as written, in order: `url(…)`, `url("…")`, `@import "…"`; comments and broken ones are passed over."""
    if "url(" not in (lower := text.lower()) and "@import" not in lower and "src(" not in lower:
        return
    yield from _walk(tinycss2.parse_component_value_list(text, skip_comments=True))


def _walk(tokens: Iterable[Any]) -> Iterator[str]:
    """Depth first with an own stack, since the nesting is the stylesheet's author's to choose."""
    stack = [iter(tokens)]
    importing = False
    while stack:
        token = next(stack[-1], None)
        if token is None:
            stack.pop()
        elif token.type == "at-keyword":
            importing = token.lower_value == "import"
        elif token.type == "url":
            yield token.value
        elif token.type == "string" and importing:
            yield token.value
            importing = False
        elif token.type == "function" and token.lower_name in _URL_FUNCTIONS:
            yield from (part.value for part in token.arguments[:4] if part.type == "string")
        elif token.type != "whitespace":
            importing = False
            inner = getattr(token, "content", None) or getattr(token, "arguments", None)
            if inner and not isinstance(inner, str) and len(stack) < _DEEPEST:
                stack.append(iter(inner))


def srcset(value: str) -> Iterator[str]:
    """The addresses of a `srcset`, by the steps of HTML section 4.8.4.2.2: they may contain commas themselves."""
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
    """Where a candidate's descriptors end: at a comma outside parentheses."""
    depth = 0
    while position < len(value):
        char = value[position]
        if char == "," and depth == 0:
            break
        depth += (char == "(") - (char == ")" and depth > 0)
        position += 1
    return position
