"""This module writes JSON on one short line, with non-ASCII characters readable."""

from __future__ import annotations

import json
from typing import Any, Final

ascii_json: Final = json.encoder.encode_basestring_ascii  # noqa: TID251
"""The function returns a text as a JSON string in ASCII.

Python does not document it. The documented `JSONEncoder.encode` takes half as long again, for the six or more strings
of each index line. `tests/test_library_contracts.py` checks what it returns.
"""
_encode: Final = json.JSONEncoder(separators=(",", ":"), ensure_ascii=False).encode


def compact_json(value: Any) -> str:
    """Return JSON on one line without spaces, non-ASCII kept readable."""
    return _encode(value)


def parsed_object(text: str | bytes | None) -> dict[str, Any]:
    """Return the JSON object in a text; an empty one when the text holds none."""
    try:
        found = json.loads(text) if text else {}
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}
