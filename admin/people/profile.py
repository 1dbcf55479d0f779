"""Everybody sees and changes the own profile and the own password."""

from __future__ import annotations

from admin.models.database import Database
from admin.models.errors import Forbidden, InvalidInput, Problem
from admin.models.operation import InputModel
from admin.models.people_tables import User
from admin.models.transaction import Actor, Door, Transaction
from admin.people.login import Login, LoginRefused, verify_again
from admin.people.passwords import PASSWORDS, password_problem
from admin.people.sessions import end_all_sessions, open_session, own_id
from admin.people.users import UserView, apply, checked_values, view


class ProfileChange(InputModel):
    """A user changes these values of the own profile; None leaves a value as it is."""

    full_name: str | None = None
    email: str | None = None
    zone: str | None = None
    edition: int | None = None


def show_profile(transaction: Transaction) -> UserView:
    """Return the actor's own profile."""
    return view(_own(transaction, for_change=False))


def change_profile(transaction: Transaction, given: ProfileChange) -> UserView:
    """Change the actor's own name, e-mail address or time zone."""
    user = _own(transaction)
    values = checked_values(given.full_name, given.email, given.zone)
    apply(transaction, user, values, given.edition, "profile.change")
    return view(user)


def change_password(database: Database, actor: Actor, present: str, new: str, *, browser: str = "") -> Login:
    """Change the actor's own password. Every session ends, and a new one begins, whose cookie is returned.

    A token of the API can't do so: it would become more than it is. Raises Forbidden, LoginRefused, TooManyAttempts
    and InvalidInput.
    """
    if actor.door is not Door.WEB:
        raise Forbidden("a password is changed at the site; log in there")
    stored = verify_again(database, actor, present)
    with database.transaction(actor) as transaction:
        names = (actor.name, _own(transaction).email)
    least = database.settings.people.password_min_length
    problem = password_problem(new, least, names)
    if problem is None and new == present:
        problem = "the new password is the present one; choose another"
    if problem is not None:
        raise InvalidInput(Problem("password", problem))
    hashed = PASSWORDS.hash(new)
    with database.transaction(actor) as transaction:
        user = _own(transaction)
        if user.password_hash != stored:
            raise LoginRefused("somebody changed the password at the same moment; log in again")
        user.password_hash = hashed
        end_all_sessions(transaction, user)
        transaction.audit("profile.change-password", "user", user.id, user.name)
        cookie, expires = open_session(transaction, user, actor.address, browser)
        return Login(cookie, expires, user.id, user.name)


def _own(transaction: Transaction, *, for_change: bool = True) -> User:
    """Return the actor's row; reading transactions can't lock it for a change."""
    return transaction.session.get_one(User, own_id(transaction), with_for_update=for_change)
