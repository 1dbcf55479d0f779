"""A harvest definition is made, changed, shown and deleted."""

from __future__ import annotations

from typing import Any, Final, Literal

from pydantic import Field
from sqlalchemy import select

from admin.harvests.definitions.checks import (
    channel_of,
    find_harvest,
    name_is_free,
    previous_of,
    schedule_of,
    value_problems,
)
from admin.harvests.definitions.chosen import ConfigurationChoice, choose, found_configurations
from admin.harvests.definitions.listing import HarvestItem
from admin.harvests.definitions.planning import anchor_of, check_next_run, planned_date
from admin.harvests.domains.crawler_traps import TrapInput, TrapView, checked_traps, harvest_traps, set_harvest_traps
from admin.harvests.domains.extended_fields import delete_values, set_values, values_of
from admin.harvests.input_checks import count_up_to_limit, differences, refuse
from admin.models.base import NO_LIMIT
from admin.models.errors import IllegalState, Problem
from admin.models.harvest_tables import HARVEST_CONFIGURATIONS, Harvest, HarvestKind
from admin.models.job_tables import HarvestJob
from admin.models.moments import InputMoment
from admin.models.operation import InputModel
from admin.models.transaction import Right, Transaction
from archive.dates import Micros

_PLAIN: Final = (
    "name", "comments", "audience", "collection", "first_run", "max_bytes", "max_objects", "max_seconds",
    "qa_sample", "qa_follows", "facts", "permission",
)  # fmt: skip
"""Columns that are written as they are given."""
_ENTITY: Final = "harvest"


class HarvestCreation(InputModel):
    """The input has a new harvest definition, which is not active."""

    name: str
    kind: HarvestKind = HarvestKind.SELECTIVE
    comments: str = ""
    audience: str = ""
    collection: str = Field(description="name of the collection that gets the captures")
    channel: str | None = Field(None, description="left out, it is the default channel of this kind of harvest")
    schedule: str | None = Field(None, description="name of a schedule, for selective harvests")
    first_run: InputMoment | None = Field(
        None, description="moment of the first run, such as 2027-01-15T08:00+01:00; left out, it is now"
    )
    max_bytes: int = Field(NO_LIMIT, description="bytes of each domain, for snapshots; -1 is no limit")
    max_objects: int = Field(NO_LIMIT, description="objects of each domain, for snapshots; -1 is no limit")
    max_seconds: int = Field(0, description="time that a job may take; 0 is no limit")
    qa_sample: str = Field(
        "", description="pages of each run that QA judges: a number, or a share such as 10%; empty is no QA"
    )
    qa_follows: bool = Field(False, description="QA judges all pages while a run goes on")
    previous: str | None = Field(None, description="name of the snapshot harvest that this one continues")
    configurations: tuple[ConfigurationChoice, ...] = Field((), description="for selective harvests")
    traps: tuple[TrapInput, ...] = Field((), description="crawler traps of this harvest alone")
    facts: dict[str, str] = Field({}, description="extended metadata for warcinfo, such as operator")
    permission: Literal["", "ignored", "unless-refused", "only-granted"] = Field(
        "", description="sites that the harvest leaves out; empty follows the setting curation.harvest_permission"
    )
    extended: dict[str, str] = Field({}, description="values of extended fields by their names")


class HarvestChange(InputModel):
    """The input says what changes about a harvest definition; what is left out stays as it is."""

    name: str | None = None
    comments: str | None = None
    audience: str | None = None
    collection: str | None = None
    channel: str | None = None
    schedule: str | None = None
    first_run: InputMoment | None = None
    max_bytes: int | None = None
    max_objects: int | None = None
    max_seconds: int | None = None
    qa_sample: str | None = None
    qa_follows: bool | None = None
    previous: str | None = None
    traps: tuple[TrapInput, ...] | None = None
    facts: dict[str, str] | None = None
    permission: Literal["", "ignored", "unless-refused", "only-granted"] | None = None
    extended: dict[str, str] | None = None
    edition: int | None = None


