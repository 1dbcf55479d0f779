"""The domains of a job are listed with what the job got of each, and why each ended there."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Any, Final

from sqlalchemy import ColumnElement, and_, func, or_, select

from admin.csv_text import csv_bytes
from admin.harvests.dispatch.steering import NOT_DONE, Verb
from admin.harvests.input_checks import count_up_to_limit
from admin.models.domain_tables import Domain
from admin.models.errors import InvalidInput, Problem
from admin.models.job_tables import DomainHistory, JobCommand, JobConfiguration, StopReason
from admin.models.operation import MOST_ITEMS, OutputModel, Page, checked_limit
from admin.models.transaction import Right, Transaction


class JobDomain(OutputModel):
    """A job domain describes one domain of a job: why the domain is in the job, and what the job got of it."""

    domain_name: str
    configuration_name: str
    expected_objects: int
    max_bytes: int
    """The limit in force: the planned one, or the one that an operator has set since. -1 stands for no limit."""
    max_objects: int
    planned_max_bytes: int | None = None
    """The limit with which the job was made, when an operator has set another one; None otherwise."""
    planned_max_objects: int | None = None
    reason: str
    objects: int | None = None
    bytes: int | None = None
    new_bytes: int | None = None
    stop_reason: StopReason | None = None


class StopReasonCount(OutputModel):
    """The output says how many domains of a job ended for one reason."""

    stop_reason: StopReason
    domains: int


class DomainOrder(StrEnum):
    """Lists of a job's domains have one of these orders; the largest numbers come first."""

    NAME = "name"
    EXPECTED = "expected"
    OBJECTS = "objects"
    BYTES = "bytes"
    NEW_BYTES = "new_bytes"


_HEAD: Final = (
    *("domain", "configuration", "expected_objects", "max_bytes", "max_objects"),
    *("objects", "bytes", "new_bytes", "stop_reason", "why_in_this_job"),
)
_NUMBERS: Final[Mapping[DomainOrder, ColumnElement[Any]]] = {
    DomainOrder.EXPECTED: JobConfiguration.expected_objects.expression,
    DomainOrder.OBJECTS: func.coalesce(DomainHistory.objects, -1),
    DomainOrder.BYTES: func.coalesce(DomainHistory.bytes, -1),
    DomainOrder.NEW_BYTES: func.coalesce(DomainHistory.new_bytes, -1),
}


def list_job_domains(
    transaction: Transaction,
    job_id: int,
    *,
    order: DomainOrder = DomainOrder.NAME,
    stop_reason: StopReason | None = None,
    after: str | None = None,
    limit: int = 100,
) -> Page[JobDomain]:
    """Return the job's domains, with what the job got of each; `stop_reason` leaves the others out."""
    transaction.require(Right.READ)
    wanted = checked_limit(limit)
    query = (
        select(JobConfiguration, DomainHistory)
        .outerjoin(Domain, Domain.name == JobConfiguration.domain_name)
        .outerjoin(
            DomainHistory, and_(DomainHistory.job_id == JobConfiguration.job_id, DomainHistory.domain_id == Domain.id)
        )
        .where(JobConfiguration.job_id == job_id)
    )
    if stop_reason is not None:
        query = query.where(DomainHistory.stop_reason == stop_reason)
    total = count_up_to_limit(transaction, query.with_only_columns(JobConfiguration.id))
    name = JobConfiguration.domain_name
    number = _NUMBERS.get(order)
    if number is None:
        query = query.where(name > after) if after is not None else query
        query = query.order_by(name)
    else:
        query = query.add_columns(number)
        if after is not None:
            value, last = _mark(after)
            query = query.where(or_(number < value, and_(number == value, name > last)))
        query = query.order_by(number.desc(), name)
    rows = transaction.session.execute(query.limit(wanted + 1)).all()
    shown = rows[:wanted]
    following = None
    if len(rows) > wanted:
        last = shown[-1][0].domain_name
        following = last if number is None else f"{tuple(shown[-1])[-1]} {last}"
    changes = _limits_set(transaction, job_id) if shown else {}
    items = [_in_force(_domain(row[0], row[1]), changes.get(row[0].domain_name, {})) for row in shown]
    return Page[JobDomain](items=items, next=following, total=total)


def job_domains_csv(transaction: Transaction, job_id: int) -> bytes:
    """Return the job's domains as CSV, by name."""
    rows: list[tuple[object, ...]] = []
    after: str | None = None
    while True:
        page = list_job_domains(transaction, job_id, after=after, limit=MOST_ITEMS)
        rows += [
            (
                *(each.domain_name, each.configuration_name, each.expected_objects, each.max_bytes, each.max_objects),
                *(each.objects, each.bytes, each.new_bytes, each.stop_reason and str(each.stop_reason), each.reason),
            )
            for each in page.items
        ]
        if (after := page.next) is None:
            return csv_bytes(_HEAD, rows)


def stop_reasons(transaction: Transaction, job_id: int) -> list[StopReasonCount]:
    """Return how many domains of the job ended for each reason, the most frequent first."""
    transaction.require(Right.READ)
    rows = transaction.session.execute(
        select(DomainHistory.stop_reason, func.count())
        .where(DomainHistory.job_id == job_id)
        .group_by(DomainHistory.stop_reason)
        .order_by(func.count().desc(), DomainHistory.stop_reason)
    )
    return [StopReasonCount(stop_reason=StopReason(reason), domains=count) for reason, count in rows]


def _limits_set(transaction: Transaction, job_id: int) -> dict[str, dict[str, int]]:
    """Return the limits that operators have set for domains of the job, as its harvester carried the commands out."""
    query = (
        select(JobCommand.arguments)
        .where(
            JobCommand.job_id == job_id,
            JobCommand.verb == Verb.SET_DOMAIN_LIMITS,
            JobCommand.done.is_not(None),
            JobCommand.outcome.not_like(f"{NOT_DONE}%"),
        )
        .order_by(JobCommand.id)
    )
    found: dict[str, dict[str, int]] = {}
    for arguments in transaction.session.scalars(query):
        limits = {name: -1 if most is None else int(most) for name, most in arguments["limits"].items()}
        found.setdefault(arguments["domain"], {}).update(limits)
    return found


def _in_force(domain: JobDomain, changes: Mapping[str, int]) -> JobDomain:
    """Return the domain with the limits that were set in place of the planned ones."""
    planned = {"max_objects": domain.max_objects, "max_bytes": domain.max_bytes}
    present = {f"max_{name}": most for name, most in changes.items() if f"max_{name}" in planned}
    changed = {name: most for name, most in present.items() if most != planned[name]}
    return domain.model_copy(update={**changed, **{f"planned_{name}": planned[name] for name in changed}})


def _mark(after: str) -> tuple[int, str]:
    value, _, name = after.partition(" ")
    if not value.lstrip("-").isdecimal() or not value.isascii() or len(value) > 18:
        raise InvalidInput(Problem("after", f"{after[:100]!r} is no place in the list; use the `next` of a page"))
    return int(value), name


def _domain(row: JobConfiguration, result: DomainHistory | None) -> JobDomain:
    found = JobDomain.model_validate(row)
    if result is None:
        return found
    return found.model_copy(
        update={
            "objects": result.objects,
            "bytes": result.bytes,
            "new_bytes": result.new_bytes,
            "stop_reason": StopReason(result.stop_reason),
        }
    )
