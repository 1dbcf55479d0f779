"""Every page uses these functions: they tell who asks, open a transaction, and fill the template."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import wraps
from typing import Any, Final, Protocol, cast
from zoneinfo import ZoneInfo

from flask import Flask, Response, abort, current_app, flash, g, redirect, render_template, request, session, url_for
from werkzeug.wrappers import Response as AnyResponse

from admin.models.database import Database
from admin.models.people_tables import Role
from admin.models.recent_readings import RecentReadings
from admin.models.transaction import RIGHTS, Actor, Right, Transaction
from admin.web.kept_forms import keep_sent_form, note_session
from admin.web.security import SAFE_METHODS, sent_address
from archive.settings.load import Settings

UTC: Final = ZoneInfo("UTC")
EXTENSION: Final = "ghostfleet"
RECENT: Final = "ghostfleet-recent"
SESSION_COOKIE: Final = "ghostfleet_session"
TAKES_FILES: Final = "files"
TAKES_LISTS: Final = "lists"
_NAVIGATION: Final = "ghostfleet-navigation"
_MOST_NAVIGATIONS: Final = 2_000
"""Navigations that are kept: one for each view, each role and each path below which a proxy has the site."""
_FORMS_OF: Final = "forms-of"
"""The key under which the cookie of forms names the session that the forms belong to."""


@dataclass(frozen=True, slots=True)
class SiteVisitor:
    """A visitor is the person who looks at a page."""

    actor: Actor
    full_name: str
    zone: ZoneInfo
    session_id: str
    """The hash that names the person's session."""

    def may(self, right: str) -> bool:
        """Return whether the person has the right; templates leave out what the person may not do."""
        return Right(right) in RIGHTS[self.actor.role]


@dataclass(frozen=True, slots=True)
class NavigationEntry:
    """A part of the site, as the navigation names it."""

    title: str
    endpoint: str
    right: Right = Right.READ

    @property
    def blueprint(self) -> str:
        """The name of the blueprint whose pages belong to the entry."""
        return self.endpoint.rpartition(".")[0]


@dataclass(frozen=True, slots=True)
class NavigationGroup:
    """The entries of one kind of work stand together under its name; the first group has none."""

    title: str
    entries: tuple[NavigationEntry, ...]


NAVIGATION: Final = (
    NavigationGroup("", (NavigationEntry("Overview", "overview.show"), NavigationEntry("In-tray", "tray.index"))),
    NavigationGroup(
        "Harvesting",
        (
            NavigationEntry("Harvests", "harvests.index"),
            NavigationEntry("Domains", "domains.index"),
            NavigationEntry("Schedules", "schedules.index"),
            NavigationEntry("Templates", "templates.index"),
            NavigationEntry("Crawler traps", "domains.trap_lists.index"),
            NavigationEntry("Capture", "capture.index"),
            NavigationEntry("Permissions", "permissions.index"),
            NavigationEntry("Calendar", "load_calendar.show"),
            NavigationEntry("Reports", "reports.show"),
        ),
    ),
    NavigationGroup(
        "Jobs and fleet",
        (
            NavigationEntry("Jobs", "jobs.index"),
            NavigationEntry("Crawl logs", "logs.index"),
            NavigationEntry("Fleet", "fleet.index"),
        ),
    ),
    NavigationGroup(
        "Archive", (NavigationEntry("Collections", "collections.index"), NavigationEntry("QA", "qa.index"))
    ),
    NavigationGroup(
        "Administration",
        (
            NavigationEntry("Users", "users.index", Right.ADMINISTER),
            NavigationEntry("Audit", "audit.index", Right.ADMINISTER),
            NavigationEntry("Extended fields", "domains.extended_fields.index"),
            NavigationEntry("Settings", "settings.index"),
        ),
    ),
)
"""All groups. Pages that capture by hand belong to Harvesting, and pages of quality assurance to Archive.

A group is shown when the visitor may open one of its entries.
"""


@dataclass(frozen=True, slots=True)
class ShownEntry:
    """A page shows this entry in its navigation."""

    title: str
    url: str
    is_here: bool
    """The page belongs to this part of the site."""
    is_page: bool
    """The page is the one to which the entry leads."""


@dataclass(frozen=True, slots=True)
class Navigation:
    """A page has this navigation: the groups by name, and the entry to which the page belongs."""

    groups: Sequence[tuple[str, Sequence[ShownEntry]]] = ()
    here: ShownEntry | None = None


class FindVisitor(Protocol):
    """The function tells who sends the present request; None for nobody who is logged in."""

    def __call__(self) -> SiteVisitor | None: ...


@dataclass(frozen=True, slots=True)
class Site:
    """The pages of one site share these objects."""

    database: Database
    settings: Settings
    find_visitor: FindVisitor


def site() -> Site:
    """Return what the pages of this application share."""
    return cast(Site, current_app.extensions[EXTENSION])


def visitor() -> SiteVisitor:
    """Return who looks at the page; pages for people who are not logged in don't ask."""
    return cast(SiteVisitor, g.visitor)


def show_times_in_utc() -> None:
    """Let the present page show all times in UTC, as the records of an archive do, and not in the person's zone."""
    g.visitor = replace(visitor(), zone=UTC)


@contextmanager
def transaction() -> Iterator[Transaction]:
    """Open a transaction in the visitor's name, for a change."""
    with site().database.transaction(visitor().actor) as opened:
        yield opened


@contextmanager
def reading() -> Iterator[Transaction]:
    """Open a transaction in the visitor's name that only reads."""
    with site().database.reading(visitor().actor) as opened:
        yield opened


