"""The in-tray shows each person the work that waits; entries are assigned, put off and dismissed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from sqlalchemy import select

from admin.curation.tray.entries import ROLES, TrayEntry, TrayKind
from admin.curation.tray.sources import SOURCES
from admin.harvests.input_checks import refuse
from admin.models.curation_tables import TrayAssignment, TrayMark
from admin.models.errors import InvalidInput, NotFound, Problem
from admin.models.operation import InputModel, OutputModel, Page, checked_limit
from admin.models.people_tables import Role, User
from admin.models.plain_text import comparable
from admin.models.transaction import RIGHTS, Right, Transaction
from archive.dates import Micros

_ENTITY: Final = "tray entry"
_DAY: Final = 86_400_000_000
MOST_DAYS: Final = 3_650


class TrayDismissal(InputModel):
    """The input names an entry that a person does not want to see."""

    entry: str
    """Key of the entry."""
    days: int | None = None
    """The entry comes back after this number of days; left out, it does not."""


class TrayAssignmentInput(InputModel):
    """The input gives an entry to a person or to a role; without both, it is everybody's again."""

    entry: str
    """Key of the entry."""
    person: str = ""
    """Name of a user."""
    role: Role | None = None


class TrayEntryView(OutputModel):
    """The output is one piece of work that waits."""

    key: str
    kind: TrayKind
    title: str
    why: str
    link: str
    """The path of the page on which the work is done."""
    since: Micros
    person: str = ""
    """The user to whom the entry was assigned."""
    role: str = ""
    """The role to which the entry was assigned."""


class TrayCount(OutputModel):
    """The output says how many entries wait."""

    entries: int


def list_tray(
    transaction: Transaction,
    *,
    person: str = "",
    kind: TrayKind | None = None,
    after: str | None = None,
    limit: int = 100,
) -> Page[TrayEntryView]:
    """Return the in-tray of the actor; administrators name another user. Raises NotFound and Forbidden."""
    transaction.require(Right.READ)
    size = checked_limit(limit)
    entries = [each for each in _tray(transaction, person) if kind in (None, each.kind)]
    start = 0
    if after is not None:
        place = next((at for at, each in enumerate(entries) if each.key == after), None)
        if place is None:
            raise InvalidInput(Problem("after", f"{after[:80]!r} is in the tray no more; begin at the first page"))
        start = place + 1
    shown = entries[start : start + size]
    following = shown[-1].key if len(entries) > start + size else None
    return Page(items=shown, next=following, total=len(entries))


def count_tray(transaction: Transaction) -> TrayCount:
    """Return how many entries wait for the actor."""
    transaction.require(Right.READ)
    return TrayCount(entries=len(_tray(transaction, "")))


def dismiss_entry(transaction: Transaction, given: TrayDismissal) -> None:
    """Hide an entry from the actor, for some days or for ever. Raises NotFound for an entry that is not there."""
    transaction.require(Right.READ)
    if given.days is not None and not 1 <= given.days <= MOST_DAYS:
        raise InvalidInput(Problem("days", f"{given.days} is no number of days; write 1 to {MOST_DAYS:,}"))
    entry = _found(transaction, given.entry)
    person = _who(transaction, "")[0]
    query = select(TrayMark).where(TrayMark.person == person, TrayMark.entry == entry.key)
    mark = transaction.session.scalars(query).one_or_none()
    if mark is None:
        mark = TrayMark(person=person, entry=entry.key)
        transaction.session.add(mark)
    mark.until = None if given.days is None else transaction.now + given.days * _DAY
    transaction.audit("tray.dismiss", _ENTITY, entry.key, entry.title, new={"until": mark.until})
    transaction.session.flush()


def assign_entry(transaction: Transaction, given: TrayAssignmentInput) -> TrayEntryView:
    """Give an entry to one person, or to everybody with a role. Raises InvalidInput and NotFound."""
    transaction.require(Right.CURATE)
    refuse([Problem("role", "a person and a role are given; choose one") if given.person and given.role else None])
    if given.person:
        _user(transaction, given.person)
    entry = _found(transaction, given.entry, of_everybody=True)
    row = transaction.session.get(TrayAssignment, entry.key)
    old = {"person": row.person, "role": row.role} if row is not None else None
    new = {"person": given.person, "role": str(given.role or "")}
    if row is None:
        row = TrayAssignment(entry=entry.key)
        transaction.session.add(row)
    row.person, row.role = new["person"], new["role"]
    if old != new:
        transaction.audit("tray.assign", _ENTITY, entry.key, entry.title, old=old, new=new)
    transaction.session.flush()
    return _view(entry, row)


def entries_of(
    entries: Iterable[TrayEntry],
    assignments: Mapping[str, TrayAssignment],
    marks: Mapping[str, Micros | None],
    person: str,
    role: Role,
    now: Micros,
) -> Iterator[TrayEntry]:
    """Yield the entries that a person with this role sees now. Pure.

    `marks` has the entries that the person dismissed, and when these come back.
    """
    for each in entries:
        if each.key in marks and ((until := marks[each.key]) is None or now < until):
            continue
        given = assignments.get(each.key)
        if given is not None and given.person:
            is_own = given.person == person
        elif given is not None and given.role:
            is_own = given.role == role
        elif each.person:
            is_own = each.person == person
        else:
            is_own = role in ROLES[each.kind]
        if is_own:
            yield each


def _collected(transaction: Transaction) -> list[TrayEntry]:
    found = [each for source in SOURCES for each in source(transaction)]
    order = list(TrayKind)
    return sorted(found, key=lambda each: (order.index(each.kind), each.since, each.key))


def _tray(transaction: Transaction, person: str) -> list[TrayEntryView]:
    name, role = _who(transaction, person)
    session = transaction.session
    assignments = {each.entry: each for each in session.scalars(select(TrayAssignment))}
    query = select(TrayMark.entry, TrayMark.until).where(TrayMark.person == name)
    marks: dict[str, Micros | None] = dict(session.execute(query).all())
    shown = entries_of(_collected(transaction), assignments, marks, name, role, transaction.now)
    return [_view(each, assignments.get(each.key)) for each in shown]


def _found(transaction: Transaction, key: str, *, of_everybody: bool = False) -> TrayEntry:
    """Return the entry with this key: of the actor's tray, or of all trays."""
    entries = _collected(transaction)
    own = None if of_everybody else {each.key for each in _tray(transaction, "")}
    for each in entries:
        if each.key == key and (own is None or key in own):
            return each
    raise NotFound(_ENTITY, key)


def _who(transaction: Transaction, person: str) -> tuple[str, Role]:
    actor = transaction.actor
    if person:
        if Right.ADMINISTER not in RIGHTS[actor.role]:
            own = transaction.session.get(User, actor.user_id) if actor.user_id is not None else None
            if own is None or own.name != person:
                transaction.require(Right.ADMINISTER)
        user = _user(transaction, person)
        return user.name, Role(user.role)
    user_row = transaction.session.get(User, actor.user_id) if actor.user_id is not None else None
    return (user_row.name if user_row is not None else actor.name), actor.role


def _user(transaction: Transaction, name: str) -> User:
    found = transaction.session.scalars(select(User).where(User.name == comparable(name))).one_or_none()
    if found is None:
        raise NotFound("user", name)
    return found


def _view(entry: TrayEntry, given: TrayAssignment | None) -> TrayEntryView:
    return TrayEntryView(
        key=entry.key,
        kind=entry.kind,
        title=entry.title,
        why=entry.why,
        link=entry.link,
        since=entry.since,
        person=given.person if given is not None else "",
        role=given.role if given is not None else "",
    )
