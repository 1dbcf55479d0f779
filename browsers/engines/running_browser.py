"""All engines watch their running browser in the same way: whether it answers, its memory, and the ends of pages."""

from __future__ import annotations

import asyncio
import math
import time
from abc import ABC, abstractmethod
from collections.abc import Coroutine, Iterable, Iterator
from contextlib import contextmanager
from typing import Any, Final, Protocol

from archive.settings import BrowserSettings
from browsers.engines.interface import EngineError
from browsers.engines.memory import MemoryWatch

START_SECONDS: Final = 60.0
STOP_SECONDS: Final = 10.0
_PING_SECONDS: Final = 2.0
_TOGETHER_SECONDS: Final = 5.0
"""A browser that ends so soon after a page's process ended because of that page."""


class LosableWindow(Protocol):
    """A window is over when its browser is lost."""

    def lose(self) -> None:
        """End the window."""
        ...


class RunningBrowser(ABC):
    """A running browser belongs to the event loop that started it."""

    def __init__(self, pid: int, version: str, settings: BrowserSettings) -> None:
        """`pid` is the process of the browser, or 0 when it is not known."""
        self.pid = pid
        self.version = version
        self.is_broken = False
        """Set when a part of the browser hung or ended. It gets no further window."""
        self.lost = asyncio.Event()
        """Set when the browser ended or does not answer. Its visits are over."""
        self._lost_at = 0.0
        self._is_busy = asyncio.Event()
        """Set while there are windows."""
        self._pictures = 0
        """Number of pictures that are being taken."""
        self._page_crashed_at = -math.inf
        """Time (monotonic seconds) of the last unexpected end of a page's process."""
        self._memory: MemoryWatch | None = None
        self._watches: list[asyncio.Future[None]] = []
        if pid:
            self._memory = MemoryWatch(pid, settings.page_memory_bytes, may_end_processes=lambda: not self._pictures)
            self._watch(self._memory.run(self._is_busy))

    @property
    def was_ended_by_a_page(self) -> bool:
        """Return whether the browser ended just after the process of a page of it had ended."""
        return self.lost.is_set() and self._lost_at - self._page_crashed_at < _TOGETHER_SECONDS

    @contextmanager
    def taking_picture(self) -> Iterator[None]:
        """Let the watch of the memory wait: Chromium crashes when a page's process ends while its picture is taken."""
        self._pictures += 1
        try:
            yield
        finally:
            self._pictures -= 1

    def page_crashed(self) -> None:
        """Note that the process of a page has ended unexpectedly."""
        self._page_crashed_at = time.monotonic()

    def ended_for_memory(self) -> bool:
        """Return whether a process ended for its use of memory. Each end is reported once."""
        return self._memory is not None and self._memory.claim_end()

    @abstractmethod
    async def _ask(self) -> None:
        """Ask the browser something that costs little. Raises EngineError."""

    @abstractmethod
    def _open_windows(self) -> Iterable[LosableWindow]:
        """Return the windows that are over when the browser is lost."""

    def _watch(self, work: Coroutine[Any, Any, None]) -> None:
        """Run the work until `_end_watches`."""
        self._watches.append(asyncio.ensure_future(work))

    async def _end_watches(self) -> None:
        for watch in self._watches:
            watch.cancel()
        await asyncio.gather(*self._watches, return_exceptions=True)

    async def _ping(self) -> None:
        """Ask the browser regularly, since no event tells of a browser that hangs."""
        while not self.lost.is_set():
            await asyncio.sleep(_PING_SECONDS)
            try:
                async with asyncio.timeout(STOP_SECONDS):
                    await self._ask()
            except (EngineError, TimeoutError):
                self._lose()

    def _lose(self) -> None:
        """End all windows, since the browser ended or does not answer."""
        if not self.lost.is_set():
            self._lost_at = time.monotonic()
        self.is_broken = True
        self.lost.set()
        for window in self._open_windows():
            window.lose()
