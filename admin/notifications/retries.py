"""These pure functions decide when a message is sent again, and when it is given up."""

from __future__ import annotations

from typing import Final

from archive.dates import Micros
from archive.settings.notifications import NotificationSettings

SECOND: Final = 1_000_000
HOUR: Final = 3600 * SECOND
_MOST_DOUBLINGS: Final = 32


def next_attempt(
    created: Micros, attempts: int, now: Micros, settings: NotificationSettings, asked: int | None = None
) -> Micros | None:
    """Return when a message that failed `attempts` times is sent again; None when it is given up.

    The pause doubles with each attempt. `asked` is the pause in seconds that the server asked for; a longer pause than
    ours is kept, but never a longer one than `max_retry_seconds`.
    """
    pause = settings.retry_seconds * 2 ** min(max(attempts - 1, 0), _MOST_DOUBLINGS)
    pause = min(max(pause, asked or 0), settings.max_retry_seconds)
    again = now + pause * SECOND
    return again if again - created < settings.give_up_seconds * SECOND else None


def digest_hour(now: Micros) -> tuple[int, Micros]:
    """Return the number of the present hour since 1970, and the moment at which the hour ends."""
    hour = now // HOUR
    return hour, (hour + 1) * HOUR


def digest_key(user_id: int, now: Micros) -> tuple[str, Micros]:
    """Return the key of the digest that a message to a user joins now, and when the digest is sent."""
    hour, end = digest_hour(now)
    return f"{user_id}/{hour}", end
