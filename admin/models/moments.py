"""A person writes a moment as a date of ISO 8601 with its zone. Programs may write microseconds since 1970.

Digits alone are a day (20270115), a timestamp of CDX files (20270115070000), a time of crawl.log with milliseconds
(20270115070000123), or microseconds. Shorter dates such as 2027 are refused, since nobody says whether the beginning or
the end of the year is meant. A lone 0 is 1970, from where programs ask for everything.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Annotated, Any, Final

from pydantic import BeforeValidator, WithJsonSchema

from archive.dates import Micros, parse_date

MOMENT_REMEDY: Final = "write 2027-01-15, or 2027-01-15T08:00+01:00 with a zone"
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_DATE_DIGITS: Final = (8, 14, 17)
"""Numbers of digits that a date has: to the day, to the second or to the millisecond."""
_LEAST_MICROS_DIGITS: Final = 15
"""The moments from March 1973 to the year 2286 have 15 or 16 digits in microseconds."""


def moment_of(text: str) -> Micros:
    """Return the moment of a text; a date without a zone is UTC. Raises ValueError with the remedy."""
    text = text.strip()
    is_number = text.isascii() and text.isdecimal()
    is_date = is_number and len(text) in _DATE_DIGITS
    if text == "0" or (is_number and len(text) >= _LEAST_MICROS_DIGITS and not is_date):
        return int(text[:20])
    try:
        if is_date:
            return parse_date(text)
        if is_number:
            raise ValueError("neither a day nor a second")
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
