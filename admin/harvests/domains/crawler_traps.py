"""Crawler traps belong to a domain, to a harvest, or to a global list that counts for every harvest while active.

Each expression is tested before it is kept, and outside of the database's work, as tests take time.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Any, Final

from pydantic import Field
from sqlalchemy import delete, func, insert, select
from sqlalchemy.orm import Mapped, Session

from admin.harvests.domains.lookup import find_domain
from admin.harvests.domains.trap_expressions import TrapResult, check_expressions, run_trap_test, trap_lines
from admin.harvests.input_checks import differences, name_problem, note_problem, refuse
from admin.models.domain_tables import CrawlerTrap, CrawlerTrapList
from admin.models.errors import InvalidInput, NotFound, Problem
from admin.models.harvest_tables import Harvest
from admin.models.operation import InputModel, OutputModel, Page, checked_limit
from admin.models.transaction import Right, Transaction

MOST_OF_ONE: Final = 1_000
"""Crawler traps of one domain or of one harvest."""
_AUDITED_EXPRESSIONS: Final = 50


class TrapInput(InputModel):
    """The input has a crawler trap. URLs in which the expression is found are not fetched."""

    expression: str
    is_active: bool = True


class TrapsChange(InputModel):
    """The input has all crawler traps of a domain or of a harvest, in their order."""

    traps: tuple[TrapInput, ...]
    edition: int | None = None


class TrapTest(InputModel):
    """The input has expressions, and the URLs that they are tried on."""

    expressions: tuple[str, ...]
    samples: tuple[str, ...] = ()


class TrapView(OutputModel):
    """A crawler trap as it is kept."""

    expression: str
    is_active: bool


class TrapsView(OutputModel):
    """The output has the crawler traps of a domain, and the domain's edition."""

    traps: list[TrapView]
    edition: int


class TrapListCreation(InputModel):
    """The input has a new global list of crawler traps.

    Each line of `text` is an expression, but blank lines and those that begin with #.
    """

    name: str
    text: str
    description: str = ""
    is_active: bool = True


class TrapListChange(InputModel):
    """The input says what changes about a global list; what is left out stays as it is."""

    name: str | None = None
    text: str | None = Field(None, description="all expressions anew, one on each line")
    description: str | None = None
    is_active: bool | None = None
    edition: int | None = None


class TrapListItem(OutputModel):
    """A global list of crawler traps, without its expressions."""

    id: int
    name: str
    description: str
    is_active: bool
    traps: int
    edition: int


class TrapListView(TrapListItem):
    """A global list of crawler traps, with its expressions one on each line."""

    text: str


def try_traps(transaction: Transaction, given: TrapTest) -> Page[TrapResult]:
    """Test expressions against sample URLs; nothing is kept. Raises InvalidInput when there are too many."""
    transaction.require(Right.READ)
    expressions = list(enumerate((expression.strip() for expression in given.expressions), 1))
    results = run_trap_test(expressions, given.samples)
    return Page(items=results, total=len(results))


def show_domain_traps(transaction: Transaction, name: str) -> TrapsView:
    """Return the crawler traps of a domain."""
    transaction.require(Right.READ)
    domain = find_domain(transaction, name)
    return TrapsView(traps=_views(_rows(transaction, "domain_id", domain.id)), edition=domain.edition)


def set_domain_traps(transaction: Transaction, name: str, given: TrapsChange) -> TrapsView:
    """Replace all crawler traps of a domain. Raises InvalidInput for each expression that can't be used."""
    transaction.require(Right.CURATE)
    traps = checked_traps(given.traps)
    domain = find_domain(transaction, name, lock=True)
    transaction.check_edition("domain", domain.name, domain, given.edition)
    changed = _replace(transaction, "domain_id", domain.id, traps)
    if changed:
        transaction.audit("domain.set-traps", "domain", domain.id, domain.name, old=changed[0], new=changed[1])
    transaction.session.flush()
    return TrapsView(traps=[TrapView(**trap.model_dump()) for trap in traps], edition=domain.edition)


def checked_traps(traps: Sequence[TrapInput], field: str = "traps") -> list[TrapInput]:
    """Return the crawler traps of a domain or a harvest as they are kept, each once. Raises InvalidInput.

    The function takes time and does not ask the database; call it before a transaction's first query.
    """
    if len(traps) > MOST_OF_ONE:
        raise InvalidInput(
            Problem(field, f"there are {len(traps)} crawler traps; write at most {MOST_OF_ONE}, or make a global list")
        )
    kept: dict[str, TrapInput] = {}
    numbered: list[tuple[int, str]] = []
    for number, trap in enumerate(traps, 1):
        expression = trap.expression.strip()
        if expression not in kept:
            kept[expression] = TrapInput(expression=expression, is_active=trap.is_active)
            numbered.append((number, expression))
    check_expressions(numbered, field)
    return list(kept.values())


