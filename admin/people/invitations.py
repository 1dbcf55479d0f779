"""One-time links make users and set passwords. The database has the SHA-256 of their tokens alone.

The first start prints a link for the first administrator. Administrators make links for further people, and for users
who forgot their password.
"""

from __future__ import annotations

from typing import Final

from sqlalchemy import delete, or_, select, update

from admin.models.database import Database
from admin.models.errors import InvalidInput, NotFound, Problem, UseCaseError
from admin.models.operation import InputModel, OutputModel, Page
from admin.models.people_tables import Invitation, Role, User
from admin.models.transaction import Right, Transaction
from admin.people.login import Login, enter, stranger
from admin.people.passwords import PASSWORDS, password_problem
from admin.people.secret_tokens import new_token, token_hash
from admin.people.sessions import SECOND, end_all_sessions
from admin.people.users import (
    NewUser,
    PageSize,
    UserView,
    add_user,
    find_user,
    hold_administrators,
    view,
)
from archive.dates import Micros

FIRST_START: Final = "first start"
MOST_OPEN: Final = 1000
"""Links that wait to be used, at most."""


class LinkRefused(UseCaseError):
    """The link was used, has expired, or never was one."""

    def __init__(self) -> None:
        super().__init__("this link was used already, has expired, or is not whole; ask an administrator for a new one")


class NewInvitation(InputModel):
    """An administrator asks for a one-time link with this role."""

    role: Role = Role.READER


class OneTimeLink(OutputModel):
    """The link works once. Its token is shown now and never again."""

    id: int
    token: str
    expires: Micros
    user: UserView | None = None
    """The user whose password the link sets; None when the link makes a user."""


class InvitationView(OutputModel):
    """Administrators see this of a link that waits to be used."""

    id: int
    role: Role
    user: str | None
    created: Micros
    created_by: str
    expires: Micros


class OpenLink(OutputModel):
    """The page of a link needs to know this before somebody uses the link."""

    role: Role
    user: str | None
    """The user whose password the link sets; None when the link makes a user."""


class Acceptance(InputModel):
    """A person who uses a link to become a user writes this."""

    name: str
    password: str
    full_name: str = ""
    email: str = ""
    zone: str = "UTC"


def first_invitation(transaction: Transaction) -> OneTimeLink | None:
    """Return a link that makes the first administrator; None when there is a user already.

    Links of earlier starts stop working.
    """
    hold_administrators(transaction)
    if transaction.session.scalars(select(User.id).limit(1)).first() is not None:
        return None
    transaction.session.execute(delete(Invitation).where(Invitation.created_by == FIRST_START))
    return _make(transaction, Role.ADMINISTRATOR, FIRST_START, None)


def invite(transaction: Transaction, given: NewInvitation) -> OneTimeLink:
    """Make a link by which one person, once, becomes a user with that role."""
    transaction.require(Right.ADMINISTER)
    return _make(transaction, given.role, transaction.actor.name, None)


def create_user(transaction: Transaction, given: NewUser) -> OneTimeLink:
    """Make a user, and a link by which the person chooses a password."""
    transaction.require(Right.ADMINISTER)
    user = add_user(transaction, given)
    return _make(transaction, Role(user.role), transaction.actor.name, user)


def reset_password(transaction: Transaction, name: str) -> OneTimeLink:
    """Make a link by which a user sets a new password. The present password and all sessions end at once."""
    transaction.require(Right.ADMINISTER)
    user = find_user(transaction, name)
    user.password_hash = None
    end_all_sessions(transaction, user)
    transaction.session.execute(delete(Invitation).where(Invitation.user_id == user.id))
    transaction.audit("user.reset-password", "user", user.id, user.name)
    return _make(transaction, Role(user.role), transaction.actor.name, user)


def list_invitations(transaction: Transaction, after: int = 0, limit: PageSize = 100) -> Page[InvitationView]:
    """Return the links that wait to be used."""
    transaction.require(Right.ADMINISTER)
    rows = transaction.session.execute(
        select(Invitation, User.name)
        .outerjoin(User, User.id == Invitation.user_id)
        .where(Invitation.used.is_(None), Invitation.expires > transaction.now, Invitation.id > after)
        .order_by(Invitation.id)
        .limit(limit + 1)
    )
    items = [
        InvitationView(
            id=row.id,
            role=row.role,
            user=name,
            created=row.created,
            created_by=row.created_by,
            expires=row.expires,
        )
        for row, name in rows
    ]
    return Page(items=items[:limit], next=str(items[limit - 1].id) if len(items) > limit else None)


