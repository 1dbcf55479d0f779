"""The calendar names the years and days on which a URL was captured. Days are those of UTC, as in the index."""

from __future__ import annotations

from datetime import date, timedelta
from typing import Final

from admin.collections.browsing.index import index_of
from admin.models.errors import InvalidInput, Problem
from admin.models.operation import OutputModel
from admin.models.transaction import Transaction
from dedupdb.captures import query as queries
from dedupdb.captures.finder import MOST_COUNTED, MOST_OF_A_YEAR
from dedupdb.captures.query import QueryError

_FIRST: Final = date(1970, 1, 1)


class YearCount(OutputModel):
    """The captures of one year; 10,001 stands for more than 10,000."""

    year: int
    captures: int
    is_more: bool


class DayCount(OutputModel):
    """The captures of one day."""

    day: date
    captures: int


class CalendarView(OutputModel):
    """The calendar has the years in which a URL was captured, and the days of one of them."""

    url: str
    key: str
    years: list[YearCount]
    year: int | None
    """The year whose days follow; None when the URL was never captured."""
    days: list[DayCount]
    is_whole: bool
    """All captures of the year were counted; when false, the first 100,000 were."""


def show_calendar(transaction: Transaction, name: str, url: str, *, year: int | None = None) -> CalendarView:
    """Return the calendar of a URL in its newest year, or in the year that is given. Raises InvalidInput, NotFound."""
    key = exact_key(url)
    check_year(year)
    with index_of(transaction.settings, name) as index:
        years = index.finder.years(name, key)
        shown = year if year is not None else (years[-1].year if years else None)
        counts = index.finder.days(name, key, shown) if shown is not None else {}
    return CalendarView(
        url=url,
        key=key,
        years=[
            YearCount(year=each.year, captures=each.captures, is_more=each.captures > MOST_COUNTED) for each in years
        ],
        year=shown,
        days=[DayCount(day=_FIRST + timedelta(days=number), captures=counts[number]) for number in sorted(counts)],
        is_whole=sum(counts.values()) < MOST_OF_A_YEAR,
    )


def check_year(year: int | None) -> None:
    """Raise InvalidInput for a year that a calendar can't show."""
    if year is not None and not 1970 <= year <= 9999:
        raise InvalidInput(Problem("year", f"{year} is no year from 1970 to 9999"))


def exact_key(url: str) -> str:
    """Return the key of one URL. Raises InvalidInput."""
    try:
        return queries.parse("any", {"url": url.strip()[:9_000], "matchType": "exact"}).ranges[0].low
    except QueryError as error:
        raise InvalidInput(Problem("url", str(error).partition(": ")[2])) from error
    except UnicodeError as error:
        raise InvalidInput(Problem("url", f"{url[:200]!a} is no text; leave out half characters")) from error
