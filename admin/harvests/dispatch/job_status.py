"""A job's status moves by this table only (NetarchiveSuite's harvester design, "Talking to the harvesters"). Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from admin.models.errors import IllegalState
from admin.models.job_tables import JobStatus

TRANSITIONS: Final[Mapping[JobStatus, frozenset[JobStatus]]] = {
    # The scheduler alone makes drafts new, all those of a run at once.
    JobStatus.DRAFT: frozenset((JobStatus.NEW,)),
    JobStatus.NEW: frozenset((JobStatus.SUBMITTED, JobStatus.FAILED)),
    JobStatus.SUBMITTED: frozenset((JobStatus.STARTED, JobStatus.RESUBMITTED, JobStatus.FAILED)),
    JobStatus.STARTED: frozenset((JobStatus.DONE, JobStatus.FAILED)),
    JobStatus.DONE: frozenset(),
    JobStatus.FAILED: frozenset((JobStatus.RESUBMITTED, JobStatus.FAILED_REJECTED)),
    # Only a rejection can be undone.
    JobStatus.FAILED_REJECTED: frozenset((JobStatus.FAILED,)),
    JobStatus.RESUBMITTED: frozenset(),
}
"""The states that may follow each state."""

ENDED: Final = frozenset((JobStatus.DONE, JobStatus.FAILED, JobStatus.FAILED_REJECTED, JobStatus.RESUBMITTED))
"""No harvester works on a job in one of these states."""
RESUBMITTABLE: Final = frozenset((JobStatus.SUBMITTED, JobStatus.FAILED))


def may_follow(before: JobStatus, after: JobStatus) -> bool:
    """Return whether a job may go from one state to the other."""
    return after in TRANSITIONS[before]


def check_transition(job: object, before: JobStatus, after: JobStatus) -> None:
    """Raise IllegalState when a job may not go from one state to the other."""
    if not may_follow(before, after):
        allowed = ", ".join(sorted(TRANSITIONS[before])) or "no other state"
        raise IllegalState(f"job {job} is {before} and can't become {after}; from {before} it may become {allowed}")
