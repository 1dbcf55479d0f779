"""These pages show collections: what is in them, their WARC files, and their captures by URL and date.

Nothing of the archive runs here: texts are escaped, pictures are drawn anew, and WARC files are downloads.
"""

from __future__ import annotations

import calendar as months
import math
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Any, Final

from flask import Blueprint, flash, redirect, request, send_file, url_for
from werkzeug.wrappers import Response

from admin.collections.browsing import calendar, capture, files, listing, search
from admin.collections.browsing.index import check_collection, index_if_any
from admin.collections.browsing.replay import replay_hint
from admin.collections.browsing.replay_sessions import MOST, NewReplaySession, ReplaySession, open_replay_session
from admin.fleet.installation_file import read_installation
from admin.models.errors import InvalidInput
from admin.models.transaction import Right
from admin.viewing.links import collection_link, page_link
from admin.viewing.player import BESIDE_SECONDS, PlayerRefused, fetch_player, find_player
from admin.web.charts import Bar, BarChart
from admin.web.files import download_block
from admin.web.forms.form import Form
from admin.web.page import needs, page, read, reading, show_times_in_utc, site

BLUEPRINT: Final = Blueprint("collections", __name__, url_prefix="/collections")
_FIELDS: Final = ("url", "match", "since", "until", "mime", "status", "kind", "job", "after")
_LONGEST_URL: Final = 9_000
_SHADES: Final = 4
_WEEKDAYS: Final = [(name[:2], name) for name in months.day_name]
_SANDBOX: Final = "default-src 'none'; sandbox"


@dataclass(frozen=True, slots=True)
class ShownDay:
    """The calendar has this day. `shade` goes from 0, for no capture, to that of the days with the most captures."""

    date: date
    captures: int
    shade: int


@dataclass(frozen=True, slots=True)
class ShownMonth:
    """A month of the calendar has weeks of seven days; None stands for a day of another month."""

    name: str
    weeks: Sequence[Sequence[ShownDay | None]]
    captures: int


@BLUEPRINT.get("", endpoint="index")
@needs(Right.READ)
def index() -> Response:
    """Show the collections."""
    with reading() as opened:
        found = listing.list_collections(opened, after=request.args.get("after"))
    return page("collections/index.html", collections=found)


@BLUEPRINT.get("/<name>", endpoint="show")
@needs(Right.READ)
def show(name: str) -> Response:
    """Show one collection with its statistics."""
    show_times_in_utc()
    found = read(listing.show_collection, name)
    link = collection_link(site().settings, request.host, name)
    months = [Bar(each.name, "", each.name, (each.captures,)) for each in found.months]
    chart = BarChart("Captures of each month", months) if len(months) > 1 else None
    needs_player = bool(link) and _needs_player()
    return page("collections/show.html", collection=found, link=link, chart=chart, needs_player=needs_player)


@BLUEPRINT.post("/<name>/player", endpoint="player")
@needs(Right.OPERATE)
def get_player(name: str) -> Response:
    """Fetch the player of the viewer by npm into the home."""
    with index_if_any(site().settings) as index:
        check_collection(site().settings, index, name)
    try:
        player = fetch_player(site().settings, BESIDE_SECONDS)
    except (PlayerRefused, OSError) as error:
        return page("error.html", 409, title="The player could not be fetched", why=str(error), code=409)
    flash(f"The player ReplayWeb.page {player.version} is in the home. The viewer shows pages with it from now on.")
    return redirect(url_for("collections.show", name=name))


@BLUEPRINT.get("/<name>/files", endpoint="files")
@needs(Right.READ)
def list_files(name: str) -> Response:
    """Show the WARC files of a collection."""
    show_times_in_utc()
    with reading() as opened:
        found = files.list_files(opened, name, after=request.args.get("after"))
    return page("collections/files.html", name=name, files=found, is_more=files.more_than_counted)


@BLUEPRINT.get("/<name>/file", endpoint="file")
@needs(Right.OPERATE)
def download(name: str) -> Response:
    """Return a WARC file for download, whole or in ranges."""
    path = read(files.file_for_download, name, request.args.get("file", ""))
    answer = send_file(
        path, "application/octet-stream", as_attachment=True, download_name=path.name, conditional=True, etag=False
    )
    answer.headers["Content-Security-Policy"] = _SANDBOX
    answer.headers["Cache-Control"] = "no-store"
    return answer


@BLUEPRINT.get("/<name>/captures", endpoint="captures")
@needs(Right.READ)
def captures(name: str) -> Response:
    """Search the captures of a collection."""
    show_times_in_utc()
    given: dict[str, Any] = {field: text for field in _FIELDS if (text := request.args.get(field, "").strip())}
    form = Form({**dict.fromkeys(_FIELDS, ""), **given})
    found = None
    with reading() as opened:
        try:
            found = search.list_captures(opened, name, **given)
        except InvalidInput as error:
            form.take(error)
    status = 200 if found is not None else 422
    return page("collections/captures.html", status, name=name, captures=found, form=form, kinds=search.KINDS)


