"""The parts of a domain are read by a few statements, however many configurations the domain has.

Without this, each configuration asks for its own seed lists and its own passwords when a page shows them.
"""

from __future__ import annotations

from typing import Final

from sqlalchemy import BindParameter, bindparam, literal_column, select, union_all
from sqlalchemy.orm.attributes import set_committed_value

from admin.models.domain_tables import (
    CONFIGURATION_PASSWORDS,
    CONFIGURATION_SEED_LISTS,
    Configuration,
    Domain,
    DomainPassword,
    SeedList,
)
from admin.models.harvest_tables import Template
from admin.models.transaction import Transaction

_DOMAIN: Final[BindParameter[int]] = bindparam("domain")
_CONFIGURATIONS: Final = (
    select(Configuration, Template.name)
    .join(Template, Template.id == Configuration.template_id)
    .where(Configuration.domain_id == _DOMAIN)
    .order_by(Configuration.name)
)
_SEED_LISTS: Final = select(SeedList).where(SeedList.domain_id == _DOMAIN).order_by(SeedList.name)
_PASSWORDS: Final = select(DomainPassword).where(DomainPassword.domain_id == _DOMAIN).order_by(DomainPassword.name)
_OWN: Final = select(Configuration.id).where(Configuration.domain_id == _DOMAIN)
_USES: Final = union_all(
    select(
        literal_column("0"), CONFIGURATION_SEED_LISTS.c.configuration_id, CONFIGURATION_SEED_LISTS.c.seed_list_id
    ).where(CONFIGURATION_SEED_LISTS.c.configuration_id.in_(_OWN)),
    select(
        literal_column("1"), CONFIGURATION_PASSWORDS.c.configuration_id, CONFIGURATION_PASSWORDS.c.password_id
    ).where(CONFIGURATION_PASSWORDS.c.configuration_id.in_(_OWN)),
)


def load_parts(transaction: Transaction, row: Domain) -> dict[int, str]:
    """Read configurations, seed lists and passwords of the domain into its row, with the uses of each.

    Return the names of the configurations' templates by the configuration's number.
    """
    session, given = transaction.session, {"domain": row.id}
    configurations = session.execute(_CONFIGURATIONS, given).all()
    seed_lists = session.scalars(_SEED_LISTS, given).all()
    passwords = session.scalars(_PASSWORDS, given).all()
    uses = {tuple(each) for each in session.execute(_USES, given)}
    for configuration, _ in configurations:
        number = configuration.id
        own_lists = [each for each in seed_lists if (0, number, each.id) in uses]
        set_committed_value(configuration, "seed_lists", own_lists)
        own_passwords = [each for each in passwords if (1, number, each.id) in uses]
        set_committed_value(configuration, "passwords", own_passwords)
    set_committed_value(row, "configurations", [configuration for configuration, _ in configurations])
    set_committed_value(row, "seed_lists", list(seed_lists))
    set_committed_value(row, "passwords", list(passwords))
    return {configuration.id: template for configuration, template in configurations}
