"""A harvester reports incidents of its job: a killed crawl, patterns that were too slow, renders that are late.

Each incident is audited once, and the subscribers are notified once, however often a harvester reports the incident.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from sqlalchemy import select

from admin.harvests.dispatch.reports import job_of
from admin.models.people_tables import AuditEntry
from admin.models.transaction import Transaction
from admin.notifications.events import Event
from admin.notifications.outbox import notify

CRAWL_KILLED: Final = "job.crawl-killed"
PATTERNS_OFF: Final = "job.patterns-off"
RENDERS_LATE: Final = "job.renders-late"
_MOST_NAMED: Final = 20
_SHOWN: Final = 200
_LONGEST: Final = 2_000


def report_killed_crawl(transaction: Transaction, job_id: int, token: str, reason: str) -> bool:
    """Note that the crawl of a job was killed, as it did not end when it was asked to. Return whether this is new.

    `reason` says why the crawl had been asked to end. Raises NotFound, and IllegalState for a wrong token.
    """
    job = job_of(transaction, job_id, token)
    if _noted(transaction, job_id, CRAWL_KILLED):
        return False
    transaction.audit(CRAWL_KILLED, "job", job_id, f"job {job_id}", new={"asked_to_end": reason[:_LONGEST]})
    asked = f"; it had been asked to end: {reason}" if reason else ""
    subject = f"The crawl of job {job_id} did not end in time and was killed{asked}"
    facts = {"harvester": job.harvester, "asked_to_end": reason}
    notify(transaction, Event.JOB_KILLED, subject, facts, harvest_id=job.harvest_id, job_id=job_id)
    return True


def report_slow_patterns(transaction: Transaction, job_id: int, token: str, patterns: Mapping[str, str]) -> bool:
    """Note the patterns that a job's crawl switched off, each with a URL whose search took too long.

    Return whether one of them is new. Raises NotFound, and IllegalState for a wrong token.
    """
    job = job_of(transaction, job_id, token)
    known = {text for entry in _noted(transaction, job_id, PATTERNS_OFF) for text in (entry.new or {})}
    fresh = {text[:_LONGEST]: url[:_LONGEST] for text, url in patterns.items() if text[:_LONGEST] not in known}
    if not fresh:
        return False
    transaction.audit(PATTERNS_OFF, "job", job_id, f"job {job_id}", new=fresh)
    named = [text[:_SHOWN] for text in list(fresh)[:_MOST_NAMED]]
    count = "A pattern was" if len(fresh) == 1 else f"{len(fresh)} patterns were"
    subject = f"{count} switched off in job {job_id}, as the search took too long: {named[0]}"
    facts = {"harvester": job.harvester, "patterns": "\n".join(named), "url": next(iter(fresh.values()))}
    notify(transaction, Event.TRAP_TOO_SLOW, subject, facts, harvest_id=job.harvest_id, job_id=job_id)
    return True


def report_late_renders(
    transaction: Transaction, job_id: int, token: str, *, is_late: bool, seconds: float, queued: int
) -> bool:
    """Note that pages of a job have waited too long for their render, or that this is over. Return whether this is new.

    `seconds` is the age of the oldest of `queued` renders. Only the beginning is a notification. Raises NotFound, and
    IllegalState for a wrong token.
    """
    job = job_of(transaction, job_id, token)
    known = _noted(transaction, job_id, RENDERS_LATE)
    was_late = bool(known) and bool((max(known, key=lambda entry: entry.id).new or {}).get("is_late"))
    if is_late == was_late:
        return False
    facts = {"is_late": is_late, "seconds": round(seconds), "queued": queued}
    transaction.audit(RENDERS_LATE, "job", job_id, f"job {job_id}", new=facts)
    if is_late:
        subject = f"Renders of job {job_id} are late: a page has waited for {seconds:.0f} s, and {queued} are queued"
        told = {"harvester": job.harvester, "seconds": str(round(seconds)), "queued": str(queued)}
        notify(transaction, Event.RENDERS_LATE, subject, told, harvest_id=job.harvest_id, job_id=job_id)
    return True


def _noted(transaction: Transaction, job_id: int, action: str) -> list[AuditEntry]:
    """Return the entries that were made of such an incident of the job."""
    found = select(AuditEntry).where(
        AuditEntry.entity == "job", AuditEntry.entity_id == str(job_id), AuditEntry.action == action
    )
    return list(transaction.session.scalars(found))
