"""A pool whose connections may be HTTP/2: such a one is shared by exchanges instead of kept for the next."""

from __future__ import annotations

import asyncio
from typing import Final

from archive.sections import ProxySettings
from proxy.h2lines import EarlyUpstream, OriginStream
from proxy.h2origins import Trunk
from proxy.remembered import Remembered
from proxy.upstream import Destination, Opener, Pool, Upstream

_REMEMBERED_SECONDS: Final = 600.0
_REMEMBERED_HOSTS: Final = 4096


class StreamPool(Pool):
    """As `Pool`; used when the setting proxy.http2_origins is on."""

    def __init__(self, settings: ProxySettings, opener: Opener) -> None:
        super().__init__(settings, opener)
        self._max_head_bytes = settings.max_head_bytes
        self._trunks: dict[Destination, list[Trunk]] = {}
        self._opening: dict[Destination, asyncio.Future[None]] = {}
        self._single: Remembered[Destination, bool] = Remembered(_REMEMBERED_SECONDS, _REMEMBERED_HOSTS)
        """Origins that speak HTTP/1.1: connections to them need not wait for one another."""

    def idle(self, destination: Destination) -> Upstream | None:
        """A stream of a connection that is there, or a kept connection."""
        return self._stream(destination) or super().idle(destination)

    async def connect(self, destination: Destination) -> Upstream:
        """A stream or a connection. The first connections to an origin wait for one: they may all go over it."""
        while True:
            if not destination.tls or destination.http1 or self._single.get(destination):
                return await super().connect(destination)
            if (stream := self._stream(destination)) is not None:
                return stream
            if (opening := self._opening.get(destination)) is None:
                break
            await asyncio.wait([opening])
        opened = self._opening[destination] = asyncio.get_running_loop().create_future()
        try:
            return self._shared(destination, await super().connect(destination))
        finally:
            del self._opening[destination]
            opened.set_result(None)

    def give_back(self, destination: Destination, upstream: Upstream) -> None:
        """The exchange is over; a stream that its origin has not ended yet ends by itself."""
        if isinstance(upstream, OriginStream):
            upstream.let_end()
        else:
            super().give_back(destination, upstream)

    def drop(self, destination: Destination, upstream: Upstream) -> None:
        """The exchange is over."""
        if isinstance(upstream, OriginStream):
            upstream.abort()
        else:
            super().drop(destination, upstream)

    def close_idle(self, older_than: float) -> None:
        """Close what has been idle since before that loop time."""
        for trunks in list(self._trunks.values()):
            for trunk in [trunk for trunk in trunks if trunk.is_idle and trunk.idle_since < older_than]:
                trunk.close()
        super().close_idle(older_than)

    def _stream(self, destination: Destination) -> OriginStream | None:
        return next((trunk.stream() for trunk in self._trunks.get(destination, ()) if trunk.has_room), None)

    def _shared(self, destination: Destination, upstream: Upstream) -> Upstream:
        if not isinstance(upstream, EarlyUpstream) or not upstream.is_h2:
            if not isinstance(upstream, OriginStream):
                self._single.note(destination, True)
            return upstream

        def gone(trunk: Trunk) -> None:
            self._trunks[destination].remove(trunk)
            if not self._trunks[destination]:
                del self._trunks[destination]
            self._gone(destination)

        trunks = self._trunks.setdefault(destination, [])
        trunk = Trunk(upstream, gone, self._max_head_bytes)
        trunks.append(trunk)
        trunk.start()
        return trunk.stream()
