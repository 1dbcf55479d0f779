"""A browser context of Chromium without windows keeps its HTTP cache for another window.

Nothing may run in it: each of its targets is closed, and a target that begins later makes the context unusable. The
requests that outlive their page (`keepalive` fetches, beacons) belong to no target. They end when the proxy breaks
their connections. Chromium tries a broken one a second time, at once, and the proxy refuses it. `settle` returns after
this. Data of pages are removed before the next document (`forgets`).
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any, Final, Protocol

from browsers.engines.chromium.devtools.connection import DevToolsSession
from browsers.engines.interface import EngineError

_PAUSE_SECONDS: Final = 0.02
_ROUND_TRIPS: Final = 3
"""The network thread looks at its sockets between two messages, so that one round trip is not enough."""
_SETTLE_SECONDS: Final = 5.0


class ContextHost(Protocol):
    """A context belongs to this browser."""

    @property
    def root(self) -> DevToolsSession:
        """Return the session of the browser itself."""
        ...

    def has_kept(self, context: ChromiumContext) -> bool:
        """Return whether the browser runs well and has the context."""
        ...

    async def dispose(self, context_id: str) -> None:
        """Close a context. A browser that can't do this in time is not used again."""
        ...


class ChromiumContext:
    """The context has a cache, and the origins whose data it may have."""

    def __init__(self, host: ContextHost, context_id: str, origins: frozenset[str]) -> None:
        self.id = context_id
        self._host = host
        self._origins = origins
        self._is_empty = False
        """True if all targets of the last window have ended."""
        self._was_used = False
        """True if a target began after the last window."""

    # The browser's side

    def attach(self, session: DevToolsSession, target: Mapping[str, Any]) -> None:
        """Close a new target, which waits and has not run."""
        self._was_used = self._was_used or self._is_empty
        self._host.root.send("Target.closeTarget", targetId=target["targetId"])

    def detach(self, session: DevToolsSession) -> None:
        """Do nothing: the target was closed."""

    # The visitor's side

    def is_usable_in(self, engine: object) -> bool:
        """Return whether the engine has the context, and nothing has run in it since its last window."""
        return engine is self._host and self._host.has_kept(self) and self._is_empty and not self._was_used

    async def end_targets(self) -> None:
        """Close all pages and workers, and return when they have ended. Raises EngineError."""
        while targets := await self._targets():
            for target in targets:
                self._host.root.send("Target.closeTarget", targetId=target)
            await asyncio.sleep(_PAUSE_SECONDS)
        self._is_empty = True

    async def settle(self) -> bool:
        """Wait until Chromium has acted upon each connection that the proxy has broken so far.

        The answer about cookies comes from the thread that has the connections.
        """
        try:
            async with asyncio.timeout(_SETTLE_SECONDS):
                for _ in range(_ROUND_TRIPS):
                    await self._host.root.send("Storage.getCookies", browserContextId=self.id)
                has_targets = bool(await self._targets())
        except (EngineError, TimeoutError):
            return False
        return self._host.has_kept(self) and not has_targets and not self._was_used

    async def forgets(self, page: DevToolsSession) -> None:
        """Remove cookies, storage and service workers before the first document of a new page. Raises EngineError."""
        sent = [self._host.root.send("Storage.clearCookies", browserContextId=self.id)]
        sent += [page.send("Storage.clearDataForOrigin", origin=origin, storageTypes="all") for origin in self._origins]
        for answer in sent:
            await answer

    async def close(self) -> None:
        """Close the context and forget its cache."""
        await self._host.dispose(self.id)

    async def _targets(self) -> list[str]:
        answer = await self._host.root.send("Target.getTargets")
        return [found["targetId"] for found in answer["targetInfos"] if found.get("browserContextId") == self.id]
