"""These pure functions decide when a message is sent again, and when it is given up."""

from __future__ import annotations

from typing import Final

from archive.dates import Micros

SECOND: Final = 1_000_000
HOUR: Final = 3600 * SECOND
RETRY_SECONDS: Final = 30
"""Pause before a message is sent again; it doubles with each further attempt."""
_MAX_RETRY_SECONDS: Final = 3600
"""Longest pause before a message is sent again."""
_GIVE_UP_SECONDS: Final = 259_200
"""Age at which a message that could not be sent is given up."""
_MOST_DOUBLINGS: Final = 32


def next_attempt(created: Micros, attempts: int, now: Micros, asked: int | None = None) -> Micros | None:
    """Return when a message that failed `attempts` times is sent again; None when it is given up.

    The pause doubles with each attempt. `asked` is the pause in seconds that the server asked for; a longer pause than
    ours is kept, but never a longer one than an hour.
    """
    pause = RETRY_SECONDS * 2 ** min(max(attempts - 1, 0), _MOST_DOUBLINGS)
    pause = min(max(pause, asked or 0), _MAX_RETRY_SECONDS)
    again = now + pause * SECOND
    return again if again - created < _GIVE_UP_SECONDS * SECOND else None


def digest_hour(now: Micros) -> tuple[int, Micros]:
    """Return the number of the present hour since 1970, and the moment at which the hour ends."""
    hour = now // HOUR
    return hour, (hour + 1) * HOUR


def digest_key(user_id: int, now: Micros) -> tuple[str, Micros]:
    """Return the key of the digest that a message to a user joins now, and when the digest is sent."""
    hour, end = digest_hour(now)
    return f"{user_id}/{hour}", end
