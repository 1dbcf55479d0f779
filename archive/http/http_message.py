"""This module parses archived HTTP/1 messages: named fields and heads. No I/O.

Parsing is as lenient as in browsers: bare line feeds, folded lines and additional spaces are accepted, since an archive
keeps messages as they were sent. `archive.warc.upkeep.check` reports the deviations.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

_STATUS: Final = re.compile(r"(?s:.{0,4}?)(?i:HTTP[^ \t\r\n]{0,40}|ICY)[ \t]+([0-9]{3})(?![0-9])")
_EMPTY_LINE: Final = re.compile(rb"\n\r?\n")
_EMPTY_LINE_MAX: Final = 4


class Fields(tuple[tuple[str, str], ...]):
    """Named fields keep the order in which they came. Names are compared without regard to case, repeats are kept."""

    __slots__ = ()

    def get(self, name: str) -> str | None:
        """Return the first value under this name, None when there is none."""
        wanted = name.lower()
        return next((value for found, value in self if found.lower() == wanted), None)

    def all(self, name: str) -> list[str]:
        """Return every value under this name, in order."""
        wanted = name.lower()
        return [value for found, value in self if found.lower() == wanted]


@dataclass(frozen=True, slots=True)
class Head:
    """A head has the start line of an HTTP message and its fields."""

    start_line: str
    fields: Fields

    @property
    def status(self) -> int | None:
        """Return the status of a response, None for a request or a line that names none."""
        found = _STATUS.match(self.start_line)
        return int(found[1]) if found else None

    @property
    def method(self) -> str:
        """Return the method of a request."""
        return self.start_line.partition(" ")[0]

    @property
    def mime(self) -> str | None:
        """Return the media type of the body in lower case, without parameters."""
        return media_type(self.fields.get("Content-Type"))

    @property
    def is_chunked(self) -> bool:
        """Return whether the body carries the chunked transfer coding."""
        return is_chunked(self.fields.all("Transfer-Encoding"))


def media_type(content_type: str | None) -> str | None:
    """Return a Content-Type without parameters in lower case; None when it is missing or names no type."""
    if content_type is None:
        return None
    name = content_type.partition(";")[0].partition(",")[0].strip().lower()
    return name if name and name.isascii() and name.isprintable() and " " not in name else None


def is_chunked(transfer_encodings: Iterable[str]) -> bool:
    """Return whether chunked is a transfer coding, in any position as in browsers, not only last (RFC 9112, 6.1)."""
    return any(coding.strip(" \t").lower() == "chunked" for value in transfer_encodings for coding in value.split(","))


def end_of_head(data: bytes | bytearray, searched: int = 0) -> int:
    """Return the offset behind the empty line that ends a head; 0 when the empty line has not come yet.

    The first `searched` bytes were searched before, so that a head in many pieces is searched once.
    """
    found = _EMPTY_LINE.search(data, max(0, searched - _EMPTY_LINE_MAX))
    return found.end() if found else 0


def end_of_http_head(data: bytes | bytearray, searched: int = 0) -> int:
    """Return the end of an HTTP head, which may have empty lines before it (RFC 9112 section 2.2); 0 for none yet."""
    lead = len(data) - len(data.lstrip(b"\r\n")) if data[:1] in (b"\r", b"\n") else 0
    return end_of_head(data, max(lead + _EMPTY_LINE_MAX, searched))


def parse_head(head: bytes) -> Head:
    """Return the parts of a head. A head that is not UTF-8 is read as Latin-1, the former encoding of HTTP."""
    try:
        text = head.decode("utf-8")
    except UnicodeDecodeError:
        text = head.decode("latin-1")
    lines = text.replace("\r\n", "\n").rstrip("\n").split("\n")
    return Head(lines[0], parse_fields(lines[1:]))


def parse_fields(lines: Iterable[str]) -> Fields:
    """Return named fields of WARC or HTTP heads; a line that starts with a space continues the one before."""
    found: list[tuple[str, str]] = []
    folded: dict[int, list[str]] = {}
    for line in lines:
        if line[:1] in (" ", "\t") and found:
            folded.setdefault(len(found) - 1, [found[-1][1]]).append(_bare(line))
        else:
            name, colon, value = line.partition(":")
            found.append(
                (_bare(name), _bare(value)) if colon else ("", "")
            )  # a line that continues this one has no name either
    for place, parts in folded.items():
        found[place] = (found[place][0], " ".join(filter(None, parts)))
    return Fields(field for field in found if field[0])


def _bare(text: str) -> str:
    return text.rstrip("\r").strip(" \t")
