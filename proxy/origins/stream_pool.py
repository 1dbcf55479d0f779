"""A pool may have HTTP/2 connections. Exchanges share such a connection instead of keeping it for the next one."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Final

from archive.settings import ProxySettings
from proxy.origins.http2_connection import Http2Connection
from proxy.origins.http2_stream import OriginStream, PendingUpstream
from proxy.origins.upstream import ConnectionOpener, Destination, Pool, Upstream, always
from proxy.ttl_cache import TtlCache

_REMEMBERED_SECONDS: Final = 600.0
_REMEMBERED_HOSTS: Final = 4096


class StreamPool(Pool):
    """The pool is used instead of `Pool` when the setting proxy.http2_origins is on."""

    def __init__(self, settings: ProxySettings, opener: ConnectionOpener) -> None:
        super().__init__(settings, opener)
        self._max_head_bytes = settings.max_head_bytes
        self._connections: dict[Destination, list[Http2Connection]] = {}
        self._opening: dict[Destination, asyncio.Future[None]] = {}
        self._single: TtlCache[Destination, bool] = TtlCache(_REMEMBERED_SECONDS, _REMEMBERED_HOSTS)
        """Origins that speak HTTP/1.1: connections to them need not wait for one another."""

    def idle(self, destination: Destination) -> Upstream | None:
        """Return a stream of an open HTTP/2 connection, or a kept connection."""
        return self._stream(destination) or super().idle(destination)

    async def connect(self, destination: Destination, is_whole: Callable[[], bool] = always) -> Upstream:
        """Return a stream or a connection. Requests wait for the first connection: it may serve all of them."""
        while True:
            if not destination.tls or destination.http1 or self._single.get(destination):
                return await super().connect(destination, is_whole)
            if (stream := self._stream(destination)) is not None:
                return stream
            if (opening := self._opening.get(destination)) is None:
                break
            await asyncio.wait([opening])
        opened = self._opening[destination] = asyncio.get_running_loop().create_future()
        try:
            return self._shared(destination, await super().connect(destination, is_whole))
        finally:
            del self._opening[destination]
            opened.set_result(None)

    def give_back(self, destination: Destination, upstream: Upstream) -> None:
        """Take back the connection of an exchange that is over; a stream that its origin has not ended yet ends by
        itself.
        """
        if isinstance(upstream, OriginStream):
            upstream.detach()
        else:
            super().give_back(destination, upstream)

    def drop(self, destination: Destination, upstream: Upstream) -> None:
        """Drop the connection of an exchange that is over."""
        if isinstance(upstream, OriginStream):
            upstream.abort()
        else:
            super().drop(destination, upstream)

    def close_idle(self, older_than: float) -> None:
        """Close what has been idle since before that loop time."""
        for connections in list(self._connections.values()):
            for connection in [
                connection for connection in connections if connection.is_idle and connection.idle_since < older_than
            ]:
                connection.close()
        super().close_idle(older_than)

    def _stream(self, destination: Destination) -> OriginStream | None:
        return next(
            (connection.stream() for connection in self._connections.get(destination, ()) if connection.has_room), None
        )

    def _shared(self, destination: Destination, upstream: Upstream) -> Upstream:
        if not isinstance(upstream, PendingUpstream) or not upstream.is_h2:
            if not isinstance(upstream, OriginStream):
                self._single.note(destination, True)
            return upstream

        def gone(connection: Http2Connection) -> None:
            self._connections[destination].remove(connection)
            if not self._connections[destination]:
                del self._connections[destination]
            self._gone(destination)

        self.upload_ended(destination, upstream)  # a slow upload does not block a connection that all share
        connections = self._connections.setdefault(destination, [])
        connection = Http2Connection(upstream, gone, self._max_head_bytes)
        connections.append(connection)
        connection.start()
        return connection.stream()
