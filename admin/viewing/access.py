"""These checks decide which requests reach the viewer: by address, Host header, origin, password and ticket.

Archived scripts run on host names of their own (`admin.viewing.origins`). Such a host name answers what the player
needs for its collection, and nothing else; the viewer's own host name never answers with a page that runs them.
"""

from __future__ import annotations

import hmac
import re
import secrets
import time
from base64 import b64decode
from binascii import Error as Base64Error
from dataclasses import dataclass
from typing import Final

from admin.viewing.origins import ArchivedHost, Origins
from admin.viewing.tickets import PATH, TicketKey
from archive.listener_access import TWO_LENGTHS, Clients, HostNames, has_two_lengths
from archive.settings.load import Settings

_CROSS: Final = (b"cross-site", b"same-site")
_WORKER_PATH: Final = "/replay/sw.js"
"""The script of the player's worker. No other script may become a service worker."""
_ARCHIVED: Final = re.compile(
    r"/(?:c/(?P<player>[^/]+)/player|w/(?P<resource>[^/]+)/.*|(?:replay|player|static)/.*)", re.S
)
"""Paths that the host name of a collection answers."""
_RUNS_SCRIPTS: Final = re.compile(r"/(?:c/[^/]+/player|replay/.*)", re.S)
"""Paths that the viewer's own host name refuses."""
_PLAY: Final = re.compile(r"/c/[^/]+/play")
_FRAMES: Final = (b"iframe", b"frame")


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
        self._origins = Origins(settings)
        self._password = view.password
        self._key = key
        # A browser would ask for the password once more on each host name, and keep it there beside archived scripts.
        self._frame_key = TicketKey(secrets.token_bytes(32)) if key is None and view.password else key
        self._seconds = view.link_seconds
        self._only = only

    def look(
        self, method: str, path: str, peer: str, own: str, headers: list[tuple[bytes, bytes]]
    ) -> Admitted | RefusedRequest:
        """Return whether the request is answered."""
        if not self._clients.admits(peer, own):
            return RefusedRequest(403, "this client's address is not allowed here")
        hosts = [value.decode("latin-1") for name, value in headers if name == b"host"]
        archived = self._origins.archived_host(hosts[0]) if len(hosts) == 1 else None
        if archived is None and (refusal := self._names.refusal(hosts)):
            return RefusedRequest(421, refusal)
        if has_two_lengths(headers):
            return RefusedRequest(400, TWO_LENGTHS, ends_connection=True)
        found = dict(headers)
        key = self._key if archived is None else self._frame_key
        parts = PATH.fullmatch(path) if key is not None else None
        root, rest = (parts[1], parts[3] or "") if parts is not None else ("", path)
        if refused := self._refusal_of_origin(method, rest, archived, found):
            return refused
        if archived is None and self._password and not self._knows_password(found.get(b"authorization", b"")):
            return RefusedRequest(401, "this archive needs a password", asks_for_password=True)
        only = self._only
        if key is not None:
            ticket = key.read(parts[2], time.time()) if parts else None
            if ticket is None:
                return RefusedRequest(
                    403, "this link has expired, or was never one; open the collection from the admin site again"
                )
            only = ticket.collection
        return Admitted(root, only) if archived is None else _of_one_collection(archived, root, rest, only)

    def root_of_frame(self, root: str, collection: str) -> str:
        """Return the beginning of paths on the host name of a collection, for a page whose paths begin with `root`.

        The beginning holds a ticket for that collection alone, which is good for no longer than the page's own ticket.
        """
        if self._frame_key is None:
            return ""
        parts = PATH.fullmatch(root)
        if self._key is None or parts is None:
            return f"/s/{self._frame_key.issue(collection, time.time(), self._seconds)}"
        return f"/s/{self._key.narrowed(parts[2], collection)}"

    def _refusal_of_origin(
        self, method: str, path: str, archived: ArchivedHost | None, headers: dict[bytes, bytes]
    ) -> RefusedRequest | None:
        """Return why what the request asks for has no place on its host name, or is asked for by another origin."""
        is_worker = b"service-worker" in headers or headers.get(b"sec-fetch-dest") == b"serviceworker"
        if is_worker and (archived is None or path != _WORKER_PATH):
            return RefusedRequest(403, "only the player's script may become a service worker here")
        may_be_framed = bool(
            re.fullmatch(r"/c/[^/]+/player", path)
            if archived is not None
            else self._origins.is_embeddable and _PLAY.fullmatch(path)
        )
        if _comes_from_elsewhere(method, headers, may_be_framed=may_be_framed):
            return RefusedRequest(403, "another site sent this request; open the page of this site")
        if archived is None and _RUNS_SCRIPTS.fullmatch(path):
            return RefusedRequest(404, "archived pages don't run on this host name; open the page in the viewer again")
        if archived is not None and headers.get(b"sec-fetch-dest") == b"document":
            return RefusedRequest(403, "archived pages run inside the viewer's page only; open the page in the viewer")
        return None

    def _knows_password(self, header: bytes) -> bool:
        kind, _, given = header.partition(b" ")
        if kind.lower() != b"basic":
            return False
        try:
            password = b64decode(given.strip(), validate=True).partition(b":")[2]
        except (Base64Error, ValueError):
            return False
        return hmac.compare_digest(password, self._password.encode())


def _of_one_collection(archived: ArchivedHost, root: str, path: str, only: str | None) -> Admitted | RefusedRequest:
    """Return whether a host name of archived pages answers the path, and for which collection."""
    parts = _ARCHIVED.fullmatch(path)
    if parts is None:
        return RefusedRequest(404, "this host name has archived pages alone; open the viewer at its own address")
    named = parts["player"] or parts["resource"]
    for name in (named, only):
        if name is not None and not archived.has(name):
            return RefusedRequest(403, "this host name is for another collection")
    return Admitted(root, only or named)


def _comes_from_elsewhere(method: str, headers: dict[bytes, bytes], *, may_be_framed: bool) -> bool:
    """Return whether a page of another origin sent the request. A link that a person follows is allowed.

    A frame is allowed with `may_be_framed`; the policy of the answer names the pages that may have it.
    """
    if headers.get(b"sec-fetch-site", b"none") not in _CROSS:
        return False
    target = headers.get(b"sec-fetch-dest", b"")
    is_opened = headers.get(b"sec-fetch-mode") == b"navigate" and (
        target == b"document" or (may_be_framed and target in _FRAMES)
    )
    return not (is_opened and method in ("GET", "HEAD"))
