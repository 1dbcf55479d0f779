"""An alias is a domain with the same content as another one; snapshot harvests leave it out until it expires."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from typing import Final

from sqlalchemy import ColumnElement, and_, select, tuple_
from sqlalchemy.orm import Session, aliased

from admin.harvests.domains.lookup import find_domain, listed_names
from admin.harvests.input_checks import count_up_to_limit
from admin.models.domain_tables import Domain
from admin.models.errors import IllegalState, InvalidInput, Problem
from admin.models.operation import InputModel, OutputModel, Page, checked_limit, pair_after
from admin.models.transaction import Right, Transaction
from archive.dates import Micros

_MICROS: Final = 1_000_000


class AliasSetting(InputModel):
    """A domain becomes an alias of another one."""

    alias_of: str
    edition: int | None = None


class AliasView(OutputModel):
    """The output has an alias, and says when it expires."""

    name: str
    unicode_name: str
    alias_of: str
    alias_since: Micros
    expires: Micros
    is_in_force: bool
    edition: int


def expires(since: Micros, alias_seconds: int) -> Micros:
    """Return when an alias expires that was set or renewed at `since`."""
    return since + alias_seconds * _MICROS


def is_in_force(since: Micros | None, now: Micros, alias_seconds: int) -> bool:
    """Return whether a domain is left out of snapshot harvests as an alias."""
    return since is not None and now < expires(since, alias_seconds)


def alias_in_force(now: Micros, alias_seconds: int) -> ColumnElement[bool]:
    """Return the same decision as a condition of a query over `Domain`."""
    return and_(
        Domain.alias_of_id.is_not(None),
        Domain.alias_since.is_not(None),
        Domain.alias_since > now - alias_seconds * _MICROS,
    )


def aliases_in_force(
    session: Session, domain_ids: Iterable[int], now: Micros, alias_seconds: int
) -> dict[int, list[str]]:
    """Return the names of the aliases in force, by the number of the domain that they are aliases of."""
    query = (
        select(Domain.alias_of_id, Domain.name)
        .where(Domain.alias_of_id.in_(list(domain_ids)), alias_in_force(now, alias_seconds))
        .order_by(Domain.name)
    )
    found: defaultdict[int, list[str]] = defaultdict(list)
    for domain_id, name in session.execute(query):
        assert domain_id is not None
        found[domain_id].append(name)
    return dict(found)


def set_alias(transaction: Transaction, name: str, given: AliasSetting) -> AliasView:
    """Make the domain an alias of another one, or renew the alias. Raises InvalidInput for chains and circles."""
    transaction.require(Right.CURATE)
    session = transaction.session
    target = find_domain(transaction, given.alias_of)
    domain = find_domain(transaction, name)
    # Both rows are locked in the order of their numbers, so that no chain comes from two changes at once.
    session.scalars(
        select(Domain)
        .where(Domain.id.in_((domain.id, target.id)))
        .order_by(Domain.id)
        .with_for_update()
        .execution_options(populate_existing=True)
    ).all()
    if domain.id == target.id:
        raise InvalidInput(Problem("alias_of", f"{domain.name} can't be an alias of itself; name another domain"))
    if target.alias_of_id is not None:
        first = session.get_one(Domain, target.alias_of_id).name
        raise InvalidInput(
            Problem("alias_of", f"{target.name} is itself an alias of {first}; name {first}, or unset that alias first")
        )
    if own := session.scalars(select(Domain.name).where(Domain.alias_of_id == domain.id).order_by(Domain.name)).all():
        raise InvalidInput(
            Problem("alias_of", f"{domain.name} has aliases itself: {listed_names(own)}; unset them first")
        )
    transaction.check_edition("domain", domain.name, domain, given.edition)
    old = _audited(domain.alias_of, domain.alias_since)
    domain.alias_of, domain.alias_since = target, transaction.now
    new = _audited(target, transaction.now)
    transaction.audit("domain.set-alias", "domain", domain.id, domain.name, old=old, new=new)
    session.flush()
    return _view(transaction, domain, target)


def renew_alias(transaction: Transaction, name: str, edition: int | None = None) -> AliasView:
    """Let the time of the alias begin anew. Raises IllegalState when the domain is no alias."""
    transaction.require(Right.CURATE)
    domain = find_domain(transaction, name, lock=True)
    if domain.alias_of is None:
        raise IllegalState(f"{domain.name} is no alias; set the alias first")
    transaction.check_edition("domain", domain.name, domain, edition)
    old = _audited(domain.alias_of, domain.alias_since)
    domain.alias_since = transaction.now
    new = _audited(domain.alias_of, transaction.now)
    transaction.audit("domain.renew-alias", "domain", domain.id, domain.name, old=old, new=new)
    transaction.session.flush()
    return _view(transaction, domain, domain.alias_of)


def unset_alias(transaction: Transaction, name: str, edition: int | None = None) -> None:
    """Make the domain one of its own again. A domain that is no alias stays as it is."""
    transaction.require(Right.CURATE)
    domain = find_domain(transaction, name, lock=True)
    if domain.alias_of_id is None and domain.alias_since is None:
        return
    transaction.check_edition("domain", domain.name, domain, edition)
    old = _audited(domain.alias_of, domain.alias_since)
    domain.alias_of, domain.alias_since = None, None
    new = _audited(None, None)
    transaction.audit("domain.unset-alias", "domain", domain.id, domain.name, old=old, new=new)


def list_aliases(
    transaction: Transaction, *, about_to_expire: bool = False, after: str = "", limit: int = 100
) -> Page[AliasView]:
    """List aliases, first those that expire first.

    With `about_to_expire` the list ends with those that expire within `harvests.alias_warning_seconds`; the ones that
    have expired are in it.
    """
    transaction.require(Right.READ)
    settings = transaction.settings.harvests
    query = select(Domain.id).where(Domain.alias_since.is_not(None), Domain.alias_of_id.is_not(None))
    if about_to_expire:
        until = transaction.now + (settings.alias_warning_seconds - settings.alias_seconds) * _MICROS
        query = query.where(Domain.alias_since <= until)
    total = None if after else count_up_to_limit(transaction, query)
    if after:
        query = query.where(tuple_(Domain.alias_since, Domain.id) > tuple_(*pair_after(after)))
    target = aliased(Domain)
    size = checked_limit(limit)
    rows = transaction.session.execute(
        query.with_only_columns(Domain, target)
        .join(target, Domain.alias_of_id == target.id)
        .order_by(Domain.alias_since, Domain.id)
        .limit(size + 1)
    ).all()
    items = [_view(transaction, domain, of) for domain, of in rows[:size]]
    last = rows[size - 1][0] if len(rows) > size else None
    return Page(items=items, next=f"{last.alias_since}-{last.id}" if last is not None else None, total=total)


def _view(transaction: Transaction, domain: Domain, target: Domain) -> AliasView:
    seconds = transaction.settings.harvests.alias_seconds
    since = domain.alias_since or 0
    return AliasView(
        name=domain.name,
        unicode_name=domain.unicode_name,
        alias_of=target.name,
        alias_since=since,
        expires=expires(since, seconds),
        is_in_force=is_in_force(domain.alias_since, transaction.now, seconds),
        edition=domain.edition,
    )


def _audited(target: Domain | None, since: Micros | None) -> dict[str, str | int | None]:
    return {"alias_of": target.name if target else None, "alias_since": since}
