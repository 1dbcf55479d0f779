"""The admin site with one user of each role, whose browsers and tokens tests use; routes come from the route map."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import httpx
from flask import Flask
from sqlalchemy import select

from admin.api.blueprint import PREFIX
from admin.models.database import Database
from admin.models.people_tables import Role, User
from admin.models.transaction import COMMAND_LINE, RIGHTS, Right
from admin.operations import OPERATIONS
from admin.people.sessions import open_session
from admin.site.assembly import PAGES
from admin.web.application import create_app
from admin.web.page import SESSION_COOKIE, Site
from admin.web.security import SAFE_METHODS
from archive.listener_access import HostNames
from archive.settings.load import load
from support.admin.site_users import person
from support.web.site_server import RunningSite

OUTSIDE: Final = frozenset(("static",))
"""Endpoints of Flask itself, which everybody may use."""
_VALUES: Final = {"number": "1", "token": "x" * 43, "job_id": "1", "id": "987654321"}


@dataclass(frozen=True, slots=True)
class Route:
    """One method of one route of the pages, and what its view says of who may use it."""

    endpoint: str
    method: str
    path: str
    right: Right | None
    is_public: bool
    is_declared: bool

    def __str__(self) -> str:
        return f"{self.method} {self.path} ({self.endpoint})"


def flask_app(home: Path) -> Flask:
    """The application with all pages, for its route map."""
    home.mkdir(parents=True, exist_ok=True)
    settings = load({"home": str(home)}, environment={})
    names = HostNames("127.0.0.1", (), "admin.host_names")
    return create_app(Site(Database("sqlite://"), settings, lambda: None), names, PAGES)


def page_routes(app: Flask) -> list[Route]:
    """All routes of the pages by method; of a part with several values, such as actions, each is a route."""
    found = []
    for rule in app.url_map.iter_rules():
        if rule.endpoint in OUTSIDE:
            continue
        view = app.view_functions[rule.endpoint]
        right, changes = getattr(view, "right", None), getattr(view, "changes", None)
        is_public = bool(getattr(view, "is_public", False))
        for path in _paths(rule.rule):
            for method in sorted((rule.methods or set()) - {"HEAD", "OPTIONS"}):
                is_safe = method in SAFE_METHODS
                # A page that everybody reads must say who may send its form.
                is_declared = is_public or (right is not None and changes is not None)
                found.append(Route(rule.endpoint, method, path, right if is_safe else changes, is_public, is_declared))
    return found


def _paths(rule: str) -> list[str]:
    if match := re.search(r"<any\(([^)]*)\):\w+>", rule):
        choices = [each.strip().strip("'\"") for each in match[1].split(",")]
        return [path for each in choices for path in _paths(rule.replace(match[0], each))]
    return [re.sub(r"<(?:(\w+)(?:\([^)]*\))?:)?(\w+)>", _value, rule)]


def _value(match: re.Match[str]) -> str:
    if match[1] == "int":
        return "1"
    return _VALUES.get(match[2], "no-such-thing")


def api_path(path: str) -> str:
    """The path of an operation with values that name nothing."""
    return PREFIX + re.sub(r"\{(\w+)\}", lambda match: _VALUES.get(match[1], "no-such-thing"), path)


@dataclass
class SecuritySite:
    """A running site with a user of each role."""

    site: RunningSite

    @classmethod
    def of(cls, site: RunningSite) -> SecuritySite:
        """Make the users."""
        for role in Role:
            person(site.database, f"the-{role}", role)
        return cls(site)

    def browser(self, role: Role | None = None) -> httpx.Client:
        """A browser; with a role, one with a fresh session of that role's user. The caller closes it."""
        client = httpx.Client(
            base_url=self.site.address, timeout=60, verify=False
        )  # no TLS: its settings are slow to make
        if role is not None:
            with self.site.database.transaction(COMMAND_LINE) as transaction:
                user = transaction.session.scalars(select(User).where(User.name == f"the-{role}")).one()
                cookie, _ = open_session(transaction, user, "127.0.0.1", "test")
            client.cookies.set(SESSION_COOKIE, cookie)
        return client


def form_token(client: httpx.Client) -> str:
    """The token of this browser's forms: every page of a person who is logged in has a form, and so has the login."""
    for path in ("/", "/login"):
        found = re.search(r'name="csrf_token" value="([^"]+)"', client.get(path, follow_redirects=True).text)
        if found is not None:
            return found[1]
    raise AssertionError("no page has a form")


def operations() -> Sequence[Any]:
    """All operations of the API."""
    return OPERATIONS


EVERYBODY: Final[tuple[Role | None, ...]] = (None, *Role)
"""Nobody, and each role."""
_BY_RIGHTS: Final = sorted(Role, key=lambda role: len(RIGHTS[role]))


def shows_the_border(role: Role | None, right: Right | None) -> bool:
    """Return whether a request by this role shows where a right begins.

    Requests by nobody do, by the least role that has the right, and by the greatest role that does not have the right.
    Each role has all rights of the roles below.
    """
    if role is None or right is None:
        return True
    first = next(number for number, each in enumerate(_BY_RIGHTS) if right in RIGHTS[each])
    return role in _BY_RIGHTS[max(first - 1, 0) : first + 1]
