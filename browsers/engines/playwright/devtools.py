"""Sessions of the DevTools protocol that Playwright opens, as the modules of `engines.chromium.devtools` use them."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Mapping
from typing import Any, Final

from playwright.async_api import CDPSession, Error

from browsers.engines.chromium.devtools.connection import DevToolsSession

_MESSAGE: Final = "): "
"""Playwright's error message has the words of the browser behind `Protocol error (Method): `."""


class PlaywrightWire:
    """The wire carries the commands and events of one session."""

    _numbers = itertools.count(1)

    def __init__(self, session: CDPSession, kind: str) -> None:
        self.session = DevToolsSession(self, f"playwright {next(self._numbers)}", kind)
        self._cdp = session
        self._last = 0
        self._sent: set[asyncio.Task[None]] = set()
        session.on("event", self._on_event)
        session.on("close", lambda _: self.session.end("the target has ended"))

    def write(self, session: DevToolsSession, method: str, params: Mapping[str, Any]) -> int:
        """Write a command, and return its number."""
        self._last += 1
        task = asyncio.ensure_future(self._send(self._last, method, dict(params)))
        self._sent.add(task)
        task.add_done_callback(self._sent.discard)
        return self._last

    def close(self) -> None:
        """End the session, and forget its commands."""
        for task in self._sent:
            task.cancel()
        self.session.end("the window was closed")

    async def _send(self, number: int, method: str, params: dict[str, Any]) -> None:
        try:
            result = await self._cdp.send(method, params)
        except Error as error:
            told = error.message.partition("Protocol error (")[2].partition(_MESSAGE)[2] or "Target closed"
            self.session.answered(number, {"error": {"message": told}})
        else:
            self.session.answered(number, {"result": result or {}})

    def _on_event(self, event: Mapping[str, Any]) -> None:
        self.session.handler(event["method"], event.get("params") or {})
