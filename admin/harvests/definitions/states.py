"""A harvest is activated, deactivated, or asked for one run outside its schedule."""

from __future__ import annotations

from sqlalchemy import select

from admin.harvests.definitions.checks import find_harvest
from admin.harvests.definitions.definition import HarvestView, view
from admin.harvests.definitions.planning import check_next_run, planned_date
from admin.models.errors import IllegalState
from admin.models.harvest_tables import HARVEST_CONFIGURATIONS, Harvest, HarvestKind
from admin.models.operation import InputModel
from admin.models.transaction import Right, Transaction


class StateChange(InputModel):
    """The input may have the edition that the person has seen."""

    edition: int | None = None


def activate_harvest(transaction: Transaction, name: str, given: StateChange) -> HarvestView:
    """Let the scheduler make jobs of the harvest: at its next date, or a snapshot once. Raises IllegalState."""
    row = _found(transaction, name, given)
    if row.is_active:
        return view(transaction, row)
    _check_can_run(transaction, row)
    if row.kind == HarvestKind.SELECTIVE and row.next_run is None:
        row.next_run = planned_date(transaction, row)
    check_next_run(row)
    _set(transaction, row, "harvest.activate", {"is_active": True, "why_inactive": ""}, given)
    return view(transaction, row)


def deactivate_harvest(transaction: Transaction, name: str, given: StateChange) -> HarvestView:
    """Keep the scheduler from making further jobs of the harvest. Jobs that were made are harvested."""
    row = _found(transaction, name, given)
    if row.is_active or row.run_now:
        _set(transaction, row, "harvest.deactivate", {"is_active": False, "why_inactive": "", "run_now": False}, given)
    return view(transaction, row)


def run_harvest_now(transaction: Transaction, name: str, given: StateChange) -> HarvestView:
    """Ask for one run as soon as the scheduler looks, beside the schedule's; a snapshot is activated instead.

    A harvest that is not active may be asked for a run. Asked twice before the scheduler looks, it runs once.
    """
    row = _found(transaction, name, given)
    _check_can_run(transaction, row)
    if row.kind == HarvestKind.SNAPSHOT:
        if not row.is_active or row.next_run is not None:
            row.next_run = None
            _set(transaction, row, "harvest.run-now", {"is_active": True, "why_inactive": ""}, given)
    elif not row.run_now:
        _set(transaction, row, "harvest.run-now", {"run_now": True}, given)
    return view(transaction, row)


def _found(transaction: Transaction, name: str, given: StateChange) -> Harvest:
    transaction.require(Right.CURATE)
    return find_harvest(transaction, name, lock=True)


def _check_can_run(transaction: Transaction, row: Harvest) -> None:
    if row.kind == HarvestKind.SNAPSHOT:
        if row.runs_made:
            raise IllegalState(
                f"snapshot harvest {row.name!r} has run, and runs once; make a new one, which may continue it"
            )
        if row.previous is not None and row.previous.runs_made == 0:
            raise IllegalState(
                f"harvest {row.previous.name!r}, which {row.name!r} continues, has not run; run it first"
            )
        return
    table = HARVEST_CONFIGURATIONS.c
    if not transaction.session.execute(select(table.harvest_id).where(table.harvest_id == row.id).limit(1)).first():
        raise IllegalState(f"harvest {row.name!r} has no configurations; add at least one")


def _set(
    transaction: Transaction, row: Harvest, action: str, values: dict[str, bool | str], given: StateChange
) -> None:
    old = {key: getattr(row, key) for key in values if getattr(row, key) != values[key]}
    transaction.check_edition("harvest", row.name, row, given.edition)
    for key, value in values.items():
        setattr(row, key, value)
    transaction.audit(action, "harvest", row.id, row.name, old=old, new={key: values[key] for key in old})
    transaction.session.flush()
