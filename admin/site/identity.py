"""Requests become actors: a browser shows its session's cookie, a program its API token."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, TypeVar, cast

from flask import Request, g, request
from flask_wtf.csrf import validate_csrf
from werkzeug.sansio.http import parse_cookie
from wtforms import ValidationError

from admin.models.database import Database
from admin.models.errors import Forbidden
from admin.models.transaction import Actor, Transaction
from admin.people.api_tokens import token_actor
from admin.people.login import stranger
from admin.people.sessions import OpenSession, session_of
from admin.web.formats import zone_of
from admin.web.page import SESSION_COOKIE, SiteVisitor

T = TypeVar("T")
_SESSION: Final = "open_session"
_SAFE: Final = frozenset(("GET", "HEAD", "OPTIONS"))


class Identity:
    """Finds out who sends a request."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def visitor(self) -> SiteVisitor | None:
        """Return the person who has the present request's session; None for nobody."""
        found = self._session_of_request(request.cookies.get(SESSION_COOKIE, ""), request.remote_addr or "")
        if found is None:
            return None
        return SiteVisitor(found.actor, found.full_name, zone_of(found.zone), found.id)

    def actor_of(self, sent: Request) -> Actor | None:
        """Return who uses the API: by token, or by session. Raises Forbidden for a session without its CSRF token."""
        kind, _, token = sent.headers.get("Authorization", "").partition(" ")
        address = sent.remote_addr or ""
        if kind.lower() == "bearer":
            return self._looked(address, lambda transaction: token_actor(transaction, token.strip(), address))
        found = self._session_of_request(sent.cookies.get(SESSION_COOKIE, ""), address)
        if found is None:
            return None
        if sent.method not in _SAFE:
            try:
                validate_csrf(sent.headers.get("X-CSRFToken"))
            except ValidationError as error:
                raise Forbidden("a session needs its CSRF token in the header X-CSRFToken; or use a token") from error
        return found.actor

    def actor_of_cookie(self, header: str, address: str) -> Actor | None:
        """Return who has the session of a Cookie header; None for nobody."""
        session = self._session(parse_cookie(header).get(SESSION_COOKIE, ""), address)
        return session.actor if session is not None else None

    def _session_of_request(self, cookie: str, address: str) -> OpenSession | None:
        """Return the session that the present request shows; the database is asked once in each request."""
        if _SESSION not in g:
            setattr(g, _SESSION, self._session(cookie, address))
        return cast(OpenSession | None, getattr(g, _SESSION))

    def _session(self, cookie: str, address: str) -> OpenSession | None:
        if not cookie:
            return None
        return self._looked(address, lambda transaction: session_of(transaction, cookie, address))

    def _looked(self, address: str, look: Callable[[Transaction], T]) -> T:
        """Return what `look` finds. Only when it notes a use, about once a minute, is the database written."""
        with self._database.glance(stranger(address)) as transaction:
            found = look(transaction)
            if not transaction.session.dirty:
                return found
        with self._database.transaction(stranger(address)) as transaction:
            return look(transaction)
