"""Readers see what the access rules of a collection allow: lists, calendars, pages and pictures are filtered here.

A capture that a rule excludes is absent. One that a rule blocks is listed by its address, without title, picture and
text. Everything raises AccessRuleError while the rules of the collection can't be read, unless stated otherwise.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from datetime import date, timedelta
from pathlib import Path
from typing import Final

from admin.collections.browsing import calendar
from admin.collections.browsing.calendar import CalendarView, DayCount, YearCount
from admin.collections.browsing.index import index_of
from admin.collections.browsing.listing import CollectionLine
from admin.collections.browsing.search import CapturePage
from admin.models.transaction import Transaction
from admin.viewing.page_catalogue import VisitedPage
from archive.access_rules import Access, AccessControl, AccessPolicy, AccessRuleError, AccessRules, stricter
from archive.dates import Micros
from dedupdb.captures.finder import DAY, MOST_COUNTED, MOST_OF_A_YEAR, CaptureConditions, year_of
from dedupdb.captures.query import KeyRange

type CaptureLister = Callable[[str | None, int], CapturePage]
"""The function returns the captures behind a place of a list, at most so many."""

AT_ONCE: Final = 50
_ROUNDS: Final = 50
_LOOKED_AT_ONCE: Final = 200
_SECONDS: Final = 3.0
_COUNTED_AT_ONCE: Final = 10_000
_FIRST: Final = date(1970, 1, 1)


class ReaderAccess:
    """Reader access follows the rules as they are at the moment. Threads may share it."""

    def __init__(self, collections: Path, policy: AccessPolicy) -> None:
        """Take the folder in which each collection has its folder with its rules."""
        self._control = AccessControl(collections, policy)

    def rules(self, collection: str) -> AccessRules:
        """Return the rules of a collection."""
        return self._control.rules(collection)

    def is_damaged(self, collection: str) -> bool:
        """Return whether the rules of the collection can't be read, so that nobody may see it. Raises nothing."""
        try:
            self._control.rules(collection)
        except AccessRuleError:
            return True
        return False

    def is_hidden(self, collection: str) -> bool:
        """Return whether curation hides the whole collection. Raises nothing: a damaged one is named with its fault."""
        try:
            return self._control.rules(collection).hides_everything()
        except AccessRuleError:
            return False

    def of_place(self, collection: str, url: str, moment: Micros) -> Access:
        """Return what holds for the capture of a URL at a moment."""
        rules = self._control.rules(collection)
        return Access.ALLOW if rules.is_open else rules.decide(url, moment)

    def of_page(self, page: VisitedPage) -> Access:
        """Return what holds for the visit of a page. Both its URL and the URL at the end of the visit decide.

        A visit that may have ended anywhere is excluded, unless the collection has no rules.
        """
        if page.final_url is None:
            return Access.ALLOW if self._control.rules(page.collection).is_open else Access.EXCLUDE
        access = self.of_place(page.collection, page.url, page.date)
        if not page.final_url:
            return access
        return stricter(access, self.of_place(page.collection, page.final_url, page.date))

    def of_any_page(self, page: VisitedPage) -> Access:
        """Return what holds for the visit of a page; while its rules can't be read, it is excluded. Raises nothing."""
        try:
            return self.of_page(page)
        except AccessRuleError:
            return Access.EXCLUDE

    def line(self, line: CollectionLine) -> CollectionLine:
        """Return the collection for readers: without numbers and dates when the rules hide some. Raises nothing."""
        with suppress(AccessRuleError):
            if self._control.rules(line.name).is_open:
                return line
        return line.model_copy(update={"captures": None, "first": None, "last": None})


def readable_captures(
    rules: AccessRules, read: CaptureLister, after: str | None = None, least: int = AT_ONCE
) -> CapturePage:
    """Return the captures of a list that readers may know of; at least so many, unless the list or the time ends.

    `next` is set when there may be more. At most 10,000 captures are looked at, for about three seconds.
    """
    if rules.is_open:
        return read(after, least)
    found, ends, looked_at = CapturePage(items=[], next=after), time.monotonic() + _SECONDS, 0
    for _ in range(_ROUNDS):
        part = read(found.next, _LOOKED_AT_ONCE)
        looked_at += max(part.looked_at, len(part.items))
        shown = [each for each in part.items if rules.decide(each.url, each.date) is not Access.EXCLUDE]
        found = CapturePage(items=[*found.items, *shown], next=part.next, looked_at=looked_at)
        if part.next is None or len(found.items) >= least or time.monotonic() > ends:
            break
    return found


def readable_calendar(
    transaction: Transaction, rules: AccessRules, name: str, url: str, year: int | None = None
) -> CalendarView:
    """Return the calendar of a URL without captures that the rules exclude. Raises InvalidInput and NotFound.

    Under rules, the newest 100,000 captures of the URL are counted.
    """
    if rules.is_open:
        return calendar.show_calendar(transaction, name, url, year=year)
    calendar.check_year(year)
    key, conditions = calendar.exact_key(url), CaptureConditions(captures_only=True)
    days: Counter[int] = Counter()
    years: Counter[int] = Counter()
    after, looked_at = None, 0
    with index_of(transaction.settings, name) as index:
        while looked_at < MOST_OF_A_YEAR:
            found = index.finder.find(
                name, (KeyRange(key),), conditions, after=after, limit=_COUNTED_AT_ONCE, is_backward=True
            )
            shown = [each for each in found.captures if rules.decide(each.url, each.date) is not Access.EXCLUDE]
            days.update(each.date // DAY for each in shown)
            years.update(year_of(each.date) for each in shown)
            looked_at += max(found.looked_at, len(found.captures))
            after = found.next
            if after is None:
                break
    chosen = year if year is not None else max(years, default=None)
    dates = {_FIRST + timedelta(days=number): count for number, count in days.items()}
    return CalendarView(
        url=url,
        key=key,
        years=[
            YearCount(year=each, captures=min(years[each], MOST_COUNTED + 1), is_more=years[each] > MOST_COUNTED)
            for each in sorted(years)
        ],
        year=chosen,
        days=[DayCount(day=each, captures=dates[each]) for each in sorted(dates) if each.year == chosen],
        is_whole=after is None,
    )
