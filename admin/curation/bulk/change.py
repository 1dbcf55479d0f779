"""Many domains are changed at once, after a preview; each part of them in a transaction of its own.

Each change is carried out by the use case that changes one domain, and leaves its audit entry with the old and the new
values: these are what a person needs to undo the change.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from enum import StrEnum
from functools import partial
from typing import Any, Final

from pydantic import Field
from sqlalchemy import select

from admin.curation.bulk.choice import DomainChoice, check_choice, listed_names, next_part, parts_of_list
from admin.curation.bulk.seed_edit import with_address, with_seeds, without_seeds
from admin.harvests.definitions.checks import find_harvest
from admin.harvests.definitions.chosen import (
    ConfigurationChoice,
    ConfigurationsChange,
    add_configurations,
    remove_configurations,
)
from admin.harvests.domains.configurations import ConfigurationChange, change_configuration
from admin.harvests.domains.domain import OwnerCreation, add_owner
from admin.harvests.domains.lookup import find_template
from admin.harvests.domains.seed_lists import SeedListChange, change_seed_list
from admin.harvests.input_checks import note_problem, refuse
from admin.models.curation_tables import DomainTag
from admin.models.database import Database
from admin.models.domain_tables import Configuration, Domain, DomainOwner, SeedList
from admin.models.errors import Problem, UseCaseError
from admin.models.harvest_tables import HARVEST_CONFIGURATIONS, Harvest, Template
from admin.models.operation import OutputModel
from admin.models.transaction import Actor, Right, Transaction, check_right

SHOWN: Final = 200
PREVIEWED: Final = 2_000
"""Domains that a preview looks at."""
_MOST_PROBLEMS: Final = 200
_LONGEST_TAG: Final = 100


class BulkAction(StrEnum):
    """Domains are changed in one of these ways."""

    SET_TEMPLATE = "set-template"
    SET_LIMITS = "set-limits"
    ADD_TAG = "add-tag"
    REMOVE_TAG = "remove-tag"
    SET_OWNER = "set-owner"
    SWITCH_SEEDS_OFF = "switch-seeds-off"
    SWITCH_SEEDS_ON = "switch-seeds-on"
    MOVE_SEEDS = "move-seeds"
    """The seeds of a scheme or host get another one."""
    ADD_TO_HARVEST = "add-to-harvest"
    REMOVE_FROM_HARVEST = "remove-from-harvest"


class BulkChange(DomainChoice):
    """The input chooses domains, and says how they change."""

    action: BulkAction
    configuration: str = Field("", description="name of the configuration that changes; empty is the default one")
    template: str = ""
    max_bytes: int | None = None
    max_objects: int | None = None
    max_rate: int | None = None
    new_tag: str = ""
    """Tag that the domains get or lose."""
    owner: str = Field("", description="name of the owner, for set-owner")
    contact: str = ""
    seed_part: str = Field("", description="seeds with this text in them are switched; empty switches all")
    from_scheme: str = Field("", description="scheme of the seeds that change, such as http; empty is any")
    to_scheme: str = Field("", description="new scheme, such as https; empty keeps the scheme")
    from_host: str = Field("", description="host of the seeds that change; empty is any")
    to_host: str = Field("", description="new host; empty keeps the host")
    harvest: str = Field("", description="name of a selective harvest")


class PlannedChange(OutputModel):
    """The output says what changes of one domain."""

    domain: str
    what: str
    """Such as `configuration defaultconfig` or `seed list defaultseeds`."""
    old: str
    new: str


class BulkReport(OutputModel):
    """The output says what would change, or what was changed."""

    domains: int
    """Domains that were looked at."""
    changed: int
    """Domains that change."""
    changes: list[PlannedChange]
    """The first of the changes."""
    problems: list[str]
    """Domains that can't be changed, each with the reason; the first ones."""
    refused: int
    """How many domains can't be changed."""
    is_whole: bool
    """All chosen domains were looked at."""


@dataclass(slots=True)
class _Tally:
    domains: int = 0
    changed: int = 0
    refused: int = 0
    changes: list[PlannedChange] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    is_whole: bool = True

    def refuse(self, domain: str, reason: str) -> None:
        """Count a domain that can't be changed."""
        self.refused += 1
        if len(self.problems) < _MOST_PROBLEMS:
            self.problems.append(f"{domain}: {reason}"[:500])

    def report(self) -> BulkReport:
        """Return the report for people."""
        return BulkReport(
            domains=self.domains,
            changed=self.changed,
            changes=self.changes,
            problems=self.problems,
            refused=self.refused,
            is_whole=self.is_whole,
        )


def preview_change(transaction: Transaction, given: BulkChange) -> BulkReport:
    """Return what would change, without changing anything; the first 2,000 domains are looked at."""
    transaction.require(Right.READ)
    _check(transaction, given)
    tally = _Tally()
    for part in _parts(transaction, given):
        if tally.domains >= PREVIEWED:
            tally.is_whole = False
            break
        _part(transaction, given, part, tally, does=False)
    return tally.report()


