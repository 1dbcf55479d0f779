"""A person writes a moment as a date of ISO 8601 with its zone. Programs may write microseconds since 1970."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Annotated, Any, Final

from pydantic import BeforeValidator, WithJsonSchema

from archive.dates import Micros

MOMENT_REMEDY: Final = "write 2027-01-15, or 2027-01-15T08:00+01:00 with a zone"
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_DAY_DIGITS: Final = 8
"""Digits of a day without dashes, such as 20270115. Any other number is one of microseconds."""


def moment_of(text: str) -> Micros:
    """Return the moment of a text; a date without a zone is UTC. Raises ValueError with the remedy."""
    text = text.strip()
    if text.isascii() and text.isdecimal() and len(text) != _DAY_DIGITS:
        return int(text[:20])
    try:
        found = datetime.fromisoformat(text)
    except ValueError:
        raise ValueError(f"this is no date; {MOMENT_REMEDY}") from None
    if found.tzinfo is None:
        found = found.replace(tzinfo=UTC)
    return (found - _EPOCH) // timedelta(microseconds=1)


def _read(given: Any) -> Any:
    return moment_of(given) if isinstance(given, str) else given


InputMoment = Annotated[
    Micros,
    BeforeValidator(_read),
    WithJsonSchema({"anyOf": [{"type": "integer"}, {"type": "string", "format": "date-time"}]}),
]
"""The type of a moment in an input: microseconds since 1970, which a text in ISO 8601 becomes."""