def set_harvest_traps(
    transaction: Transaction, harvest: Harvest, traps: Sequence[TrapInput]
) -> tuple[dict[str, Any], dict[str, Any]] | None:
    """Replace the crawler traps of a harvest by those that `checked_traps` returned.

    Return the old and the new ones for the audit of the harvest's change; None when they are the same.
    """
    transaction.session.flush()
    changed = _replace(transaction, "harvest_id", harvest.id, traps)
    transaction.session.expire(harvest, ["traps"])
    return changed


def harvest_traps(transaction: Transaction, harvest_id: int) -> list[TrapView]:
    """Return the crawler traps of a harvest."""
    return _views(_rows(transaction, "harvest_id", harvest_id))


def active_global_traps(session: Session) -> list[str]:
    """Return the expressions of all active global lists, each once, in the order in which the lists were made."""
    query = (
        select(CrawlerTrap.expression)
        .join(CrawlerTrapList, CrawlerTrap.list_id == CrawlerTrapList.id)
        .where(CrawlerTrapList.is_active, CrawlerTrap.is_active)
        .order_by(CrawlerTrapList.id, CrawlerTrap.position, CrawlerTrap.id)
    )
    return list(dict.fromkeys(session.scalars(query)))


def active_harvest_traps(session: Session, harvest_ids: Iterable[int]) -> dict[int, list[str]]:
    """Return the active expressions of these harvests, by the harvest's number; harvests without any are left out."""
    return _active(session, CrawlerTrap.harvest_id, harvest_ids)


def active_domain_traps(session: Session, domain_ids: Iterable[int]) -> dict[int, list[str]]:
    """Return the active expressions of these domains, by the domain's number; domains without any are left out."""
    return _active(session, CrawlerTrap.domain_id, domain_ids)


def create_trap_list(transaction: Transaction, given: TrapListCreation) -> TrapListView:
    """Make a global list of crawler traps from the lines of an upload. Raises InvalidInput."""
    transaction.require(Right.CURATE)
    refuse((name_problem("name", given.name), note_problem("description", given.description)))
    expressions = _checked_lines(given.text)
    session = transaction.session
    _check_free(transaction, given.name, None)
    row = CrawlerTrapList(name=given.name, description=given.description, is_active=given.is_active)
    session.add(row)
    session.flush()
    _insert(transaction, "list_id", row.id, [TrapInput(expression=each) for each in expressions])
    transaction.audit(
        "trap-list.create",
        "crawler trap list",
        row.id,
        row.name,
        new={"description": row.description, "is_active": row.is_active, **_audited(expressions)},
    )
    return _list_view(transaction, row)


def change_trap_list(transaction: Transaction, list_id: int, given: TrapListChange) -> TrapListView:
    """Change, activate or deactivate a global list; `text` replaces all its expressions. Raises InvalidInput."""
    transaction.require(Right.CURATE)
    row = _find_list(transaction, list_id)
    refuse(
        (
            name_problem("name", given.name, row.name) if given.name is not None else None,
            note_problem("description", given.description or ""),
        )
    )
    expressions = _checked_lines(given.text) if given.text is not None else None
    transaction.check_edition("crawler trap list", row.name, row, given.edition)
    if given.name is not None:
        _check_free(transaction, given.name, row.id)
    fields = ("name", "description", "is_active")
    old: dict[str, Any] = {field: getattr(row, field) for field in fields}
    new: dict[str, Any] = {**old, **given.model_dump(include=set(fields), exclude_none=True)}
    for field in fields:
        setattr(row, field, new[field])
    if expressions is not None:
        replaced = _replace(transaction, "list_id", row.id, [TrapInput(expression=each) for each in expressions])
        old, new = ({**old, **replaced[0]}, {**new, **replaced[1]}) if replaced else (old, new)
    if changed := differences(old, new):
        transaction.audit("trap-list.change", "crawler trap list", row.id, row.name, old=changed[0], new=changed[1])
    transaction.session.flush()
    return _list_view(transaction, row)


def delete_trap_list(transaction: Transaction, list_id: int) -> None:
    """Delete a global list. Jobs that were made keep its expressions."""
    transaction.require(Right.CURATE)
    row = _find_list(transaction, list_id)
    expressions = [trap.expression for trap in _rows(transaction, "list_id", row.id)]
    transaction.session.delete(row)
    transaction.audit(
        "trap-list.delete",
        "crawler trap list",
        row.id,
        row.name,
        old={"description": row.description, "is_active": row.is_active, **_audited(expressions)},
    )
    transaction.session.flush()


def show_trap_list(transaction: Transaction, list_id: int) -> TrapListView:
    """Return a global list with its expressions. Raises NotFound."""
    transaction.require(Right.READ)
    row = transaction.session.get(CrawlerTrapList, list_id)
    if row is None:
        raise NotFound("crawler trap list", list_id)
    return _list_view(transaction, row)


