"""Users are notified here of events of a harvester."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any

from admin.harvester.dispatch_link import DispatchLink
from admin.harvests.dispatch.queue import ClaimedJob
from admin.models.errors import DatabaseRefused, UseCaseError
from admin.notifications.events import Event
from admin.notifications.outbox import notify

log = logging.getLogger(__name__)


def notify_users(
    link: DispatchLink, event: Event, subject: str, facts: Mapping[str, Any], job: ClaimedJob | None = None
) -> None:
    """Notify the subscribers of an event. A database that does not answer is logged and stops nothing."""
    said = {"harvester": link.name, "channel": link.channel, **facts}
    harvest_id, job_id = (job.harvest_id, job.id) if job is not None else (None, None)
    try:
        with link.database.transaction(link.actor) as transaction:
            notify(transaction, event, subject, said, harvest_id=harvest_id, job_id=job_id)
    except (DatabaseRefused, UseCaseError) as error:
        log.warning("the users were not notified of %r: %s", subject, error)