class HarvestView(HarvestItem):
    """The output has everything that a harvest definition says."""

    comments: str
    audience: str
    collection: str
    channel: str | None
    first_run: Micros | None
    max_bytes: int
    max_objects: int
    max_seconds: int
    qa_sample: str
    qa_follows: bool
    previous: str | None
    configurations: int | None
    """How many configurations were chosen; None when they are more than 10,000, or all domains."""
    traps: list[TrapView]
    facts: dict[str, Any]
    permission: str
    """The sites that the harvest leaves out; empty follows the setting curation.harvest_permission."""
    extended: dict[str, str]
    created: Micros
    created_by: str


def create_harvest(transaction: Transaction, given: HarvestCreation) -> HarvestView:
    """Make a harvest definition, which waits to be activated. Raises InvalidInput with everything that is wrong."""
    transaction.require(Right.CURATE)
    traps = checked_traps(given.traps)
    values = {name: getattr(given, name) for name in _PLAIN}
    schedule, of_schedule = schedule_of(transaction, given.schedule, given.kind)
    channel, of_channel = channel_of(transaction, given.channel, given.kind)
    previous, of_previous = previous_of(transaction, given.previous, given.kind, None)
    configurations, of_configurations = found_configurations(transaction, given.configurations)
    if given.kind == HarvestKind.SNAPSHOT and given.configurations:
        of_configurations = [
            Problem("configurations", "a snapshot harvest takes all domains; leave the configurations out")
        ]
    refuse(
        [
            *value_problems(values, given.kind),
            *name_is_free(transaction, given.name, None),
            *of_schedule,
            *of_channel,
            *of_previous,
            *of_configurations,
        ]
    )
    row = Harvest(
        **values,
        kind=given.kind,
        is_active=False,
        why_inactive="",
        schedule=schedule,
        channel=channel,
        previous=previous,
        created=transaction.now,
        created_by=transaction.actor.name,
    )
    transaction.session.add(row)
    if given.kind == HarvestKind.SELECTIVE and schedule is not None:
        row.first_run = anchor_of(schedule, given.first_run, transaction.now)
    transaction.session.flush()
    row.next_run = planned_date(transaction, row)
    set_harvest_traps(transaction, row, traps)
    set_values(transaction, _ENTITY, row.id, given.extended)
    choose(transaction, row, configurations)
    audited = given.model_dump(mode="json", exclude={"configurations"}, exclude_defaults=True)
    audited["configurations"] = len(configurations)
    transaction.audit("harvest.create", _ENTITY, row.id, row.name, new=audited)
    transaction.session.flush()
    return view(transaction, row)


def show_harvest(transaction: Transaction, name: str) -> HarvestView:
    """Return a harvest definition. Raises NotFound."""
    transaction.require(Right.READ)
    return view(transaction, find_harvest(transaction, name))


def change_harvest(transaction: Transaction, name: str, given: HarvestChange) -> HarvestView:
    """Change a harvest definition. Jobs that were made stay as they are.

    Raises InvalidInput; IllegalState when an active selective harvest would have no next date.
    """
    transaction.require(Right.CURATE)
    traps = checked_traps(given.traps) if given.traps is not None else None
    row = find_harvest(transaction, name, lock=True)
    transaction.check_edition(_ENTITY, row.name, row, given.edition)
    old = _audited(transaction, row)
    set_fields = given.model_fields_set
    kind = HarvestKind(row.kind)
    values: dict[str, Any] = {
        key: getattr(given, key) if key in set_fields and (getattr(given, key) is not None or key == "first_run")
        else getattr(row, key)
        for key in _PLAIN
    }  # fmt: skip
    problems = [*value_problems(values, kind, row.name), *name_is_free(transaction, values["name"], row.id)]
    if "schedule" in set_fields:
        row.schedule, found = schedule_of(transaction, given.schedule, kind)
        problems += found
    if "channel" in set_fields:
        row.channel, found = channel_of(transaction, given.channel, kind)
        problems += found
    if "previous" in set_fields:
        row.previous, found = previous_of(transaction, given.previous, kind, row.id)
        problems += found
    refuse(problems)
    for key, value in values.items():
        setattr(row, key, value)
    if {"schedule", "first_run"} & set_fields:
        if row.schedule is not None:
            row.first_run = anchor_of(row.schedule, row.first_run, transaction.now)
        row.next_run = planned_date(transaction, row)
        if row.is_active:
            check_next_run(row)
    transaction.session.flush()
    changed_traps = set_harvest_traps(transaction, row, traps) if traps is not None else None
    if given.extended is not None:
        set_values(transaction, _ENTITY, row.id, given.extended)
    new = _audited(transaction, row)
    if changed_traps is not None:
        old, new = {**old, **changed_traps[0]}, {**new, **changed_traps[1]}
    if changed := differences(old, new):
        transaction.audit("harvest.change", _ENTITY, row.id, row.name, old=changed[0], new=changed[1])
    transaction.session.flush()
    return view(transaction, row)


