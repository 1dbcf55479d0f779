"""A value that a page made up looks random: letters and digits follow each other without an order. Pure.

The names of such parameters are not known. An identifier of a video or of an article may look the same, so a name that
stands for content, by the list in `similar.toml`, is never one of a random value.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Sequence
from itertools import pairwise
from typing import Final

from archive.capture import Capture
from archive.dates import Micros

_LEAST, _LONGEST = 8, 128
_ALPHABETS: Final = (
    ("hexadecimal", re.compile(r"[0-9a-f]+")),
    ("letters and digits", re.compile(r"[0-9a-z_+/-]+={0,2}")),
)
"""Alphabets of values in lower case. A value in base 64 may have neither a sign nor a capital letter."""
_SITTING: Final = 3_600_000_000
"""Captures in this time (Micros) are of one visit, as far as dates can tell."""
_MOST_REPEATED: Final = 0.4
"""The part of the value that one character may have."""
_SWITCHES: Final = 0.25
"""A random value changes between letters and digits at this part of its places, or more often."""
_BITS: Final = 2.3
"""Bits of entropy of a character, as far as so short a text has them."""


def alphabet_of(value: str) -> str:
    """Return the alphabet of a value that looks random; an empty text for any other value."""
    if not _LEAST <= len(value) <= _LONGEST:
        return ""
    name = next((name for name, form in _ALPHABETS if form.fullmatch(value.lower())), "")
    plain = value.rstrip("=").lower()
    kinds = [_kind(character) for character in plain]
    digits = kinds.count("digit")
    if not name or digits < 2 or len(plain) - digits < 2:
        return ""
    switches = sum(one != other for one, other in pairwise(kinds))
    counts = Counter(plain)
    if switches < _SWITCHES * (len(plain) - 1) or max(counts.values()) > _MOST_REPEATED * len(plain):
        return ""
    bits = -sum(count / len(plain) * math.log2(count / len(plain)) for count in counts.values())
    return name if bits >= _BITS else ""


def of_one_payload(captures: Sequence[Capture], date: Micros | None) -> list[Capture]:
    """Return the captures of the visit that is nearest to a date, when all of them have one payload; else none.

    Without a date, the newest visit is the nearest.
    """
    if not captures:
        return []
    moment = max(capture.date for capture in captures) if date is None else date
    nearest = min(abs(capture.date - moment) for capture in captures)
    found = [capture for capture in captures if abs(capture.date - moment) - nearest <= _SITTING]
    payloads = {(capture.status, capture.digest) for capture in found}
    return found if len(payloads) == 1 and None not in {digest for _, digest in payloads} else []


def _kind(character: str) -> str:
    return "digit" if character.isdigit() else "letter" if character.isalpha() else "other"
