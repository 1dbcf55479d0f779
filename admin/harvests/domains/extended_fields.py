"""An installation adds fields of its own to domains and to harvests, as extended fields.

Values are kept as text: numbers in decimal, dates as 2027-01-31, yes or no. Jobs keep the values of fields that say so.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from datetime import date
from itertools import batched
from typing import Final

from pydantic import Field
from sqlalchemy import delete, func, select
from sqlalchemy.orm import Session

from admin.harvests.domains.names import shortened
from admin.harvests.input_checks import differences, name_problem, note_problem, refuse
from admin.models.domain_tables import Domain, ExtendedField, ExtendedValue, FieldKind
from admin.models.errors import IllegalState, InvalidInput, NotFound, Problem
from admin.models.operation import InputModel, OutputModel, Page
from admin.models.transaction import Right, Transaction

ENTITIES: Final = ("domain", "harvest")
MOST_FIELDS: Final = 200
MOST_CHOICES: Final = 1_000
_LONGEST_TEXT: Final = 1_000
_TOGETHER: Final = 500
"""Domains that one query asks for."""
_NUMBER: Final = re.compile(r"[+-]?\d{1,30}(\.\d{1,30})?")
_YES: Final = frozenset(("yes", "true", "on", "1"))
_NO: Final = frozenset(("no", "false", "off", "0"))
_AUDITED: Final = ("name", "kind", "choices", "default", "is_mandatory", "is_kept_with_jobs", "position")


class FieldCreation(InputModel):
    """The input has a new extended field."""

    entity: str = Field(description="domain or harvest")
    name: str
    kind: FieldKind
    choices: tuple[str, ...] = Field((), description="the values of a field of the kind choice")
    default: str = ""
    is_mandatory: bool = False
    is_kept_with_jobs: bool = False
    position: int = Field(0, ge=0, le=10_000)


class FieldChange(InputModel):
    """The input says what changes about an extended field; what is left out stays as it is."""

    name: str | None = None
    kind: FieldKind | None = None
    choices: tuple[str, ...] | None = None
    default: str | None = None
    is_mandatory: bool | None = None
    is_kept_with_jobs: bool | None = None
    position: int | None = Field(None, ge=0, le=10_000)
    edition: int | None = None


class FieldView(OutputModel):
    """The output has an extended field."""

    id: int
    entity: str
    name: str
    kind: FieldKind
    choices: list[str]
    default: str
    is_mandatory: bool
    is_kept_with_jobs: bool
    position: int
    edition: int


def kept_value(kind: FieldKind, choices: Sequence[str], text: str) -> str:
    """Return a value in the one spelling in which it is kept. Raises ValueError, which names value and remedy.

    An empty text is no value, for every kind.
    """
    if kind is FieldKind.NOTE:
        if problem := note_problem("", text):
            raise ValueError(problem.message)
        return text
    bare = text.strip()
    if not bare:
        return ""
    if len(bare) > _LONGEST_TEXT:
        raise ValueError(f"the value has {len(bare)} characters; write at most {_LONGEST_TEXT}")
    match kind:
        case FieldKind.NUMBER:
            if not (bare.isascii() and _NUMBER.fullmatch(bare)):
                raise ValueError(f"{shortened(bare)} is no number; write digits, such as 12 or 0.5")
        case FieldKind.YES_NO:
            if bare.lower() not in _YES | _NO:
                raise ValueError(f"{shortened(bare)} is neither yes nor no; write one of them")
            return "yes" if bare.lower() in _YES else "no"
        case FieldKind.DATE:
            try:
                return date.fromisoformat(bare).isoformat()
            except ValueError:
                raise ValueError(f"{shortened(bare)} is no date; write it as 2027-01-31") from None
        case FieldKind.CHOICE:
            if bare not in choices:
                raise ValueError(f"{shortened(bare)} is no choice; take one of {', '.join(choices[:20])}")
        case _:
            if not bare.isprintable():
                raise ValueError(f"{shortened(bare)} has a control character; write plain text on one line")
    return bare


def create_field(transaction: Transaction, given: FieldCreation) -> FieldView:
    """Add an extended field. Raises InvalidInput."""
    transaction.require(Right.ADMINISTER)
    known = transaction.session.scalars(select(ExtendedField.name).where(ExtendedField.entity == given.entity)).all()
    if given.entity not in ENTITIES:
        raise InvalidInput(Problem("entity", f"{shortened(given.entity)} is no entity; write domain or harvest"))
    if len(known) >= MOST_FIELDS:
        raise IllegalState(f"there are {len(known)} extended fields of {given.entity}s; delete one first")
    values = given.model_dump()
    values["default"] = _checked(values, known)
    row = ExtendedField(**{**values, "choices": list(given.choices)})
    transaction.session.add(row)
    transaction.session.flush()
    new = {key: _plain(getattr(row, key)) for key in _AUDITED}
    transaction.audit("extended-field.create", "extended field", row.id, row.name, new={"entity": row.entity, **new})
    return _view(row)


def change_field(transaction: Transaction, field_id: int, given: FieldChange) -> FieldView:
    """Change an extended field. Raises IllegalState when a value that is kept would not fit any more."""
    transaction.require(Right.ADMINISTER)
    session = transaction.session
    row = _find(transaction, field_id)
    transaction.check_edition("extended field", row.name, row, given.edition)
    old = {key: _plain(getattr(row, key)) for key in _AUDITED}
    values = {**old, **given.model_dump(exclude={"edition"}, exclude_none=True)}
    values["kind"], values["choices"] = FieldKind(values["kind"]), list(values["choices"])
    others = select(ExtendedField.name).where(ExtendedField.entity == row.entity, ExtendedField.id != row.id)
    values["default"] = _checked(values, session.scalars(others).all(), row.name)
    if (values["kind"], values["choices"]) != (old["kind"], old["choices"]):
        _check_values(transaction, row, values["kind"], values["choices"])
    for key in _AUDITED:
        setattr(row, key, values[key])
    if changed := differences(old, {key: _plain(values[key]) for key in _AUDITED}):
        transaction.audit("extended-field.change", "extended field", row.id, row.name, old=changed[0], new=changed[1])
    session.flush()
    return _view(row)


def delete_field(transaction: Transaction, field_id: int, *, also_values: bool = False) -> None:
    """Delete an extended field. Raises IllegalState when it has values, unless these are to be deleted too."""
    transaction.require(Right.ADMINISTER)
    row = _find(transaction, field_id)
    used = _count_values(transaction, row)
    if used and not also_values:
        raise IllegalState(
            f"the field {row.name!r} has values of {used} {row.entity}s; confirm that these are deleted too"
        )
    transaction.session.execute(delete(ExtendedValue).where(ExtendedValue.field_id == row.id))
    transaction.session.delete(row)
    transaction.audit(
        "extended-field.delete",
        "extended field",
        row.id,
        row.name,
        old={"entity": row.entity, "kind": row.kind, "values": used},
    )


def show_field(transaction: Transaction, field_id: int) -> FieldView:
    """Return one extended field. Raises NotFound."""
    transaction.require(Right.READ)
    return _view(_find(transaction, field_id))


def list_fields(transaction: Transaction, *, entity: str = "") -> Page[FieldView]:
    """List the extended fields, in the order in which forms show them."""
    transaction.require(Right.READ)
    rows = _fields(transaction.session, entity)
    return Page(items=[_view(row) for row in rows], total=len(rows))


def set_values(transaction: Transaction, entity: str, entity_id: int, given: Mapping[str, str]) -> None:
    """Set values of a domain or harvest, without an audit entry; `values_of` before and after gives its values.

    Fields that are not named keep their values; an empty value takes a value away. Raises InvalidInput for a field
    that is not known, a value that does not fit, and a mandatory field that is left without a value.
    """
    session = transaction.session
    fields = {row.name: row for row in _fields(transaction.session, entity)}
    query = select(ExtendedValue).where(
        ExtendedValue.entity_id == entity_id, ExtendedValue.field_id.in_([row.id for row in fields.values()])
    )
    present = {row.field_id: row for row in session.scalars(query)}
    problems: list[Problem] = []
    for name, text in given.items():
        field = fields.get(name)
        if field is None:
            problems.append(Problem("extended", f"there is no extended field {shortened(name)} of {entity}s"))
            continue
        try:
            value = kept_value(FieldKind(field.kind), field.choices, text)
        except ValueError as error:
            problems.append(Problem(f"extended.{name}", str(error)))
            continue
        if field.id in present and value:
            present[field.id].value = value
        elif field.id in present:
            session.delete(present.pop(field.id))
        elif value:
            row = present[field.id] = ExtendedValue(field_id=field.id, entity_id=entity_id, value=value)
            session.add(row)
    failed = {problem.field for problem in problems}
    problems += [
        Problem(f"extended.{name}", f"the field {name!r} is mandatory; write a value")
        for name, field in fields.items()
        if field.is_mandatory and not field.default and field.id not in present and f"extended.{name}" not in failed
    ]
    refuse(problems)
    session.flush()


def values_of(transaction: Transaction, entity: str, entity_id: int) -> dict[str, str]:
    """Return the values of a domain or harvest by the field's name; a field without a value has its default."""
    return _values(transaction.session, _fields(transaction.session, entity), [entity_id]).get(entity_id, {})


