"""The scheduler tells people once of channels that nobody serves, and of harvesters that fell silent.

A note in the database says what was told, so that a restart tells nothing twice; the note goes when all is well again.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from sqlalchemy import select

from admin.harvests.dispatch.queue import READY_AFTER
from admin.harvests.generation.postponement import postponing_channels
from admin.models.harvest_tables import Channel
from admin.models.job_tables import Harvester, HarvesterState, HarvestJob, JobStatus
from admin.models.people_tables import InstallationValue
from admin.models.transaction import Transaction
from admin.notifications.events import Event
from admin.notifications.outbox import notify

_CHANNEL: Final = "told-no-harvester:"
_SILENT: Final = "told-silent:"


def tell_of_unserved_channels(transaction: Transaction) -> list[str]:
    """Tell of channels for which jobs or harvests wait and no harvester is there. Return those told of now."""
    session, since = transaction.session, transaction.now - READY_AFTER
    served = (
        select(Harvester.channel_id)
        .where(Harvester.heard > since, Harvester.state != HarvesterState.STOPPED)
        .scalar_subquery()
    )
    old_job = (
        select(HarvestJob.id)
        .where(HarvestJob.channel_id == Channel.id, HarvestJob.status == JobStatus.NEW, HarvestJob.created <= since)
        .exists()
    )
    waiting = {
        name: f"Jobs wait for channel {name}, which has no harvester"
        for name in session.scalars(select(Channel.name).where(Channel.id.not_in(served), old_job))
    }
    for name in postponing_channels(session, transaction.now):
        waiting[name] = f"Harvests wait for channel {name}, for which no harvester has registered"
    return _tell(transaction, _CHANNEL, Event.CHANNEL_WITHOUT_HARVESTER, waiting, "channel")


def tell_of_silent_harvesters(transaction: Transaction) -> list[str]:
    """Tell of harvesters that have said nothing for too long and did not stop in order. Return those told of now."""
    silent = transaction.session.scalars(
        select(Harvester.name).where(
            Harvester.heard <= transaction.now - READY_AFTER, Harvester.state != HarvesterState.STOPPED
        )
    )
    subjects = {name: f"Harvester {name} has said nothing for {READY_AFTER // 60_000_000} minutes" for name in silent}
    return _tell(transaction, _SILENT, Event.HARVESTER_SILENT, subjects, "harvester")


def _tell(transaction: Transaction, prefix: str, event: Event, subjects: Mapping[str, str], noun: str) -> list[str]:
    """Notify of what is new, and forget what is over."""
    session = transaction.session
    notes = session.scalars(select(InstallationValue).where(InstallationValue.name.startswith(prefix))).all()
    told = {note.name.removeprefix(prefix): note for note in notes}
    for name in told.keys() - subjects.keys():
        session.delete(told[name])
    fresh = sorted(subjects.keys() - told.keys())
    for name in fresh:
        session.add(InstallationValue(name=prefix + name, value=str(transaction.now)))
        notify(transaction, event, subjects[name], {noun: name})
    return fresh
