"""Users for tests, with sessions as the site opens them."""

from __future__ import annotations

from typing import Final

from sqlalchemy import select

from admin.models.database import Database
from admin.models.people_tables import AuditEntry, Role
from admin.models.transaction import COMMAND_LINE, Actor
from admin.people.invitations import Acceptance, NewInvitation, accept_invitation, invite
from admin.people.login import Login
from admin.people.sessions import session_of

CHEAP: Final = {"time_cost": 1, "memory_cost": 8, "parallelism": 1}
PASSWORD: Final = "four words unlike before"
ADDRESS: Final = "192.0.2.7"


def add_person(database: Database, name: str, role: Role = Role.CURATOR, email: str = "") -> Login:
    """Make a user with `PASSWORD`, as a person who was invited does, and return the login."""
    with database.transaction(COMMAND_LINE) as transaction:
        token = invite(transaction, NewInvitation(role=role)).token
    given = Acceptance(name=name, password=PASSWORD, full_name=name.title(), email=email)
    return accept_invitation(database, token, given, address=ADDRESS)


def actor_of(database: Database, cookie: str) -> Actor | None:
    """Return who sends a request with this cookie; None when the session has ended."""
    with database.transaction(COMMAND_LINE) as transaction:
        session = session_of(transaction, cookie, ADDRESS)
        return session.actor if session else None


def person(database: Database, name: str, role: Role = Role.CURATOR, email: str = "") -> Actor:
    """Make a user, and return the actor of the user's requests."""
    actor = actor_of(database, add_person(database, name, role, email).cookie)
    assert actor is not None
    return actor


def actions(database: Database) -> list[str]:
    """Return what the audit says was done, the oldest first."""
    with database.transaction(COMMAND_LINE) as transaction:
        return list(transaction.session.scalars(select(AuditEntry.action).order_by(AuditEntry.id)))