def values_for_jobs(session: Session, entity: str, entity_ids: Iterable[int]) -> dict[int, dict[str, str]]:
    """Return what a job keeps of its domains or its harvest: values by the entity's number, then by field.

    Empty values are left out.
    """
    fields = [row for row in _fields(session, entity) if row.is_kept_with_jobs]
    found = _values(session, fields, list(entity_ids)) if fields else {}
    return {number: {name: text for name, text in values.items() if text} for number, values in found.items()}


def domain_values_for_jobs(session: Session, names: Sequence[str]) -> dict[str, dict[str, str]]:
    """Return what jobs keep of these domains: values by the domain's name, then by field. Empty values are left out."""
    kept = select(ExtendedField.id).where(ExtendedField.entity == "domain", ExtendedField.is_kept_with_jobs.is_(True))
    if session.scalar(kept.limit(1)) is None:
        return {}
    found: dict[str, dict[str, str]] = {}
    for part in batched(names, _TOGETHER):
        numbers = {
            row.id: row.name for row in session.execute(select(Domain.id, Domain.name).where(Domain.name.in_(part)))
        }
        values = values_for_jobs(session, "domain", numbers)
        found |= {numbers[number]: fields for number, fields in values.items() if fields}
    return found


def delete_values(transaction: Transaction, entity: str, entity_id: int) -> None:
    """Delete the values of a domain or harvest that is itself deleted."""
    numbers = select(ExtendedField.id).where(ExtendedField.entity == entity)
    transaction.session.execute(
        delete(ExtendedValue).where(ExtendedValue.entity_id == entity_id, ExtendedValue.field_id.in_(numbers))
    )


