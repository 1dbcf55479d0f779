"""Domains are chosen by a list, or by a filter."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import batched
from typing import Final

from sqlalchemy import select

from admin.harvests.domains.names import DomainNameError, registered_domain
from admin.harvests.domains.search import list_domains
from admin.harvests.domains.upload_lines import lines_of_text
from admin.models.curation_tables import DomainTag
from admin.models.domain_tables import Domain
from admin.models.errors import InvalidInput, Problem
from admin.models.operation import InputModel
from admin.models.transaction import Transaction

PART: Final = 200
"""Domains that are read, or changed in one transaction."""
MOST_LINES: Final = 200_000
_MOST_PROBLEMS: Final = 100


class DomainChoice(InputModel):
    """The input chooses domains: those of a list, or those that a filter finds."""

    domains: str = ""
    """Names or URLs, one on each line; their domains are chosen, and no filter is used."""
    search: str = ""
    """Name with * and ? for any characters, such as *.dk; all domains are *."""
    tld: str = ""
    """Public suffix, such as org."""
    tag: str = ""
    """Tag of the domains."""
    field: str = ""
    """Name of an extended field."""
    value: str = ""
    """Value of the extended field."""


def check_choice(given: DomainChoice) -> None:
    """Raise InvalidInput unless the choice says which domains are chosen."""
    if not any(text.strip() for text in (given.domains, given.search, given.tld, given.tag, given.field)):
        raise InvalidInput(
            Problem("domains", "no domain is chosen; write a list, or a filter such as * in search for all domains")
        )


def listed_names(given: DomainChoice, tlds: tuple[str, ...]) -> list[str]:
    """Return the domains of the list, each once, in their order. Raises InvalidInput with the lines that are none.

    Pure.
    """
    names: dict[str, None] = {}
    problems: list[Problem] = []
    for line in lines_of_text([given.domains]):
        if line.number > MOST_LINES:
            raise InvalidInput(
                Problem("domains", f"there are more than {MOST_LINES:,} lines; change parts of the list")
            )
        if line.is_blank:
            continue
        try:
            names[registered_domain(line.text.strip(), tlds).name] = None
        except DomainNameError as error:
            problems.append(Problem("domains", str(error), line.number))
        if len(problems) >= _MOST_PROBLEMS:
            break
    if problems:
        raise InvalidInput(*problems)
    return list(names)


def parts_of_list(names: list[str]) -> Iterator[list[str]]:
    """Yield the names in parts."""
    for part in batched(names, PART):
        yield list(part)


def next_part(transaction: Transaction, given: DomainChoice, after: str) -> list[str]:
    """Return the next names that the filter finds, in their order; an empty list at the end."""
    if given.tag:
        query = (
            select(Domain.name)
            .join(DomainTag, DomainTag.domain_id == Domain.id)
            .where(DomainTag.tag == given.tag, Domain.name > after)
            .order_by(Domain.name)
            .limit(PART)
        )
        return list(transaction.session.scalars(query))
    found = list_domains(
        transaction,
        search=given.search,
        tld=given.tld,
        field=given.field,
        value=given.value,
        after=after,
        limit=PART,
    )
    return [each.name for each in found.items]
