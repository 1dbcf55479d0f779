"""Permissions and licences of sites are noted, changed, listed and shown with their history."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Final

from pydantic import Field
from sqlalchemy import select

from admin.curation.permissions.licence_file import lock_licences, write_licences
from admin.harvests.domains.names import DomainNameError, stored_name
from admin.harvests.input_checks import checked_key, contains, count_up_to_limit, differences, note_problem, refuse
from admin.harvests.permission_book import PermissionStanding, standing_of
from admin.models.curation_tables import PermissionEvent, PermissionState, SitePermission
from admin.models.errors import InvalidInput, NotFound, Problem
from admin.models.moments import InputMoment
from admin.models.operation import InputModel, OutputModel, Page, checked_limit
from admin.models.transaction import Right, Transaction
from archive.dates import Micros
from archive.loose_key import loose_key
from archive.url import UrlError, canonical

ENTITY: Final = "permission"
_LONGEST_SITE: Final = 1_000
_LONGEST_FIELD: Final = 2_000
_TEXTS: Final = ("contact", "email", "licence", "licence_url", "notes")
_FIELDS: Final = ("state", "granted_until", *_TEXTS)
_EMAIL: Final = re.compile(r"[^@\s]{1,64}@[^@\s]{1,255}")


class PermissionCreation(InputModel):
    """The input names a site whose owner is asked, or has answered."""

    site: str
    """A domain such as example.org, or the beginning of URLs such as https://example.org/news/."""
    state: PermissionState = PermissionState.ASKED
    granted_until: InputMoment | None = Field(None, description="moment at which a granted permission ends")
    contact: str = ""
    """Name and address of the owner."""
    email: str = ""
    """E-mail address of the owner."""
    licence: str = ""
    """Name of the licence, such as CC BY 4.0."""
    licence_url: str = ""
    """Address of the licence."""
    notes: str = ""


class PermissionChange(InputModel):
    """The input says what changes about a permission; what is left out stays as it is."""

    state: PermissionState | None = None
    granted_until: InputMoment | None = Field(None, description="moment at which a granted permission ends")
    is_endless: bool = Field(False, description="the permission has no end")
    contact: str | None = None
    email: str | None = None
    licence: str | None = None
    licence_url: str | None = None
    notes: str | None = None
    note: str = ""
    """A note about this change, for the history."""
    edition: int | None = None


class PermissionView(OutputModel):
    """The output has the permission of a site."""

    id: int
    site: str
    state: PermissionState
    standing: PermissionStanding
    """The state as it is now: a permission that was granted may have expired."""
    granted_until: Micros | None
    contact: str
    email: str
    licence: str
    licence_url: str
    notes: str
    asked: Micros | None
    changed: Micros
    edition: int


class PermissionEventView(OutputModel):
    """The output is one step in the history of a permission."""

    id: int
    at: Micros
    actor: str
    what: str
    """A state, letter-written or letter-sent."""
    note: str


def create_permission(transaction: Transaction, given: PermissionCreation) -> PermissionView:
    """Note the permission of a site. Raises InvalidInput."""
    transaction.require(Right.CURATE)
    refuse(_problems(given.model_dump()))
    site, prefix = site_of(given.site)
    lock_licences(transaction)
    session = transaction.session
    if session.scalar(select(SitePermission.id).where(SitePermission.prefix == prefix)) is not None:
        raise InvalidInput(Problem("site", f"{site!r} has a permission already; change that one"))
    values = given.model_dump(exclude={"site"})
    row = SitePermission(site=site, prefix=prefix, **values, asked=None, changed=transaction.now, edition=1)
    row.events = [_event(transaction, str(given.state), "")]
    session.add(row)
    session.flush()
    audited = {name: value for name, value in values.items() if value not in ("", None)}
    transaction.audit("permission.create", ENTITY, row.id, site, new={**audited, "state": str(given.state)})
    write_licences(transaction)
    return view(transaction, row)


def change_permission(transaction: Transaction, id: int, given: PermissionChange) -> PermissionView:
    """Change the permission of a site; its history keeps each state. Raises InvalidInput and NotFound."""
    transaction.require(Right.CURATE)
    lock_licences(transaction)
    row = find(transaction, id)
    transaction.check_edition(ENTITY, row.site, row, given.edition)
    old = {field: getattr(row, field) for field in _FIELDS}
    changes = given.model_dump(include=set(_FIELDS), exclude_none=True)
    if given.is_endless:
        changes["granted_until"] = None
    refuse([*_problems({**old, **changes}), note_problem("note", given.note, _LONGEST_FIELD)])
    for field, value in changes.items():
        setattr(row, field, value)
    changed = differences(old, {field: getattr(row, field) for field in _FIELDS})
    if changed is None and not given.note:
        return view(transaction, row)
    row.changed = transaction.now
    row.events.append(_event(transaction, str(PermissionState(row.state)), given.note))
    values = [
        {name: str(value) if name == "state" else value for name, value in each.items()} for each in changed or ()
    ]
    transaction.audit(
        "permission.change",
        ENTITY,
        row.id,
        row.site,
        old=values[0] if values else None,
        new=values[1] if values else None,
    )
    write_licences(transaction)
    return view(transaction, row)


