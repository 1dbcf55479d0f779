"""A session is a browser that has logged in. The cookie holds 256 random bits, the database their SHA-256.

A session ends when it is idle for too long, when it is too old, when its user ends it, and when the user's role,
password or activity changes. A change of rights therefore needs a new login, which gives a new session.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from sqlalchemy import bindparam, delete, or_, select

from admin.models.errors import IllegalState, NotFound
from admin.models.operation import OutputModel, Page
from admin.models.people_tables import User, WebSession
from admin.models.transaction import Actor, Door, Transaction
from admin.people.secret_tokens import new_token, token_hash
from archive.dates import Micros

SECOND: Final = 1_000_000
MOST_SESSIONS: Final = 50
"""Of one user; the oldest one ends when there is another login."""
_SEEN_EVERY: Final = 60 * SECOND
"""A request notes that it was there when the last note is older, so that not every request writes."""
_ID_LENGTH: Final = 16
_LONGEST_BROWSER: Final = 300

_LOOKED_UP: Final = (
    select(WebSession, User.name, User.full_name, User.role, User.zone, User.is_active)
    .join(User, User.id == WebSession.user_id)
    .where(WebSession.id_hash == bindparam("hash"))
)
_SESSION_ID: Final = re.compile(r"[0-9a-f]{16}")


class SessionView(OutputModel):
    """A user sees this of a session."""

    id: str
    created: Micros
    seen: Micros
    expires: Micros
    address: str
    browser: str


@dataclass(frozen=True, slots=True)
class OpenSession:
    """The session of a request says who sends the request, and what the site must know of the person."""

    actor: Actor
    user_id: int
    full_name: str
    zone: str
    id: str
    """The name of this session in `list_sessions`."""
    expires: Micros


def open_session(transaction: Transaction, user: User, address: str, browser: str) -> tuple[str, Micros]:
    """Make a session. Return the cookie's value and the moment at which the session ends at the latest."""
    _forget_ended(transaction)
    kept = transaction.session.scalars(
        select(WebSession.id_hash)
        .where(WebSession.user_id == user.id)
        .order_by(WebSession.created.desc(), WebSession.id_hash)
        .offset(MOST_SESSIONS - 1)
    ).all()
    transaction.session.execute(delete(WebSession).where(WebSession.id_hash.in_(kept)))
    cookie = new_token()
    expires = transaction.now + transaction.settings.people.session_seconds * SECOND
    transaction.session.add(
        WebSession(
            id_hash=token_hash(cookie),
            user_id=user.id,
            created=transaction.now,
            seen=transaction.now,
            expires=expires,
            address=_stored(address),
            browser=_stored(browser),
        )
    )
    transaction.session.flush()
    return cookie, expires


def session_of(transaction: Transaction, cookie: str, address: str = "") -> OpenSession | None:
    """Return the session of a cookie; None when there is none, when it has ended, or when its user is not active."""
    found = transaction.session.execute(_LOOKED_UP, {"hash": token_hash(cookie)}).one_or_none() if cookie else None
    if found is None:
        return None
    row, name, full_name, role, zone, is_active = found
    if _has_ended(transaction, row) or not is_active:
        return None
    if transaction.now - row.seen >= _SEEN_EVERY:
        row.seen = transaction.now
    return OpenSession(
        actor=Actor(name, role, Door.WEB, address, row.user_id),
        user_id=row.user_id,
        full_name=full_name or name,
        zone=zone,
        id=row.id_hash[:_ID_LENGTH],
        expires=row.expires,
    )


def end_session_of(transaction: Transaction, cookie: str) -> None:
    """End the session of a cookie, as a logout does. Nothing happens when there is none."""
    row = transaction.session.get(WebSession, token_hash(cookie)) if cookie else None
    if row is not None:
        transaction.audit("session.end", "user", row.user_id, row.user.name)
        transaction.session.delete(row)


def list_sessions(transaction: Transaction) -> Page[SessionView]:
    """Return the actor's own sessions, the last used one first."""
    return sessions_of(transaction, own_id(transaction))


def end_session(transaction: Transaction, id: str) -> None:
    """End one of the actor's own sessions."""
    mine = WebSession.user_id == own_id(transaction)
    row = None
    if _SESSION_ID.fullmatch(id):
        row = transaction.session.scalars(select(WebSession).where(mine, WebSession.id_hash.startswith(id))).first()
    if row is None:
        raise NotFound("session", id)
    transaction.session.delete(row)
    transaction.audit("session.end", "user", row.user_id, transaction.actor.name, old={"session": id})


def end_all_sessions(transaction: Transaction, user: User) -> int:
    """End every session of a user. Return their number."""
    ended = transaction.session.scalars(
        delete(WebSession).where(WebSession.user_id == user.id).returning(WebSession.id_hash)
    )
    return len(ended.all())


def own_id(transaction: Transaction) -> int:
    """Return the number of the user who acts. Raises IllegalState for the scheduler and the command line."""
    if transaction.actor.user_id is None:
        raise IllegalState(f"{transaction.actor.name} is no user, and has no profile; log in as a user")
    return transaction.actor.user_id


def sessions_of(transaction: Transaction, user_id: int) -> Page[SessionView]:
    """Return the sessions of a user, the last used one first. Only this package calls it: no right is asked for."""
    rows = transaction.session.scalars(
        select(WebSession).where(WebSession.user_id == user_id).order_by(WebSession.seen.desc(), WebSession.id_hash)
    )
    views = [
        SessionView(
            id=row.id_hash[:_ID_LENGTH],
            created=row.created,
            seen=row.seen,
            expires=row.expires,
            address=row.address,
            browser=row.browser,
        )
        for row in rows
        if not _has_ended(transaction, row)
    ]
    return Page(items=views)


def _has_ended(transaction: Transaction, row: WebSession) -> bool:
    idle = transaction.settings.people.session_idle_seconds * SECOND
    return row.expires <= transaction.now or row.seen + idle <= transaction.now


def _forget_ended(transaction: Transaction) -> None:
    idle = transaction.settings.people.session_idle_seconds * SECOND
    transaction.session.execute(
        delete(WebSession).where(or_(WebSession.expires <= transaction.now, WebSession.seen <= transaction.now - idle))
    )


def _stored(text: str) -> str:
    """Return what a client said of itself, cut, and without the characters that a database refuses."""
    return "".join(each for each in text[:_LONGEST_BROWSER] if each.isprintable())
