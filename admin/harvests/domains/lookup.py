"""Use cases find the rows of a domain by their names."""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy import select

from admin.harvests.domains.names import DomainNameError, stored_name
from admin.models.domain_tables import Configuration, Domain, DomainPassword, SeedList
from admin.models.errors import IllegalState, NotFound
from admin.models.harvest_tables import Template
from admin.models.transaction import Transaction


def find_domain(transaction: Transaction, name: str, *, lock: bool = False) -> Domain:
    """Return the domain of this name, in ASCII or Unicode. Raises NotFound.

    With `lock`, nobody else changes the domain until the transaction ends.
    """
    try:
        stored = stored_name(name)
    except DomainNameError:
        raise NotFound("domain", name) from None
    query = select(Domain).where(Domain.name == stored)
    found = transaction.session.scalars(query.with_for_update() if lock else query).one_or_none()
    if found is None:
        raise NotFound("domain", name)
    return found


def find_configuration(domain: Domain, name: str) -> Configuration:
    """Return the domain's configuration of this name. Raises NotFound."""
    for configuration in domain.configurations:
        if configuration.name == name:
            return configuration
    raise NotFound(f"configuration of {domain.name}", name)


def find_seed_list(domain: Domain, name: str) -> SeedList:
    """Return the domain's seed list of this name. Raises NotFound."""
    for seed_list in domain.seed_lists:
        if seed_list.name == name:
            return seed_list
    raise NotFound(f"seed list of {domain.name}", name)


def find_password(domain: Domain, name: str) -> DomainPassword:
    """Return the domain's password of this name. Raises NotFound."""
    for password in domain.passwords:
        if password.name == name:
            return password
    raise NotFound(f"password of {domain.name}", name)


def find_template(transaction: Transaction, name: str | None) -> Template:
    """Return the active template of this name; None is the template of new domains. Raises IllegalState, NotFound."""
    wanted = transaction.settings.harvests.default_template if name is None else name
    found = transaction.session.scalars(select(Template).where(Template.name == wanted)).one_or_none()
    if found is None and name is None:
        raise IllegalState(
            f"there is no template {wanted!r}, which new domains use; upload a template of this name, or set"
            " harvests.default_template to the name of one that is there"
        )
    if found is None:
        raise NotFound("template", wanted)
    if not found.is_active:
        raise IllegalState(f"the template {wanted!r} is not active; activate it, or choose another one")
    return found


def listed_names(names: Sequence[str], shown: int = 10) -> str:
    """Return names as a message lists them, with the number of further ones."""
    more = f" and {len(names) - shown} more" if len(names) > shown else ""
    return ", ".join(map(repr, names[:shown])) + more
