"""The functions here convert dates between whole microseconds and the forms of WARC and CDX files.

All times are whole microseconds since the Unix epoch, UTC (`Micros`): WARC/1.1 dates carry
microseconds (ISO 28500:2017 section 5.4), and a revisit must repeat its original's date exactly.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from time import time_ns
from typing import Final

type Micros = int

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_SECOND: Final = timedelta(seconds=1)
_DIGITS: Final = re.compile(r"(\d{4})(?:(\d\d)(?:(\d\d)(?:(\d\d)(?:(\d\d)(?:(\d\d)(\d{0,3}))?)?)?)?)?", re.ASCII)
_ISO: Final = re.compile(
    r"(\d{4})(?:-(\d\d)(?:-(\d\d)(?:T(\d\d):(\d\d)(?::(\d\d)(?:\.(\d+))?)?Z?)?)?)?", re.ASCII | re.IGNORECASE
)


def now_micros() -> Micros:
    """Return the present moment."""
    return time_ns() // 1000


def iso_date(date: Micros) -> str:
    """Return the WARC-Date with six decimals, such as 2026-11-21T08:15:00.000123Z."""
    seconds, micros = divmod(date, 1_000_000)
    return f"{_whole_seconds(seconds)}.{micros:06d}Z"


def iso_second(date: Micros) -> str:
    """Return the WARC-Date of a moment that is known to the second, such as 2026-11-21T08:15:00Z."""
    return f"{_whole_seconds(date // 1_000_000)}Z"


def timestamp14(date: Micros) -> str:
    """Return the 14-digit date of CDX files, such as 20261121081500."""
    text = _whole_seconds(date // 1_000_000)
    return f"{text[:4]}{text[5:7]}{text[8:10]}{text[11:13]}{text[14:16]}{text[17:]}"


def parse_date(text: str) -> Micros:
    """Return the moment of a WARC-Date (any precision of WARC/1.1 section 5.4) or of a CDX date of 4 to 17 digits.

    Raises ValueError for other text.
    """
    found = _DIGITS.fullmatch(text) or _ISO.fullmatch(text)
    if found is None:
        raise ValueError(f"not a date of a WARC or an index: {text[:60]!r}")
    year, month, day, hour, minute, second, fraction = found.groups()
    stamp = datetime(
        int(year), int(month or 1), int(day or 1), int(hour or 0), int(minute or 0), int(second or 0), tzinfo=UTC
    )
    return (stamp - _EPOCH) // _SECOND * 1_000_000 + int(((fraction or "") + "000000")[:6])


@lru_cache(maxsize=256)
def _whole_seconds(seconds: int) -> str:
    """Return ISO 8601 to the second. It is cached, since a busy proxy needs each second thousands of times."""
    return (_EPOCH + timedelta(seconds=seconds)).isoformat()[:19]