def delete_harvest(transaction: Transaction, name: str, *, edition: int | None = None) -> None:
    """Delete a harvest definition that has never run. Raises IllegalState for one that has."""
    transaction.require(Right.CURATE)
    session = transaction.session
    row = find_harvest(transaction, name, lock=True)
    transaction.check_edition(_ENTITY, row.name, row, edition)
    if row.runs_made or session.scalar(select(HarvestJob.id).where(HarvestJob.harvest_id == row.id).limit(1)):
        raise IllegalState(f"harvest {row.name!r} has run, and its jobs need it; deactivate it instead")
    following = session.scalar(select(Harvest.name).where(Harvest.previous_id == row.id).limit(1))
    if following is not None:
        raise IllegalState(f"harvest {following!r} continues {row.name!r}; change or delete it first")
    transaction.audit("harvest.delete", _ENTITY, row.id, row.name, old=_audited(transaction, row))
    delete_values(transaction, _ENTITY, row.id)
    session.execute(HARVEST_CONFIGURATIONS.delete().where(HARVEST_CONFIGURATIONS.c.harvest_id == row.id))
    session.expire(row, ["configurations"])
    session.delete(row)
    session.flush()


def view(transaction: Transaction, row: Harvest) -> HarvestView:
    """Return everything that the definition says."""
    chosen = select(HARVEST_CONFIGURATIONS.c.configuration_id).where(HARVEST_CONFIGURATIONS.c.harvest_id == row.id)
    is_snapshot = row.kind == HarvestKind.SNAPSHOT
    return HarvestView(
        id=row.id,
        name=row.name,
        kind=HarvestKind(row.kind),
        is_active=row.is_active,
        why_inactive=row.why_inactive,
        schedule=row.schedule.name if row.schedule else None,
        next_run=row.next_run,
        runs_made=row.runs_made,
        run_now=row.run_now,
        edition=row.edition,
        comments=row.comments,
        audience=row.audience,
        collection=row.collection,
        channel=row.channel.name if row.channel else None,
        first_run=row.first_run,
        max_bytes=row.max_bytes,
        max_objects=row.max_objects,
        max_seconds=row.max_seconds,
        qa_sample=row.qa_sample,
        qa_follows=row.qa_follows,
        previous=row.previous.name if row.previous else None,
        configurations=None if is_snapshot else count_up_to_limit(transaction, chosen),
        traps=harvest_traps(transaction, row.id),
        facts=row.facts,
        permission=row.permission,
        extended=values_of(transaction, _ENTITY, row.id),
        created=row.created,
        created_by=row.created_by,
    )


def _audited(transaction: Transaction, row: Harvest) -> dict[str, Any]:
    values = {key: getattr(row, key) for key in (*_PLAIN, "next_run")}
    return {
        **values,
        "schedule": row.schedule.name if row.schedule else None,
        "channel": row.channel.name if row.channel else None,
        "previous": row.previous.name if row.previous else None,
        "extended": values_of(transaction, _ENTITY, row.id),
    }
