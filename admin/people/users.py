"""Administrators make, change and deactivate users. Nobody removes a user, since the audit names users."""

from __future__ import annotations

from typing import Annotated, Any, Final

from pydantic import Field
from sqlalchemy import Text, cast, false, func, or_, select

from admin.models.capture_tables import CaptureSession, CaptureState
from admin.models.errors import IllegalState, NotFound, Problem
from admin.models.operation import InputModel, OutputModel, Page
from admin.models.people_tables import Invitation, Role, User
from admin.models.plain_text import comparable
from admin.models.transaction import RIGHTS, Right, Transaction
from admin.people import fields
from admin.people.sessions import SessionView, end_all_sessions, sessions_of
from admin.people.throttling import forget_attempts
from archive.dates import Micros

PageSize = Annotated[int, Field(ge=1, le=500)]
_EXCLUSIVE: Final = 7_305_115
"""The number of PostgreSQL's advisory lock for changes that look at all administrators."""


class UserView(OutputModel):
    """Administrators see this of a user, and so does the user."""

    name: str
    full_name: str
    email: str
    role: Role
    is_active: bool
    zone: str
    created: Micros
    last_login: Micros | None
    has_password: bool
    oidc_issuer: str | None
    oidc_subject: str | None
    edition: int


class NewUser(InputModel):
    """An administrator writes this of a new user, who gets a one-time link to choose a password."""

    name: str
    full_name: str = ""
    email: str = ""
    role: Role
    zone: str = "UTC"


class UserChange(InputModel):
    """An administrator changes these values of a user; None leaves a value as it is."""

    full_name: str | None = None
    email: str | None = None
    role: Role | None = None
    zone: str | None = None
    is_active: bool | None = None
    edition: int | None = None
    """The edition that the person saw; None changes the user whatever it is."""


def view(user: User) -> UserView:
    """Return a user as people see it, without the hash of the password."""
    return UserView(
        name=user.name,
        full_name=user.full_name,
        email=user.email,
        role=user.role,
        is_active=user.is_active,
        zone=user.zone,
        created=user.created,
        last_login=user.last_login,
        has_password=user.password_hash is not None,
        oidc_issuer=user.oidc_issuer,
        oidc_subject=user.oidc_subject,
        edition=user.edition,
    )


def list_users(
    transaction: Transaction,
    role: Role | None = None,
    is_active: bool | None = None,
    begins_with: str = "",
    after: str = "",
    limit: PageSize = 100,
) -> Page[UserView]:
    """Return users by name."""
    transaction.require(Right.ADMINISTER)
    wanted = select(User).order_by(User.name)
    if role is not None:
        wanted = wanted.where(User.role == role)
    if is_active is not None:
        wanted = wanted.where(User.is_active == is_active)
    if begins_with:
        wanted = wanted.where(User.name.startswith(comparable(begins_with).lower(), autoescape=True))
    total = transaction.session.scalar(select(func.count()).select_from(wanted.order_by(None).limit(10_001).subquery()))
    rows = transaction.session.scalars(wanted.where(User.name > comparable(after)).limit(limit + 1)).all()
    return Page(
        items=[view(user) for user in rows[:limit]],
        next=rows[limit - 1].name if len(rows) > limit else None,
        total=total if total is not None and total <= 10_000 else None,
    )


def show_user(transaction: Transaction, name: str) -> UserView:
    """Return one user."""
    transaction.require(Right.ADMINISTER)
    return view(find_user(transaction, name))


def add_user(transaction: Transaction, given: NewUser, *, password_hash: str | None = None) -> User:
    """Check the fields, and add the user. Raises InvalidInput. Only this package calls it: no right is asked for."""
    checks = fields.FieldChecks()
    name = checks.checked("name", fields.login_name, given.name)
    full_name = checks.checked("full_name", fields.full_name, given.full_name)
    email = checks.checked("email", fields.email, given.email)
    zone = checks.checked("zone", fields.zone, given.zone)
    if name and transaction.session.scalars(select(User.id).where(User.name == name)).first() is not None:
        checks.problems.append(Problem("name", f"there is a user {name!r} already; choose another login name"))
    checks.done()
    user = User(
        name=name,
        full_name=full_name,
        email=email,
        role=given.role,
        zone=zone,
        created=transaction.now,
        password_hash=password_hash,
        is_active=True,
    )
    transaction.session.add(user)
    transaction.session.flush()
    transaction.audit(
        "user.create",
        "user",
        user.id,
        user.name,
        new={"name": user.name, "full_name": full_name, "email": email, "role": given.role, "zone": zone},
    )
    return user


def change_user(transaction: Transaction, name: str, given: UserChange) -> UserView:
    """Change a user. A change of the role or of the activity ends the user's sessions.

    Links that the user made and capture sessions of the user end with the right to make them.
    """
    transaction.require(Right.ADMINISTER)
    user = find_user(transaction, name)
    values = checked_values(given.full_name, given.email, given.zone)
    if given.role is not None:
        values["role"] = given.role
    if given.is_active is not None:
        values["is_active"] = given.is_active
    apply(transaction, user, values, given.edition, "user.change")
    return view(user)


def deactivate_user(transaction: Transaction, name: str, edition: int | None = None) -> UserView:
    """Refuse a user: sessions and links end, API tokens and logins are refused, messages are no longer sent."""
    return change_user(transaction, name, UserChange(is_active=False, edition=edition))


