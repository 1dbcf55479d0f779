"""Paths of pictures name sizes and densities, which depend on the reader's window; replay finds another size.

A size is a part of a path such as `640x360` or `width=640,quality=75`, the end of a name such as `-640x360.jpg` or
`@2x.png`, or its beginning such as `640px-`. The same picture in the nearest size answers. Pure.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

_OPTION: Final = re.compile(
    r"(?P<name>w|h|wid|hei|width|height|maxwidth|maxheight|size|s|mw|mh|q|quality|dpr|scale)"
    r"(?P<sep>[=_:])(?:(?P<size>[0-9]{1,5})(?:\.[0-9]{1,3})?|auto)",
    re.IGNORECASE,
)
_OTHER_OPTION: Final = re.compile(r"[a-z][a-z_]{0,23}[=_:][\w.:%-]{1,60}", re.IGNORECASE)
_PART: Final = re.compile(r"([0-9]{2,4})x[0-9]{0,4}|x([0-9]{2,4})|([0-9]{3,4})w", re.IGNORECASE)
_LARGEST_OPTIONS: Final = 20
_ENDING: Final = re.compile(
    r"(?:[-_]([0-9]{2,4})x[0-9]{2,4}|@([1-9])(?:\.[0-9])?x|[-_]([0-9]{3,4})(?:w|px))$", re.IGNORECASE
)
_BEGINNING: Final = re.compile(r"([0-9]{2,4})px-", re.IGNORECASE)
_GOOGLE: Final = re.compile(r"=[swh]([0-9]{2,4})(?:-[a-z0-9]{1,8}){0,6}$", re.IGNORECASE)
MARK: Final = "+"


@dataclass(frozen=True, slots=True)
class SizedPath:
    """A sized path is a path without its sizes, and the first of them; 0 without any."""

    text: str
    size: int
    beginning: str
    """The path up to the first size, or to the ending of the name."""


def sized(path: str) -> SizedPath:
    """Return a path in this form. The key of a URL without its query is a path, too."""
    parts, sizes = [], list[int]()
    beginning = ""
    *folders, name = path.split("/")
    for part in folders:
        form = _part(part, sizes)
        if form == part and not sizes:
            beginning += f"{part}/"
        parts.append(form)
    stem, dot, ending = name.rpartition(".")
    if not dot:
        stem, ending = name, ""
    had = bool(sizes)
    form = _name(stem, sizes)
    if not had:
        beginning += "" if _BEGINNING.match(stem) else form
    return SizedPath("/".join([*parts, f"{form}{dot}{ending}"]), sizes[0] if sizes else 0, beginning)


def _part(part: str, sizes: list[int]) -> str:
    if (found := _PART.fullmatch(part)) is not None:
        sizes.append(int(found[1] or found[2] or found[3]))
        return MARK
    options = part.split(",", _LARGEST_OPTIONS)
    if all(_OTHER_OPTION.fullmatch(each) for each in options) and any(map(_OPTION.fullmatch, options)):
        kept = []
        for each in options:
            if (found := _OPTION.fullmatch(each)) is None:
                kept.append(each)
            elif found["size"]:
                sizes.append(int(found["size"]))
        return ",".join([MARK, *kept])
    return _without(_ENDING, part, sizes)


def _name(stem: str, sizes: list[int]) -> str:
    return _without(_GOOGLE, _without(_ENDING, _without(_BEGINNING, stem, sizes), sizes), sizes)


def _without(pattern: re.Pattern[str], text: str, sizes: list[int]) -> str:
    """Return a text without a size at its beginning or its end. The rest of the text is not empty."""
    found = pattern.match(text) if pattern is _BEGINNING else pattern.search(text)
    if found is None or len(found[0]) == len(text):
        return text
    sizes.append(int(next(value for value in found.groups() if value)))
    return text[: found.start()] + text[found.end() :]
