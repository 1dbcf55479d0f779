"""Harvesters register for a channel, and say what they do."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from sqlalchemy import select, update

from admin.models.errors import IllegalState, InvalidInput, NotFound, Problem
from admin.models.harvest_tables import Channel
from admin.models.job_tables import Harvester, HarvesterState
from admin.models.operation import OutputModel
from admin.models.people_tables import AuditEntry
from admin.models.transaction import Right, Transaction
from admin.notifications.events import Event
from admin.notifications.outbox import notify
from archive.dates import Micros

_STARTING: Final = "starting"
"""Why a harvester is stopped that has registered and does nothing yet."""
SILENT_AFTER: Final[Micros] = 300_000_000
"""A harvester that works says something more often than this."""
_REFUSED: Final = "harvester.refuse"
_HOUR: Final[Micros] = 3_600_000_000
_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._@:-]{0,199}")


class HarvesterView(OutputModel):
    """A harvester as pages and programs see it."""

    name: str
    channel: str
    machine: str
    pid: int
    state: HarvesterState
    why: str
    job_id: int | None
    free_bytes: int
    registered: Micros
    heard: Micros
    is_silent: bool
    """The harvester has said nothing for longer than a harvester that works may."""


@dataclass(frozen=True, slots=True)
class Registration:
    """A harvester says these things of itself when it starts."""

    name: str
    channel: str
    machine: str
    pid: int
    free_bytes: int = 0
    home: str = ""
    """The name of its home; a harvester that was restarted has the same one."""


def register(transaction: Transaction, given: Registration) -> None:
    """Register a harvester, or the same one again after a restart.

    Raises NotFound for an unknown channel, and IllegalState when a harvester of another home works under this name:
    each would take the other's jobs for its own, and report them as interrupted.
    """
    transaction.require(Right.OPERATE)
    if not _NAME.fullmatch(given.name):
        raise InvalidInput(
            Problem("name", f"{given.name[:100]!r} must be 1 to 200 letters, digits or characters of ._@:-")
        )
    channel = transaction.session.scalar(select(Channel).where(Channel.name == given.channel))
    if channel is None:
        raise NotFound("channel", given.channel)
    row = transaction.session.get(Harvester, given.name, with_for_update=True)
    if row is not None and _works_elsewhere(transaction, row, given.home):
        raise IllegalState(
            f"a harvester {given.name} of another home works on {row.machine}, heard"
            f" {(transaction.now - row.heard) // 1_000_000} s ago; give this one another --name"
        )
    if row is None:
        row = Harvester(name=given.name, why="", job_id=None, registered=transaction.now)
        transaction.session.add(row)
    row.channel_id, row.machine, row.pid, row.home = channel.id, given.machine, given.pid, given.home
    row.state, row.why, row.free_bytes = HarvesterState.STOPPED, _STARTING, given.free_bytes
    row.registered = row.heard = transaction.now
    transaction.session.flush()
    transaction.audit("harvester.register", "harvester", row.name, row.name, new={"channel": channel.name})


def _works_elsewhere(transaction: Transaction, row: Harvester, home: str) -> bool:
    has_ended = row.state is HarvesterState.STOPPED and row.why != _STARTING
    is_heard = transaction.now - row.heard < SILENT_AFTER
    return not has_ended and is_heard and bool(home) and bool(row.home) and row.home != home


def refuse_registration(transaction: Transaction, given: Registration) -> bool:
    """Note that a harvester wanted to register for a channel that does not exist, and tell people.

    A harvester that tries again and again is noted once an hour. Return whether it was noted now.
    """
    transaction.require(Right.OPERATE)
    noted = select(AuditEntry.id).where(
        AuditEntry.action == _REFUSED,
        AuditEntry.entity_id == given.name,
        AuditEntry.entity_name == given.channel[:1000],
        AuditEntry.at > transaction.now - _HOUR,
    )
    if transaction.session.scalar(noted.limit(1)) is not None:
        return False
    transaction.audit(_REFUSED, "harvester", given.name, given.channel, new={"machine": given.machine})
    subject = f"Harvester {given.name} wanted to register for channel {given.channel[:100]}, which does not exist"
    notify(transaction, Event.HARVESTER_REFUSED, subject, {"machine": given.machine})
    return True


def announce(
    transaction: Transaction,
    name: str,
    state: HarvesterState,
    *,
    home: str = "",
    why: str = "",
    job_id: int | None = None,
    free_bytes: int = 0,
) -> None:
    """Note what the harvester of this home does now.

    Raises NotFound for one that never registered, and for one whose name a harvester of another home has now.
    """
    values = {
        "state": state,
        "why": why[:1000],
        "job_id": job_id,
        "free_bytes": free_bytes,
        "heard": transaction.now,
    }
    found = transaction.session.execute(
        update(Harvester).where(Harvester.name == name, Harvester.home == home).values(values)
    )
    if not found.rowcount:  # type: ignore[attr-defined]
        raise NotFound("harvester", name)


def list_harvesters(transaction: Transaction, *, silent_after: Micros = SILENT_AFTER) -> list[HarvesterView]:
    """Return all harvesters by channel and name."""
    rows = transaction.session.execute(
        select(Harvester, Channel.name)
        .join(Channel, Channel.id == Harvester.channel_id)
        .order_by(Channel.name, Harvester.name)
    )
    return [view_of(row, channel, transaction.now, silent_after) for row, channel in rows]


def view_of(row: Harvester, channel: str, now: Micros, silent_after: Micros) -> HarvesterView:
    """Return the row as others see it."""
    return HarvesterView(
        name=row.name,
        channel=channel,
        machine=row.machine,
        pid=row.pid,
        state=row.state,
        why=row.why,
        job_id=row.job_id,
        free_bytes=row.free_bytes,
        registered=row.registered,
        heard=row.heard,
        is_silent=row.state is not HarvesterState.STOPPED and now - row.heard > silent_after,
    )


def forget_harvester(transaction: Transaction, name: str) -> None:
    """Remove a harvester that will not come back. Raises NotFound."""
    row = transaction.session.get(Harvester, name)
    if row is None:
        raise NotFound("harvester", name)
    transaction.session.delete(row)
    transaction.audit("harvester.forget", "harvester", name, name)
