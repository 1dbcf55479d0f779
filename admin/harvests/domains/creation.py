"""A new domain gets one configuration and one seed list; many domains are inserted at once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from sqlalchemy import bindparam, insert, update

from admin.harvests.domains.bulk import audit_many, insert_unless_there, table_of
from admin.harvests.domains.lookup import find_template
from admin.harvests.domains.names import DomainName, first_seeds
from admin.models.domain_tables import CONFIGURATION_SEED_LISTS, Configuration, Domain, SeedList
from admin.models.transaction import Transaction

DEFAULT_CONFIGURATION: Final = "defaultconfig"
DEFAULT_SEED_LIST: Final = "defaultseeds"


def insert_domains(
    transaction: Transaction, names: Sequence[DomainName], how: str, comments: str = ""
) -> dict[str, int]:
    """Add those of the domains that are not there, and return their numbers by name.

    `how` is for the audit, such as upload. Several transactions may add the same names at once. Raises IllegalState
    when the template of new domains is missing.
    """
    wanted = {name.name: name for name in names}
    if not wanted:
        return {}
    template_id = find_template(transaction, None).id
    created = _insert_names(transaction, sorted(wanted.values(), key=lambda name: name.name), comments)
    if not created:
        return {}
    defaults = transaction.settings.harvests
    by_id = {number: wanted[name] for name, number in created.items()}
    seed_lists = _insert_for_each(
        transaction,
        SeedList,
        [
            {
                "domain_id": number,
                "name": DEFAULT_SEED_LIST,
                "seeds": "\n".join(first_seeds(name, defaults.default_seeds)),
            }
            for number, name in by_id.items()
        ],
    )
    configurations = _insert_for_each(
        transaction,
        Configuration,
        [
            {
                "domain_id": number,
                "name": DEFAULT_CONFIGURATION,
                "template_id": template_id,
                "max_objects": defaults.default_max_objects,
                "max_bytes": defaults.default_max_bytes,
                "max_rate": defaults.default_max_rate,
            }
            for number in by_id
        ],
    )
    connection = transaction.session.connection()
    connection.execute(
        insert(CONFIGURATION_SEED_LISTS),
        [{"configuration_id": configurations[each], "seed_list_id": seed_lists[each]} for each in by_id],
    )
    connection.execute(
        update(table_of(Domain))
        .where(table_of(Domain).c.id == bindparam("number"))
        .values(default_configuration_id=bindparam("configuration")),
        [{"number": each, "configuration": configurations[each]} for each in by_id],
    )
    audit_many(
        transaction, "domain.create", "domain", [(number, name.name, {"how": how}) for number, name in by_id.items()]
    )
    return created


def _insert_names(transaction: Transaction, names: Sequence[DomainName], comments: str) -> dict[str, int]:
    """Add rows in the order of their names, so that two transactions never wait for each other."""
    table = table_of(Domain)
    statement = insert_unless_there(transaction, table, "name").returning(table.c.name, table.c.id)
    rows = [
        {
            "name": name.name,
            "unicode_name": name.unicode_name,
            "tld": name.tld,
            "comments": comments,
            "created": transaction.now,
        }
        for name in names
    ]
    return dict(transaction.session.connection().execute(statement, rows).all())


def _insert_for_each(
    transaction: Transaction, entity: type[SeedList | Configuration], rows: Sequence[dict[str, Any]]
) -> dict[int, int]:
    """Add one row for each domain, and return their numbers by the domain's number."""
    table = table_of(entity)
    statement = insert(table).returning(table.c.domain_id, table.c.id)
    return dict(transaction.session.connection().execute(statement, rows).all())
