"""A use case gets a transaction: a database session, the actor who asks, the time, and the settings in force.

Every use case is a function whose first argument is a `Transaction`. It checks the actor's right, changes rows, and
leaves an audit entry for each change. The caller commits: `with database.transaction(actor) as transaction`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Final, Protocol

from sqlalchemy.orm import Session

from admin.models.errors import EditConflict, Forbidden
from admin.models.people_tables import AuditEntry, Role
from archive.dates import Micros, iso_second
from archive.settings.load import Settings

_MOMENTS: Final = frozenset(("ends_at", "expires", "first_run", "next_run", "old_key_signs_until", "starts", "until"))
"""Names of values that are microseconds since 1970."""


class Door(StrEnum):
    """An actor comes by one of these doors."""

    WEB = "web"
    API = "api"
    COMMAND = "command"
    SCHEDULER = "scheduler"
    HARVESTER = "harvester"


class Right(StrEnum):
    """Use cases ask for one of these rights; `RIGHTS` says which roles have them."""

    READ = "read"
    OPERATE = "operate"
    """Steer jobs: pause, stop, resubmit, add URLs."""
    CURATE = "curate"
    """Change domains, templates, schedules and harvests."""
    ADMINISTER = "administer"
    """Change users, channels and settings; read the audit."""


RIGHTS: Final[Mapping[Role, frozenset[Right]]] = {
    Role.READER: frozenset((Right.READ,)),
    Role.OPERATOR: frozenset((Right.READ, Right.OPERATE)),
    Role.CURATOR: frozenset((Right.READ, Right.OPERATE, Right.CURATE)),
    Role.ADMINISTRATOR: frozenset(Right),
}
"""The rights of each role."""


@dataclass(frozen=True, slots=True)
class Actor:
    """The person or program that asks for a use case."""

    name: str
    role: Role
    door: Door
    address: str = ""
    """The network address of the client; empty on this machine's command line."""
    user_id: int | None = None


SCHEDULER: Final = Actor("scheduler", Role.ADMINISTRATOR, Door.SCHEDULER)
"""The scheduler acts by itself."""
COMMAND_LINE: Final = Actor("command line", Role.ADMINISTRATOR, Door.COMMAND)
"""Whoever may run `ghostfleet` with this home is its administrator."""


def check_right(actor: Actor, right: Right) -> None:
    """Raise Forbidden unless the actor has the right."""
    if right not in RIGHTS[actor.role]:
        raise Forbidden(f"{actor.name} ({actor.role}) may not {right}; ask an administrator for the role")


class Edited(Protocol):
    """An edited row has an edition, whatever its table is."""

    edition: Any


@dataclass(slots=True)
class Transaction:
    """One unit of work; what it changed is kept when the caller commits."""

    session: Session
    actor: Actor
    now: Micros
    settings: Settings = field(default_factory=Settings)
    """The settings in force."""

    def require(self, right: Right) -> None:
        """Raise Forbidden unless the actor has the right."""
        check_right(self.actor, right)

    def check_edition(self, entity: str, name: object, row: Edited, given: int | None) -> None:
        """Raise EditConflict unless `given` is the row's present edition, then count the edition up.

        None is for programs that change what is there, whatever it is.
        """
        if given is not None and given != row.edition:
            raise EditConflict(entity, name, given, row.edition)
        row.edition = row.edition + 1

    def audit(
        self,
        action: str,
        entity: str,
        entity_id: object,
        name: str,
        *,
        old: Mapping[str, Any] | None = None,
        new: Mapping[str, Any] | None = None,
    ) -> None:
        """Leave an entry about a change: `old` and `new` are the values that differ, without secrets."""
        self.session.add(
            AuditEntry(
                at=self.now,
                actor=self.actor.name,
                door=self.actor.door,
                address=self.actor.address,
                action=action,
                entity=entity,
                entity_id=str(entity_id),
                entity_name=name[:1000],
                old=_readable(old),
                new=_readable(new),
            )
        )


def _readable(values: Mapping[str, Any] | None) -> dict[str, Any] | None:
    """Return the values of an entry with moments as people read them, in UTC."""
    if values is None:
        return None
    return {
        name: iso_second(value) if name in _MOMENTS and isinstance(value, int) and value > 0 else value
        for name, value in values.items()
    }