def change_domains(transaction: Transaction, given: BulkChange) -> BulkReport:
    """Change all chosen domains in one transaction; `change_in_parts` is for many."""
    transaction.require(Right.CURATE)
    _check(transaction, given)
    tally = _Tally()
    for part in list(_parts(transaction, given)):
        _part(transaction, given, part, tally, does=True)
    return tally.report()


def change_in_parts(database: Database, actor: Actor, given: BulkChange) -> BulkReport:
    """Change all chosen domains, each part in a transaction of its own.

    A change that was broken off is repeated as a whole: a domain that is changed already stays as it is.
    """
    check_right(actor, Right.CURATE)
    with database.reading(actor) as transaction:
        _check(transaction, given)
        # The names are read first: the filter may not find the domains any more once they are changed.
        names = [name for part in _parts(transaction, given) for name in part]
    tally = _Tally()
    for part in parts_of_list(names):
        with database.transaction(actor) as transaction:
            _part(transaction, given, part, tally, does=True)
    return tally.report()


def _parts(transaction: Transaction, given: BulkChange) -> Iterator[list[str]]:
    if given.domains.strip():
        yield from parts_of_list(listed_names(given, transaction.settings.harvests.tlds))
        return
    after = ""
    while part := next_part(transaction, given, after):
        yield part
        after = part[-1]


def _check(transaction: Transaction, given: BulkChange) -> None:
    """Raise InvalidInput, NotFound or IllegalState unless the action has what it needs."""
    check_choice(given)
    action = given.action
    limits = (given.max_bytes, given.max_objects, given.max_rate)
    has_move = (given.to_scheme or given.to_host) and given.to_scheme in ("", "http", "https")
    needs: Mapping[BulkAction, tuple[object, str, str]] = {
        BulkAction.SET_TEMPLATE: (given.template, "template", "name the template"),
        BulkAction.SET_LIMITS: (any(each is not None for each in limits), "max_bytes", "write at least one limit"),
        BulkAction.ADD_TAG: (given.new_tag.strip(), "new_tag", "write the tag"),
        BulkAction.REMOVE_TAG: (given.new_tag.strip(), "new_tag", "write the tag"),
        BulkAction.SET_OWNER: (given.owner.strip(), "owner", "write the name of the owner"),
        BulkAction.MOVE_SEEDS: (has_move, "to_scheme", "write http or https as the new scheme, or a new host"),
        BulkAction.ADD_TO_HARVEST: (given.harvest, "harvest", "name the harvest"),
        BulkAction.REMOVE_FROM_HARVEST: (given.harvest, "harvest", "name the harvest"),
    }
    has, field, remedy = needs.get(action, (True, "", ""))
    refuse(
        [
            None if has else Problem(field, f"{action} lacks something; {remedy}"),
            note_problem("new_tag", given.new_tag, _LONGEST_TAG),
            note_problem("seed_part", given.seed_part, 2_000),
        ]
    )
    if action is BulkAction.SET_TEMPLATE:
        find_template(transaction, given.template)
    if given.harvest:
        find_harvest(transaction, given.harvest)


def _part(transaction: Transaction, given: BulkChange, names: list[str], tally: _Tally, *, does: bool) -> None:
    session = transaction.session
    rows = {row.name: row for row in session.scalars(select(Domain).where(Domain.name.in_(names)))}
    for name in names:
        tally.domains += 1
        row = rows.get(name)
        if row is None:
            tally.refuse(name, "there is no such domain; add it first, or take it out of the list")
            continue
        try:
            with _undone_alone(transaction, does=does):
                changes = list(_PLANS[given.action](transaction, row, given))
                for _, carry_out in changes:
                    if does:
                        carry_out()
        except UseCaseError as error:
            tally.refuse(name, str(error))
            continue
        tally.changed += bool(changes)
        tally.changes += [change for change, _ in changes[: max(SHOWN - len(tally.changes), 0)]]


@contextmanager
def _undone_alone(transaction: Transaction, *, does: bool) -> Iterator[None]:
    """Undo the change of one domain when it is refused, and keep the others."""
    if not does:
        yield
        return
    with transaction.session.begin_nested():
        yield


type _Planned = Iterator[tuple[PlannedChange, Callable[[], Any]]]


def _configuration(row: Domain, given: BulkChange) -> Configuration | None:
    if not given.configuration:
        return row.default_configuration
    return next((each for each in row.configurations if each.name == given.configuration), None)


def _set_configuration(transaction: Transaction, row: Domain, given: BulkChange) -> _Planned:
    configuration = _configuration(row, given)
    if configuration is None:
        return
    if given.action is BulkAction.SET_TEMPLATE:
        present = transaction.session.get_one(Template, configuration.template_id).name
        old, wanted = {"template": present}, {"template": given.template}
    else:
        limits = ("max_bytes", "max_objects", "max_rate")
        wanted = {name: getattr(given, name) for name in limits if getattr(given, name) is not None}
        old = {name: getattr(configuration, name) for name in wanted}
    if old == wanted:
        return
    name, own = row.name, configuration.name
    yield (
        PlannedChange(domain=name, what=f"configuration {own}", old=_shown(old), new=_shown(wanted)),
        lambda: change_configuration(transaction, name, own, ConfigurationChange(**wanted)),
    )


