"""The parts of a multipart form (RFC 7578), read strictly. Pure.

A reader that is more lenient than this one may see other parts than these. So everything about which readers differ
(bare line feeds beside CRLF, a boundary in the middle of a line, a second Content-Disposition, a parameter in pieces)
raises `AmbiguousForm`, except for what all of them read alike.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import pairwise
from typing import Final
from urllib.parse import unquote_to_bytes

_PARAMETER: Final = re.compile(
    r"[ \t]*;[ \t]*(?:([!#$%&'*+.^_`|~0-9A-Za-z-]+)[ \t]*=[ \t]*(?:\"((?:[^\"\\]|\\.)*)\"|([^\s;\"]+)))?[ \t]*",
    re.DOTALL,
)
_KIND: Final = re.compile(r"[ \t]*([!#$%&'*+.^_`|~0-9A-Za-z/-]+)")
_BOUNDARY: Final = re.compile(r"[!#-\[\]-~ ]{1,200}")
_HEAD_END: Final = re.compile(rb"\r?\n\r?\n")
_FOLD: Final = re.compile(rb"\r?\n(?=[ \t])")
_QUOTED_PAIR: Final = re.compile(r"\\(.)", re.DOTALL)
_EXTENDED: Final = re.compile(r"([A-Za-z0-9_-]+)'[^']*'(.*)", re.DOTALL)
_MOST_PARTS: Final = 10_000
_MOST_HEAD_BYTES: Final = 16_384
_CHARSETS: Final = frozenset(("utf-8", "iso-8859-1", "us-ascii"))
"""The charsets that RFC 5987 names, and ASCII."""
_PLAIN_ENCODINGS: Final = frozenset(("", "7bit", "8bit", "binary"))


class AmbiguousForm(Exception):
    """Readers may differ about what this text says."""


@dataclass(frozen=True, slots=True)
class FormPart:
    """A part of a form has the bytes before its content, its content, and what its head says."""

    lead: bytes
    content: bytes
    names: tuple[str, ...]
    """All readings of the field's name."""
    content_type: str


def parameters(value: str) -> tuple[str, list[tuple[str, str]]]:
    """Return the kind that a header's value names, in lower case, and its parameters. Raises Unclear."""
    kind = _KIND.match(value)
    if kind is None:
        raise AmbiguousForm
    found, at = [], kind.end()
    while at < len(value):
        one = _PARAMETER.match(value, at)
        if one is None:
            raise AmbiguousForm
        if one[1] is not None:
            found.append((one[1].lower(), one[2] if one[2] is not None else one[3]))
        at = one.end()
    return kind[1].lower(), found


def split(body: bytes, boundary: str) -> tuple[list[FormPart], bytes]:
    """Return the parts, and the bytes behind the last one's content. Raises Unclear."""
    if not _BOUNDARY.fullmatch(boundary):
        raise AmbiguousForm
    mark = b"--" + boundary.encode("ascii")
    if not 2 <= body.count(mark) <= _MOST_PARTS:
        raise AmbiguousForm
    line = re.compile(rb"(\A|\r?\n)" + re.escape(mark) + rb"(--)?[ \t]*(\r?\n|\Z)")
    found = list(line.finditer(body))
    ends = [one[2] is not None for one in found]
    # Boundaries that `line` does not match, and a last one that is not the last, are read differently.
    if len(found) != body.count(mark) or ends.count(True) != 1 or not ends[-1]:
        raise AmbiguousForm
    line_ends = {mark for one in found for mark in (one[1], one[3]) if mark}
    if len(line_ends) != 1 or body[: found[0].start()].strip() or body[found[-1].end() :].strip():
        raise AmbiguousForm
    (line_end,) = line_ends
    parts, before = [], 0
    for one, other in pairwise(found):
        parts.append(_part(body, before, one.end(), other.start(), line_end))
        before = other.start()
    return parts, body[before:]


def _part(body: bytes, before: int, start: int, stop: int, line_end: bytes) -> FormPart:
    end = _HEAD_END.search(body, start, min(stop, start + _MOST_HEAD_BYTES))
    if end is None or end[0] != line_end * 2:
        raise AmbiguousForm
    head, headers = body[start : end.start()], dict[str, str]()
    lines = _FOLD.sub(b"", head).split(line_end)
    for field in lines:
        if b"\r" in field or b"\n" in field or b"\0" in field:
            raise AmbiguousForm
        name, colon, value = field.partition(b":")
        key = name.decode("latin-1").strip().lower()
        if not colon or not key or key in headers:
            raise AmbiguousForm
        headers[key] = _text(value).strip()
    if headers.get("content-transfer-encoding", "").lower() not in _PLAIN_ENCODINGS or "content-encoding" in headers:
        raise AmbiguousForm
    kind, given = parameters(headers.get("content-disposition", ""))
    if kind != "form-data" or len({name for name, _ in given}) != len(given):
        raise AmbiguousForm
    names = tuple(reading for name, value in given for reading in _readings(name, value))
    if not names:
        raise AmbiguousForm
    return FormPart(body[before : end.end()], body[end.end() : stop], names, headers.get("content-type", ""))


def _readings(name: str, value: str) -> tuple[str, ...]:
    """Return all readings of a parameter as the field's name; nothing for a parameter that is not the name."""
    if name in ("filename", "filename*"):
        return ()
    if "=?" in value:  # an encoded word of RFC 2047
        raise AmbiguousForm
    if name == "name":
        return value, _QUOTED_PAIR.sub(r"\1", value)
    extended = _EXTENDED.fullmatch(value)
    if name != "name*" or extended is None or extended[1].lower() not in _CHARSETS:
        raise AmbiguousForm
    try:
        return (unquote_to_bytes(extended[2]).decode(extended[1]),)
    except ValueError:
        raise AmbiguousForm from None


def _text(raw: bytes) -> str:
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError:
        return raw.decode("latin-1")
