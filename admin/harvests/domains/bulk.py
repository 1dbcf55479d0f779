"""Uploads write many rows at once, past the session's objects, which would take ten times as long."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from sqlalchemy import Insert, Table, insert
from sqlalchemy.dialects.postgresql import insert as postgresql_insert
from sqlalchemy.dialects.sqlite import insert as sqlite_insert

from admin.models.base import Base
from admin.models.people_tables import AuditEntry
from admin.models.transaction import Transaction


def table_of(entity: type[Base]) -> Table:
    """Return the table in which the rows of an entity are."""
    table = entity.__table__
    assert isinstance(table, Table)
    return table


def insert_unless_there(transaction: Transaction, table: Table, *key: str) -> Insert:
    """Return a statement that adds rows and passes over those whose key is there already."""
    is_postgresql = transaction.session.get_bind().dialect.name == "postgresql"
    columns = list(key) or None
    if is_postgresql:
        return postgresql_insert(table).on_conflict_do_nothing(index_elements=columns)
    return sqlite_insert(table).on_conflict_do_nothing(index_elements=columns)


def audit_many(
    transaction: Transaction, action: str, entity: str, entries: Iterable[tuple[int, str, Mapping[str, Any]]]
) -> None:
    """Leave audit entries of new things: the number, the name and the new values of each."""
    actor = transaction.actor
    rows = [
        {
            "at": transaction.now,
            "actor": actor.name,
            "door": actor.door.value,
            "address": actor.address,
            "action": action,
            "entity": entity,
            "entity_id": str(number),
            "entity_name": name,
            "old": None,
            "new": dict(new),
        }
        for number, name, new in entries
    ]
    if rows:
        transaction.session.connection().execute(insert(table_of(AuditEntry)), rows)
