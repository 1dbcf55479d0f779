"""A behaviour works on a page through one object: frames, time, steps with their effect, and the links it found."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Collection, Iterable
from dataclasses import dataclass, replace
from functools import partial
from typing import Final

from browsers.behaviors.page_tools import ToolFailed, ask, call, in_all
from browsers.behaviors.patience import Patience
from browsers.engines.interface import BrowserWindow, EngineError, Frame, Point

MOST_LINKS: Final = 5000
"""Largest number of links that the behaviours of one page add."""
_MOST_FRAMES: Final = 30
_PAUSE_MS: Final = 50
"""A page gets this time to react to a step before its effect is measured."""
_QUIET_SECONDS: Final = 0.1
_BACK_SECONDS: Final = 10.0
_TICK_SECONDS: Final = 8.0
"""Time that a visit waits for intervals which its clicks begin."""


class PageLeft(Exception):
    """The window shows another document than the one that was visited."""


@dataclass(frozen=True, slots=True)
class Effect:
    """A step had this effect."""

    requests: int = 0
    urls: int = 0
    """Number of URLs that the page had not asked for before."""
    changes: int = 0
    """Number of changes in the DOM."""
    added: int = 0
    """Number of nodes that came into the DOM."""
    moved: bool = False
    """True if the address of the document changed."""

    @property
    def is_any(self) -> bool:
        """Return whether the step changed anything."""
        return bool(self.requests or self.changes or self.moved)


@dataclass(frozen=True, slots=True)
class DocumentCounts:
    """The observer's counts of one document."""

    changes: int
    added: int
    prevented: int
    url: str
    born: float
    pending: float
    ticking: bool
    """True if the present step has begun an interval."""


class Clock:
    """The clock has the time that a behaviour, or all of them, may take."""

    def __init__(self, seconds: float) -> None:
        self._end = time.monotonic() + seconds

    @property
    def left(self) -> float:
        """Return the seconds that are left, at least 0."""
        return max(0.0, self._end - time.monotonic())

    @property
    def is_up(self) -> bool:
        """Return whether no time is left."""
        return self.left == 0


class PageAccess:
    """The access to one page for its visit; it is made after the page was loaded."""

    def __init__(
        self, window: BrowserWindow, patience: Patience, step_seconds: float, names: Collection[str] = ()
    ) -> None:
        self.names = names
        """Names of the behaviours that run on this page."""
        self.window = window
        self.patience = patience
        self.clock = Clock(0)
        """The time of the present behaviour."""
        self.links: dict[str, str] = {}
        """URLs with the place where they were found, such as `form/@action`."""
        self._step_seconds = step_seconds
        self._tick_seconds = _TICK_SECONDS
        self._born = 0.0
        self._url = ""

    async def begin(self) -> None:
        """Remember the present document, and keep it from being left. Raises ToolFailed."""
        counts = await self.counts(self.window.main_frame)
        self._born, self._url = counts.born, counts.url
        await self.guard(is_on=True)

    async def guard(self, *, is_on: bool) -> None:
        """Keep the main document from being left, or let it be left."""
        await ask(self.window.main_frame, "guard", is_on)

    def frames(self) -> list[Frame]:
        """Return the frames that behaviours look at, the main frame first."""
        return self.patience.frames()[:_MOST_FRAMES]

    def add_links(self, urls: Iterable[object], context: str) -> None:
        """Keep http links. Further ones are dropped when there are too many."""
        for url in urls:
            text = str(url)
            if len(self.links) < MOST_LINKS and text.startswith(("http://", "https://")):
                self.links.setdefault(text, context)

    async def counts(self, frame: Frame) -> DocumentCounts:
        """Return what has happened in a frame. Raises ToolFailed."""
        return DocumentCounts(**await ask(frame, "counts"))

    async def step(
        self,
        frame: Frame,
        action: Callable[[], Awaitable[object]],
        most_seconds: float = 0,
        *,
        may_tick: bool = False,
    ) -> Effect:
        """Do something in a frame, wait for what it set off, and return its effect.

        A page that does nothing is left after a moment. With `may_tick`, an interval that the step begins is waited
        for, within the time that all these of a page have. Raises ToolFailed and PageLeft.
        """
        traffic = self.window.traffic
        before = DocumentCounts(**await ask(frame, "begin"))
        requests, urls, popups = traffic.requests, len(traffic.asked), len(self.window.popups)
        traffic.renew()
        if not frame.is_main:
            await ask(frame, "guard", True)
        await action()
        try:
            after = DocumentCounts(**await ask(frame, "pause", _PAUSE_MS))
            has_popup = len(self.window.popups) != popups
            ticks = may_tick and after.ticking and self._tick_seconds > 0
            has_stirred = replace(after, ticking=before.ticking) != before
            if has_popup or traffic.requests != requests or has_stirred or ticks:
                most = min(most_seconds or self._step_seconds, self.clock.left)
                began = time.monotonic()
                await self.patience.settle(_QUIET_SECONDS, most, most)
                self._tick_seconds -= time.monotonic() - began if ticks else 0
                after = await self.counts(frame)
            if not frame.is_main:
                await ask(frame, "guard", False)
        except ToolFailed:
            await self._check_document()
            raise
        if after.born != before.born:
            await self._check_document()
            return Effect(traffic.requests - requests, len(traffic.asked) - urls, 1, 1, moved=True)
        return Effect(
            traffic.requests - requests,
            len(traffic.asked) - urls,
            after.changes - before.changes,
            after.added - before.added,
            moved=after.url != before.url,
        )

    async def click(self, frame: Frame, place: dict[str, float]) -> None:
        """Click a point of a frame with the mouse."""
        await self.window.click(await self.point(frame, place))

    async def point(self, frame: Frame, place: dict[str, float]) -> Point:
        """Return the point of the window at a point of a frame. Raises ToolFailed when the frame is gone."""
        try:
            offset = await frame.offset()
        except EngineError as error:
            if self.window.lost.is_set():
                raise
            raise ToolFailed(str(error)) from error
        return Point(offset.x + place["x"], offset.y + place["y"])

    async def come_back(self) -> None:
        """Show the visited document again, when behaviours led away from it or to another route. Raises ToolFailed."""
        counts = await self.counts(self.window.main_frame)
        if counts.born != self._born:
            await self.window.go_back()
            async with asyncio.timeout(_BACK_SECONDS):
                await self.window.loaded()
            await self.begin()
        elif counts.url != self._url:
            await ask(self.window.main_frame, "goTo", self._url)
            await self.patience.settle(_QUIET_SECONDS, self._step_seconds, 1.0)

    async def collect(self) -> None:
        """Keep the addresses to which documents wanted to go, and the routes that they showed."""
        for name, context in (("left", "script/location"), ("routes", "script/history")):
            for _, urls in await in_all(self.frames(), partial(ask, name=name), self.patience.drop):
                self.add_links(urls, context)

    async def in_frames(self, name: str, *values: object) -> list[tuple[Frame, object]]:
        """Return the results of a tool in all frames that have one."""
        return await in_all(self.frames(), lambda frame: call(frame, name, *values), self.patience.drop)

    async def _check_document(self) -> None:
        try:
            counts = await self.counts(self.window.main_frame)
        except ToolFailed as error:
            raise PageLeft from error
        if counts.born != self._born:
            raise PageLeft
