"""The history of a domain says what each job harvested of the domain, newest first."""

from __future__ import annotations

from typing import Final

from sqlalchemy import func, select, tuple_

from admin.harvests.csv_text import csv_bytes
from admin.harvests.domains.lookup import find_domain
from admin.harvests.input_checks import checked_limit, count_up_to_limit
from admin.models.domain_tables import Configuration
from admin.models.errors import InvalidInput, NotFound, Problem
from admin.models.harvest_tables import Harvest
from admin.models.job_tables import DomainHistory, HarvestJob, StopReason
from admin.models.operation import OutputModel, Page
from admin.models.transaction import Right, Transaction
from archive.dates import Micros, iso_date

MOST_CSV_ROWS: Final = 100_000
_CHUNK: Final = 500
_HEAD: Final = (
    *("ended", "harvest", "run", "job", "configuration"),
    *("objects", "bytes", "new_bytes", "known_bytes", "stop_reason"),
)


class DomainHistoryLine(OutputModel):
    """The line says what one job harvested of the domain."""

    job_id: int
    harvest: str
    run_number: int
    configuration: str | None
    """None when the configuration was deleted."""
    objects: int
    bytes: int
    new_bytes: int
    known_bytes: int
    """Bytes that the collection had already."""
    stop_reason: StopReason
    ended: Micros


class DomainTotals(OutputModel):
    """The output says what all jobs together harvested of the domain."""

    jobs: int
    objects: int
    bytes: int
    new_bytes: int
    first_ended: Micros | None
    last_ended: Micros | None


def domain_history(
    transaction: Transaction, name: str, *, harvest: str = "", after: str = "", limit: int = 100
) -> Page[DomainHistoryLine]:
    """Return what each job harvested of the domain, newest first; `harvest` leaves other harvests out.

    Raises NotFound, InvalidInput.
    """
    transaction.require(Right.READ)
    domain = find_domain(transaction, name)
    query = (
        select(DomainHistory, Harvest.name, HarvestJob.run_number, Configuration.name)
        .join(Harvest, Harvest.id == DomainHistory.harvest_id)
        .join(HarvestJob, HarvestJob.id == DomainHistory.job_id)
        .outerjoin(Configuration, Configuration.id == DomainHistory.configuration_id)
        .where(DomainHistory.domain_id == domain.id)
    )
    if harvest:
        number = transaction.session.scalar(select(Harvest.id).where(Harvest.name == harvest))
        if number is None:
            raise NotFound("harvest", harvest)
        query = query.where(DomainHistory.harvest_id == number)
    total = count_up_to_limit(transaction, query.with_only_columns(DomainHistory.id)) if not after else None
    if after:
        query = query.where(tuple_(DomainHistory.ended, DomainHistory.id) < tuple_(*_mark(after)))
    size = checked_limit(limit)
    rows = transaction.session.execute(
        query.order_by(DomainHistory.ended.desc(), DomainHistory.id.desc()).limit(size + 1)
    ).all()
    items = [
        DomainHistoryLine(
            job_id=row.job_id,
            harvest=harvest_name,
            run_number=run,
            configuration=configuration,
            objects=row.objects,
            bytes=row.bytes,
            new_bytes=row.new_bytes,
            known_bytes=max(row.bytes - row.new_bytes, 0),
            stop_reason=StopReason(row.stop_reason),
            ended=row.ended,
        )
        for row, harvest_name, run, configuration in rows[:size]
    ]
    last = rows[size - 1][0] if len(rows) > size else None
    return Page(items=items, next=f"{last.ended}-{last.id}" if last is not None else None, total=total)


def domain_totals(transaction: Transaction, name: str) -> DomainTotals:
    """Return what all jobs together harvested of the domain. Raises NotFound."""
    transaction.require(Right.READ)
    domain = find_domain(transaction, name)
    jobs, objects, size, new, first, last = transaction.session.execute(
        select(
            func.count(DomainHistory.id),
            func.sum(DomainHistory.objects),
            func.sum(DomainHistory.bytes),
            func.sum(DomainHistory.new_bytes),
            func.min(DomainHistory.ended),
            func.max(DomainHistory.ended),
        ).where(DomainHistory.domain_id == domain.id)
    ).one()
    return DomainTotals(
        jobs=jobs,
        objects=int(objects or 0),
        bytes=int(size or 0),
        new_bytes=int(new or 0),
        first_ended=first,
        last_ended=last,
    )


def domain_history_csv(transaction: Transaction, name: str, *, harvest: str = "") -> bytes:
    """Return the history of the domain as CSV, newest first, at most 100,000 lines. Raises NotFound."""
    rows: list[tuple[object, ...]] = []
    after: str | None = ""
    while after is not None and len(rows) < MOST_CSV_ROWS:
        page = domain_history(transaction, name, harvest=harvest, after=after, limit=_CHUNK)
        rows += [
            (
                *(iso_date(each.ended), each.harvest, each.run_number, each.job_id, each.configuration or ""),
                *(each.objects, each.bytes, each.new_bytes, each.known_bytes, str(each.stop_reason)),
            )
            for each in page.items
        ]
        after = page.next
    return csv_bytes(_HEAD, rows)


def _mark(after: str) -> tuple[int, int]:
    ended, dash, number = after.partition("-")
    if not (dash and ended.isascii() and number.isascii() and ended.isdecimal() and number.isdecimal()):
        raise InvalidInput(Problem("after", f"{after[:100]!r} is no place in the history; use the `next` of a page"))
    return int(ended[:18]), int(number[:18])
