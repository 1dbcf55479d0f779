"""A selective harvest has chosen configurations; they are added, removed and listed here."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import batched
from typing import Final

from pydantic import Field
from sqlalchemy import delete, insert, select

from admin.harvests.definitions.checks import find_harvest
from admin.harvests.domains.names import DomainNameError, stored_name
from admin.harvests.input_checks import refuse
from admin.models.domain_tables import Configuration, Domain
from admin.models.errors import IllegalState, Problem
from admin.models.harvest_tables import HARVEST_CONFIGURATIONS, Harvest, HarvestKind, Template
from admin.models.operation import InputModel, OutputModel, Page, checked_limit, number_after
from admin.models.transaction import Right, Transaction

MOST_CHOSEN: Final = 10_000
"""Configurations in one request; further ones are added by further requests."""
_TOGETHER: Final = 1_000
_TABLE: Final = HARVEST_CONFIGURATIONS.c


class ConfigurationChoice(InputModel):
    """The input names a configuration of a domain."""

    domain: str
    configuration: str | None = Field(None, description="left out, it is the domain's default configuration")


class ConfigurationsChange(InputModel):
    """The input has configurations that a selective harvest gets or loses."""

    configurations: tuple[ConfigurationChoice, ...]
    edition: int | None = None


class ChosenConfiguration(OutputModel):
    """The item is a configuration of a selective harvest."""

    id: int
    domain: str
    configuration: str
    template: str
    max_bytes: int
    max_objects: int


class ChosenReport(OutputModel):
    """The output says how many configurations were added or removed."""

    changed: int
    edition: int


def add_configurations(transaction: Transaction, name: str, given: ConfigurationsChange) -> ChosenReport:
    """Add configurations to a selective harvest; those that it has already stay. Raises InvalidInput."""
    row, numbers = _changed(transaction, name, given)
    added = choose(transaction, row, numbers)
    _audit(transaction, "harvest.add-configurations", row, given.configurations, added)
    return ChosenReport(changed=added, edition=row.edition)


def remove_configurations(transaction: Transaction, name: str, given: ConfigurationsChange) -> ChosenReport:
    """Remove configurations from a selective harvest. Jobs that were made keep them."""
    row, numbers = _changed(transaction, name, given)
    removed = 0
    for part in batched(sorted(set(numbers)), _TOGETHER):
        present = _present(transaction, row.id, part)
        removed += len(present)
        transaction.session.execute(
            delete(HARVEST_CONFIGURATIONS).where(_TABLE.harvest_id == row.id, _TABLE.configuration_id.in_(present))
        )
    _audit(transaction, "harvest.remove-configurations", row, given.configurations, removed)
    return ChosenReport(changed=removed, edition=row.edition)


def list_configurations(
    transaction: Transaction, name: str, *, after: str = "", limit: int = 100
) -> Page[ChosenConfiguration]:
    """List the configurations of a selective harvest, in the order of their numbers."""
    transaction.require(Right.READ)
    row = find_harvest(transaction, name)
    size = checked_limit(limit)
    query = (
        select(
            Configuration.id,
            Domain.name,
            Configuration.name,
            Template.name,
            Configuration.max_bytes,
            Configuration.max_objects,
        )
        .join(HARVEST_CONFIGURATIONS, _TABLE.configuration_id == Configuration.id)
        .join(Domain, Domain.id == Configuration.domain_id)
        .join(Template, Template.id == Configuration.template_id)
        .where(_TABLE.harvest_id == row.id, _TABLE.configuration_id > number_after(after or "0"))
        .order_by(_TABLE.configuration_id)
        .limit(size + 1)
    )
    found = transaction.session.execute(query).all()
    items = [
        ChosenConfiguration(
            id=number, domain=domain, configuration=own, template=template, max_bytes=size_limit, max_objects=objects
        )
        for number, domain, own, template, size_limit, objects in found[:size]
    ]
    return Page(items=items, next=str(items[-1].id) if len(found) > size else None)


def choose(transaction: Transaction, harvest: Harvest, numbers: Iterable[int]) -> int:
    """Add configurations by their numbers. Return how many the harvest did not have."""
    added = 0
    for part in batched(sorted(set(numbers)), _TOGETHER):
        present = _present(transaction, harvest.id, part)
        rows = [{"harvest_id": harvest.id, "configuration_id": number} for number in part if number not in present]
        if rows:
            transaction.session.execute(insert(HARVEST_CONFIGURATIONS), rows)
        added += len(rows)
    return added


def found_configurations(
    transaction: Transaction, choices: Sequence[ConfigurationChoice]
) -> tuple[list[int], list[Problem]]:
    """Return the numbers of the configurations that people named, and which names are wrong."""
    if len(choices) > MOST_CHOSEN:
        return [], [
            Problem("configurations", f"there are {len(choices)}; write at most {MOST_CHOSEN}, and add the rest later")
        ]
    problems: list[Problem] = []
    wanted: list[tuple[int, str, str | None]] = []
    for number, choice in enumerate(choices, 1):
        try:
            wanted.append((number, stored_name(choice.domain), choice.configuration))
        except DomainNameError as error:
            problems.append(Problem("configurations", str(error), number))
    known: dict[tuple[str, str | None], int] = {}
    for part in batched(sorted({domain for _, domain, _ in wanted}), _TOGETHER):
        query = (
            select(Domain.name, Configuration.name, Configuration.id, Domain.default_configuration_id)
            .join(Configuration, Configuration.domain_id == Domain.id)
            .where(Domain.name.in_(part))
        )
        for domain, name, identifier, default in transaction.session.execute(query):
            known[domain, name] = identifier
            if identifier == default:
                known[domain, None] = identifier
    for number, domain, own in wanted:
        if (domain, own) not in known:
            what = "default configuration" if own is None else f"configuration {own[:100]!r}"
            problems.append(
                Problem(
                    "configurations", f"there is no {what} of {domain}; add the domain, or correct the name", number
                )
            )
    return [known[domain, own] for _, domain, own in wanted if (domain, own) in known], problems


def _changed(transaction: Transaction, name: str, given: ConfigurationsChange) -> tuple[Harvest, list[int]]:
    transaction.require(Right.CURATE)
    row = find_harvest(transaction, name, lock=True)
    if row.kind != HarvestKind.SELECTIVE:
        raise IllegalState(f"harvest {row.name!r} is a snapshot, which takes all domains; make a selective harvest")
    transaction.check_edition("harvest", row.name, row, given.edition)
    numbers, problems = found_configurations(transaction, given.configurations)
    refuse(problems)
    return row, numbers


def _present(transaction: Transaction, harvest_id: int, numbers: Iterable[int]) -> set[int]:
    query = select(_TABLE.configuration_id).where(
        _TABLE.harvest_id == harvest_id, _TABLE.configuration_id.in_(list(numbers))
    )
    return set(transaction.session.scalars(query))


def _audit(
    transaction: Transaction, action: str, row: Harvest, choices: Sequence[ConfigurationChoice], changed: int
) -> None:
    if changed:
        shown = [f"{choice.domain}: {choice.configuration or 'default'}" for choice in choices[:100]]
        transaction.audit(action, "harvest", row.id, row.name, new={"changed": changed, "configurations": shown})
    transaction.session.flush()
