"""These checks decide which requests reach the viewer: by address, Host header, origin, password and ticket."""

from __future__ import annotations

import hmac
import time
from base64 import b64decode
from binascii import Error as Base64Error
from dataclasses import dataclass
from typing import Final

from admin.viewing.tickets import PATH, TicketKey
from archive.listener_access import TWO_LENGTHS, Clients, HostNames, has_two_lengths
from archive.settings.load import Settings

_CROSS: Final = (b"cross-site", b"same-site")


@dataclass(frozen=True, slots=True)
class Admitted:
    """The request is answered. `root` is the part of its path that is its ticket; `only` is its one collection."""

    root: str = ""
    only: str | None = None


@dataclass(frozen=True, slots=True)
class RefusedRequest:
    """The request is refused with this status and this line."""

    status: int
    why: str
    asks_for_password: bool = False
    ends_connection: bool = False


class Gatekeeper:
    """Looks at every request before anything else does."""

    def __init__(self, settings: Settings, key: TicketKey | None, only: str | None = None) -> None:
        """Answer, with a key, only paths with a ticket. Without a key, `only` is the one collection that is shown."""
        view = settings.view
        self._clients = Clients(view.allow_clients)
        self._names = HostNames(view.host, view.host_names, "view.host_names")
        self._password = view.password
        self._key = key
        self._only = only

    def look(
        self, method: str, path: str, peer: str, own: str, headers: list[tuple[bytes, bytes]]
    ) -> Admitted | RefusedRequest:
        """Return whether the request is answered."""
        if not self._clients.admits(peer, own):
            return RefusedRequest(403, "this client's address is not allowed here")
        hosts = [value.decode("latin-1") for name, value in headers if name == b"host"]
        if refusal := self._names.refusal(hosts):
            return RefusedRequest(421, refusal)
        if has_two_lengths(headers):
            return RefusedRequest(400, TWO_LENGTHS, ends_connection=True)
        found = dict(headers)
        if _comes_from_elsewhere(method, found):
            return RefusedRequest(403, "another site sent this request; open the page of this site")
        if self._password and not self._knows_password(found.get(b"authorization", b"")):
            return RefusedRequest(401, "this archive needs a password", asks_for_password=True)
        if self._key is None:
            return Admitted(only=self._only)
        parts = PATH.fullmatch(path)
        ticket = self._key.read(parts[2], time.time()) if parts else None
        if parts is None or ticket is None:
            return RefusedRequest(
                403, "this link has expired, or was never one; open the collection from the admin site again"
            )
        return Admitted(parts[1], ticket.collection)

    def _knows_password(self, header: bytes) -> bool:
        kind, _, given = header.partition(b" ")
        if kind.lower() != b"basic":
            return False
        try:
            password = b64decode(given.strip(), validate=True).partition(b":")[2]
        except (Base64Error, ValueError):
            return False
        return hmac.compare_digest(password, self._password.encode())


def _comes_from_elsewhere(method: str, headers: dict[bytes, bytes]) -> bool:
    """Return whether a page of another origin sent the request. A link that a person follows is allowed."""
    if headers.get(b"sec-fetch-site", b"none") not in _CROSS:
        return False
    is_link = headers.get(b"sec-fetch-mode") == b"navigate" and headers.get(b"sec-fetch-dest") == b"document"
    return not (is_link and method in ("GET", "HEAD"))