def revoke_invitation(transaction: Transaction, id: int) -> None:
    """Remove a link that was not used."""
    transaction.require(Right.ADMINISTER)
    row = transaction.session.get(Invitation, id) if 0 < id < 2**63 else None
    if row is None or row.used is not None:
        raise NotFound("invitation", id)
    transaction.session.delete(row)
    transaction.audit("invitation.revoke", "invitation", id, str(row.role), old={"created_by": row.created_by})


def open_link(database: Database, token: str) -> OpenLink:
    """Return what a link is for, for the page that it leads to. Raises LinkRefused."""
    with database.transaction(stranger("")) as transaction:
        row = _open(transaction, token)
        user = transaction.session.get(User, row.user_id) if row.user_id is not None else None
        return OpenLink(role=Role(row.role), user=user.name if user else None)


def accept_invitation(
    database: Database, token: str, given: Acceptance, *, address: str = "", browser: str = ""
) -> Login:
    """Make the user whom a link allows, and log the user in. One link makes one user, however many people race.

    Raises LinkRefused, and InvalidInput with every problem.
    """
    least = database.settings.people.password_min_length
    if open_link(database, token).user is not None:
        raise LinkRefused
    problem = password_problem(given.password, least, (given.name, given.email))
    hashed = None if problem else PASSWORDS.hash(given.password)
    with database.transaction(stranger(address)) as transaction:
        role = Role(_use(transaction, token).role)
        new = NewUser(name=given.name, full_name=given.full_name, email=given.email, role=role, zone=given.zone)
        try:
            user = add_user(transaction, new, password_hash=hashed)
        except InvalidInput as error:
            raise InvalidInput(*error.problems, *_password(problem)) from None
        if problem:
            raise InvalidInput(*_password(problem))
        return enter(transaction, user, browser, "")


def set_password(database: Database, token: str, password: str, *, address: str = "", browser: str = "") -> Login:
    """Set the password of the user whom a link names, end the user's sessions, and log the user in.

    Raises LinkRefused and InvalidInput.
    """
    name = open_link(database, token).user
    if name is None:
        raise LinkRefused
    if problem := password_problem(password, database.settings.people.password_min_length, (name,)):
        raise InvalidInput(*_password(problem))
    hashed = PASSWORDS.hash(password)
    with database.transaction(stranger(address)) as transaction:
        user = transaction.session.get(User, _use(transaction, token).user_id)
        if user is None or not user.is_active:
            raise LinkRefused
        user.password_hash = hashed
        end_all_sessions(transaction, user)
        transaction.audit("user.set-password", "user", user.id, user.name)
        return enter(transaction, user, browser, "")


def _make(transaction: Transaction, role: Role, by: str, user: User | None) -> OneTimeLink:
    transaction.session.execute(
        delete(Invitation).where(or_(Invitation.used.is_not(None), Invitation.expires <= transaction.now))
    )
    waiting = transaction.session.scalars(select(Invitation.id).limit(MOST_OPEN)).all()
    if len(waiting) >= MOST_OPEN:
        raise UseCaseError(f"{MOST_OPEN:,} links wait to be used; revoke some before you make another")
    token = new_token()
    row = Invitation(
        token_hash=token_hash(token),
        user_id=user.id if user is not None else None,
        role=role,
        created=transaction.now,
        created_by=by,
        expires=transaction.now + transaction.settings.people.invitation_seconds * SECOND,
    )
    transaction.session.add(row)
    transaction.session.flush()
    transaction.audit(
        "invitation.create", "invitation", row.id, user.name if user else role, new={"role": role, "for": by}
    )
    return OneTimeLink(id=row.id, token=token, expires=row.expires, user=view(user) if user is not None else None)


def _open(transaction: Transaction, token: str) -> Invitation:
    row = transaction.session.scalars(
        select(Invitation).where(
            Invitation.token_hash == token_hash(token),
            Invitation.used.is_(None),
            Invitation.expires > transaction.now,
        )
    ).one_or_none()
    if row is None:
        raise LinkRefused
    return row


def _use(transaction: Transaction, token: str) -> Invitation:
    """Mark the link as used: of two who race, the second finds no row. Raises LinkRefused."""
    hold_administrators(transaction)
    row = _open(transaction, token)
    marked = transaction.session.execute(
        update(Invitation)
        .where(Invitation.id == row.id, Invitation.used.is_(None))
        .values(used=transaction.now)
        .returning(Invitation.id)
    ).all()
    is_first = row.created_by == FIRST_START
    if not marked or (is_first and transaction.session.scalars(select(User.id).limit(1)).first() is not None):
        raise LinkRefused
    return row


def _password(problem: str | None) -> tuple[Problem, ...]:
    return (Problem("password", problem),) if problem else ()
