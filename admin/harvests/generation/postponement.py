"""A harvest waits while no harvester has ever registered for its channel: nobody would take its jobs.

A channel whose harvesters are stopped for a while has its jobs made; they wait as NEW until a harvester is back.
"""

from __future__ import annotations

from sqlalchemy import ColumnElement, select
from sqlalchemy.orm import Session

from admin.harvests.dispatch.channels import is_of_harvest
from admin.harvests.generation.ready import MOST, is_due
from admin.models.harvest_tables import Channel, Harvest
from admin.models.job_tables import Harvester
from archive.dates import Micros
from archive.fast_frozen import fast_frozen


@fast_frozen(frozen=True, slots=True)
class PostponedHarvest:
    """A postponed harvest is due, and waits for a harvester of its channel."""

    id: int
    name: str
    channel: str


def is_postponed() -> ColumnElement[bool]:
    """Return the condition that no harvester has registered for the channel of a harvest."""
    return select(Channel.id).where(is_of_harvest(), _is_unregistered()).exists()


def postponed(session: Session, now: Micros) -> list[PostponedHarvest]:
    """Return the due harvests that wait for a harvester, those that have waited longest first."""
    found = session.execute(
        select(Harvest.id, Harvest.name, Channel.name)
        .join(Channel, is_of_harvest())
        .where(is_due(now), _is_unregistered())
        .order_by(Harvest.next_run, Harvest.id)
        .limit(MOST)
    )
    return [PostponedHarvest(*row) for row in found]


def postponing_channels(session: Session, now: Micros) -> list[str]:
    """Return the names of the channels without a harvester for which due harvests wait."""
    waiting = select(Harvest.id).where(is_of_harvest(), is_due(now)).exists()
    return list(session.scalars(select(Channel.name).where(_is_unregistered(), waiting).order_by(Channel.name)))


def _is_unregistered() -> ColumnElement[bool]:
    return Channel.id.not_in(select(Harvester.channel_id))
