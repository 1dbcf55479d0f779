"""Collections and captures are described, reviewed and put under embargo. Each change leaves an audit entry."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Any, Final

from pydantic import Field
from sqlalchemy import select

from admin.collections.browsing.index import check_collection, index_if_any, index_of
from admin.curation.descriptions.dublin_core import dublin_core_problems, tag_problems, tidy_fields, tidy_tags
from admin.curation.descriptions.rule_files import write_rules
from admin.curation.descriptions.states import check_transition
from admin.harvests.input_checks import differences, note_problem, refuse
from admin.models.curation_tables import CurationDescription, CurationState
from admin.models.errors import InvalidInput, NotFound, Problem
from admin.models.moments import InputMoment
from admin.models.operation import InputModel, OutputModel, Page, numbered_page
from admin.models.transaction import Right, Transaction
from archive.dates import Micros, parse_date
from archive.url import UrlError, canonical, key
from dedupdb.captures.finder import CaptureConditions
from dedupdb.captures.query import KeyRange

_ENTITY: Final = "description"
_SECOND: Final = 1_000_000
_LONGEST_URL: Final = 9_000
_AUDITED: Final = ("state", "reason", "embargo_until", "dublin_core", "tags")


class DescriptionChange(InputModel):
    """The input says what changes about a description; what is left out stays as it is."""

    state: CurationState | None = None
    """The new state, which the present one must allow: draft, in-review, endorsed, approved or rejected."""
    reason: str | None = None
    """The reason for the state; a rejection needs one."""
    embargo_until: InputMoment | None = Field(
        None, description="moment from which readers see the captures, such as 2027-01-15T08:00+01:00"
    )
    lift_embargo: bool = Field(False, description="end the embargo")
    dublin_core: dict[str, tuple[str, ...]] | None = Field(
        None, description="values of Dublin Core fields, by the name of the field; they replace all fields"
    )
    tags: tuple[str, ...] | None = None
    """Tags, which replace the present ones."""
    edition: int | None = None


class DescriptionView(OutputModel):
    """The output describes a collection, or a capture of it."""

    id: int
    collection: str
    url: str
    """The URL of the capture; empty for the collection itself."""
    date: Micros
    """The second of the capture; 0 for the collection itself."""
    state: CurationState
    reason: str
    embargo_until: Micros | None
    dublin_core: dict[str, list[str]]
    tags: list[str]
    changed: Micros
    changed_by: str
    edition: int


def show_description(transaction: Transaction, name: str) -> DescriptionView:
    """Return the description of a collection; a draft without fields when nobody described it. Raises NotFound."""
    transaction.require(Right.READ)
    _check_collection(transaction, name)
    row = _row(transaction, name, "", 0)
    return _view(row if row is not None else _new(transaction, name, "", 0))


def describe_collection(transaction: Transaction, name: str, given: DescriptionChange) -> DescriptionView:
    """Describe a collection, and change its state. Raises InvalidInput, IllegalState and NotFound."""
    transaction.require(Right.CURATE)
    _check_collection(transaction, name)
    return _change(transaction, name, "", 0, given)


def show_capture_description(transaction: Transaction, name: str, *, url: str, timestamp: str) -> DescriptionView:
    """Return the description of a capture; a draft without fields when nobody described it. Raises NotFound."""
    transaction.require(Right.READ)
    address, date = _capture(transaction, name, url, timestamp)
    row = _row(transaction, name, address, date)
    return _view(row if row is not None else _new(transaction, name, address, date))


def describe_capture(
    transaction: Transaction, name: str, given: DescriptionChange, *, url: str, timestamp: str
) -> DescriptionView:
    """Describe the capture of a URL at a second. Raises InvalidInput, IllegalState and NotFound."""
    transaction.require(Right.CURATE)
    address, date = _capture(transaction, name, url, timestamp)
    return _change(transaction, name, address, date, given)


def list_descriptions(
    transaction: Transaction,
    *,
    state: CurationState | None = None,
    collection: str = "",
    tag: str = "",
    after: str | None = None,
    limit: int = 100,
) -> Page[DescriptionView]:
    """Return descriptions of collections and captures by number; a tag is looked for in the page's rows alone."""
    transaction.require(Right.READ)
    query = select(CurationDescription)
    if state is not None:
        query = query.where(CurationDescription.state == state)
    if collection:
        query = query.where(CurationDescription.collection == collection)

    def views(rows: Sequence[CurationDescription]) -> list[DescriptionView]:
        return [_view(each) for each in rows if not tag or tag in each.tags]

    return numbered_page(transaction, query, CurationDescription.id, views, after=after, limit=limit)


def locked_collection(transaction: Transaction, name: str) -> CurationDescription:
    """Return the description of the collection itself, which is made when there is none.

    Nobody else changes the rules of the collection until the transaction ends.
    """
    row = _row(transaction, name, "", 0, lock=True)
    if row is None:
        row = _new(transaction, name, "", 0)
        transaction.session.add(row)
        transaction.session.flush()
    return row


