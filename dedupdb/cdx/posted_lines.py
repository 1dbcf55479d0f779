"""This module reads lines that clients of OutbackCDX post, each of which names a record. No I/O.

Tools write three kinds of lines: CDX lines of eleven, ten or nine columns, after a head that may name the columns; and
CDXJ lines. A line counts only as the name of a record: its other columns are not kept.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from archive.url import METHOD_MARK
from dedupdb.captures.validation import SAFE_NAME

MAX_LINE: Final = 65_536
"""Bytes of a line."""
_BY_COUNT: Final[Mapping[int, str]] = {11: "NbamskrMSVg", 10: "NbamskrMVg", 9: "NbamskrVg"}
_NEEDED: Final = "baVg"
_NAMES: Final = {"b": "date", "a": "URL", "V": "offset", "g": "file name"}
_HEAD: Final = re.compile(r" ?CDX((?: [A-Za-z])+)")
_DATE: Final = re.compile(r"(\d{14})(?:\d{3})?", re.ASCII)
_OFFSET: Final = re.compile(r"\d{1,18}", re.ASCII)


class LineRefused(ValueError):
    """A line is not taken. The message is one line that says why."""


@dataclass(frozen=True, slots=True)
class NamedRecord:
    """A line names one record: where it is, and the URL and date that it should have."""

    number: int
    filename: str
    offset: int
    url: str
    timestamp: str
    """Fourteen digits."""
    method: str = "GET"

    @property
    def place(self) -> tuple[str, int]:
        """Return the file and the offset."""
        return self.filename, self.offset


class LineReader:
    """The reader takes the lines of one request in their order, and remembers the columns that the head names."""

    def __init__(self) -> None:
        self._columns: str | None = None
        self._number = 0

    def record(self, raw: bytes) -> NamedRecord | None:
        """Return the record that the next line names; None for a head, a comment or an empty line.

        Raises LineRefused.
        """
        self._number += 1
        if len(raw) > MAX_LINE:
            raise LineRefused(f"the line has more than {MAX_LINE} bytes")
        try:
            text = raw.decode().rstrip("\r\n")
        except UnicodeDecodeError:
            raise LineRefused("the line is not UTF-8") from None
        if not text.strip() or text.startswith(("!", "#")):
            return None
        if head := _HEAD.fullmatch(text.rstrip()):
            self._columns = head[1].replace(" ", "")
            return None
        if text.startswith("@"):
            raise LineRefused("aliases are not kept here; post the lines of the URLs that were captured")
        words = text.split(" ", 2)
        if len(words) == 3 and words[2].startswith("{"):
            return self._from_json(*words)
        return self._from_columns(text.split())

    @property
    def number(self) -> int:
        """Return the number of the last line, counted from 1."""
        return self._number

    def _from_json(self, key: str, timestamp: str, text: str) -> NamedRecord:
        try:
            said: Any = json.loads(text)
        except (ValueError, RecursionError):
            raise LineRefused("the JSON of the line can't be read") from None
        url, offset, filename = (said.get(name) for name in ("url", "offset", "filename"))
        if not isinstance(url, str) or not isinstance(filename, str) or not isinstance(offset, str | int):
            raise LineRefused("the line needs url, offset and filename")
        method = said.get("method") or _method_in(key)
        return self._named(timestamp, url, str(offset), filename, method if isinstance(method, str) else "GET")

    def _from_columns(self, words: Sequence[str]) -> NamedRecord:
        columns = self._columns or _BY_COUNT.get(len(words), "")
        if len(words) != len(columns):
            wanted = f"{len(columns)} columns as its head says" if columns else "11, 10 or 9 columns, or JSON"
            raise LineRefused(f"a line of {len(words)} columns can't be read; write {wanted}")
        for letter in _NEEDED:
            if letter not in columns:
                raise LineRefused(f"the head names no column {letter}, the {_NAMES[letter]}")
        said = dict(zip(columns, words, strict=True))
        return self._named(said["b"], said["a"], said["V"], said["g"], _method_in(said.get("N", "")))

    def _named(self, timestamp: str, url: str, offset: str, filename: str, method: str) -> NamedRecord:
        date = _DATE.fullmatch(timestamp)
        if date is None:
            raise LineRefused(f"the date {timestamp[:40]!r} does not have 14 digits")
        if not _OFFSET.fullmatch(offset):
            raise LineRefused(f"the offset {offset[:40]!r} is not a whole number")
        if not SAFE_NAME.fullmatch(filename) or "\0" in filename or not filename.isprintable():
            raise LineRefused(f"the file name {filename[:200]!r} is not the name of a file in the collection")
        return NamedRecord(self._number, filename, int(offset), url, date[1], method)


def _method_in(key: str) -> str:
    """Return the method that a key names in pywb's form; GET without one."""
    _, mark, rest = key.rpartition(METHOD_MARK)
    return (rest.partition("&")[0].upper() or "GET") if mark else "GET"
