"""A site asks for a login by HTTP with status 401 and the header WWW-Authenticate (RFC 9110 section 11). Pure.

The header may have several challenges. Each has a scheme, such as Basic or Digest, and most have a realm.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

_MOST_TEXT: Final = 8_192
"""A longer header is cut."""
_ITEM: Final = re.compile(r'(?:[^,"]|"(?:[^"\\]|\\.)*")+', re.DOTALL)
"""The text between two commas, apart from commas in quotes."""
_BEGINNING: Final = re.compile(r"([!#$%&'*+.^_`|~0-9A-Za-z-]{1,64})(?:\s+([^=\s].*))?", re.DOTALL)
_PARAMETER: Final = re.compile(r'realm\s*=\s*(?:"((?:[^"\\]|\\.)*)"|([^\s,]*))', re.IGNORECASE | re.DOTALL)


@dataclass(frozen=True, slots=True)
class HttpChallenge:
    """A site asks by this challenge. `scheme` is in lower case, and `text` is the challenge as a header of its own."""

    scheme: str
    realm: str
    text: str


def challenges(value: str) -> list[HttpChallenge]:
    """Return the challenges of a header WWW-Authenticate, whose repetitions are joined by commas."""
    found: list[tuple[str, list[str]]] = []
    for item in (each.strip() for each in _ITEM.findall(value[:_MOST_TEXT])):
        begun = _BEGINNING.fullmatch(item)
        if begun is not None:
            found.append((begun[1].lower(), [begun[2]] if begun[2] else []))
        elif found:
            found[-1][1].append(item)
    return [HttpChallenge(scheme, _realm(given), f"{scheme} {', '.join(given)}".rstrip()) for scheme, given in found]


def _realm(parameters: list[str]) -> str:
    for each in parameters:
        if said := _PARAMETER.fullmatch(each.strip()):
            return re.sub(r"\\(.)", r"\1", said[1]) if said[1] is not None else said[2]
    return ""
