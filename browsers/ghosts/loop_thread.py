"""An event loop runs in a thread of its own, and other threads give it coroutines."""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Coroutine
from typing import Any

log = logging.getLogger(__name__)


class LoopThread:
    """The thread runs one event loop until it is closed. Several threads may call `run`."""

    def __init__(self, name: str) -> None:
        """Start the thread, which gets the name."""
        self._loop = asyncio.new_event_loop()
        self._loop.set_exception_handler(_note)
        self._thread = threading.Thread(target=self._loop.run_forever, name=name, daemon=True)
        self._thread.start()

    def run[T](self, work: Coroutine[Any, Any, T]) -> T:
        """Run the coroutine and return its result, or raise its error."""
        return asyncio.run_coroutine_threadsafe(work, self._loop).result()

    def close(self) -> None:
        """Stop the loop after the ready callbacks have run."""
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(timeout=30)
        self._loop.close()


def _note(loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
    """Log errors of futures that nobody waits for when a browser ends."""
    log.debug("%s: %r", context.get("message"), context.get("exception"))