def list_trap_lists(transaction: Transaction, *, after: str = "", limit: int = 100) -> Page[TrapListItem]:
    """List the global lists by name, with the number of their expressions."""
    transaction.require(Right.READ)
    size = checked_limit(limit)
    counted = (
        select(func.count(CrawlerTrap.id))
        .where(CrawlerTrap.list_id == CrawlerTrapList.id)
        .correlate(CrawlerTrapList)
        .scalar_subquery()
    )
    query = select(CrawlerTrapList, counted).order_by(CrawlerTrapList.name).limit(size + 1)
    rows = transaction.session.execute(query.where(CrawlerTrapList.name > after) if after else query).all()
    items = [_item(row, count) for row, count in rows[:size]]
    return Page(items=items, next=items[-1].name if len(rows) > size else None)


def _active(session: Session, owner: Mapped[int | None], ids: Iterable[int]) -> dict[int, list[str]]:
    query = (
        select(owner, CrawlerTrap.expression)
        .where(owner.in_(list(ids)), CrawlerTrap.is_active)
        .order_by(owner, CrawlerTrap.position, CrawlerTrap.id)
    )
    found: defaultdict[int, list[str]] = defaultdict(list)
    for number, expression in session.execute(query):
        assert number is not None
        found[number].append(expression)
    return dict(found)


def _checked_lines(text: str) -> list[str]:
    lines = trap_lines(text)
    if not lines:
        raise InvalidInput(Problem("text", "the list has no expression; write one regular expression on each line"))
    check_expressions(lines, "text")
    return [expression for _, expression in lines]


def _rows(transaction: Transaction, owner: str, number: int) -> Sequence[CrawlerTrap]:
    column = CrawlerTrap.__table__.c[owner]
    query = select(CrawlerTrap).where(column == number).order_by(CrawlerTrap.position)
    return transaction.session.scalars(query).all()


def _replace(
    transaction: Transaction, owner: str, number: int, traps: Sequence[TrapInput]
) -> tuple[dict[str, Any], dict[str, Any]] | None:
    """Return what was there and what is there now, for the audit; None when nothing changed."""
    before = [
        TrapInput(expression=row.expression, is_active=row.is_active) for row in _rows(transaction, owner, number)
    ]
    if before == list(traps):
        return None
    column = CrawlerTrap.__table__.c[owner]
    transaction.session.execute(delete(CrawlerTrap).where(column == number))
    _insert(transaction, owner, number, traps)
    return _changed(before, traps), _changed(traps, before)


def _insert(transaction: Transaction, owner: str, number: int, traps: Sequence[TrapInput]) -> None:
    rows = [
        {owner: number, "position": place, "expression": trap.expression, "is_active": trap.is_active}
        for place, trap in enumerate(traps)
    ]
    if rows:
        transaction.session.execute(insert(CrawlerTrap), rows)


def _changed(these: Sequence[TrapInput], others: Sequence[TrapInput]) -> dict[str, Any]:
    """Return the expressions that only one side has, as the audit keeps them."""
    known = {(trap.expression, trap.is_active) for trap in others}
    own = [
        trap.expression if trap.is_active else f"{trap.expression} (not active)"
        for trap in these
        if (trap.expression, trap.is_active) not in known
    ]
    return {"traps": len(these), "expressions": own[:_AUDITED_EXPRESSIONS]}


def _audited(expressions: Sequence[str]) -> dict[str, Any]:
    return {"traps": len(expressions), "expressions": list(expressions[:_AUDITED_EXPRESSIONS])}


def _check_free(transaction: Transaction, name: str, own_id: int | None) -> None:
    taken = transaction.session.scalar(select(CrawlerTrapList.id).where(CrawlerTrapList.name == name))
    if taken is not None and taken != own_id:
        raise InvalidInput(Problem("name", f"there is a crawler trap list {name!r} already; write another name"))


def _find_list(transaction: Transaction, list_id: int) -> CrawlerTrapList:
    row = transaction.session.get(CrawlerTrapList, list_id, with_for_update=True)
    if row is None:
        raise NotFound("crawler trap list", list_id)
    return row


def _views(rows: Iterable[CrawlerTrap]) -> list[TrapView]:
    return [TrapView.model_validate(row) for row in rows]


def _item(row: CrawlerTrapList, count: int) -> TrapListItem:
    return TrapListItem(
        id=row.id,
        name=row.name,
        description=row.description,
        is_active=row.is_active,
        traps=count,
        edition=row.edition,
    )


def _list_view(transaction: Transaction, row: CrawlerTrapList) -> TrapListView:
    expressions = [trap.expression for trap in _rows(transaction, "list_id", row.id)]
    return TrapListView(**_item(row, len(expressions)).model_dump(), text="\n".join(expressions))
