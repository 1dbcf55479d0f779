"""This module finds URLs in JSON: in documents of any kind, and in descriptions of pages (JSON-LD). Pure.

A document is searched for its strings and not parsed, so that its depth does not matter, and a cut or broken document
gives its links as well. Its links are guesses, as in Heritrix.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from browsers.links import guesses
from browsers.links.collector import LinkCollector
from browsers.visit import Hop

TYPES: Final = frozenset(("application/json", "text/json", "application/x-json"))
LINKED_TYPES: Final = frozenset(("application/ld+json",))
MAX_JSON: Final = 16_000_000
"""Characters of a document that are searched."""
MAX_LINKED: Final = 1_000_000
"""Characters of one description that are parsed."""
MAX_NODES: Final = 20_000
"""Values of one description that are looked at."""
_NAME: Final = re.compile(r"\.(?:geo)?json(?:ld|l)?$", re.I)
_STRING: Final = re.compile(r'"((?:[^"\\]++|\\.)*+)(?:(")(\s{0,20}+:)?|\\?\Z)', re.S)
"""A string, with the colon if it is a key. A string without an end reaches to the end, so that it is read once."""
_KEY: Final = re.compile(r"[\w@:.-]{1,40}")

LINKED_KEYS: Final[Mapping[str, Hop]] = {
    "image": "E",
    "images": "E",
    "logo": "E",
    "photo": "E",
    "photos": "E",
    "primaryimageofpage": "E",
    "screenshot": "E",
    "thumbnail": "E",
    "thumbnailurl": "E",
    "contenturl": "E",
    "embedurl": "E",
    "video": "E",
    "audio": "E",
    "associatedmedia": "E",
    "sameas": "L",
    "mainentityofpage": "L",
    "item": "L",
    "relatedlink": "L",
    "significantlink": "L",
    "discussionurl": "L",
    "downloadurl": "L",
    "installurl": "L",
    "license": "L",
    "acquirelicensepage": "L",
    "isbasedon": "L",
    "citation": "L",
    "haspart": "L",
    "ispartof": "L",
    "subjectof": "L",
}
"""Keys of schema.org in lower case whose value is a URL, or an object with a URL, with the hop."""
_NAMES: Final = frozenset(("@context", "@type", "@vocab", "@base", "additionaltype", "itemtype", "availability"))
"""Keys whose values name ideas, in lower case."""


def has_json_name(path: str) -> bool:
    """Return whether the path of a URL has a name of a JSON document."""
    return bool(_NAME.search(path))


def collect(found: LinkCollector, text: str, context: str = "json") -> None:
    """Add the values that are absolute URLs or paths from the root as guesses. Keys are none."""
    if not found.takes_guesses:
        return
    number = 0
    for string in _STRING.finditer(text, 0, MAX_JSON):
        value = string[1]
        if string[2] is None or string[3] or "/" not in value or len(value) > guesses.MAX_GUESS:
            continue
        number += 1
        if number > guesses.MAX_TEXTS:
            found.dropped += 1
            return
        reference = guesses.likely(value)
        if reference is not None and guesses.is_address(reference):
            found.guess(reference, context)


def collect_linked(found: LinkCollector, text: str) -> None:
    """Add the URLs of a description in JSON-LD; a broken one gives what looks like a URL."""
    try:
        top = json.loads(text) if len(text) <= MAX_LINKED else None
    except (ValueError, RecursionError):
        top = None
    if top is None:
        collect(found, text, "ld+json")
        return
    for key, value, hop in _values(top):
        if hop is not None and _may_be_address(value):
            found.add(value, hop, f"ld+json/{key}")
        elif hop is None and guesses.is_absolute(value):
            found.guess(value, f"ld+json/{key}")


def _values(top: Any) -> Iterator[tuple[str, str, Hop | None]]:
    """Yield the strings of a description: the key, the value, and the hop of a key that names a URL."""
    waiting: list[tuple[str, Any, Hop | None]] = [("", top, None)]
    for _ in range(MAX_NODES):
        if not waiting:
            return
        key, value, hop = waiting.pop()
        if isinstance(value, str):
            yield key, value.strip(), hop
        elif isinstance(value, list):
            waiting += [(key, each, hop) for each in reversed(value[:MAX_NODES])]
        elif isinstance(value, dict):
            waiting += reversed([_placed(value, name, each, key, hop) for name, each in value.items()])


def _placed(holder: dict[str, Any], name: str, value: Any, key: str, hop: Hop | None) -> tuple[str, Any, Hop | None]:
    """Return key, value and hop of an entry of an object. The object itself stands under `key`, which has `hop`."""
    lower = name.lower()
    if lower in _NAMES:
        return name, None, None
    if lower == "@id":  # the name of the object, which is its URL under keys such as mainEntityOfPage
        return key, value if hop == "L" else None, hop
    if lower in ("url", "urls"):
        kind = str(holder.get("@type", "")).lower()
        return name, value, "E" if kind == "imageobject" or (not kind and hop == "E") else "L"
    return name if _KEY.fullmatch(name) else "", value, LINKED_KEYS.get(lower)


def _may_be_address(value: str) -> bool:
    """Return whether the value of a key for URLs can be one: it has no spaces or braces, and a slash or a dot."""
    return not any(char in value for char in " \t\r\n{}<>\"'") and ("/" in value or "." in value)
