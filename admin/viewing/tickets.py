"""A ticket in the path of a link admits a browser to the viewer for some hours. Tickets are signed and kept nowhere.

A path suits better than a cookie: cookies of a host are shared by all of its ports. An archived script can read the
path of its own page, so that path has a ticket for the collection of the script alone.
"""

from __future__ import annotations

import hashlib
import hmac
import re
import secrets
from base64 import urlsafe_b64encode
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from archive.files import write_once
from archive.names.name_rules import NAME_PATTERN

KEY_FILE: Final = "tickets.key"
PATH: Final = re.compile(r"(/s/([0-9]{1,12}\.[A-Za-z0-9_-]{22}\.[A-Za-z0-9._~-]{1,64}))(/.*)?", re.ASCII)
"""The beginning of a path with a ticket, the ticket, and the rest of the path."""
_ALL: Final = "~"
_HOUR: Final = 3600


@dataclass(frozen=True, slots=True)
class Ticket:
    """The ticket admits to one collection, or to all of them."""

    expires: int
    """Seconds since 1970."""
    collection: str | None

    def admits(self, collection: str) -> bool:
        """Return whether the ticket is good for the collection."""
        return self.collection in (None, collection)


class TicketKey:
    """The key signs tickets and checks them."""

    def __init__(self, key: bytes) -> None:
        self._key = key

    def issue(self, collection: str | None, now: float, seconds: int) -> str:
        """Return a ticket that is good for so many seconds, and up to an hour more.

        The time of its end is a whole hour, so that the links of one hour are equal: a browser keeps one worker of the
        player for each of them.
        """
        expires = -(-(int(now) + seconds) // _HOUR) * _HOUR
        name = collection or _ALL
        return f"{expires}.{self._signature(expires, name)}.{name}"

    def narrowed(self, text: str, collection: str) -> str:
        """Return the ticket of that collection alone that ends when the ticket `text` does."""
        expires = int(text.partition(".")[0])
        return f"{expires}.{self._signature(expires, collection)}.{collection}"

    def read(self, text: str, now: float) -> Ticket | None:
        """Return the ticket; None for one that was not issued with this key, or that has expired."""
        expires, _, rest = text.partition(".")
        signature, _, name = rest.partition(".")
        if not (expires.isascii() and expires.isdecimal()) or (name != _ALL and not re.fullmatch(NAME_PATTERN, name)):
            return None
        if not hmac.compare_digest(signature.encode(), self._signature(int(expires), name).encode()):
            return None
        return Ticket(int(expires), None if name == _ALL else name) if now < int(expires) else None

    def _signature(self, expires: int, name: str) -> str:
        digest = hmac.digest(self._key, f"ticket {expires} {name}".encode(), hashlib.sha256)
        return urlsafe_b64encode(digest[:16]).rstrip(b"=").decode()


def ticket_key(home: Path) -> TicketKey:
    """Return the key of this home; the first call makes it. Raises OSError."""
    write_once(home / KEY_FILE, secrets.token_bytes(32))
    return TicketKey((home / KEY_FILE).read_bytes())
