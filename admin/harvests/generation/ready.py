"""A harvest is ready when it is due: its next date is in the past, or a person asked for a run.

`is_ready` decides for one harvest and `due` for all, by the same rule.
"""

from __future__ import annotations

from typing import Final

from sqlalchemy import ColumnElement, and_, or_, select
from sqlalchemy.orm import Session

from admin.models.harvest_tables import Harvest, HarvestKind
from archive.dates import Micros
from archive.fast_frozen import fast_frozen

MOST: Final = 1_000
"""Harvests that one look finds; the next look finds the others."""


@fast_frozen(frozen=True, slots=True)
class DueHarvest:
    """A due harvest is one that shall be generated now."""

    id: int
    name: str
    kind: HarvestKind


def is_ready(harvest: Harvest, now: Micros) -> bool:
    """Return whether a run of the harvest shall be generated now.

    A selective harvest is ready when it is active and its next date is earlier than `now`, or when a person asked for
    a run. A snapshot harvest is ready when it is active, never ran, has its deduplication index, and does not have to
    wait for a date.
    """
    if harvest.kind == HarvestKind.SELECTIVE:
        is_due = harvest.is_active and harvest.next_run is not None and harvest.next_run < now
        return is_due or harvest.run_now
    waits = harvest.next_run is not None and harvest.next_run >= now
    return harvest.is_active and harvest.runs_made == 0 and harvest.is_index_ready and not waits


def due(session: Session, now: Micros, *conditions: ColumnElement[bool]) -> list[DueHarvest]:
    """Return the harvests that are ready and meet the conditions, those that have waited longest first."""
    found = session.execute(
        select(Harvest.id, Harvest.name, Harvest.kind)
        .where(is_due(now), *conditions)
        .order_by(Harvest.next_run, Harvest.id)
        .limit(MOST)
    )
    return [DueHarvest(identifier, name, HarvestKind(kind)) for identifier, name, kind in found]


def is_due(now: Micros) -> ColumnElement[bool]:
    """Return the condition that a harvest is ready."""
    return or_(_is_due_selective(now), _is_due_snapshot(now))


def _is_due_selective(now: Micros) -> ColumnElement[bool]:
    is_due = and_(Harvest.is_active.is_(True), Harvest.next_run < now)
    return and_(Harvest.kind == HarvestKind.SELECTIVE, or_(is_due, Harvest.run_now.is_(True)))


def _is_due_snapshot(now: Micros) -> ColumnElement[bool]:
    return and_(
        Harvest.kind == HarvestKind.SNAPSHOT,
        Harvest.is_active.is_(True),
        Harvest.runs_made == 0,
        Harvest.is_index_ready.is_(True),
        or_(Harvest.next_run.is_(None), Harvest.next_run < now),
    )
