"""A new installation has stock channels, templates and schedules."""

from __future__ import annotations

from sqlalchemy import func, select

from admin.harvests.dispatch import channels
from admin.harvests.schedules.stock import install_stock as install_schedules
from admin.harvests.templates.stock import install_stock as install_templates
from admin.models.database import Database
from admin.models.harvest_tables import Channel
from admin.models.transaction import COMMAND_LINE


def prepare(database: Database) -> None:
    """Fill a new database; leave one that has channels as it is."""
    with database.reading(COMMAND_LINE) as transaction:
        if transaction.session.scalar(select(func.count(Channel.id))):
            return
    with database.transaction(COMMAND_LINE) as transaction:
        channels.install_stock(transaction)
        install_templates(transaction)
        install_schedules(transaction)
