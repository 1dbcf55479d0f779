"""An index line must pass these checks before it is added to the index.

Lines may come from any archive, and a reader of a capture opens the file that the capture names. A line that names a
file outside of the collection is refused, as is a line with a value that no database could hold.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

from archive.capture import Capture
from archive.names.name_rules import NAME_PATTERN, NAME_RULE

SAFE_NAME: Final = re.compile(r"(?!\.)[^/\\\0:]+(/(?!\.)[^/\\\0:]+){0,8}")
"""The names of files that lie in a collection: no part of the path begins with a dot."""
_SHA256: Final = re.compile(r"[0-9a-f]{64}")
_TEXTS: Final = ("key", "url", "mime", "kind", "filename", "record_id", "method")
_OPTIONAL_TEXTS: Final = ("digest", "job", "page_id", "sha256", "truncated", "request_body")
_IN_BTREES: Final = ("filename", "record_id", "digest")
_LONGEST_IN_BTREE: Final = 600
"""Characters of such a text. An entry of a PostgreSQL B-tree has at most 2,704 bytes, and a character at most four."""
_NUMBERS: Final = ("date", "offset", "length", "payload_length")


def acceptable(capture: Capture) -> Capture:
    """Return the capture itself. Raises ValueError that names the field when a value can't be used."""
    _check_texts(capture)
    _check_numbers(capture)
    if not re.fullmatch(NAME_PATTERN, capture.collection):
        raise ValueError(f"collection {capture.collection[:80]!r} can't be used; {NAME_RULE}")
    if not SAFE_NAME.fullmatch(capture.filename):
        raise ValueError(f"filename {capture.filename[:200]!r} is not the name of a file in the collection")
    if capture.sha256 is not None and not _SHA256.fullmatch(capture.sha256):
        raise ValueError(f"sha256 {capture.sha256[:80]!r} is not 64 hexadecimal digits")
    return capture


def _check_texts(capture: Capture) -> None:
    said = {name: getattr(capture, name) for name in _TEXTS}
    said |= {name: value for name in _OPTIONAL_TEXTS if (value := getattr(capture, name)) is not None}
    if original := capture.refers_to:
        said |= {"refers_to": original.record_id, "refers_to_url": original.url}
    said |= {f"buckets {number}": name for number, name in enumerate(capture.buckets)}
    if not _are_texts(said.values()):
        for name, value in said.items():
            if not isinstance(value, str) or "\0" in value or not _is_unicode(value):
                raise ValueError(f"{name} {str(value)[:80]!r} is not a text")
    for name in _IN_BTREES:
        if len(said.get(name, "")) > _LONGEST_IN_BTREE:
            raise ValueError(f"{name} {said[name][:80]!r} has more than {_LONGEST_IN_BTREE} characters")


def _are_texts(values: Iterable[object]) -> bool:
    """Return whether all values are texts. One check for all is quicker than one for each."""
    try:
        joined = "".join(values)  # type: ignore[arg-type]
    except TypeError:
        return False
    return "\0" not in joined and _is_unicode(joined)


def _check_numbers(capture: Capture) -> None:
    said = {name: getattr(capture, name) for name in _NUMBERS}
    said |= {"status": capture.status or 0, "refers_to_date": capture.refers_to.date if capture.refers_to else 0}
    for name, value in said.items():
        most = 2**31 if name == "status" else 2**63
        if not isinstance(value, int) or not 0 <= value < most:
            raise ValueError(f"{name} {str(value)[:80]!r} is not a number from 0 to {most - 1}")


def _is_unicode(text: str) -> bool:
    r"""Return False for the half characters that JSON can write as `\ud800`."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
