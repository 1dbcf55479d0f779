"""Dates and times of the day stand in URLs in many forms; replay compares how far they are from the time of the visit.

A time of the day stands for another one when either is that of its visit, to the minute and in any time zone.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import UTC, date, datetime
from functools import partial
from typing import Final

from archive.dates import Micros

MARK: Final = "*"
DATE_MARK: Final = "@"
_TIMED: Final = re.compile(r"(?<![0-9])(?:[01][0-9]|2[0-3])([-_.:h])([0-5][0-9])(?:\1|m)([0-5][0-9])(?![0-9])")
"""A time of the day, to the second."""
_QUARTER: Final = 900
"""Seconds by whose multiples the clocks of two time zones differ."""
_SAME_MOMENT: Final = 60
"""A time of the day within so many seconds is that of the visit."""
_DATED: Final = re.compile(
    r"(?<![0-9])(?P<year>(?:19|20)[0-9]{2})(?P<sep>[-/_.]?)(?P<month>[01][0-9])(?P=sep)(?P<day>[0-3][0-9])(?![0-9])"
    r"(?:[tT ][0-9:.]{4,16}(?:[zZ]|[+-][0-9:]{4,6})?)?"
)
"""A date, with or without separators and a time."""
_NUMBERED: Final = re.compile(
    r"(?<![0-9])(?P<one>[0-3]?[0-9])(?P<sep>[-/.])(?P<two>[0-3]?[0-9])(?P=sep)(?P<year>(?:19|20)[0-9]{2})(?![0-9])"
    r"(?:,? [0-9]{1,2}:[0-9]{2}(?::[0-9]{2})?(?: ?[ap]m)?)?",
    re.IGNORECASE,
)
"""A date with the year at its end. The day comes first, but with slashes in some countries the month."""
_MONTHS: Final = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_NAMED: Final = re.compile(
    r"(?<![a-z])(?:(?:mon|tue|wed|thu|fri|sat|sun),? )?"
    rf"(?:(?P<month>{'|'.join(_MONTHS)}) (?P<day>[0-3]?[0-9])|(?P<day_2>[0-3]?[0-9]) (?P<month_2>{'|'.join(_MONTHS)}))"
    r",? (?P<year>(?:19|20)[0-9]{2})(?![0-9])"
    r"(?: [0-9]{2}:[0-9]{2}:[0-9]{2}(?: gmt[+-]?[0-9]{0,4})?(?: \([^()]{0,60}\))?)?",
    re.IGNORECASE,
)
"""A date with the name of the month, as `Date` of JavaScript and HTTP write it."""
_MONTH: Final = re.compile(r"(?<![0-9-])(?P<year>(?:19|20)[0-9]{2})-(?P<month>0[1-9]|1[0-2])(?![0-9-])")
"""A month of a year."""
_MANY_DAYS: Final = 31
"""Days counted per month between two dates without a day, so that neighbouring months never count as equal."""
type DateReader = Callable[[re.Match[str], date], int | None]
"""Returns how many days a date is from a day; None for what is no date."""


def marked(text: str, moment: Micros, days: list[int]) -> str:
    """Return a text with DATE_MARK for each date, and MARK for each time of the day that is that of the moment.

    The number of days between the moment and each date is added to `days`.
    """
    for form, read in _FORMS:
        text = form.sub(partial(_dated, read, moment, days), text)
    return _TIMED.sub(lambda found: MARK if _is_now(found, moment) else found[0], text)


def first_date(text: str) -> int:
    """Return the position of the first date or time of the day, and the length of a text without any."""
    forms = (*(form for form, _ in _FORMS), _TIMED)
    return min((found.start() for form in forms if (found := form.search(text)) is not None), default=len(text))


def _is_now(found: re.Match[str], moment: Micros) -> bool:
    """Return whether a time of the day is that of the moment in some time zone."""
    apart = (int(found[2]) * 60 + int(found[3]) - moment // 1_000_000) % _QUARTER
    return min(apart, _QUARTER - apart) <= _SAME_MOMENT


def _dated(read: DateReader, moment: Micros, days: list[int], found: re.Match[str]) -> str:
    """Return `@` for a date, and add how many days it is from the moment; the text for what is no date."""
    today = datetime.fromtimestamp(moment // 1_000_000, UTC).date()
    apart = read(found, today)
    if apart is None:
        return found[0]
    days.append(apart)
    return DATE_MARK


def _apart(year: str, month: str | int, day: str, today: date) -> int | None:
    try:
        return (date(int(year), int(month), int(day)) - today).days
    except ValueError:
        return None


def _by_year(found: re.Match[str], today: date) -> int | None:
    return _apart(found["year"], found["month"], found["day"], today)


def _by_numbers(found: re.Match[str], today: date) -> int | None:
    """Return the days of the date. With slashes, the reading counts that is nearest to the day."""
    year, one, two = found.group("year", "one", "two")
    readings = (_apart(year, two, one, today), _apart(year, one, two, today))
    valid = [days for days in readings if days is not None]
    return min(valid, key=abs, default=None) if found["sep"] == "/" else next(iter(valid), None)


def _by_name(found: re.Match[str], today: date) -> int | None:
    month = (found["month"] or found["month_2"]).lower()
    return _apart(found["year"], _MONTHS.index(month) + 1, found["day"] or found["day_2"], today)


def _by_month(found: re.Match[str], today: date) -> int:
    return ((int(found["year"]) - today.year) * 12 + int(found["month"]) - today.month) * _MANY_DAYS


_FORMS: Final[tuple[tuple[re.Pattern[str], DateReader], ...]] = (
    (_DATED, _by_year),
    (_NUMBERED, _by_numbers),
    (_NAMED, _by_name),
    (_MONTH, _by_month),
)
