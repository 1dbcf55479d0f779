"""JSON as the archive writes it: on one line, short, and readable where it is not ASCII."""

from __future__ import annotations

import json
from typing import Any, Final

_encode: Final = json.JSONEncoder(separators=(",", ":"), ensure_ascii=False).encode


def compact_json(value: Any) -> str:
    """JSON on one line without spaces, non-ASCII kept readable."""
    return _encode(value)
