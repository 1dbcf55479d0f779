"""An echo is a value that a client makes up and that an origin's answer repeats, such as the number of a call.

A page that is replayed makes up other values than it did when it was recorded, and takes only an answer with its own.
So the recorded values in an answer become the ones that are asked with now. Long random values are replaced wherever
they stand. Short ones, such as a counter, are replaced only as the member of that name in a JSON text. Pure.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

_SHORTEST: Final = 8
"""Characters of a value that is replaced wherever it stands."""
MOST: Final = 50
"""Echoes in one answer, and in one conversation."""
_LONGEST: Final = 65_536
"""Characters of a message in which made-up values are looked for."""
_MADE_UP: Final = re.compile(
    r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"
    r"|(?<![0-9a-z])[0-9a-f]{16,128}(?![0-9a-z])"
    r"|(?<![0-9.a-z])[0-9]{10,24}(?![0-9a-z])"
    r"|(?<![0-9])0\.[0-9]{6,20}(?![0-9])"
    r'|(?<=")(?=[^"0-9]{0,63}[0-9])[0-9a-z_-]{8,64}(?=\\{0,3}")',
    re.IGNORECASE,
)
"""A UUID, a long number in base 16 or 10, a number of `Math.random`, and a name with a digit in quotation marks, also
in a JSON text within another."""


@dataclass(frozen=True, slots=True)
class Echo:
    """A value differs: the recorded one, and the one that is asked with."""

    recorded: str
    asked: str
    name: str = ""
    """Name of the member that repeats the value; empty for a long value, which is replaced wherever it stands."""


def echo(name: str, recorded: str, asked: str) -> Echo | None:
    """Return the echo of two values; None when they are the same, or too short to be told without a name."""
    if recorded == asked or not recorded or not asked:
        return None
    is_long = len(recorded) >= _SHORTEST
    return Echo(recorded, asked, "" if is_long else name) if is_long or name else None


def template(text: str) -> str:
    """Return a message without the values that its client has made up."""
    return _MADE_UP.sub("*", text[:_LONGEST]) + text[_LONGEST:]


def echoes_between(recorded: str, asked: str) -> list[Echo]:
    """Return the made-up values by which two messages differ; none when they differ in other things, too."""
    if recorded == asked or template(recorded) != template(asked):
        return []
    pairs = zip(_MADE_UP.findall(recorded[:_LONGEST]), _MADE_UP.findall(asked[:_LONGEST]), strict=True)
    found = (echo("", one, other) for one, other in pairs)
    return list({each.recorded: each for each in found if each is not None}.values())[:MOST]


def repeated(content: bytes, echoes: Sequence[Echo] | Iterable[Echo]) -> bytes | None:
    """Return an answer with the values that are asked with; None when the answer repeats none of them."""
    by_value = {each.recorded: each for each in echoes}
    if not by_value:
        return None
    whole = "|".join(re.escape(each.recorded) for each in by_value.values() if not each.name)
    named = "|".join(
        rf'(?<="){re.escape(each.name)}"\s{{0,8}}:\s{{0,8}}"?{re.escape(each.recorded)}(?![0-9A-Za-z_])'
        for each in by_value.values()
        if each.name
    )
    pattern = re.compile("|".join(filter(None, (whole, named))).encode("utf-8", "replace"))

    def answer(found: re.Match[bytes]) -> bytes:
        text = found[0].decode("utf-8", "replace")
        if (each := by_value.get(text)) is not None:
            return each.asked.encode("utf-8", "replace")
        each = next(each for each in by_value.values() if each.name and text.endswith(each.recorded))
        return (text.removesuffix(each.recorded) + each.asked).encode("utf-8", "replace")

    changed, count = pattern.subn(answer, content)
    return changed if count else None
