"""A database gets the stock channels, templates and schedules, and a link for the first administrator."""

from __future__ import annotations

from admin.harvests.dispatch import channels
from admin.harvests.schedules.stock import install_stock as install_schedules
from admin.harvests.templates.stock import install_stock as install_templates
from admin.models.database import Database
from admin.models.transaction import COMMAND_LINE
from admin.people.invitations import first_invitation


def prepare(database: Database) -> str:
    """Fill a new database. Return the path of a link that makes the first administrator; empty when there is a user.

    Links of earlier starts stop working.
    """
    with database.transaction(COMMAND_LINE) as transaction:
        channels.install_stock(transaction)
        install_templates(transaction)
        install_schedules(transaction)
        link = first_invitation(transaction)
    return f"/welcome/{link.token}" if link is not None else ""