def _values(session: Session, fields: Sequence[ExtendedField], entity_ids: Sequence[int]) -> dict[int, dict[str, str]]:
    found = {number: {row.name: row.default for row in fields} for number in entity_ids}
    names = {row.id: row.name for row in fields}
    if not names:
        return found
    query = select(ExtendedValue).where(
        ExtendedValue.field_id.in_(list(names)), ExtendedValue.entity_id.in_(list(entity_ids))
    )
    for value in session.scalars(query):
        found[value.entity_id][names[value.field_id]] = value.value
    return found


def _fields(session: Session, entity: str) -> Sequence[ExtendedField]:
    query = select(ExtendedField).order_by(ExtendedField.entity, ExtendedField.position, ExtendedField.name)
    return session.scalars(query.where(ExtendedField.entity == entity) if entity else query).all()


def _find(transaction: Transaction, field_id: int) -> ExtendedField:
    row = transaction.session.get(ExtendedField, field_id, with_for_update=True)
    if row is None:
        raise NotFound("extended field", field_id)
    return row


def _checked(values: Mapping[str, object], known: Sequence[str], present: str | None = None) -> str:
    """Return the default as it is kept. Raises InvalidInput for everything that is wrong with the field."""
    name, kind, choices = str(values["name"]), values["kind"], values["choices"]
    assert isinstance(kind, FieldKind)
    assert isinstance(choices, Sequence)
    problems = [name_problem("name", name, present), *_choice_problems(kind, choices)]
    if name in known:
        problems.append(Problem("name", f"there is an extended field {name!r} already; write another name"))
    default = ""
    if not any(problem is not None and problem.field == "choices" for problem in problems):
        try:
            default = kept_value(kind, choices, str(values["default"]))
        except ValueError as error:
            problems.append(Problem("default", str(error)))
    refuse(problems)
    return default


def _choice_problems(kind: FieldKind, choices: Sequence[str]) -> list[Problem]:
    if kind is not FieldKind.CHOICE:
        return [Problem("choices", f"a field of the kind {kind} has no choices; leave them out")] if choices else []
    if not choices:
        return [Problem("choices", "a field of the kind choice needs choices; write at least one")]
    if len(choices) > MOST_CHOICES:
        return [Problem("choices", f"there are {len(choices)} choices; write at most {MOST_CHOICES}")]
    if len(set(choices)) < len(choices):
        return [Problem("choices", "a choice is written twice; leave one out")]
    wrong = [each for each in choices if not each.strip() or each != each.strip() or not each.isprintable()]
    wrong += [each for each in choices if len(each) > _LONGEST_TEXT]
    return [Problem("choices", f"{shortened(each)} can't be a choice; write one line of text") for each in wrong]


def _check_values(transaction: Transaction, row: ExtendedField, kind: FieldKind, choices: Sequence[str]) -> None:
    """Raise IllegalState when a value that is kept is none of the new kind."""
    query = select(ExtendedValue.value).where(ExtendedValue.field_id == row.id).distinct()
    with transaction.session.execute(query.execution_options(yield_per=1_000)) as rows:
        for value in rows.scalars():
            if not _fits(kind, choices, value):
                raise IllegalState(
                    f"the field {row.name!r} has the value {shortened(value)}, which does not fit the new form;"
                    " change the values first"
                )


def _fits(kind: FieldKind, choices: Sequence[str], value: str) -> bool:
    try:
        return kept_value(kind, choices, value) == value
    except ValueError:
        return False


def _count_values(transaction: Transaction, row: ExtendedField) -> int:
    query = select(func.count()).select_from(ExtendedValue).where(ExtendedValue.field_id == row.id)
    return transaction.session.scalar(query) or 0


def _plain(value: object) -> object:
    return list(value) if isinstance(value, tuple) else value


def _view(row: ExtendedField) -> FieldView:
    return FieldView.model_validate(row)
