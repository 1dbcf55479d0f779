"""The audit says who changed what, and when. Administrators read all of it, everybody else the own changes."""

from __future__ import annotations

from typing import Any

from sqlalchemy import select, tuple_

from admin.models.errors import Forbidden, InvalidInput, Problem
from admin.models.moments import InputMoment
from admin.models.operation import OutputModel, Page, pair_after
from admin.models.people_tables import AuditEntry
from admin.models.plain_text import comparable
from admin.models.transaction import RIGHTS, Right, Transaction
from admin.people.users import PageSize
from archive.dates import Micros


class AuditView(OutputModel):
    """The entry says what one change was."""

    id: int
    at: Micros
    actor: str
    door: str
    address: str
    action: str
    entity: str
    entity_id: str
    entity_name: str
    old: dict[str, Any] | None
    new: dict[str, Any] | None


def list_audit(
    transaction: Transaction,
    actor: str | None = None,
    action: str | None = None,
    entity: str | None = None,
    entity_id: str | None = None,
    since: InputMoment | None = None,
    until: InputMoment | None = None,
    after: str = "",
    limit: PageSize = 100,
) -> Page[AuditView]:
    """Return changes, the newest first. The moment `until` is not among them."""
    transaction.require(Right.READ)
    if Right.ADMINISTER not in RIGHTS[transaction.actor.role]:
        if actor not in (None, transaction.actor.name):
            raise Forbidden(f"{transaction.actor.name} may read the own changes alone; ask an administrator")
        actor = transaction.actor.name
    if entity_id is not None and entity is None:
        raise InvalidInput(Problem("entity", "entity_id needs the entity too, such as entity=domain"))
    wanted = select(AuditEntry).order_by(AuditEntry.at.desc(), AuditEntry.id.desc()).limit(limit + 1)
    for column, value in (
        (AuditEntry.actor, actor),
        (AuditEntry.action, action),
        (AuditEntry.entity, entity),
        (AuditEntry.entity_id, entity_id),
    ):
        if value is not None:
            wanted = wanted.where(column == comparable(value))
    if since is not None:
        wanted = wanted.where(AuditEntry.at >= _moment(since))
    if until is not None:
        wanted = wanted.where(AuditEntry.at < _moment(until))
    if after:
        wanted = wanted.where(tuple_(AuditEntry.at, AuditEntry.id) < tuple_(*pair_after(after)))
    rows = transaction.session.scalars(wanted).all()
    last = rows[limit - 1] if len(rows) > limit else None
    return Page(
        items=[AuditView.model_validate(row) for row in rows[:limit]],
        next=f"{last.at}-{last.id}" if last is not None else None,
    )


def _moment(number: int) -> int:
    """Return the number as the database can compare it."""
    return max(-(2**63), min(number, 2**63 - 1))
