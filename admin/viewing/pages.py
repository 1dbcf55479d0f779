"""These pages of the viewer find something: collections, their pages, search, and the calendar of a URL.

No archived text is a part of these pages but escaped text and pictures that were drawn anew.
"""

from __future__ import annotations

import calendar as months
import re
from datetime import date
from typing import Any, Final

from flask import Blueprint, Response, abort, redirect, request, url_for
from werkzeug.wrappers import Response as AnyResponse

from admin.collections.browsing import calendar, capture, listing, search
from admin.collections.browsing.index import check_collection as check_known
from admin.collections.browsing.index import index_if_any, index_of, missing_index, unread_files
from admin.collections.browsing.records import RecordTrouble
from admin.collections.description_file import CollectionDescription, read_description
from admin.models.errors import InvalidInput, NotFound, Problem
from admin.models.transaction import COMMAND_LINE, Transaction
from admin.units import counted
from admin.viewing.capture_dates import capture_steps
from admin.viewing.page import address_in, check_collection, page, refresh_catalogue, viewing
from admin.viewing.readable import readable_calendar, readable_captures
from archive.access_rules import Access, stricter
from archive.capture import Capture
from archive.dates import now_micros, parse_date, timestamp14
from dedupdb.captures.finder import Finder

BLUEPRINT: Final = Blueprint("view", __name__)
PAGES_AT_ONCE: Final = 60


@BLUEPRINT.get("/", endpoint="index")
def index() -> AnyResponse:
    """Show the collections, what a search finds in all of them, or which of them have a URL."""
    words = request.args.get("q", "").strip()
    is_whole, only, access = refresh_catalogue(), viewing().only(), viewing().access
    address = address_in(words)
    if words and address is None:
        found = viewing().catalogue.search(words, access.of_any_page, only, start=_place())
        return page("search.html", name=None, words=words, found=found, start=_place(), is_whole=is_whole)
    with viewing().database.reading(COMMAND_LINE) as opened:
        listed = listing.list_collections(opened, limit=listing.MOST)
        named = [each for each in listed.items if only in (None, each.name) and not access.is_hidden(each.name)]
        shown = [access.line(each) for each in named]
        damaged = [each.name for each in shown if access.is_damaged(each.name)]
        if address is not None:
            shown = [each for each in shown if each.name not in damaged and _has(opened, each.name, address)]
    if address is not None and len(shown) == 1:
        return redirect(url_for("view.url", name=shown[0].name, url=address))
    warnings = [
        *listed.warnings,
        *(f"the access rules of {name} can't be read, so nothing of it is shown" for name in damaged),
    ]
    return page("index.html", collections=shown, warnings=warnings, words=words, address=address)


@BLUEPRINT.get("/c/<name>/", endpoint="collection")
def show_collection(name: str) -> AnyResponse:
    """Show the pages of a collection, or what a search finds in it."""
    check_collection(name)
    words, after = request.args.get("q", "").strip(), request.args.get("after", "")
    if (address := address_in(words)) is not None:
        return redirect(url_for("view.url", name=name, url=address))
    warnings, access = _warnings(name), viewing().access
    rules = access.rules(name)
    if rules.hides_everything():
        raise NotFound("collection", name)
    is_whole, catalogue = refresh_catalogue(), viewing().catalogue
    if words:
        found = catalogue.search(words, access.of_page, name, start=_place())
        return page("search.html", name=name, words=words, found=found, start=_place(), is_whole=is_whole)
    place = int(after) if re.fullmatch("[0-9]{1,18}", after) else None
    listed = catalogue.pages(name, access.of_page, after=place, limit=PAGES_AT_ONCE)
    documents = []
    with viewing().database.reading(COMMAND_LINE) as opened:
        if not listed.pages and listed.next is None:  # no ghost visited a page: documents of plain crawlers are listed
            given = {"mime": "text/html", "status": "2xx", "kind": "response"}
            documents = readable_captures(
                rules,
                lambda row, limit: search.list_captures(opened, name, after=row, limit=limit, **given),
                least=PAGES_AT_ONCE,
            ).items
    return page(
        "collection.html",
        name=name,
        pages=listed.pages,
        more=listed.next,
        documents=documents,
        warnings=warnings,
        is_whole=is_whole,
        description=_description(name),
    )


@BLUEPRINT.get("/c/<name>/url", endpoint="url")
def show_url(name: str) -> AnyResponse:
    """Show the calendar of a URL and its captures, or the captures of all URLs that begin with it."""
    check_collection(name)
    given, year, day, after = (request.args.get(field, "").strip() for field in ("url", "year", "day", "after"))
    url, rules = address_in(given) or given, viewing().access.rules(name)
    with viewing().database.reading(COMMAND_LINE) as opened:
        if url.endswith("*"):
            listed = readable_captures(
                rules,
                lambda row, limit: search.list_captures(opened, name, url=url, after=row, limit=limit),
                after or None,
            )
            return page("captures.html", name=name, url=url, captures=listed)
        wanted = int(year) if re.fullmatch("[0-9]{4}", year) else None
        shown = readable_calendar(opened, rules, name, url, wanted)
        when = day or (str(shown.year) if shown.year is not None else None)
        found = readable_captures(
            rules,
            lambda row, limit: search.list_captures(
                opened, name, url=url, match="exact", since=when, until=when, order="newest", after=row, limit=limit
            ),
            after or None,
        )
    items = [each for each in found.items if each.kind != "metadata"]  # notes of a ghost are no captures of a reader
    rows = _rows(shown)
    return page("url.html", name=name, calendar=shown, rows=rows, items=items, more=found.next, day=day, url=url)