def _tag(transaction: Transaction, row: Domain, given: BulkChange) -> _Planned:
    tag = given.new_tag.strip()
    session = transaction.session
    query = select(DomainTag).where(DomainTag.domain_id == row.id, DomainTag.tag == tag)
    present = session.scalars(query).one_or_none()
    adds = given.action is BulkAction.ADD_TAG
    if (present is not None) is adds:
        return

    def carry_out() -> None:
        if present is not None:
            session.delete(present)
        else:
            session.add(DomainTag(domain_id=row.id, tag=tag))
        values = {"tag": tag}
        action = "domain.add-tag" if adds else "domain.remove-tag"
        transaction.audit(
            action, "domain", row.id, row.name, old=None if adds else values, new=values if adds else None
        )
        session.flush()

    yield PlannedChange(domain=row.name, what="tag", old="" if adds else tag, new=tag if adds else ""), carry_out


def _owner(transaction: Transaction, row: Domain, given: BulkChange) -> _Planned:
    query = select(DomainOwner).where(DomainOwner.domain_id == row.id).order_by(DomainOwner.id.desc()).limit(1)
    present = transaction.session.scalars(query).one_or_none()
    old = (present.owner, present.contact) if present is not None else ("", "")
    if old == (given.owner, given.contact):
        return
    name = row.name
    yield (
        PlannedChange(
            domain=name, what="owner", old=" ".join(old).strip(), new=f"{given.owner} {given.contact}".strip()
        ),
        lambda: add_owner(transaction, name, OwnerCreation(owner=given.owner, contact=given.contact)),
    )


def _seeds(transaction: Transaction, row: Domain, given: BulkChange) -> _Planned:
    lists = transaction.session.scalars(select(SeedList).where(SeedList.domain_id == row.id).order_by(SeedList.name))
    for seed_list in lists.all():
        text = seed_list.seeds
        if given.action is BulkAction.SWITCH_SEEDS_OFF:
            new = without_seeds(text, given.seed_part)
        elif given.action is BulkAction.SWITCH_SEEDS_ON:
            new = with_seeds(text, given.seed_part)
        else:
            new = with_address(text, given.from_scheme, given.to_scheme, given.from_host, given.to_host)
        if new == text:
            continue
        pairs = [(one, other) for one, other in zip(text.split("\n"), new.split("\n"), strict=True) if one != other]
        name, own = row.name, seed_list.name
        yield (
            PlannedChange(
                domain=name,
                what=f"seed list {own}, {len(pairs)} seeds",
                old="\n".join(one for one, _ in pairs[:5])[:1_000],
                new="\n".join(other for _, other in pairs[:5])[:1_000],
            ),
            partial(change_seed_list, transaction, name, own, SeedListChange(seeds=new)),
        )


def _harvest(transaction: Transaction, row: Domain, given: BulkChange) -> _Planned:
    configuration = _configuration(row, given)
    if configuration is None:
        return
    table = HARVEST_CONFIGURATIONS.c
    query = (
        select(table.configuration_id)
        .join(Harvest, Harvest.id == table.harvest_id)
        .where(Harvest.name == given.harvest, table.configuration_id == configuration.id)
    )
    adds = given.action is BulkAction.ADD_TO_HARVEST
    if (transaction.session.scalar(query) is not None) is adds:
        return
    change = ConfigurationsChange(
        configurations=(ConfigurationChoice(domain=row.name, configuration=configuration.name),)
    )
    shown = f"{configuration.name} in {given.harvest}"
    use_case = add_configurations if adds else remove_configurations
    yield (
        PlannedChange(domain=row.name, what="harvest", old="" if adds else shown, new=shown if adds else ""),
        lambda: use_case(transaction, given.harvest, change),
    )


_PLANS: Final[Mapping[BulkAction, Callable[[Transaction, Domain, BulkChange], _Planned]]] = {
    BulkAction.SET_TEMPLATE: _set_configuration,
    BulkAction.SET_LIMITS: _set_configuration,
    BulkAction.ADD_TAG: _tag,
    BulkAction.REMOVE_TAG: _tag,
    BulkAction.SET_OWNER: _owner,
    BulkAction.SWITCH_SEEDS_OFF: _seeds,
    BulkAction.SWITCH_SEEDS_ON: _seeds,
    BulkAction.MOVE_SEEDS: _seeds,
    BulkAction.ADD_TO_HARVEST: _harvest,
    BulkAction.REMOVE_FROM_HARVEST: _harvest,
}


def _shown(values: Mapping[str, Any]) -> str:
    return ", ".join(f"{name}: {value}" for name, value in values.items())
