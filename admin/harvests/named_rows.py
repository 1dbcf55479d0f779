"""Schedules and templates are found by their names, which are parts of addresses."""

from __future__ import annotations

from sqlalchemy import select

from admin.harvests.input_checks import name_problem, note_problem
from admin.models.curation_tables import LetterTemplate
from admin.models.errors import NotFound, Problem
from admin.models.harvest_tables import Schedule, Template
from admin.models.transaction import Transaction


def new_name_problem(
    transaction: Transaction, table: type[Schedule | Template], entity: str, name: str
) -> Problem | None:
    """Return why a row can't get this name; None when it can."""
    if problem := name_problem("name", name):
        return problem
    if transaction.session.scalar(select(table.id).where(table.name == name)) is not None:
        return Problem("name", f"there is a {entity} {name!r} already; choose another name")
    return None


def find_named[T: (Schedule, Template, LetterTemplate)](
    transaction: Transaction, table: type[T], entity: str, name: str
) -> T:
    """Return the row with this name. Raises NotFound, also for a name that no database keeps."""
    row = None
    if not note_problem("name", name):
        row = transaction.session.scalars(select(table).where(table.name == name)).one_or_none()
    if row is None:
        raise NotFound(entity, name)
    return row


def lock_named[T: (Schedule, Template, LetterTemplate)](
    transaction: Transaction, table: type[T], entity: str, name: str
) -> T:
    """Return the row for a change; others who change it wait until this transaction ends. Raises NotFound."""
    row = find_named(transaction, table, entity, name)
    transaction.session.refresh(row, with_for_update=True)
    return row
