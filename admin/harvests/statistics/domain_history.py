"""The history of a domain says what each job harvested of the domain, newest first."""

from __future__ import annotations

from typing import Final

from sqlalchemy import Row, ScalarSelect, Select, func, select, tuple_

from admin.csv_text import csv_bytes
from admin.harvests.domains.lookup import find_domain
from admin.harvests.input_checks import count_up_to_limit
from admin.models.domain_tables import Configuration, Domain
from admin.models.errors import NotFound
from admin.models.harvest_tables import Harvest
from admin.models.job_tables import DomainHistory, HarvestJob, StopReason
from admin.models.operation import OutputModel, Page, checked_limit, pair_after
from admin.models.transaction import Right, Transaction
from archive.dates import Micros, iso_date

MOST_CSV_ROWS: Final = 100_000
_CHUNK: Final = 500
type _Columns = tuple[DomainHistory, str, int, str, str | None, str]
_HEAD: Final = (
    *("ended", "harvest", "run", "job", "configuration"),
    *("objects", "bytes", "new_bytes", "known_bytes", "stop_reason"),
)


class DomainHistoryLine(OutputModel):
    """The line says what one job harvested of the domain."""

    job_id: int
    collection: str
    """The job's captures are in this collection."""
    run_name: str | None
    """The name of the job's crawl, which its captures have."""
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
    query = _of_domain(domain.id)
    if harvest:
        number = transaction.session.scalar(select(Harvest.id).where(Harvest.name == harvest))
        if number is None:
            raise NotFound("harvest", harvest)
        query = query.where(DomainHistory.harvest_id == number)
    total = count_up_to_limit(transaction, query.with_only_columns(DomainHistory.id)) if not after else None
    if after:
        query = query.where(tuple_(DomainHistory.ended, DomainHistory.id) < tuple_(*pair_after(after)))
    size = checked_limit(limit)
    rows = transaction.session.execute(
        query.order_by(DomainHistory.ended.desc(), DomainHistory.id.desc()).limit(size + 1)
    ).all()
    items = [_line(row) for row in rows[:size]]
    last = rows[size - 1][0] if len(rows) > size else None
    return Page(items=items, next=f"{last.ended}-{last.id}" if last is not None else None, total=total)


def newest_result(transaction: Transaction, stored_name: str) -> DomainHistoryLine | None:
    """Return what the last job harvested of the domain that is kept under this name; None for no job."""
    transaction.require(Right.READ)
    query = _of_domain(select(Domain.id).where(Domain.name == stored_name).scalar_subquery())
    row = transaction.session.execute(
        query.order_by(DomainHistory.ended.desc(), DomainHistory.id.desc()).limit(1)
    ).first()
    return _line(row) if row is not None else None


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


def _of_domain(domain_id: int | ScalarSelect[int]) -> Select[*_Columns]:
    return (
        select(
            DomainHistory,
            Harvest.name.label("harvest"),
            HarvestJob.run_number,
            HarvestJob.collection,
            HarvestJob.run_name,
            Configuration.name.label("configuration"),
        )
        .join(Harvest, Harvest.id == DomainHistory.harvest_id)
        .join(HarvestJob, HarvestJob.id == DomainHistory.job_id)
        .outerjoin(Configuration, Configuration.id == DomainHistory.configuration_id)
        .where(DomainHistory.domain_id == domain_id)
    )


def _line(row: Row[*_Columns]) -> DomainHistoryLine:
    result: DomainHistory = row[0]
    return DomainHistoryLine(
        job_id=result.job_id,
        collection=row.collection,
        run_name=row.run_name,
        harvest=row.harvest,
        run_number=row.run_number,
        configuration=row.configuration,
        objects=result.objects,
        bytes=result.bytes,
        new_bytes=result.new_bytes,
        known_bytes=max(result.bytes - result.new_bytes, 0),
        stop_reason=StopReason(result.stop_reason),
        ended=result.ended,
    )