def remove_permission(transaction: Transaction, id: int) -> None:
    """Remove the permission of a site with its history, such as one that was noted for a wrong site."""
    transaction.require(Right.CURATE)
    lock_licences(transaction)
    row = find(transaction, id)
    old = {"state": str(PermissionState(row.state)), "granted_until": row.granted_until, "licence": row.licence}
    transaction.audit("permission.remove", ENTITY, row.id, row.site, old=old)
    transaction.session.delete(row)
    write_licences(transaction)


def show_permission(transaction: Transaction, id: int) -> PermissionView:
    """Return a permission. Raises NotFound."""
    transaction.require(Right.READ)
    return view(transaction, find(transaction, id))


def list_permissions(
    transaction: Transaction,
    *,
    search: str = "",
    state: PermissionState | None = None,
    after: str | None = None,
    limit: int = 100,
) -> Page[PermissionView]:
    """Return permissions by site; `search` is a part of the site."""
    transaction.require(Right.READ)
    size = checked_limit(limit)
    checked_key("search", search)
    query = select(SitePermission)
    if search:
        query = query.where(contains(SitePermission.site, search))
    if state is not None:
        query = query.where(SitePermission.state == state)
    found = query.where(SitePermission.site > after) if checked_key("after", after) is not None else query
    rows = transaction.session.scalars(found.order_by(SitePermission.site).limit(size + 1)).all()
    items = [view(transaction, each) for each in rows[:size]]
    following = items[-1].site if len(rows) > size else None
    return Page(items=items, next=following, total=count_up_to_limit(transaction, query))


def list_events(transaction: Transaction, id: int) -> Page[PermissionEventView]:
    """Return the history of a permission, the newest step first. Raises NotFound."""
    transaction.require(Right.READ)
    row = find(transaction, id)
    return Page(items=[PermissionEventView.model_validate(each) for each in reversed(row.events[-1_000:])])


def find(transaction: Transaction, id: int) -> SitePermission:
    """Return the permission of this number. Raises NotFound."""
    row = transaction.session.get(SitePermission, id) if 0 < id < 2**63 else None
    if row is None:
        raise NotFound("permission", id)
    return row


def view(transaction: Transaction, row: SitePermission) -> PermissionView:
    """Return the permission as people see it now."""
    standing = standing_of(PermissionState(row.state), row.granted_until, transaction.now)
    values = {field: getattr(row, field) for field in PermissionView.model_fields if field != "standing"}
    return PermissionView(**values, standing=standing)


def note_event(transaction: Transaction, row: SitePermission, what: str, note: str) -> None:
    """Add a step to the history of a permission."""
    row.events.append(_event(transaction, what, note))


def site_of(text: str) -> tuple[str, str]:
    """Return a site as it is kept, and the beginning of the loose keys of its URLs. Raises InvalidInput. Pure."""
    bare = text.strip()
    if not bare.isprintable() or " " in bare or len(bare) > _LONGEST_SITE:
        raise InvalidInput(Problem("site", f"{bare[:80]!a} is no site; write example.org or https://example.org/news/"))
    try:
        if "/" not in bare and ":" not in bare:
            name = stored_name(bare.removeprefix("*."))
            return name, loose_key(f"http://{name}/").partition(")")[0]
        address = canonical(bare if "://" in bare else f"http://{bare}")
    except (DomainNameError, UrlError, UnicodeError) as error:
        raise InvalidInput(
            Problem("site", f"{bare[:80]!a} is no site ({error}); write example.org or https://example.org/news/")
        ) from error
    return address, loose_key(address)


def _problems(values: dict[str, Any]) -> Iterator[Problem | None]:
    for name in _TEXTS:
        yield note_problem(name, values[name], _LONGEST_FIELD)
    if values["email"] and not _EMAIL.fullmatch(values["email"]):
        yield Problem("email", f"{values['email'][:80]!r} is no e-mail address; write such as owner@example.org")
    url = values["licence_url"]
    if url and not url.startswith(("http://", "https://")):
        yield Problem("licence_url", f"{url[:80]!r} is no address; write such as https://creativecommons.org/licenses/")
    if values["granted_until"] is not None and not 0 <= values["granted_until"] < 2**62:
        yield Problem("granted_until", "this is no moment; write such as 2027-01-15T08:00+01:00")


def _event(transaction: Transaction, what: str, note: str) -> PermissionEvent:
    return PermissionEvent(at=transaction.now, actor=transaction.actor.name, what=what, note=note)