def activate_user(transaction: Transaction, name: str, edition: int | None = None) -> UserView:
    """Activate a user who was deactivated."""
    return change_user(transaction, name, UserChange(is_active=True, edition=edition))


def release_user(transaction: Transaction, name: str) -> None:
    """Let a user log in at once who had too many failed attempts."""
    transaction.require(Right.ADMINISTER)
    user = find_user(transaction, name)
    forget_attempts(transaction, user.name)
    transaction.audit("user.release", "user", user.id, user.name)


def end_user_sessions(transaction: Transaction, name: str) -> None:
    """End every session of a user."""
    transaction.require(Right.ADMINISTER)
    user = find_user(transaction, name)
    ended = end_all_sessions(transaction, user)
    transaction.audit("user.end-sessions", "user", user.id, user.name, old={"sessions": ended})


def show_user_sessions(transaction: Transaction, name: str) -> Page[SessionView]:
    """Return the sessions of a user."""
    transaction.require(Right.ADMINISTER)
    return sessions_of(transaction, find_user(transaction, name).id)


def find_user(transaction: Transaction, name: str) -> User:
    """Return the user of that login name, and keep others from changing it until the end. Raises NotFound."""
    user = transaction.session.scalars(
        select(User).where(User.name == comparable(name).strip().lower()).with_for_update()
    ).one_or_none()
    if user is None:
        raise NotFound("user", name)
    return user


def checked_values(full_name: str | None, email: str | None, zone: str | None) -> dict[str, Any]:
    """Return those of the values that are given, checked. Raises InvalidInput with all problems."""
    checks = fields.FieldChecks()
    values: dict[str, Any] = {}
    if full_name is not None:
        values["full_name"] = checks.checked("full_name", fields.full_name, full_name)
    if email is not None:
        values["email"] = checks.checked("email", fields.email, email)
    if zone is not None:
        values["zone"] = checks.checked("zone", fields.zone, zone)
    checks.done()
    return values


def apply(transaction: Transaction, user: User, values: dict[str, Any], edition: int | None, action: str) -> None:
    """Write the values that differ, with everything that follows: the audit, and the end of sessions and links."""
    before = {key: getattr(user, key) for key in values}
    changed = {key: value for key, value in values.items() if value != before[key]}
    if changed.get("is_active") is False or changed.get("role", Role.ADMINISTRATOR) != Role.ADMINISTRATOR:
        keep_an_administrator(transaction, user)
    transaction.check_edition("user", user.name, user, edition)
    for key, value in changed.items():
        setattr(user, key, value)
    if "role" in changed or "is_active" in changed:
        end_all_sessions(transaction, user)
        _revoke_links(transaction, user)
        _end_capture_sessions(transaction, user)
    if changed:
        transaction.audit(
            action, "user", user.id, user.name, old={key: before[key] for key in changed}, new=dict(changed)
        )


def _revoke_links(transaction: Transaction, user: User) -> None:
    """Remove the links of a user who may make none any more, and the link of one who may not log in."""
    wanted = []
    if Right.ADMINISTER not in _rights(user):
        wanted.append(Invitation.created_by == user.name)
    if not user.is_active:
        wanted.append(Invitation.user_id == user.id)
    for row in transaction.session.scalars(select(Invitation).where(Invitation.used.is_(None), or_(false(), *wanted))):
        transaction.session.delete(row)
        transaction.audit("invitation.revoke", "invitation", row.id, str(row.role), old={"created_by": row.created_by})


def _end_capture_sessions(transaction: Transaction, user: User) -> None:
    """Let the recording end for a user who may not record any more. The process that records sees it in the row."""
    if Right.OPERATE in _rights(user):
        return
    is_live = CaptureSession.state.in_((CaptureState.OPEN, CaptureState.PAUSED))
    rows = select(CaptureSession).where(CaptureSession.owner == user.name, is_live).with_for_update()
    for row in transaction.session.scalars(rows):
        old, row.state = row.state, CaptureState.ENDING
        row.error = f"The session was ended: {user.name} may not record any more."
        new = {"state": row.state}
        transaction.audit("capture-session.end", "capture session", row.id, row.collection, old={"state": old}, new=new)


def _rights(user: User) -> frozenset[Right]:
    return RIGHTS[user.role] if user.is_active else frozenset()


def keep_an_administrator(transaction: Transaction, user: User) -> None:
    """Raise IllegalState when the user is the last active administrator."""
    hold_administrators(transaction)
    transaction.session.refresh(user)
    others = select(User.id).where(User.role == Role.ADMINISTRATOR, User.is_active, User.id != user.id).limit(1)
    is_one = user.role == Role.ADMINISTRATOR and user.is_active
    if is_one and transaction.session.scalars(others).first() is None:
        raise IllegalState(
            f"{user.name} is the last administrator, who can't be deactivated or get another role; make another user"
            " administrator first"
        )


def hold_administrators(transaction: Transaction) -> None:
    """Keep other transactions that change administrators waiting until this one ends. SQLite has one writer anyway."""
    if transaction.session.get_bind().dialect.name == "postgresql":
        transaction.session.execute(select(cast(func.pg_advisory_xact_lock(_EXCLUSIVE), Text)))
