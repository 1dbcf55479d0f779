"""Domains are added, changed, shown and deleted one by one; `uploads` adds many."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from pydantic import Field
from sqlalchemy import bindparam, exists, func, select

from admin.harvests.domains import aliases, extended_fields
from admin.harvests.domains.configurations import ConfigurationView, configuration_uses, configuration_views
from admin.harvests.domains.creation import insert_domains
from admin.harvests.domains.lookup import find_configuration, find_domain, listed_names
from admin.harvests.domains.names import DomainNameError, registered_domain
from admin.harvests.domains.passwords import PasswordView, password_views
from admin.harvests.domains.search import DomainItem
from admin.harvests.domains.seed_lists import SeedListItem, seed_list_items
from admin.harvests.input_checks import differences, note_problem, refuse
from admin.models.domain_tables import CrawlerTrap, Domain, DomainOwner
from admin.models.errors import IllegalState, InvalidInput, Problem
from admin.models.job_tables import DomainHistory
from admin.models.operation import InputModel, OutputModel, Page, numbered_page
from admin.models.transaction import Right, Transaction
from archive.dates import Micros

_MOST_ALIASES: Final = 1_000
_LONGEST_OWNER: Final = 2_000
_ALIASES: Final = (
    select(Domain.name).where(Domain.alias_of_id == bindparam("domain")).order_by(Domain.name).limit(_MOST_ALIASES)
)
_FACTS: Final = (
    select(
        select(func.count()).select_from(CrawlerTrap).where(CrawlerTrap.domain_id == Domain.id).scalar_subquery(),
        exists().where(DomainHistory.domain_id == Domain.id),
        DomainOwner,
    )
    .select_from(Domain)
    .outerjoin(
        DomainOwner,
        DomainOwner.id
        == select(func.max(DomainOwner.id))
        .where(DomainOwner.domain_id == Domain.id)
        .correlate(Domain)
        .scalar_subquery(),
    )
    .where(Domain.id == bindparam("domain"))
)
"""The number of a domain's crawler traps, whether the domain was harvested, and its present owner."""


class DomainCreation(InputModel):
    """The input names a new domain."""

    name: str = Field(description="any URL, host name or address; its registered domain is added")
    comments: str = ""
    extended: Mapping[str, str] = Field({}, description="values of extended fields, by the field's name")


class DomainChange(InputModel):
    """The input says what changes about a domain; what is left out stays as it is."""

    comments: str | None = None
    default_configuration: str | None = Field(None, description="name of one of the domain's configurations")
    extended: Mapping[str, str] | None = Field(None, description="values of extended fields; others stay as they are")
    edition: int | None = None


class OwnerView(OutputModel):
    """The output has an owner of a domain, from the moment `created` until the next entry."""

    created: Micros
    owner: str
    contact: str


class DomainView(DomainItem):
    """The output has everything that belongs to a domain, without the seeds themselves."""

    alias_since: Micros | None
    alias_expires: Micros | None
    is_alias_in_force: bool
    aliases: list[str]
    """Names of the domains that are aliases of this one; at most 1,000."""
    owner: OwnerView | None
    configurations: list[ConfigurationView]
    seed_lists: list[SeedListItem]
    passwords: list[PasswordView]
    crawler_traps: int
    has_history: bool
    extended: dict[str, str]


class OwnerCreation(InputModel):
    """The input names a new owner of a domain; earlier ones become history."""

    owner: str
    contact: str = ""


def create_domain(transaction: Transaction, given: DomainCreation) -> DomainView:
    """Add a domain with one configuration and one seed list. Raises InvalidInput, and IllegalState without template."""
    transaction.require(Right.CURATE)
    refuse((note_problem("comments", given.comments),))
    try:
        name = registered_domain(given.name, transaction.settings.harvests.tlds)
    except DomainNameError as error:
        raise InvalidInput(Problem("name", str(error))) from None
    created = insert_domains(transaction, [name], "by hand", given.comments)
    if not created:
        raise InvalidInput(Problem("name", f"the domain {name.name} is there already; open it, or write another name"))
    extended_fields.set_values(transaction, "domain", created[name.name], given.extended)
    return show_domain(transaction, name.name)


def change_domain(transaction: Transaction, name: str, given: DomainChange) -> DomainView:
    """Change comments, default configuration and extended fields of a domain. Raises InvalidInput."""
    transaction.require(Right.CURATE)
    refuse((note_problem("comments", given.comments or ""),))
    row = find_domain(transaction, name, lock=True)
    transaction.check_edition("domain", row.name, row, given.edition)
    old = _audited(transaction, row)
    if given.comments is not None:
        row.comments = given.comments
    if given.default_configuration is not None:
        row.default_configuration = find_configuration(row, given.default_configuration)
    transaction.session.flush()
    if given.extended is not None:
        extended_fields.set_values(transaction, "domain", row.id, given.extended)
    if changed := differences(old, _audited(transaction, row)):
        transaction.audit("domain.change", "domain", row.id, row.name, old=changed[0], new=changed[1])
    return _view(transaction, row)


