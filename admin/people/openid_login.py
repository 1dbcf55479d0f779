"""A person for whom the provider vouches is a user by issuer and subject, and never by name or e-mail address.

Names and addresses can be given to another person, or be typed in freely at some providers. A new person becomes a new
user with the role that the settings make of the claims. A user who has a password links the identity in the profile.
"""

from __future__ import annotations

import re
from typing import Any, Final

from sqlalchemy import select

from admin.models.database import Database
from admin.models.errors import Forbidden, IllegalState, UseCaseError
from admin.models.people_tables import Role, User
from admin.models.transaction import Actor, Door, Transaction
from admin.people import fields
from admin.people.login import Login, enter, stranger
from admin.people.openid import OpenIdRefused, ProviderIdentity
from admin.people.sessions import own_id
from admin.people.users import NewUser, add_user, apply, hold_administrators

_NOT_IN_NAMES: Final = re.compile(r"[^a-z0-9._@+-]+")
_MOST_SUFFIXES: Final = 1000


def log_in_by_openid(
    database: Database, identity: ProviderIdentity, *, address: str = "", browser: str = "", former_cookie: str = ""
) -> Login:
    """Open a session for the user whom the identity names, and make that user when there is none.

    The role follows the claims at each login. Raises OpenIdRefused.
    """
    with database.transaction(stranger(address)) as transaction:
        hold_administrators(transaction)
        user = _find(transaction, identity)
        if user is None:
            user = _add(transaction, identity)
        elif not user.is_active:
            raise OpenIdRefused("this user was deactivated; ask an administrator")
        else:
            _follow_claims(transaction, user, identity)
        return enter(transaction, user, browser, former_cookie)


def link_identity(transaction: Transaction, identity: ProviderIdentity) -> None:
    """Let the actor, who is logged in by password, log in by this identity from now on. Raises UseCaseError."""
    if transaction.actor.door is not Door.WEB:
        raise Forbidden("an identity is linked at the site; log in there")
    held = _find(transaction, identity)
    if held is not None and held.id != own_id(transaction):
        raise UseCaseError("this identity belongs to another user; ask an administrator")
    user = transaction.session.get_one(User, own_id(transaction))
    user.oidc_issuer, user.oidc_subject = identity.issuer, identity.subject
    transaction.audit(
        "profile.link", "user", user.id, user.name, new={"issuer": identity.issuer, "subject": identity.subject}
    )


def unlink_identity(transaction: Transaction) -> None:
    """Let the actor no longer log in by OpenID Connect. Raises IllegalState for a user without a password."""
    if transaction.actor.door is not Door.WEB:
        raise Forbidden("an identity is unlinked at the site; log in there")
    user = transaction.session.get_one(User, own_id(transaction))
    if user.password_hash is None:
        raise IllegalState("you have no password, and could not log in any more; ask an administrator for one first")
    old = {"issuer": user.oidc_issuer, "subject": user.oidc_subject}
    user.oidc_issuer = user.oidc_subject = None
    transaction.audit("profile.unlink", "user", user.id, user.name, old=old)


def _find(transaction: Transaction, identity: ProviderIdentity) -> User | None:
    return transaction.session.scalars(
        select(User).where(User.oidc_issuer == identity.issuer, User.oidc_subject == identity.subject)
    ).one_or_none()


def _add(transaction: Transaction, identity: ProviderIdentity) -> User:
    if identity.role is None:
        raise _no_role()
    if transaction.session.scalars(select(User.id).limit(1)).first() is None:
        raise OpenIdRefused("the first user is made by the link that the first start prints; use that link first")
    user = add_user(
        transaction,
        NewUser(
            name=_free_name(transaction, identity.name),
            full_name=_usable(fields.full_name, identity.full_name),
            email=_usable(fields.email, identity.email),
            zone=_usable(fields.zone, identity.zone) or "UTC",
            role=identity.role,
        ),
    )
    user.oidc_issuer, user.oidc_subject = identity.issuer, identity.subject
    transaction.session.flush()
    return user


def _follow_claims(transaction: Transaction, user: User, identity: ProviderIdentity) -> None:
    """Give the user the role of the claims, when the settings have a claim for it. The last administrator stays one."""
    if not transaction.settings.people.oidc_role_claim:
        return
    if identity.role is None:
        raise _no_role()
    transaction.actor = Actor(user.name, Role(user.role), Door.WEB, transaction.actor.address, user.id)
    try:
        apply(transaction, user, {"role": identity.role}, None, "user.follow-claims")
    except IllegalState:
        transaction.audit("user.keep-administrator", "user", user.id, user.name, new={"claimed": identity.role})


def _free_name(transaction: Transaction, wanted: str) -> str:
    """Return a login name that nobody has, as near to the wanted one as can be."""
    base = _NOT_IN_NAMES.sub("-", wanted.strip().lower()[:200]).strip("-._@+")[:50] or "user"
    if base in fields.RESERVED_NAMES:
        base = f"{base}-user"
    for number in range(1, _MOST_SUFFIXES):
        name = base if number == 1 else f"{base}-{number}"
        if transaction.session.scalars(select(User.id).where(User.name == name)).first() is None:
            return name
    raise UseCaseError(f"there are too many users whose names begin with {base!r}; ask an administrator")


def _usable(check: Any, text: str) -> str:
    """Return what `check` makes of a claim; nothing of one that the site does not take."""
    try:
        return str(check(text))
    except ValueError:
        return ""


def _no_role() -> OpenIdRefused:
    return OpenIdRefused(
        "the provider knows you, but none of your groups has a role here; ask an administrator to set people.oidc_roles"
    )
