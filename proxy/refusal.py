"""A request that is not carried out, and the checks of what clients say that lead to it. Pure."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any, Final

from archive.dates import parse_date
from archive.names.name_rules import NAME_PATTERN

_NAME: Final = re.compile(NAME_PATTERN)
LONGEST_PATH: Final = 1024
LONGEST_PART: Final = 255
"""Bytes of one name within a path, on the file systems of today."""


class Refused(ValueError):
    """A request that is not carried out; `status` is the HTTP status that says so.

    `meta` goes into the answer's `Warcprox-Meta` header, for clients that ask the recorder for something.
    """

    def __init__(
        self, status: int, reason: str, word: str = "refused", *, code: int = 0, meta: Mapping[str, Any] | None = None
    ) -> None:
        super().__init__(reason)
        self.status = status
        self.word = word
        self.code = code
        """Heritrix's code for it in the crawl log; 0 for requests that are not logged."""
        self.meta = meta

    @property
    def extra(self) -> str:
        """Return the `Warcprox-Meta` header line, if there is one."""
        return meta_line(self.meta) if self.meta is not None else ""


def meta_line(meta: Mapping[str, Any]) -> str:
    """Return a `Warcprox-Meta` response header. JSON in ASCII: no value can break the line."""
    return f"Warcprox-Meta: {json.dumps(meta, separators=(',', ':'))}\r\n"


def check_name(what: str, value: object) -> None:
    """Raise Refused (400) unless the value may be part of a file name."""
    if not isinstance(value, str) or not _NAME.fullmatch(value):
        raise Refused(400, f"{what} = {value!r} must be 1 to 64 of A-Z a-z 0-9 . _ - and begin with a letter or digit")


def check_text(what: str, value: object) -> None:
    """Raise Refused (400) unless the value is text that may stand in a record's header or a line of the log."""
    if not isinstance(value, str):
        raise Refused(400, f"{what} = {str(value)[:100]!r} must be a string")
    if not value.isprintable():
        raise Refused(400, f"{what} = {value[:100]!r} holds control characters")


def check_length(what: str, value: str, longest: int) -> None:
    """Raise Refused (400) for text of more than `longest` characters."""
    if len(value) > longest:
        raise Refused(400, f"{what} = {value[:100]!r} has {len(value)} characters; at most {longest} are taken")


def check_folder(what: str, value: str) -> None:
    """Raise Refused (400) unless the text is the full path of a folder, which leads nowhere else."""
    check_length(what, value, LONGEST_PATH)
    parts = value.split("/")
    if not value.startswith("/") or ".." in parts or "." in parts:
        raise Refused(400, f"{what} = {value[:100]!r} must be the full path of a folder, from / on and without . or ..")
    if any(len(part.encode()) > LONGEST_PART for part in parts):
        raise Refused(400, f"{what} = {value[:100]!r} has a name of more than {LONGEST_PART} bytes in it")


def check_digits(what: str, value: str) -> None:
    """Raise Refused (400) unless the value is a CDX date, cut short anywhere behind its year."""
    try:
        parse_date(value if value.isascii() and value.isdigit() else "")
    except ValueError:
        raise Refused(400, f"{what} = {value[:100]!r} must be a date of 4 to 17 digits, YYYYMMDDhhmmss") from None


def check_seconds(what: str, value: object, *, longest: float) -> None:
    """Raise Refused (400) unless the value is null or a number of seconds, at most `longest`."""
    if value is None:
        return
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= longest:
        raise Refused(400, f"{what} = {str(value)[:100]!r} must be a number of seconds from 0 to {longest:g}")


def check_object(what: str, value: object) -> dict[str, Any]:
    """Return the value as a JSON object, empty for null. Raises Refused (400)."""
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise Refused(400, f"{what} = {str(value)[:100]!r} must be an object")
    return value


def check_list(what: str, value: object) -> list[Any]:
    """Return the value as a JSON array, empty for null. Raises Refused (400)."""
    if value is None:
        return []
    if not isinstance(value, list):
        raise Refused(400, f"{what} = {str(value)[:100]!r} must be a list")
    return value
