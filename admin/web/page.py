"""Every page uses these functions: they tell who asks, open a transaction, and fill the template."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
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
from admin.web.security import SAFE_METHODS
from archive.settings.load import Settings

EXTENSION: Final = "ghostfleet"
RECENT: Final = "ghostfleet-recent"
SESSION_COOKIE: Final = "ghostfleet_session"
TAKES_FILES: Final = "files"
TAKES_LISTS: Final = "lists"
_NAVIGATION: Final = "ghostfleet-navigation"
_MOST_NAVIGATIONS: Final = 100
"""Lists of entries that are kept: one for each role and each path below which a proxy has the site."""
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


NAVIGATION: Final = (
    NavigationEntry("Overview", "overview.show"),
    NavigationEntry("Domains", "domains.index"),
    NavigationEntry("Harvests", "harvests.index"),
    NavigationEntry("Schedules", "schedules.index"),
    NavigationEntry("Templates", "templates.index"),
    NavigationEntry("Jobs", "jobs.index"),
    NavigationEntry("Collections", "collections.index"),
    NavigationEntry("Fleet", "fleet.index"),
    NavigationEntry("Users", "users.index", Right.ADMINISTER),
    NavigationEntry("Audit", "audit.index", Right.ADMINISTER),
    NavigationEntry("Settings", "settings.index"),
)


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
        target = request.full_path.rstrip("?") if request.method == "GET" else ""
        if request.method == "POST":
            target = keep_sent_form()
        return redirect(url_for("login.show", next=target) if target not in ("", "/") else url_for("login.show"), 303)

    app.before_request(look)


def navigation() -> list[Mapping[str, Any]]:
    """Return the entries that the visitor may open; the present one is marked."""
    if g.get("visitor") is None:
        return []
    part = (request.blueprint or "").partition(".")[0]
    kept: dict[tuple[str, Role], Sequence[tuple[str, str, str]]] = current_app.extensions.setdefault(_NAVIGATION, {})
    key = request.script_root, visitor().actor.role
    if (entries := kept.get(key)) is None:
        entries = [
            (each.title, url_for(each.endpoint), each.endpoint.partition(".")[0])
            for each in NAVIGATION
            if each.endpoint in current_app.view_functions and visitor().may(each.right)
        ]
        if len(kept) < _MOST_NAVIGATIONS:
            kept[key] = entries
    return [{"title": title, "url": url, "is_here": name == part} for title, url, name in entries]
