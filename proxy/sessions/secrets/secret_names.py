"""Finds the names of secret form fields in text, however the text writes them. Pure.

A client may write a name with escapes: percent-escapes (also twice), character references of HTML, `\\u0070` of JSON,
another case, base64, or inside brackets as `user[password]`. All of these mean the field to some server, so all are
read. Each step takes time linear in the text, and the number of steps is bounded; a text that still changes in the
last step counts as one that holds a secret.
"""

from __future__ import annotations

import base64
import binascii
import html
import re
from collections.abc import Iterable, Iterator
from typing import Final
from urllib.parse import unquote_plus

_MOST_LAYERS: Final = 4
_MOST_NESTED: Final = 3
_MOST_RUNS: Final = 20_000
"""Runs of base64 in one text: each costs some microseconds."""
_MOST_ESCAPES: Final = 200_000
_SHORTEST_RUN: Final = 12
_ESCAPE: Final = re.compile(r"\\(?:u([0-9a-fA-F]{4})|x([0-9a-fA-F]{2})|/)")
_BETWEEN: Final = re.compile(r"[^\w-]+")
_BASE64: Final = re.compile(r"[A-Za-z0-9+/_-]{8,}(?:\r?\n[A-Za-z0-9+/_-]+)*={0,2}")
_NAME_ALONE: Final = re.compile(r"[\w.:$ \[\]-]{1,1000}")


class _Undecidable(Exception):
    """The text has too many layers of escapes to be decoded."""


class SecretNames:
    """Names of form fields whose values are secret."""

    def __init__(self, names: Iterable[str]) -> None:
        self._known = {name.casefold(): name for name in names}
        self._shortest = min((len(name) for name in self._known), default=0)
        listed = "|".join(re.escape(name) for name in sorted(self._known, key=len, reverse=True))
        # Behind a field's name comes what parts it from its value, or the quote or bracket that encloses the name.
        self._assignment = re.compile(rf"(?<![\w-])({listed})(?![\w-])(?:[\s\"'\\\])}}*]*[=:>]|\\*[\"'>]|/>)")

    def exact(self, text: str) -> str | None:
        """Return the secret field whose name this text is, in whatever case; None for any other text."""
        return self._known.get(text.strip().casefold())

    def find(self, name: str) -> str | None:
        """Return the secret field that this field name means, in its original spelling; None for any other field."""
        if self._is_too_short(name):
            return None
        try:
            for plain in _layers(name):
                exact = self._known.get(plain.strip())
                found = exact or next(
                    (self._known[part] for part in _BETWEEN.split(plain) if part in self._known), None
                )
                if found:
                    return found
        except _Undecidable:
            return self._any
        return None

    def is_name_alone(self, name: str) -> bool:
        """Return whether the text is only a field's name. Text around a name may contain the secret value."""
        try:
            *_, last = _layers(name)
        except _Undecidable:
            return False
        return _NAME_ALONE.fullmatch(last) is not None or last in self._known

    def find_assigned(self, text: str, nested: int = 0) -> str | None:
        """Return the secret field that seems to have a value in this text; None when there is none."""
        if self._is_too_short(text):
            return None
        try:
            for plain in _layers(text):
                if found := self._assignment.search(plain):
                    return self._known[found[1]]
            if nested < _MOST_NESTED and len(text) >= _SHORTEST_RUN:
                # Base64 tells upper case from lower, which the layers no longer do.
                for inner in _unpacked(text if "%" not in text else unquote_plus(text)):
                    if name := self.find_assigned(inner, nested + 1):
                        return name
        except _Undecidable:
            return self._any
        return None

    def _is_too_short(self, text: str) -> bool:
        return len(text) < self._shortest and text.isascii()

    @property
    def _any(self) -> str:
        return next(iter(self._known.values()))


def _layers(text: str) -> Iterator[str]:
    """Yield the text as it is, and with ever more of its escapes read, all in lower case. Raises _Doubt."""
    if max(text.count("%"), text.count("&"), text.count("\\")) > _MOST_ESCAPES:
        raise _Undecidable
    yield text.casefold()
    for _ in range(_MOST_LAYERS):
        before = text
        if "%" in text or "+" in text:
            text = _unquoted(text)
            yield text.casefold()
        if "&" in text and (read := _unescaped(text)) != text:
            text = read
            yield text.casefold()
        if "\\" in text and (read := _ESCAPE.sub(_escaped, text)) != text:
            text = read
            yield text.casefold()
        if text == before:
            return
    raise _Undecidable


def _unquoted(text: str) -> str:
    read = unquote_plus(text)
    return read if "\ufffd" not in read else unquote_plus(text, encoding="cp1252")


def _unescaped(text: str) -> str:
    try:
        return html.unescape(text)
    except ValueError:  # a number of thousands of digits
        raise _Undecidable from None


def _escaped(found: re.Match[str]) -> str:
    digits = found[1] or found[2]
    return chr(int(digits, 16)) if digits else "/"


def _unpacked(text: str) -> Iterator[str]:
    """Yield what the runs of base64 in a text stand for. Raises _Doubt when there are too many."""
    for number, run in enumerate(_BASE64.finditer(text)):
        if number >= _MOST_RUNS:
            raise _Undecidable
        if len(run[0]) < _SHORTEST_RUN:
            continue
        digits = "".join(run[0].split()).rstrip("=").replace("-", "+").replace("_", "/")
        try:
            data = base64.b64decode(digits + "=" * (-len(digits) % 4), validate=True)
        except binascii.Error:
            continue
        if data.count(0) * 3 >= len(data):
            data = data.replace(b"\0", b"")  # UTF-16 and UTF-32 of ASCII
        yield data.decode("utf-8", "replace")
