"""The sources of the in-tray each find entries of one kind. `SOURCES` is the one list of them.

A source is a function of a transaction that yields entries, at most `MOST_OF_SOURCE`, with keys that stay the same as
long as the work is the same. A source reads a bounded number of rows, since each person's count asks for all of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import batched
from typing import Final
from urllib.parse import quote, urlencode

from sqlalchemy import func, not_, select

from admin.curation.tray.entries import MOST_OF_SOURCE, TrayEntry, TrayKind
from admin.curation.tray.qa_sources import assigned_pages, damaged_pages, pages_to_repair
from admin.harvests.dispatch.steering import was_cancelled
from admin.harvests.permission_book import PermissionBook, PermissionStanding, read_book
from admin.models.curation_tables import CurationDescription, CurationState, PermissionState, SitePermission
from admin.models.domain_tables import Configuration, Domain
from admin.models.harvest_tables import HARVEST_CONFIGURATIONS, Harvest, HarvestKind
from admin.models.job_tables import DomainHistory, HarvestJob, JobStatus, StopReason
from admin.models.transaction import Transaction
from archive.dates import Micros, iso_date, timestamp14
from archive.loose_key import loose_key

_JOBS: Final = 200
_RESULTS: Final = 5_000
_TOGETHER: Final = 500
_CANDIDATES: Final = 5_000
_DAY: Final = 86_400_000_000


type Source = Callable[[Transaction], Iterable[TrayEntry]]


def to_review(transaction: Transaction) -> Iterator[TrayEntry]:
    """Yield collections and captures whose description is in review."""
    query = (
        select(CurationDescription)
        .where(CurationDescription.state == CurationState.IN_REVIEW)
        .order_by(CurationDescription.id)
        .limit(MOST_OF_SOURCE)
    )
    for row in transaction.session.scalars(query):
        page = f"/collections/{quote(row.collection)}/description"
        if row.url:
            page += f"/capture?{urlencode({'url': row.url, 'timestamp': timestamp14(row.date)})}"
        title = row.url or row.collection
        why = f"{row.changed_by} asks for a review"
        yield TrayEntry(f"review:{row.id}", TrayKind.TO_REVIEW, title, why, page, row.changed)


def licence_ends(transaction: Transaction) -> Iterator[TrayEntry]:
    """Yield permissions that end soon."""
    ends = transaction.now + transaction.settings.curation.licence_warning_days * _DAY
    query = (
        select(SitePermission)
        .where(
            SitePermission.state == PermissionState.GRANTED,
            SitePermission.granted_until > transaction.now,
            SitePermission.granted_until <= ends,
        )
        .order_by(SitePermission.granted_until)
        .limit(MOST_OF_SOURCE)
    )
    for row in transaction.session.scalars(query):
        until = row.granted_until or 0
        why = f"the permission ends on {iso_date(until)[:10]}"
        key = f"licence-ends:{row.id}:{until}"
        yield TrayEntry(key, TrayKind.LICENCE_ENDS, row.site, why, f"/permissions/{row.id}", until)


def to_ask(transaction: Transaction) -> Iterator[TrayEntry]:
    """Yield domains of active harvests that need a permission for which nobody has asked."""
    rules = ["only-granted"]
    if transaction.settings.curation.harvest_permission == "only-granted":
        rules.append("")
    query = (
        select(Domain.name, func.min(Harvest.name), func.min(Domain.created))
        .join(Configuration, Configuration.domain_id == Domain.id)
        .join(HARVEST_CONFIGURATIONS, HARVEST_CONFIGURATIONS.c.configuration_id == Configuration.id)
        .join(Harvest, Harvest.id == HARVEST_CONFIGURATIONS.c.harvest_id)
        .where(Harvest.is_active, Harvest.kind == HarvestKind.SELECTIVE, Harvest.permission.in_(rules))
        .group_by(Domain.name)
        .order_by(Domain.name)
        .limit(_CANDIDATES)
    )
    book: PermissionBook | None = None
    found = 0
    for name, harvest, created in transaction.session.execute(query).all():
        book = book or read_book(transaction.session, "only-granted", transaction.now)
        if found == MOST_OF_SOURCE:
            return
        if book.standing(loose_key(f"http://{name}/")) is PermissionStanding.NONE:
            found += 1
            page = f"/permissions/new?{urlencode({'site': name})}"
            why = f"the harvest {harvest} needs a permission"
            yield TrayEntry(f"ask:{name}", TrayKind.TO_ASK, name, why, page, created)


def changed_sites(transaction: Transaction) -> Iterator[TrayEntry]:
    """Yield domains whose last job had no good answer, or fetched much less than the job before."""
    since = transaction.now - transaction.settings.curation.tray_days * _DAY
    newest = (
        select(HarvestJob.id)
        .where(HarvestJob.status.in_((JobStatus.DONE, JobStatus.FAILED)))
        .order_by(HarvestJob.id.desc())
        .limit(_JOBS)
        .subquery()
    )
    query = (
        select(DomainHistory.domain_id)
        .join(newest, newest.c.id == DomainHistory.job_id)
        .where(DomainHistory.ended > since)
        .distinct()
        .limit(_RESULTS)
    )
    found = 0
    for part in batched(transaction.session.scalars(query).all(), _TOGETHER):
        for entry in _changed(transaction, part):
            if found == MOST_OF_SOURCE:
                return
            found += 1
            yield entry


def failed_jobs(transaction: Transaction) -> Iterator[TrayEntry]:
    """Yield jobs that failed, without those that a person cancelled."""
    since = transaction.now - transaction.settings.curation.tray_days * _DAY
    query = (
        select(HarvestJob.id, HarvestJob.ended, HarvestJob.harvest_error, Harvest.name)
        .join(Harvest, Harvest.id == HarvestJob.harvest_id)
        .where(HarvestJob.status == JobStatus.FAILED, not_(was_cancelled()))
        .order_by(HarvestJob.id.desc())
        .limit(MOST_OF_SOURCE)
    )
    for number, ended, error, harvest in transaction.session.execute(query):
        if ended is not None and ended > since:
            title = f"Job {number} of {harvest}"
            why = error[:200] or "the job failed"
            yield TrayEntry(f"job:{number}", TrayKind.JOB_FAILED, title, why, f"/jobs/{number}", ended)


SOURCES: Final[tuple[Source, ...]] = (
    to_review,
    damaged_pages,
    assigned_pages,
    pages_to_repair,
    to_ask,
    licence_ends,
    changed_sites,
    failed_jobs,
)
"""The sources of the in-tray; a further source is added at the end."""


def _changed(transaction: Transaction, domains: Sequence[int]) -> Iterator[TrayEntry]:
    place = func.row_number().over(
        partition_by=DomainHistory.domain_id, order_by=(DomainHistory.ended.desc(), DomainHistory.id.desc())
    )
    ranked = (
        select(
            DomainHistory.domain_id,
            DomainHistory.job_id,
            DomainHistory.bytes,
            DomainHistory.stop_reason,
            DomainHistory.ended,
            place.label("place"),
        )
        .where(DomainHistory.domain_id.in_(domains))
        .subquery()
    )
    columns = ranked.c
    query = (
        select(Domain.name, columns.job_id, columns.bytes, columns.stop_reason, columns.ended)
        .join(Domain, Domain.id == columns.domain_id)
        .where(columns.place <= 2)
        .order_by(Domain.name, columns.place)
    )
    results: dict[str, list[tuple[int, int, str, Micros]]] = {}
    for name, job, size, reason, ended in transaction.session.execute(query):
        results.setdefault(name, []).append((job, size, reason, ended))
    for name, (last, *before) in results.items():
        job, size, reason, ended = last
        kind, why = verdict(
            size, StopReason(reason), before[0][1] if before else None, transaction.settings.curation.fallen_share
        )
        if kind is not None:
            yield TrayEntry(f"site:{name}:{job}", kind, name, why, f"/domains/{quote(name)}/statistics", ended)


def verdict(size: int, reason: StopReason, before: int | None, share: float) -> tuple[TrayKind | None, str]:
    """Return what the last job of a domain tells of the site, and why; None when nothing stands out. Pure.

    `size` and `before` are the bytes of the last job and of the job before.
    """
    if reason is StopReason.NO_GOOD_ANSWER:
        return TrayKind.SITE_DIED, "no seed gave a good answer in the last job"
    if before and size < before * share:
        return TrayKind.SITE_CHANGED, f"the last job fetched {size:,} bytes, the one before {before:,}"
    return None, ""