@BLUEPRINT.get("/c/<name>/compare", endpoint="compare")
def compare(name: str) -> AnyResponse:
    """Show two captures of a URL side by side. `b` is the later date; without `a`, the capture before is the other."""
    check_collection(name)
    given, url = viewing().access, request.args.get("url", "").strip()
    rules = given.rules(name)
    refresh_catalogue()
    with viewing().database.reading(COMMAND_LINE) as opened:
        second = capture_steps(opened, rules, name, url, _date("b") or timestamp14(now_micros()))
        first = _date("a") or (second.earlier.timestamp if second.earlier else "")
        steps = {"a": capture_steps(opened, rules, name, url, first) if first else second, "b": second}
    sides = [
        {
            "name": side,
            "steps": each,
            "timestamp": each.shown.timestamp if each.shown else "",
            "picture": viewing().catalogue.near(name, url, each.shown.date, given.of_page) if each.shown else None,
        }
        for side, each in steps.items()
    ]
    return page("compare.html", name=name, url=url, sides=sides)


@BLUEPRINT.get("/c/<name>/picture", endpoint="picture")
def show_picture(name: str) -> AnyResponse:
    """Return a picture that a ghost kept, drawn anew; 404 when the rules exclude it, and 451 when they block it."""
    check_collection(name)
    file, offset = request.args.get("file", ""), request.args.get("offset", "")
    if not re.fullmatch("[0-9]{1,18}", offset):
        abort(404, "there is no such picture")
    with viewing().database.reading(COMMAND_LINE) as opened:
        with index_of(viewing().settings, name) as index:
            kept = index.finder.at_place(name, file, int(offset))
            access = Access.ALLOW if kept is None else _access_to_picture(index.finder, kept)
        if access is Access.EXCLUDE:
            raise NotFound("capture", f"{file} at {offset}")
        if access is Access.BLOCK:
            abort(451, "readers may not see the content of this page")
        found = capture.show_picture(opened, name, file, int(offset))
    answer = Response(found.data, content_type=found.media_type)
    answer.headers["Content-Security-Policy"] = "default-src 'none'; sandbox"
    answer.headers["Cache-Control"] = "private, max-age=3600"
    return answer


def _access_to_picture(finder: Finder, picture: Capture) -> Access:
    """Return what holds for a picture. Both the URL of its page and the URL at the end of the visit decide.

    A picture is excluded when the note about its visit can't be read, unless the collection has no rules.
    """
    name, given = picture.collection, viewing().access
    access = given.of_place(name, picture.url, picture.date)
    if given.rules(name).is_open:
        return access
    note = capture.note_of_visit(finder, picture)
    if note is None:
        return access
    try:
        notes = capture.page_notes(viewing().settings, note)
    except RecordTrouble:
        notes = None
    if notes is None:  # the visit may have ended at an excluded URL
        return Access.EXCLUDE
    return stricter(access, given.of_place(name, notes.final_url or picture.url, picture.date))


def _place() -> int:
    """Return the place at which the list of found pages begins."""
    given = request.args.get("start", "")
    return int(given) if re.fullmatch("[0-9]{1,6}", given) else 0


def _date(field: str) -> str:
    """Return the timestamp in a field of the address; empty for other text. Refuses digits that are no date."""
    given = request.args.get(field, "").strip()
    if not re.fullmatch("[0-9]{4,14}", given):
        return ""
    try:
        parse_date(given)
    except ValueError as error:
        raise InvalidInput(Problem(field, f"{given} is no date; write a year, or a year with more digits")) from error
    return given


def _description(name: str) -> CollectionDescription:
    """Return what curators wrote of the collection; an empty description when the file can't be read."""
    try:
        return read_description(viewing().settings.collection(name))
    except (OSError, ValueError):
        return CollectionDescription()


def _has(opened: Transaction, name: str, url: str) -> bool:
    """Return whether a collection has a capture of the URL that readers may know of."""
    rules = viewing().access.rules(name)
    found = readable_captures(
        rules, lambda row, limit: search.list_captures(opened, name, url=url, after=row, limit=limit), least=1
    )
    return bool(found.items)


def _warnings(name: str) -> list[str]:
    """Return what is missing in the index of a collection. Raises NotFound."""
    settings = viewing().settings
    with index_if_any(settings) as index:
        check_known(settings, index, name)
        if index is None:
            return [missing_index()]
        unread = unread_files(settings, index, name)
    return [f"Captures in {counted(unread, 'WARC file')} of this collection can't be found yet"] if unread else []


def _rows(shown: calendar.CalendarView) -> list[dict[str, Any]]:
    """Return the months of the calendar that have captures, with their days."""
    if shown.year is None:
        return []
    counts = {each.day: each.captures for each in shown.days}
    rows = []
    for month in range(1, 13):
        weeks = months.Calendar().monthdayscalendar(shown.year, month)
        captures = sum(count for day, count in counts.items() if day.month == month)
        if captures:
            days = [[_day(shown.year, month, number, counts) for number in week] for week in weeks]
            rows.append({"name": date(shown.year, month, 1).strftime("%B %Y"), "weeks": days, "captures": captures})
    return rows


def _day(year: int, month: int, number: int, counts: dict[date, int]) -> tuple[date, int] | None:
    """Return the day and its captures; None for number 0, a day of another month in the same week."""
    if not number:
        return None
    day = date(year, month, number)
    return day, counts.get(day, 0)
