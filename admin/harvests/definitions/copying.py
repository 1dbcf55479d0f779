"""A harvest definition is copied with everything but its state and its runs."""

from __future__ import annotations

from typing import Final

from sqlalchemy import insert, literal, select

from admin.harvests.definitions.checks import find_harvest
from admin.harvests.definitions.definition import HarvestCreation, HarvestView, create_harvest, view
from admin.harvests.domains.crawler_traps import TrapInput
from admin.models.harvest_tables import HARVEST_CONFIGURATIONS
from admin.models.operation import InputModel
from admin.models.transaction import Right, Transaction

_NOT_KEPT: Final = frozenset(("name", "first_run", "configurations", "traps"))
"""Fields that the copy has of its own, or that are copied row by row."""


class HarvestCopy(InputModel):
    """The input names the copy of a harvest definition."""

    name: str


def copy_harvest(transaction: Transaction, name: str, given: HarvestCopy) -> HarvestView:
    """Make a harvest definition like another one. The copy is not active, and its dates are counted from now.

    Raises InvalidInput when the name is taken, or when the values of the original can't be used any more.
    """
    transaction.require(Right.CURATE)
    source = find_harvest(transaction, name)
    old = view(transaction, source)
    values = {key: getattr(old, key) for key in HarvestCreation.model_fields if key not in _NOT_KEPT}
    traps = tuple(TrapInput(expression=each.expression, is_active=each.is_active) for each in old.traps)
    create_harvest(transaction, HarvestCreation(name=given.name, traps=traps, **values))
    row = find_harvest(transaction, given.name, lock=True)
    table = HARVEST_CONFIGURATIONS.c
    chosen = select(literal(row.id), table.configuration_id).where(table.harvest_id == source.id)
    transaction.session.execute(insert(HARVEST_CONFIGURATIONS).from_select(["harvest_id", "configuration_id"], chosen))
    transaction.audit("harvest.copy", "harvest", row.id, row.name, new={"source": source.name})
    transaction.session.flush()
    return view(transaction, row)
