"""Domains are searched by name with wildcards, and by what is known of them; lists hold with millions of domains."""

from __future__ import annotations

import re
from collections import Counter
from typing import Any, Final

from sqlalchemy import ColumnElement, Select, and_, exists, func, or_, select
from sqlalchemy.orm import aliased

from admin.harvests.domains.names import DomainNameError, registered_domain, shortened, stored_name
from admin.harvests.input_checks import count_up_to_limit
from admin.models.domain_tables import Configuration, Domain, ExtendedField, ExtendedValue
from admin.models.errors import InvalidInput, NotFound, Problem
from admin.models.job_tables import DomainHistory
from admin.models.operation import OutputModel, Page, checked_limit, number_after
from admin.models.transaction import Right, Transaction
from archive.dates import Micros

ORDERS: Final = ("name", "-name", "newest")
_LONGEST_PATTERN: Final = 255
_MOST_WILDCARDS: Final = 5
"""A pattern with more of `*` takes too long to search for."""
_AFTER_ASCII: Final = "\x7f"
_LONGEST_COMMENT: Final = 200
_IDN: Final = "xn--"
"""A label with other letters than those of ASCII begins so."""
_AFTER_IDN: Final = "xn-."
_MOST_NAMED: Final = 500
"""The most domains that are named one by one in a query."""


class DomainItem(OutputModel):
    """A domain in a list."""

    name: str
    unicode_name: str
    tld: str
    comments: str
    default_configuration: str | None
    alias_of: str | None
    created: Micros
    edition: int


class TldCount(OutputModel):
    """The output says how many domains have one public suffix."""

    tld: str
    domains: int


def list_domains(
    transaction: Transaction,
    *,
    search: str = "",
    tld: str = "",
    alias: bool | None = None,
    has_history: bool | None = None,
    field: str = "",
    value: str = "",
    order: str = "name",
    after: str = "",
    limit: int = 100,
) -> Page[DomainItem]:
    """List domains. Comments are shortened.

    `search` is a name in which `*` stands for any characters and `?` for one, or a URL. A name is found as people write
    the name, and in ASCII. `field` and `value` name an
    extended field and the value that it has.
    """
    transaction.require(Right.READ)
    if order not in ORDERS:
        raise InvalidInput(Problem("order", f"{shortened(order)} is no order; write one of {', '.join(ORDERS)}"))
    query = _filtered(transaction, search.strip(), tld.strip().lower(), alias, has_history)
    if field:
        query = _with_value(transaction, query, field, value)
    total = None if after else count_up_to_limit(transaction, query)
    if after:
        query = query.where(_after(order, after))
    size = checked_limit(limit)
    target, default = aliased(Domain), aliased(Configuration)
    orders: dict[str, Any] = {"name": Domain.name, "-name": Domain.name.desc(), "newest": Domain.id.desc()}
    rows = transaction.session.execute(
        query.with_only_columns(
            Domain.id,
            Domain.name,
            Domain.unicode_name,
            Domain.tld,
            func.substr(Domain.comments, 1, _LONGEST_COMMENT),
            Domain.created,
            Domain.edition,
            target.name,
            default.name,
        )
        .outerjoin(target, Domain.alias_of_id == target.id)
        .outerjoin(default, Domain.default_configuration_id == default.id)
        .order_by(orders[order])
        .limit(size + 1)
    ).all()
    items = [_item(row) for row in rows[:size]]
    last = str(rows[size - 1][0]) if order == "newest" and rows[size:] else items[-1].name if rows[size:] else None
    return Page(items=items, next=last, total=total)


def tld_statistics(transaction: Transaction, *, level: int = 0) -> Page[TldCount]:
    """Count domains by top-level domain, the largest first.

    `level` 1 counts by the last label (uk), 2 by the last two (co.uk); 0 counts by the whole public suffix.
    """
    transaction.require(Right.READ)
    if not 0 <= level <= 10:
        raise InvalidInput(Problem("level", f"{level} is no level; write 0 to 10"))
    counted: Counter[str] = Counter()
    for tld, number in transaction.session.execute(select(Domain.tld, func.count()).group_by(Domain.tld)):
        counted[".".join(tld.split(".")[-level:]) if level else tld] += number
    items = [TldCount(tld=tld, domains=number) for tld, number in sorted(counted.items(), key=_by_size)]
    return Page(items=items, total=len(items))


