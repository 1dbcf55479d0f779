"""The hash of a run's jobs shows that the same configurations give the same jobs."""

from __future__ import annotations

import hashlib
import json
from typing import Final

from sqlalchemy import select
from sqlalchemy.orm import Session

from admin.models.job_tables import HarvestJob, JobConfiguration

_PAGE: Final = 1_000


def run_hash(session: Session, harvest_id: int, run_number: int) -> str:
    """Return the SHA-256 of all that is harvested in a run, without numbers that the database gave."""
    found = hashlib.sha256()
    jobs = session.execute(
        select(
            HarvestJob.id,
            HarvestJob.template_name,
            HarvestJob.template_version,
            HarvestJob.profile,
            HarvestJob.seeds,
            HarvestJob.max_bytes,
            HarvestJob.max_objects,
            HarvestJob.max_seconds,
            HarvestJob.expected_objects,
            HarvestJob.aliases,
        )
        .where(HarvestJob.harvest_id == harvest_id, HarvestJob.run_number == run_number)
        .order_by(HarvestJob.id),
        execution_options={"yield_per": 1},
    )
    for job_id, *content in jobs:
        found.update(json.dumps(content, sort_keys=True).encode() + b"\n")
        rows = session.execute(
            select(
                JobConfiguration.domain_name,
                JobConfiguration.configuration_name,
                JobConfiguration.expected_objects,
                JobConfiguration.max_bytes,
                JobConfiguration.max_objects,
                JobConfiguration.max_rate,
                JobConfiguration.reason,
            )
            .where(JobConfiguration.job_id == job_id)
            .order_by(JobConfiguration.position),
            execution_options={"yield_per": _PAGE},
        )
        for row in rows:
            found.update(json.dumps(list(row)).encode() + b"\n")
    return found.hexdigest()