def read[*Given, Found](use_case: Callable[[Transaction, *Given], Found], *given: *Given) -> Found:
    """Return what a use case finds for the visitor, in a transaction that only reads."""
    with reading() as opened:
        return use_case(opened, *given)


def carry_out[*Given, Result](use_case: Callable[[Transaction, *Given], Result], *given: *Given) -> Result:
    """Carry out a use case in the visitor's name, in a transaction of its own. Return its result."""
    with transaction() as opened:
        return use_case(opened, *given)


def saving[*Given, Values, Result](
    use_case: Callable[[Transaction, *Given, Values], Result], *given: *Given
) -> Callable[[Values], Result]:
    """Return a function that carries out a use case with the values of a form, which come last."""
    return lambda values: carry_out(use_case, *given, values)


def recent[T](name: str, use_case: Callable[[Transaction], T], *arguments: Hashable) -> T:
    """Return what a use case returns to the visitor; the result may have been read a second ago for another visitor.

    The other visitor has the same role. `name` and `arguments` say what is read; nothing of it depends on the person.
    """
    found = cast(RecentReadings, current_app.extensions[RECENT])
    return found.read(visitor().actor, name, use_case, *arguments)


def page(template: str, status: int = 200, **values: Any) -> Response:
    """Return the page that the template makes of these values."""
    return Response(render_template(template, **values), status, content_type="text/html; charset=utf-8")


def done(message: str, endpoint: str, **values: Any) -> AnyResponse:
    """Go to another page, which shows the message: the answer to a form that was carried out."""
    flash(message, "done")
    return redirect(url_for(endpoint, **values), 303)


def login_is_not_needed[F: Callable[..., Any]](view: F) -> F:
    """Mark a view that people see before they have logged in."""
    view.__dict__["is_public"] = True
    return view


def needs(right: Right, changes: Right | None = None) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Refuse a page (403) to people without the right. Use cases check the right once more.

    `changes` is the right that sending the page's form needs, when it is another one.
    """

    def decorate(view: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(view)
        def checked(*arguments: Any, **values: Any) -> Any:
            wanted = right if changes is None or request.method in SAFE_METHODS else changes
            if not visitor().may(wanted):
                abort(403, f"this page needs the right to {wanted}; ask an administrator for the role")
            return view(*arguments, **values)

        checked.__dict__.update(right=right, changes=changes or right)
        return checked

    return decorate


def with_large_files[F: Callable[..., Any]](view: F) -> F:
    """Mark a view whose form has a file of up to admin.upload_max_bytes. Put the mark above `needs`."""
    view.__dict__["takes"] = TAKES_FILES
    return view


def with_long_lists[F: Callable[..., Any]](view: F) -> F:
    """Mark a view whose form has long lists or documents, pasted or as a file. Put the mark above `needs`."""
    view.__dict__["takes"] = TAKES_LISTS
    return view


def require_login(app: Flask) -> None:
    """Let `before_request` send everybody who is not logged in to the login page."""

    def look() -> AnyResponse | None:
        g.visitor = site().find_visitor()
        owner = g.visitor.session_id if g.visitor is not None else ""
        is_new = session.get(_FORMS_OF, "") != owner  # forms of one session are of no use in another
        note_session(g.visitor.actor.user_id if g.visitor is not None else None, is_new=is_new)
        if is_new:
            session[_FORMS_OF] = owner
        view = current_app.view_functions.get(request.endpoint or "")
        is_public = request.endpoint in (None, "static") or getattr(view, "is_public", False)
        if g.visitor is not None or is_public or (request.blueprint == "api"):
            return None
        if "HX-Request" in request.headers:
            # The whole page is loaded again, and leads to the login. A part that is sent belongs to a form, whose
            # typed values would be lost: the login follows when the person sends the form.
            refresh = {"HX-Refresh": "true"} if request.method == "GET" else {}
            return Response("The session is over; log in again.", 401, refresh, mimetype="text/plain")
        target = sent_address() if request.method == "GET" else ""
        if request.method == "POST":
            target = keep_sent_form()
        return redirect(url_for("login.show", next=target) if target not in ("", "/") else url_for("login.show"), 303)

    app.before_request(look)


def navigation() -> Navigation:
    """Return the entries that the visitor may open; the present one is marked."""
    if g.get("visitor") is None:
        return Navigation()
    place = request.blueprint or ""
    kept: dict[tuple[str, Role, str, str], Navigation] = current_app.extensions.setdefault(_NAVIGATION, {})
    key = request.script_root, visitor().actor.role, place, request.endpoint or ""
    if (found := kept.get(key)) is None:
        found = _navigation_at(place, request.endpoint or "")
        if len(kept) < _MOST_NAVIGATIONS:
            kept[key] = found
    return found


def _navigation_at(place: str, endpoint: str) -> Navigation:
    allowed = [
        (group.title, [each for each in group.entries if _is_allowed(each)])
        for group in NAVIGATION
        if any(map(_is_allowed, group.entries))
    ]
    around = [each for _, entries in allowed for each in entries if f"{place}.".startswith(f"{each.blueprint}.")]
    nearest = max(around, key=lambda each: len(each.blueprint), default=None)

    def shown(entry: NavigationEntry) -> ShownEntry:
        return ShownEntry(entry.title, url_for(entry.endpoint), entry is nearest, entry.endpoint == endpoint)

    return Navigation(
        [(title, [shown(each) for each in entries]) for title, entries in allowed],
        None if nearest is None else shown(nearest),
    )


def _is_allowed(entry: NavigationEntry) -> bool:
    return entry.endpoint in current_app.view_functions and visitor().may(entry.right)
