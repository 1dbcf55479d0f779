"""People log in with a name and a password. The password is verified between two transactions and not in one.

A hash takes a fifth of a second, and SQLite has one writer at a time.
"""

from __future__ import annotations

from dataclasses import dataclass

from sqlalchemy import select

from admin.models.database import Database
from admin.models.errors import UseCaseError
from admin.models.people_tables import Role, User
from admin.models.plain_text import comparable
from admin.models.transaction import Actor, Door, Transaction
from admin.people.passwords import PASSWORDS, Verdict
from admin.people.sessions import end_session_of, open_session
from admin.people.throttling import count_attempt, forget_attempts
from archive.dates import Micros


class LoginRefused(UseCaseError):
    """The login failed. The message does not tell whether there is such a user."""

    def __init__(self, message: str = "the name or the password is wrong; check both, and the caps lock key") -> None:
        super().__init__(message)


@dataclass(frozen=True, slots=True)
class Login:
    """A login is a session that was opened for a user."""

    """The result of a login is a session, whose cookie stands here."""

    cookie: str
    """The value of the session's cookie; nobody can read it again."""
    expires: Micros
    user_id: int
    name: str


def log_in(
    database: Database,
    name: str,
    password: str,
    *,
    address: str = "",
    browser: str = "",
    former_cookie: str = "",
) -> Login:
    """Verify a name and a password, and open a session. The session of `former_cookie` ends.

    Raises LoginRefused, and TooManyAttempts.
    """
    PASSWORDS.warm_up()
    user_id, stored = _count_and_find(database, name, address)
    verdict = PASSWORDS.verify(stored, password)
    with database.transaction(stranger(address)) as transaction:
        user = transaction.session.get(User, user_id) if verdict.is_right else None
        if user is not None and user.is_active and user.password_hash == stored:
            return enter(transaction, user, browser, former_cookie, verdict)
    raise LoginRefused


def enter(
    transaction: Transaction, user: User, browser: str, former_cookie: str, verdict: Verdict | None = None
) -> Login:
    """Open a session for a user who has shown who the user is. Only this package calls it."""
    address = transaction.actor.address
    transaction.actor = Actor(user.name, user.role, Door.WEB, address, user.id)
    if verdict is not None:
        forget_attempts(transaction, user.name, address)
        user.password_hash = verdict.new_hash or user.password_hash
    end_session_of(transaction, former_cookie)
    cookie, expires = open_session(transaction, user, address, browser)
    user.last_login = transaction.now
    transaction.audit("session.start", "user", user.id, user.name)
    return Login(cookie, expires, user.id, user.name)


def verify_again(database: Database, actor: Actor, password: str) -> str:
    """Return the stored hash after verifying the actor's own password once more. Raises LoginRefused, TooManyAttempts.

    Wrong passwords count as failed logins do, so that a stolen session is no way to guess.
    """
    user_id, stored = _count_and_find(database, actor.name, actor.address)
    if user_id != actor.user_id or not PASSWORDS.verify(stored, password).is_right:
        raise LoginRefused("the present password is wrong; type the password by which you logged in")
    with database.transaction(actor) as transaction:
        forget_attempts(transaction, actor.name, actor.address)
    assert stored is not None
    return stored


def stranger(address: str) -> Actor:
    """Return the actor of functions that nobody is logged in for. No use case that asks for a right may get it."""
    return Actor("anonymous", Role.READER, Door.WEB, address)


def _count_and_find(database: Database, name: str, address: str) -> tuple[int | None, str | None]:
    """Count the attempt, and return the user's number and stored hash; (None, None) when there is no such user."""
    with database.transaction(stranger(address)) as transaction:
        wanted = select(User).where(User.name == comparable(name).strip().lower())
        user = transaction.session.scalars(wanted).one_or_none()
        refusal = count_attempt(transaction, name, address, known_name=user.name if user else "")
        found = (user.id, user.password_hash) if user is not None else (None, None)
    if refusal is not None:
        raise refusal
    return found
