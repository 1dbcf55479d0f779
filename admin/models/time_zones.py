"""New things that a person makes get the person's time zone, else the site's, else that of the machine."""

from __future__ import annotations

import os
from functools import cache
from pathlib import Path
from typing import Final
from zoneinfo import available_timezones

from sqlalchemy import select

from admin.models.people_tables import User
from admin.models.transaction import Transaction
from archive.settings.load import Settings

UTC: Final = "UTC"
_LINK: Final = Path("/etc/localtime")
_NAME: Final = Path("/etc/timezone")
_FOLDER: Final = "/zoneinfo/"


def default_zone(transaction: Transaction) -> str:
    """Return the zone that the acting person has chosen, else the site's."""
    chosen = transaction.session.scalar(select(User.zone).where(User.name == transaction.actor.name))
    return chosen if chosen and chosen != UTC else site_zone(transaction.settings)


def site_zone(settings: Settings) -> str:
    """Return the zone of the setting admin.time_zone, else that of the machine."""
    return settings.admin.time_zone or system_zone()


@cache
def system_zone() -> str:
    """Return the name of the machine's time zone; UTC when it has none that is known."""
    for found in (os.environ.get("TZ", "").lstrip(":"), _linked(), _written()):
        if found in available_timezones():
            return found
    return UTC


def _linked() -> str:
    try:
        return os.path.realpath(_LINK).partition(_FOLDER)[2]
    except OSError:
        return ""


def _written() -> str:
    try:
        return _NAME.read_text("utf-8").strip()
    except (OSError, UnicodeDecodeError):
        return ""