def known_collection(transaction: Transaction, name: str) -> None:
    """Raise NotFound unless the home or the index has the collection."""
    _check_collection(transaction, name)


def _change(transaction: Transaction, name: str, url: str, date: Micros, given: DescriptionChange) -> DescriptionView:
    own = locked_collection(transaction, name)
    row = own if not url else _row(transaction, name, url, date)
    if row is None:
        row = _new(transaction, name, url, date)
        transaction.session.add(row)
        transaction.session.flush()
    shown = f"{name} {url}".strip()
    transaction.check_edition(_ENTITY, shown, row, given.edition)
    refuse(
        [
            note_problem("reason", given.reason or ""),
            *dublin_core_problems(given.dublin_core or {}),
            *tag_problems(given.tags or ()),
            Problem("embargo_until", "the embargo is given and lifted at once; choose one")
            if given.lift_embargo and given.embargo_until is not None
            else None,
        ]
    )
    old = {field: getattr(row, field) for field in _AUDITED}
    if given.state is not None and given.state != row.state:
        check_transition(CurationState(row.state), given.state)
        if given.state is CurationState.REJECTED and not (given.reason or "").strip():
            raise InvalidInput(Problem("reason", "a rejection needs a reason; write one"))
        row.state = given.state
        row.reason = given.reason or ""
    elif given.reason is not None:
        row.reason = given.reason
    if given.embargo_until is not None or given.lift_embargo:
        row.embargo_until = given.embargo_until
    if given.dublin_core is not None:
        row.dublin_core = tidy_fields(given.dublin_core)
    if given.tags is not None:
        row.tags = tidy_tags(given.tags)
    if changed := differences(old, {field: getattr(row, field) for field in _AUDITED}):
        row.changed, row.changed_by = transaction.now, transaction.actor.name
        action = "description.change" if not url else "description.change-capture"
        transaction.audit(action, _ENTITY, row.id, shown, old=_shown(changed[0]), new=_shown(changed[1]))
        write_rules(transaction, name)
    transaction.session.flush()
    return _view(row)


def _shown(values: dict[str, Any]) -> dict[str, Any]:
    return {name: str(value) if name == "state" else value for name, value in values.items()}


def _row(
    transaction: Transaction, name: str, url: str, date: Micros, *, lock: bool = False
) -> CurationDescription | None:
    query = select(CurationDescription).where(
        CurationDescription.collection == name,
        CurationDescription.url_sha256 == _digest(url),
        CurationDescription.date == date,
    )
    return transaction.session.scalars(query.with_for_update() if lock else query).one_or_none()


def _new(transaction: Transaction, name: str, url: str, date: Micros) -> CurationDescription:
    return CurationDescription(
        collection=name,
        url=url,
        url_sha256=_digest(url),
        date=date,
        state=CurationState.DRAFT,
        reason="",
        embargo_until=None,
        dublin_core={},
        tags=[],
        changed=transaction.now,
        changed_by=transaction.actor.name,
        edition=0,
    )


def _digest(url: str) -> str:
    return hashlib.sha256((key(url) if url else "").encode("utf-8", "replace")).hexdigest()


def _check_collection(transaction: Transaction, name: str) -> None:
    with index_if_any(transaction.settings) as index:
        check_collection(transaction.settings, index, name)


def _capture(transaction: Transaction, name: str, url: str, timestamp: str) -> tuple[str, Micros]:
    """Return the canonical URL and the second of a capture that the index has. Raises InvalidInput and NotFound."""
    _check_collection(transaction, name)
    try:
        address = canonical(url.strip()[:_LONGEST_URL])
    except (UrlError, UnicodeError) as error:
        raise InvalidInput(
            Problem("url", f"{url[:200]!a} is no URL ({error}); write such as https://example.org/news/")
        ) from error
    digits = timestamp.strip()
    try:
        if not (digits.isascii() and digits.isdecimal() and len(digits) == 14):
            raise ValueError
        date = parse_date(digits)
    except (ValueError, OverflowError) as error:
        raise InvalidInput(
            Problem("timestamp", f"{digits[:40]!r} is no timestamp; write 14 digits, such as 20260131120000")
        ) from error
    with index_of(transaction.settings, name) as index:
        within = CaptureConditions(since=date, until=date + _SECOND - 1, captures_only=True)
        if not index.finder.find(name, (KeyRange(key(address)),), within, limit=1).captures:
            raise NotFound(f"capture of {address[:200]} in {name}", digits)
    return address, date


def _view(row: CurationDescription) -> DescriptionView:
    values = {field: getattr(row, field) for field in DescriptionView.model_fields if field != "id"}
    return DescriptionView(id=row.id or 0, **values)
