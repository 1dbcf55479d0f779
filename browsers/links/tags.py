"""This module finds the start tags of an HTML text in linear time. Pure.

A tree builder takes quadratic time in the nesting of elements, the attributes of a tag, or the unmatched end tags, and
links need no tree. This module follows the tokenizer of HTML section 13.2.5 in quoted values, comments, and elements
whose content is text. Each pattern consumes what it has matched, so that no character is read twice.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from html import unescape
from html.entities import html5
from typing import Final, NamedTuple

MAX_ATTRIBUTES: Final = 500
"""Attributes of one tag that are read; no page needs as many."""
_PARTS: Final = 2 * MAX_ATTRIBUTES
MAX_NAME: Final = 80
"""Longer names of elements and attributes are cut, since each link of a tag has both names in its context."""
_TAG: Final = re.compile(
    r"<(?:([a-zA-Z][^\s/>]*+)"
    rf"((?:[^>=]++|=\s*+(?:\"[^\"]*+\"?|'[^']*+'?|[^\s>\"'][^\s>]*+)?){{0,{_PARTS}}}+)(>?)"
    r"|(!--)|[!?/])"
)
"""A start tag (name, attributes, its end), the beginning of a comment, or the beginning of anything else."""
_ATTRIBUTE: Final = re.compile(r"([^\s/>=][^\s/>=]*+)(?:\s*+=\s*+(?:\"([^\"]*+)\"?|'([^']*+)'?|([^\s>]*+)))?")
_COMMENT_ENDS: Final = re.compile(r"--!?>")
_EMPTY_COMMENT: Final = re.compile(r"-?>")
_CONDITION: Final = re.compile(r"\s{0,20}\[\s{0,20}if\b[^\]<>]{0,300}\]\s{0,20}>", re.IGNORECASE)
"""The beginning of a conditional comment, which hides markup from all browsers but Internet Explorer."""
_REFERENCE: Final = re.compile(
    r"&(?:#(?:[xX][0-9a-fA-F]{1,8}|[0-9]{1,8})(?![0-9a-fA-F]);?|([a-zA-Z0-9]{1,40}+)(;|(?!=)))"
)
_TEXTS: Final = frozenset(("script", "style", "textarea", "title", "xmp", "iframe", "noembed", "noframes"))
"""Elements whose content is text up to their end tag."""
_SEARCHED: Final = ("style", "script")
_ENDS: Final[Mapping[str, re.Pattern[str]]] = {
    name: re.compile(rf"</{name}(?=[\s/>])", re.IGNORECASE) for name in _TEXTS
}


class Tag(NamedTuple):
    """A start tag: its name in lower case, its attributes as written, and the text of a `style` or `script`."""

    name: str
    written: str
    text: str = ""

    def attributes(self) -> dict[str, str]:
        """Return the values by name in lower case; the first of a name counts, and one without a value is empty."""
        attributes: dict[str, str] = {}
        for written, double, single, bare in _ATTRIBUTE.findall(self.written):
            name, value = written[:MAX_NAME].lower(), double or single or bare
            attributes.setdefault(name, _REFERENCE.sub(_character, value) if "&" in value else value)
        return attributes


def start_tags(text: str, *, is_xml: bool = False, conditional: bool = False) -> Iterator[Tag]:
    """Yield every start tag; one that the text ends within is left out, as browsers do.

    In XML, a `script` or another such element that is closed in its tag has no text. With `conditional`, the tags in
    conditional comments (`<!--[if IE]> … <![endif]-->`) are tags, too.
    """
    position, svg = 0, 0
    while (found := _TAG.search(text, position)) is not None:
        position = found.end()
        if found[1] is None:
            begins = _CONDITION.match(text, position) if conditional and found[4] else None
            position, svg = _skip(text, found, svg)
            if begins is not None and begins.end() < position:
                yield from start_tags(text[begins.end() : position])
            continue
        name = found[1][:MAX_NAME].lower()
        is_closed = found[2].endswith("/")
        svg += name == "svg" and not is_closed
        content = ""
        if name in _TEXTS and not (is_closed and (svg or is_xml)):
            end = _ENDS[name].search(text, position)
            stop = end.start() if end else len(text)
            content, position = text[position:stop] if name in _SEARCHED else "", stop
        if found[3]:
            yield Tag(name, found[2], content)
        if name == "plaintext":
            return


def _skip(text: str, found: re.Match[str], svg: int) -> tuple[int, int]:
    """Return where a comment, an end tag, a doctype or an instruction is over; and how many `svg` are open then."""
    position = found.end()
    if found[4]:
        empty = _EMPTY_COMMENT.match(text, position)
        end = empty or _COMMENT_ENDS.search(text, position)
        return (end.end() if end else len(text)), svg
    if text.startswith("</svg", found.start()):
        svg = max(svg - 1, 0)
    end_at = text.find(">", position)
    return (end_at + 1 if end_at >= 0 else len(text)), svg


def _character(match: re.Match[str]) -> str:
    """Resolve a character reference by the rules for attributes: a name without `;` counts only where it ends."""
    name, end = match[1], match[2]
    if name is None:
        return unescape(match[0])
    return html5.get(name + (end or ""), match[0])