@BLUEPRINT.get("/<name>/url", endpoint="url")
@needs(Right.READ)
def show_url(name: str) -> Response:
    """Show the calendar of a URL, and its captures of a year or of a day."""
    show_times_in_utc()
    url, year, day = (request.args.get(field, "").strip() for field in ("url", "year", "day"))
    with reading() as opened:
        try:
            shown = calendar.show_calendar(opened, name, url, year=_number(year) if year else None)
            when = day or (str(shown.year) if shown.year is not None else None)
            found = search.list_captures(
                opened,
                name,
                url=url,
                match="exact",
                since=when,
                until=when,
                order="newest",
                after=request.args.get("after"),
            )
        except InvalidInput as error:
            return page("error.html", 422, title="The URL can't be looked up", why=str(error), code=422)
    return page(
        "collections/url.html",
        name=name,
        calendar=shown,
        months=_months(shown),
        near=_near_years(shown),
        weekdays=_WEEKDAYS,
        captures=found,
        day=day,
        year=shown.year,
    )


@BLUEPRINT.get("/<name>/capture", endpoint="capture")
@needs(Right.READ)
def show_capture(name: str) -> Response:
    """Show one capture with its record, and what a ghost kept of the page."""
    show_times_in_utc()
    with reading() as opened:
        found = capture.show_capture(opened, name, *_place())
    hint = replay_hint(name, found.url, found.timestamp)
    link = page_link(site().settings, request.host, name, found.url, found.timestamp) if hint else ""
    pictures = [each for each in found.kept if each.capture.url.startswith(capture.PICTURES)]
    kept_files = [each for each in found.kept if each.capture.url.startswith(tuple(capture.FILES))]
    running = read_installation(site().settings.home)
    has_proxy = running is not None and "replay_control" in running.addresses
    return page(
        "collections/capture.html",
        name=name,
        capture=found,
        replay=hint,
        link=link,
        pictures=pictures,
        kept_files=kept_files,
        has_proxy=has_proxy,
    )


@BLUEPRINT.post("/<name>/replay", endpoint="replay")
@needs(Right.READ)
def replay(name: str) -> Response:
    """Open a session of the replay proxy, and show how a browser uses it."""
    form = Form({"datetime": "", "url": ""})

    def opened_session(given: NewReplaySession) -> ReplaySession:
        return read(open_replay_session, name, given)

    session = form.run(opened_session, NewReplaySession, lambda sent: {"datetime": sent.get("datetime", "")})
    url = request.form.get("url", "")[:_LONGEST_URL]
    start = shlex.join(["chromium", *session.chromium_options]) if session else ""
    status = 200 if session else 422
    return page(
        "collections/replay.html", status, name=name, session=session, form=form, url=url, start=start, most=MOST
    )


@BLUEPRINT.get("/<name>/picture", endpoint="picture")
@needs(Right.READ)
def picture(name: str) -> Response:
    """Return a picture that a ghost kept, drawn anew."""
    with reading() as opened:
        found = capture.show_picture(opened, name, *_place())
    answer = Response(found.data, content_type=found.media_type)
    answer.headers["Content-Security-Policy"] = _SANDBOX
    answer.headers["X-Content-Type-Options"] = "nosniff"
    answer.headers["Cross-Origin-Resource-Policy"] = "same-origin"
    answer.headers["Cache-Control"] = "private, max-age=3600"
    return answer


@BLUEPRINT.get("/<name>/kept-file", endpoint="kept_file")
@needs(Right.OPERATE)
def kept_file(name: str) -> Response:
    """Return a HAR, PDF, image map or DOM that a ghost kept, as a download that no browser shows."""
    with reading() as opened:
        file_name, record = capture.kept_file(opened, name, *_place())
    return download_block(record, file_name)


def _place() -> tuple[str, int]:
    return request.args.get("file", ""), _number(request.args.get("offset", ""))


def _needs_player() -> bool:
    """Return whether the viewer has no player yet."""
    try:
        find_player(site().settings)
    except PlayerRefused:
        return True
    return False


def _number(text: str) -> int:
    """Return the number; -1, which nothing has, for any other text."""
    return int(text) if text.isascii() and text.isdecimal() and len(text) <= 18 else -1


def _months(shown: calendar.CalendarView) -> list[ShownMonth]:
    """Return the months of the calendar with their weeks, each from Monday on."""
    if shown.year is None:
        return []
    counts = {each.day: each.captures for each in shown.days}
    most = max(counts.values(), default=0)
    found = []
    for month in range(1, 13):
        weeks = [
            [_day(date(shown.year, month, day), counts, most) if day else None for day in week]
            for week in months.monthcalendar(shown.year, month)
        ]
        captures = sum(each.captures for week in weeks for each in week if each is not None)
        found.append(ShownMonth(months.month_name[month], weeks, captures))
    return found


def _day(day: date, counts: Mapping[date, int], most: int) -> ShownDay:
    captures = counts.get(day, 0)
    shade = 1 + round((_SHADES - 1) * math.log(captures) / max(math.log(most), 1)) if captures else 0
    return ShownDay(day, captures, shade)


def _near_years(shown: calendar.CalendarView) -> tuple[int | None, int | None]:
    """Return the nearest years with captures before and after the year that is shown."""
    years = [each.year for each in shown.years]
    if shown.year is None:
        return None, None
    return (
        max((each for each in years if each < shown.year), default=None),
        min((each for each in years if each > shown.year), default=None),
    )
