"""This module puts the scheduler of an installation together: generation, dispatch, and notifications."""

from __future__ import annotations

import logging
import threading
from collections.abc import Mapping
from typing import Final

from admin.harvests.dispatch.queue import resubmit_after_restart, submit_jobs
from admin.harvests.dispatch.reports import fail_silent_jobs
from admin.harvests.generation.run import EventKind, GenerationEvent
from admin.models.database import Database
from admin.models.errors import DatabaseRefused
from admin.models.job_tables import HarvestJob
from admin.models.transaction import Transaction
from admin.notifications.events import Event
from admin.notifications.outbox import notify
from admin.notifications.sender import Sender
from admin.scheduler.scheduler import Scheduler
from admin.scheduler.unserved import tell_of_silent_harvesters, tell_of_unserved_channels
from archive.settings.load import Settings
from archive.steady_work import SteadyWork

EVENTS: Final[Mapping[EventKind, Event]] = {
    EventKind.HARVEST_DEACTIVATED: Event.HARVEST_DEACTIVATED,
    EventKind.NO_JOBS: Event.HARVEST_WITHOUT_JOBS,
    EventKind.DATES_SKIPPED: Event.HARVEST_RUNS_SKIPPED,
    EventKind.SCHEDULE_ENDED: Event.HARVEST_SCHEDULE_ENDED,
    EventKind.STILL_GENERATING: Event.HARVEST_STILL_SCHEDULING,
}
"""Events of generation that people can subscribe to."""
_SENDER_SECONDS: Final = 5.0
_MICROS: Final = 1_000_000
_LOG: Final = logging.getLogger("ghostfleet.scheduler")


def installed_scheduler(database: Database, settings: Settings, owner: str | None = None) -> Scheduler:
    """Return the scheduler that generates and dispatches jobs, and tells people of what happens."""

    def submit(transaction: Transaction) -> None:
        submit_jobs(transaction)

    def resubmit(transaction: Transaction) -> None:
        if new := resubmit_after_restart(transaction):
            _LOG.warning("%d submitted jobs that no harvester had taken were submitted again", len(new))

    def give_up_silent(transaction: Transaction) -> None:
        for job_id in fail_silent_jobs(transaction, int(settings.generation.job_silent_seconds * _MICROS)):
            _LOG.error("job %d failed, because its harvester said nothing for too long", job_id)
            harvest_id = transaction.session.get_one(HarvestJob, job_id).harvest_id
            subject = f"Job {job_id} failed: nobody had heard of it"
            notify(transaction, Event.JOB_SILENT, subject, harvest_id=harvest_id, job_id=job_id)

    def tell_of_what_is_missing(transaction: Transaction) -> None:
        for name in tell_of_unserved_channels(transaction):
            _LOG.warning("channel %s has no harvester, and jobs or harvests wait for it", name)
        for name in tell_of_silent_harvesters(transaction):
            _LOG.error("harvester %s has said nothing for too long", name)

    return Scheduler(
        database,
        settings,
        listeners=(tell,),
        first_tasks=(resubmit,),
        tasks=(give_up_silent, submit, tell_of_what_is_missing),
        owner=owner,
    )


def tell(transaction: Transaction, event: GenerationEvent) -> None:
    """Put a message about an event of generation into the outbox of those who subscribed."""
    if (kind := EVENTS.get(event.kind)) is not None:
        notify(
            transaction,
            kind,
            f"Harvest {event.harvest_name}: {event.message}",
            {"run": event.run_number},
            harvest_id=event.harvest_id,
        )


def send_messages(database: Database, stop: threading.Event) -> None:
    """Send what waits in the outbox until `stop` is set; go on when the database is away for a while."""
    sender = Sender(database)

    def unless_away() -> None:
        try:
            sender.look()
        except DatabaseRefused as error:
            _LOG.debug("messages wait: %s", error)

    look = SteadyWork("the search for messages to send", unless_away)
    while not stop.is_set():
        look()
        stop.wait(_SENDER_SECONDS)
    sender.close()