def delete_domain(transaction: Transaction, name: str) -> None:
    """Delete a domain with everything that belongs to it. Raises IllegalState when it is in use, and says where."""
    transaction.require(Right.CURATE)
    session = transaction.session
    row = find_domain(transaction, name, lock=True)
    uses: list[str] = []
    if own := session.scalars(select(Domain.name).where(Domain.alias_of_id == row.id).order_by(Domain.name)).all():
        uses.append(f"its aliases {listed_names(own)}")
    uses += configuration_uses(transaction, [each.id for each in row.configurations])
    if jobs := _jobs(transaction, row):
        uses.append(f"the statistics of the jobs {listed_names(list(map(str, jobs)))}")
    if uses:
        raise IllegalState(f"the domain {row.name} is used by {'; '.join(uses)}; it can't be deleted as long as it is")
    old = {**_audited(transaction, row), "configurations": [each.name for each in row.configurations]}
    extended_fields.delete_values(transaction, "domain", row.id)
    row.default_configuration = None
    session.flush()
    session.delete(row)
    transaction.audit("domain.delete", "domain", row.id, row.name, old=old)
    session.flush()


def show_domain(transaction: Transaction, name: str) -> DomainView:
    """Return a domain with everything that belongs to it. Raises NotFound."""
    transaction.require(Right.READ)
    return _view(transaction, find_domain(transaction, name))


def add_owner(transaction: Transaction, name: str, given: OwnerCreation) -> OwnerView:
    """Note who is responsible for a domain from now on; earlier owners become history."""
    transaction.require(Right.CURATE)
    refuse(
        (
            note_problem("owner", given.owner, _LONGEST_OWNER),
            note_problem("contact", given.contact, _LONGEST_OWNER),
            None if given.owner.strip() else Problem("owner", "the owner is empty; write a name"),
        )
    )
    row = find_domain(transaction, name, lock=True)
    before = _owner(transaction, row)
    owner = DomainOwner(domain_id=row.id, created=transaction.now, owner=given.owner, contact=given.contact)
    transaction.session.add(owner)
    transaction.audit(
        "domain.add-owner",
        "domain",
        row.id,
        row.name,
        old={"owner": before.owner, "contact": before.contact} if before else None,
        new={"owner": given.owner, "contact": given.contact},
    )
    transaction.session.flush()
    return OwnerView.model_validate(owner)


def list_owners(transaction: Transaction, name: str, *, after: str = "", limit: int = 100) -> Page[OwnerView]:
    """List the owners of a domain, the present one first."""
    transaction.require(Right.READ)
    row = find_domain(transaction, name)
    query = select(DomainOwner).where(DomainOwner.domain_id == row.id)
    return numbered_page(
        transaction, query, DomainOwner.id, OwnerView.of_rows, after=after or None, limit=limit, newest_first=True
    )


def _owner(transaction: Transaction, row: Domain) -> DomainOwner | None:
    query = select(DomainOwner).where(DomainOwner.domain_id == row.id).order_by(DomainOwner.id.desc()).limit(1)
    return transaction.session.scalars(query).one_or_none()


def _jobs(transaction: Transaction, row: Domain) -> list[int]:
    query = select(DomainHistory.job_id).where(DomainHistory.domain_id == row.id).order_by(DomainHistory.ended.desc())
    return list(transaction.session.scalars(query.limit(1_000)))


def _audited(transaction: Transaction, row: Domain) -> dict[str, Any]:
    return {
        "comments": row.comments,
        "default_configuration": row.default_configuration.name if row.default_configuration else None,
        "extended": extended_fields.values_of(transaction, "domain", row.id),
    }


def _view(transaction: Transaction, row: Domain) -> DomainView:
    session, given = transaction.session, {"domain": row.id}
    seconds = transaction.settings.harvests.alias_seconds
    configurations = configuration_views(transaction, row)
    traps, has_history, owner = session.execute(_FACTS, given).one()
    return DomainView(
        name=row.name,
        unicode_name=row.unicode_name,
        tld=row.tld,
        comments=row.comments,
        default_configuration=row.default_configuration.name if row.default_configuration else None,
        alias_of=row.alias_of.name if row.alias_of else None,
        created=row.created,
        edition=row.edition,
        alias_since=row.alias_since,
        alias_expires=aliases.expires(row.alias_since, seconds) if row.alias_since is not None else None,
        is_alias_in_force=row.alias_of_id is not None
        and aliases.is_in_force(row.alias_since, transaction.now, seconds),
        aliases=list(session.scalars(_ALIASES, given)),
        owner=OwnerView.model_validate(owner) if owner else None,
        configurations=configurations,
        seed_lists=seed_list_items(row),
        passwords=password_views(row),
        crawler_traps=traps,
        has_history=has_history,
        extended=extended_fields.values_of(transaction, "domain", row.id),
    )
