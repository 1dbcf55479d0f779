"""A database gets the stock channels, templates and schedules, and a link for the first administrator."""

from __future__ import annotations

from admin.harvests import stock
from admin.models.database import Database
from admin.models.transaction import COMMAND_LINE
from admin.people.invitations import first_invitation


def prepare(database: Database) -> str:
    """Fill a new database. Return the path of a link that makes the first administrator; empty when there is a user.

    Links of earlier starts stop working.
    """
    stock.prepare(database)
    with database.transaction(COMMAND_LINE) as transaction:
        link = first_invitation(transaction)
    return f"/welcome/{link.token}" if link is not None else ""