def _filtered(
    transaction: Transaction, search: str, tld: str, alias: bool | None, has_history: bool | None
) -> Select[Any]:
    query: Select[Any] = select(Domain.id)
    if search:
        query = _named(transaction, query, search)
    if tld:
        query = query.where(Domain.tld == ("IP" if tld == "ip" else tld.removeprefix(".")))
    if alias is not None:
        query = query.where(Domain.alias_of_id.is_not(None) if alias else Domain.alias_of_id.is_(None))
    if has_history is not None:
        harvested = exists().where(DomainHistory.domain_id == Domain.id)
        query = query.where(harvested if has_history else ~harvested)
    return query


def _named(transaction: Transaction, query: Select[Any], search: str) -> Select[Any]:
    """Return the query for a pattern, or for the one domain of a name or URL."""
    if "://" in search or ("*" not in search and "?" not in search):
        return query.where(Domain.name.in_(_possible_names(transaction, search)))
    pattern = re.sub(r"\*+", "*", search.lower())
    if len(pattern) > _LONGEST_PATTERN or "\0" in pattern:
        raise InvalidInput(Problem("search", f"the search has {len(pattern)} characters; write at most 255"))
    if pattern.count("*") > _MOST_WILDCARDS:
        raise InvalidInput(Problem("search", f"the search has {pattern.count('*')} stars; write at most 5"))
    like = re.sub(r"([\\%_])", r"\\\1", pattern).replace("*", "%").replace("?", "_")
    if not pattern.isascii():
        return query.where(Domain.unicode_name.like(like, escape="\\"))
    named: ColumnElement[bool] = Domain.name.like(like, escape="\\")
    ranges = (and_(column >= _IDN, column < _AFTER_IDN) for column in (Domain.name, Domain.tld))
    international = and_(or_(*ranges), Domain.unicode_name.like(like, escape="\\"))
    beginning = re.split(r"[*?]", pattern, maxsplit=1)[0]
    if not beginning:
        return query.where(or_(named, international))
    named = and_(Domain.name >= beginning, Domain.name < beginning + _AFTER_ASCII, named)
    found = transaction.session.scalars(select(Domain.id).where(international).limit(_MOST_NAMED + 1)).all()
    if not found:  # the database can read the page in the order of names
        return query.where(named)
    return query.where(or_(named, international if len(found) > _MOST_NAMED else Domain.id.in_(found)))


def _possible_names(transaction: Transaction, search: str) -> list[str]:
    """Return the names that a search without wildcards may mean: the name itself, and the URL's domain."""
    found: list[str] = []
    for read in (stored_name, lambda text: registered_domain(text, transaction.settings.harvests.tlds).name):
        try:
            found.append(read(search))
        except DomainNameError:
            continue
    return found


def _with_value(transaction: Transaction, query: Select[Any], field: str, value: str) -> Select[Any]:
    row = transaction.session.scalars(
        select(ExtendedField).where(ExtendedField.entity == "domain", ExtendedField.name == field)
    ).one_or_none()
    if row is None:
        raise NotFound("extended field of domains", field)
    own = exists().where(ExtendedValue.entity_id == Domain.id, ExtendedValue.field_id == row.id)
    wanted = exists().where(
        ExtendedValue.entity_id == Domain.id, ExtendedValue.field_id == row.id, ExtendedValue.value == value
    )
    return query.where(wanted | ~own if value == row.default else wanted)


def _after(order: str, after: str) -> Any:
    if order == "newest":
        return Domain.id < number_after(after)
    if "\0" in after:
        raise InvalidInput(Problem("after", "the place has a NUL character; take the `next` of a page"))
    return Domain.name > after if order == "name" else Domain.name < after


def _item(row: Any) -> DomainItem:
    _, name, unicode_name, tld, comments, created, edition, alias_of, configuration = row
    return DomainItem(
        name=name,
        unicode_name=unicode_name,
        tld=tld,
        comments=comments,
        default_configuration=configuration,
        alias_of=alias_of,
        created=created,
        edition=edition,
    )


def _by_size(item: tuple[str, int]) -> tuple[int, str]:
    return -item[1], item[0]
