"""This module checks the names of collections, jobs and prefixes, and explains a refusal."""

from __future__ import annotations

import re
import unicodedata
from typing import Final

LONGEST: Final = 64
NAME_PATTERN: Final = r"^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$"
"""Allowed names of collections, jobs and prefixes, which become parts of file names."""
NAME_RULE: Final = "a name begins with a letter or a digit and has letters from a to z, digits, '.', '-' and '_'"
_ODD: Final = re.compile(r"[^A-Za-z0-9._-]+")


def checked_name(what: str, name: str, longest: int = LONGEST) -> str:
    """Return the name itself. Raises ValueError, whose one line states the rule and offers an allowed name."""
    if re.fullmatch(NAME_PATTERN, name) and len(name) <= longest:
        return name
    near = allowed_name(name, longest)
    offer = f", for instance {near}" if near else ""
    raise ValueError(f"{what} {name[:80]!r} can't be used; {NAME_RULE}, at most {longest} of them{offer}")


def allowed_name(name: str, longest: int = LONGEST) -> str:
    """Return the allowed name that is nearest to this one; empty when no allowed character is left."""
    plain = unicodedata.normalize("NFKD", name).encode("ascii", "ignore").decode()
    return _ODD.sub("-", plain.strip()).lstrip("._-")[:longest].rstrip("-")
