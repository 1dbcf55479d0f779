"""A harvest waits while no harvester has ever registered for its channel: nobody would take its jobs.

A channel whose harvesters are stopped for a while has its jobs made; they wait as NEW until a harvester is back.
"""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy import select
from sqlalchemy.orm import Session

from admin.harvests.dispatch.channels import is_of_harvest
from admin.harvests.generation.ready import DueHarvest
from admin.models.harvest_tables import Channel, Harvest
from admin.models.job_tables import Harvester


def postponed(session: Session, harvests: Sequence[DueHarvest]) -> dict[int, str]:
    """Return the names of the channels without a harvester, by the number of each harvest that waits for one."""
    found = session.execute(
        select(Harvest.id, Channel.name)
        .join(Channel, is_of_harvest())
        .where(Harvest.id.in_([each.id for each in harvests]), Channel.id.not_in(select(Harvester.channel_id)))
    )
    return {row.id: row.name for row in found}
