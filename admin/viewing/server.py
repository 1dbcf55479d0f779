"""The viewer is served here. Every request passes the gatekeeper, then resources or pages answer it."""

from __future__ import annotations

import asyncio
import logging
import socket
import threading
from collections.abc import Sequence
from typing import Any, Final

import uvicorn
from flask import has_request_context, request

from admin.collections.browsing.index import index_if_any
from admin.collections.reader_misses import MissCollector
from admin.models.database import Database
from admin.models.errors import DatabaseRefused
from admin.serving.request_bodies import RequestBodies
from admin.serving.web_server import send_at_once, serve, server_config
from admin.serving.wsgi_threads import WsgiThreads
from admin.viewing.access import Gatekeeper, RefusedRequest
from admin.viewing.application import create_app
from admin.viewing.origins import Origins
from admin.viewing.page import Viewing
from admin.viewing.page_catalogue import PageCatalogue
from admin.viewing.readable import ReaderAccess
from admin.viewing.resource_endpoint import PREFIX, Receive, ResourceEndpoint, Scope, Send, nearest_first
from admin.viewing.tickets import TicketKey
from archive.dates import Micros, now_micros
from archive.settings.load import Settings
from archive.steady_work import SteadyWork
from dedupdb.captures.capture_index import Captures
from proxy.replay.access import ReadableCaptures
from proxy.replay.memento import Archive

log = logging.getLogger(__name__)

_WORKERS: Final = 8
_GRACE_SECONDS: Final = 3
_ROUND_SECONDS: Final = 5.0
_FLUSH_SECONDS: Final = 5.0
_REST_SECONDS: Final = 5.0
"""The catalogue of pages rests so long after an error."""
_ONLY: Final = "ghostfleet.only"


class ViewServer:
    """Serves the viewer on sockets that are bound already, until it is told to stop."""

    def __init__(self, settings: Settings, key: TicketKey | None = None, only: str | None = None) -> None:
        """Answer, with a key, only paths with a ticket. `only` is the one collection that is shown, None for all.

        Raises CapturesError and DatabaseRefused.
        """
        self._settings = settings
        self._captures = Captures(settings.database_url)
        self._readable = ReadableCaptures(
            self._captures, settings.home / "collections", settings.curation.access_policy()
        )
        self._catalogue = PageCatalogue(settings)
        self._gate = Gatekeeper(settings, key, only)
        self._misses = MissCollector(settings)
        self._resources = ResourceEndpoint(
            Archive(settings, self._captures),
            self._nearest,
            self._captures.collections,
            takes_similar=settings.proxy.replay_similar,
            ancestors=Origins(settings).ancestors,
            note_miss=self._misses.note,
        )
        viewing = Viewing(
            settings,
            Database("sqlite://", now_micros, settings),
            self._catalogue,
            ReaderAccess(settings.home / "collections", settings.curation.access_policy()),
            _only,
            Origins(settings),
            self._gate.root_of_frame,
        )
        self._pages: Any = RequestBodies(WsgiThreads(create_app(viewing), _WORKERS))
        self._stops = threading.Event()
        self._server = uvicorn.Server(
            server_config(self._application, grace_seconds=_GRACE_SECONDS, most_at_once=500, has_date_header=False)
        )

    def run(self, sockets: list[socket.socket]) -> None:
        """Serve until `stop` is called."""
        send_at_once(sockets)
        reader = threading.Thread(target=self._read_pages, name="catalogue", daemon=True)
        reader.start()
        keeper = threading.Thread(target=self._keep_misses, name="misses", daemon=True)
        keeper.start()
        try:
            asyncio.run(serve(self._server, sockets))
        finally:
            self._stops.set()
            reader.join()
            keeper.join()
            self._resources.close()
            self._captures.close()
            self._catalogue.close()

    def stop(self) -> None:
        """Let the server end. Safe to call from anywhere."""
        self._stops.set()
        self._server.should_exit = True

    def _keep_misses(self) -> None:
        """Write what readers missed every few seconds, and at the end."""
        flush = SteadyWork("the list of what readers missed", self._misses.flush)
        while not self._stops.wait(_FLUSH_SECONDS):
            flush()
        flush()

    def _read_pages(self) -> None:
        """Read what the capture index has of pages at the start; later records are read when a page is asked for."""
        read = SteadyWork("the reading of the catalogue of pages", self._read_all_pages, DatabaseRefused)
        while not self._stops.is_set() and not read():
            self._stops.wait(_REST_SECONDS)

    def _read_all_pages(self) -> bool:
        """Read until the catalogue is whole, or the server ends. Return True then."""
        with index_if_any(self._settings) as index:
            while index is not None and not self._stops.is_set():
                if self._catalogue.refresh(index, _ROUND_SECONDS):
                    break
                self._stops.wait(0.1)  # a request reads, too: let it come first
        return True

    def _nearest(self, names: Sequence[str], url: str, method: str, date: Micros | None) -> list[str]:
        """Return which of the collections have a capture that readers may know of, the nearest to the date first."""
        dates = {}
        for name in names:
            for capture in self._readable.nearest(name, url, date, methods=(method,), limit=1):
                dates[name] = capture.date
        return nearest_first(dates, date)

    async def _application(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "websocket":
            await receive()
            await send({"type": "websocket.close"})  # an archived script asked for one; there is none here
        if scope["type"] != "http":
            return
        peer, own = scope.get("client") or ("", 0), scope.get("server") or ("", 0)
        path = str(scope["path"])
        found = self._gate.look(scope["method"], path, str(peer[0]), str(own[0]), scope["headers"])
        if isinstance(found, RefusedRequest):
            await _refuse(send, found)
            return
        scope["root_path"] = found.root
        rest = path.removeprefix(found.root)
        if rest.startswith(PREFIX):
            await self._resources(scope, receive, send, found.only)
        elif not rest.startswith("/"):
            await _redirect(send, f"{found.root}/")
        else:
            scope[_ONLY] = found.only
            await self._pages(scope, receive, send)


def _only() -> str | None:
    """Return the one collection that the present request may see; None for all."""
    if not has_request_context():
        return None
    found = request.environ["asgi.scope"].get(_ONLY)
    return None if found is None else str(found)


async def _refuse(send: Send, refused: RefusedRequest) -> None:
    headers = [
        (b"content-type", b"text/plain; charset=utf-8"),
        (b"cache-control", b"no-store"),
        (b"x-content-type-options", b"nosniff"),
        (b"content-security-policy", b"default-src 'none'; sandbox"),
    ]
    if refused.asks_for_password:
        headers.append((b"www-authenticate", b'Basic realm="archive", charset="UTF-8"'))
    if refused.ends_connection:
        headers.append((b"connection", b"close"))
    await send({"type": "http.response.start", "status": refused.status, "headers": headers})
    await send({"type": "http.response.body", "body": f"{refused.why}\n".encode()})


async def _redirect(send: Send, target: str) -> None:
    headers = [(b"location", target.encode("ascii")), (b"content-length", b"0")]
    await send({"type": "http.response.start", "status": 308, "headers": headers})
    await send({"type": "http.response.body", "body": b""})
