"""The behaviour `scroll` scrolls the document and the boxes of all frames. A pure function decides when to stop.

One step scrolls by three quarters of the box. The visitor then waits until the browser has drawn the step, and for the
requests and timers of the step. A page without lazy content takes a tenth of a second for each step, and a slow page
gets the time that it needs. On a tall page that does not react, one step scrolls through several views, each of which
the browser shows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final, Literal

from browsers.behaviors.outcomes import BehaviorEnd
from browsers.behaviors.page_access import PageAccess
from browsers.behaviors.page_tools import ToolFailed, ask, call, in_all
from browsers.engines.interface import Frame, Point

type Ended = Literal["bottom", "height", "steps", "time", "bytes"]

MAX_STEPS: Final = 400
"""A page with more steps counts as endless."""
MAX_HEIGHT: Final = 2_000_000
"""Scrolling stops at this distance from the beginning of the page, in CSS pixels."""
MAX_BYTES: Final = 500_000_000
"""Scrolling stops when the page has received so many bytes meanwhile."""
PATIENCE: Final = 2
"""The bottom must be seen so many times without growth."""
_TALL_VIEWS: Final = 40
"""A page of so many views is tall."""
_CALM_STEPS: Final = 3
"""A tall page that sent no request for so many steps is scrolled through faster."""
_MOST_VIEWS: Final = 16
"""Largest number of views of one step."""
_MOST_BOX_STEPS: Final = 60
_MOST_BACK_STEPS: Final = 30
_MOST_WHEEL_STEPS: Final = 10
"""Turns of the wheel in a row that bring no URL."""
_QUIET_SECONDS: Final = 0.1
_QUIET_AT_BOTTOM_SECONDS: Final = 0.25
_STEP_SECONDS: Final = 4.0
_MOST_FINE_STEPS: Final = 80
_FINE_MISSES: Final = 4
"""Fine steps in a row without a new URL, after a way down of which most steps brought URLs."""


@dataclass(frozen=True, slots=True)
class ScrollPosition:
    """A step ended at this position, in CSS pixels."""

    top: float
    view: float
    height: float

    @property
    def is_bottom(self) -> bool:
        """Return whether the bottom is in view. Browsers round, so that up to two pixels may be missing."""
        return self.top + self.view >= self.height - 2


@dataclass(frozen=True, slots=True)
class Scroll:
    """The progress of scrolling a page."""

    steps: int = 0
    height: float = 0
    stalls: int = 0
    ended: Ended | None = None

    def after(
        self, position: ScrollPosition, *, time_is_up: bool, most_steps: int = MAX_STEPS, received: int = 0
    ) -> Scroll:
        """Return the next state. `ended` is set at the bottom of the page or at a bound.

        `received` is the number of bytes that the page has received since the first step.
        """
        grown = position.height > self.height
        stalls = 0 if grown or not position.is_bottom else self.stalls + 1
        ended = self._end(position, stalls, time_is_up=time_is_up, most_steps=most_steps, received=received)
        return Scroll(self.steps + 1, position.height, stalls, ended)

    def _end(
        self, position: ScrollPosition, stalls: int, *, time_is_up: bool, most_steps: int, received: int
    ) -> Ended | None:
        fits = self.steps == 0 and position.top == 0 and position.is_bottom
        if fits or stalls >= PATIENCE:
            return "bottom"
        if time_is_up:
            return "time"
        if position.top + position.view > MAX_HEIGHT:
            return "height"
        if received > MAX_BYTES:
            return "bytes"
        return "steps" if self.steps + 1 >= most_steps else None


@dataclass(frozen=True, slots=True)
class Pace:
    """The pace is the number of views that the next step of a page scrolls through."""

    views: int = 1
    calm: int = 0
    """Number of steps in a row without a request."""

    def after(self, position: ScrollPosition, *, has_asked: bool, has_grown: bool) -> Pace:
        """Return the pace after a step. A tall page that stays calm is scrolled through faster and faster."""
        if position.height < _TALL_VIEWS * position.view or has_grown:
            return Pace()
        if has_asked:
            return Pace(max(1, self.views // 2))
        is_faster = self.calm + 1 >= _CALM_STEPS
        return Pace(min(_MOST_VIEWS, self.views * 2) if is_faster else self.views, self.calm + 1)


@dataclass(frozen=True, slots=True)
class FrameRoom:
    """A frame shows so many CSS pixels of its document."""

    width: float
    height: float
    depth: int
    """Number of frames in which this frame lies."""

    def fits(self, corner: Point, window: FrameRoom) -> bool:
        """Return whether a frame of this size is wholly in view when its upper left corner is at this point."""
        is_right = corner.x >= 0 and corner.x + self.width <= window.width
        return is_right and corner.y >= 0 and corner.y + self.height <= window.height


@dataclass(slots=True)
class Scrolling:
    """A scroller of one page."""

    page: PageAccess
    steps: int = 0
    scroll: Scroll = field(default_factory=Scroll)
    """Progress in the main document."""
    _is_cut_short: bool = False

    async def run(self) -> BehaviorEnd:
        """Scroll the main document, its boxes, and then the other frames with theirs."""
        main, *others = self.page.frames()
        await self._scroll_frame(main)
        while others:
            together = await self._shown_together(others)
            await in_all(together, self._scroll_frame, self.page.patience.drop)
            others = [frame for frame in others if frame not in together]
        await self.page.in_frames("scrollHome")
        return BehaviorEnd.TIMEOUT if self._is_cut_short else BehaviorEnd.DONE

    async def _shown_together(self, frames: Sequence[Frame]) -> Sequence[Frame]:
        """Bring the first frame into view, and return all frames that can be scrolled at the same time.

        A frame that scrolls must stay in view, since what is lazy in it waits for this. So these are frames of the main
        document that are wholly in view. A frame in another frame is scrolled alone.
        """
        first, *others = frames
        try:
            window = FrameRoom(*await call(self.page.window.main_frame, "room"))
            room = FrameRoom(*await call(first, "show"))
        except ToolFailed:
            return [first]
        if room.depth != 1:
            return [first]
        places = await in_all(others, lambda frame: self._is_in_view(frame, window), self.page.patience.drop)
        return [first, *(frame for frame, is_in_view in places if is_in_view)]

    async def _is_in_view(self, frame: Frame, window: FrameRoom) -> bool:
        room = FrameRoom(*await call(frame, "room"))
        return room.depth == 1 and room.fits(await self.page.point(frame, {"x": 0, "y": 0}), window)

    async def _scroll_frame(self, frame: Frame) -> None:
        boxes = int(await call(frame, "boxes"))
        asked, step = len(self.page.window.traffic.asked), self.steps
        has_begun_within = frame.is_main and (await call(frame, "position"))["top"] > 0
        end = await self._down(frame, 0, MAX_STEPS)
        if frame.is_main:
            self.scroll = end
            is_rich = 2 * (len(self.page.window.traffic.asked) - asked) >= self.steps - step
            await self._up_again(frame, _FINE_MISSES if is_rich else 1)
            if has_begun_within:
                await self._to_top(frame)
            if end.steps == 1 or await call(frame, "hidesScrollBar"):
                await self._wheel(frame)
            if await call(frame, "listens", ["wheel"]):
                for number in range(1, int(await call(frame, "wheelBoxes")) + 1):
                    await self._wheel(frame, number)
        scrolled = 0
        while scrolled < boxes:  # a box may bring others
            while scrolled < boxes and not self.page.clock.is_up:
                scrolled += 1
                await self._up(frame, scrolled)
                await self._down(frame, scrolled, _MOST_BOX_STEPS)
                await self._down(frame, scrolled, _MOST_BOX_STEPS, is_across=True)
                if await call(frame, "isGrid", scrolled):
                    await self._down(frame, scrolled, _MOST_BOX_STEPS, is_across=True)
            if self.page.clock.is_up:
                self._is_cut_short = self._is_cut_short or scrolled < boxes
                return
            boxes = int(await call(frame, "boxes"))

    async def _down(self, frame: Frame, number: int, most_steps: int, *, is_across: bool = False) -> Scroll:
        state, pace, traffic = Scroll(), Pace(), self.page.window.traffic
        began = traffic.bytes
        while state.ended is None:
            asked = traffic.requests
            position = await self._step(frame, number, is_across=is_across, views=pace.views)
            if number == 0 and not is_across:
                grown = state.steps > 0 and position.height > state.height
                pace = pace.after(position, has_asked=traffic.requests > asked, has_grown=grown)
            state = state.after(
                position,
                time_is_up=self.page.clock.is_up,
                most_steps=most_steps,
                received=traffic.bytes - began,
            )
        self._is_cut_short = self._is_cut_short or state.ended != "bottom"
        return state

    async def _up_again(self, frame: Frame, most_misses: int) -> None:
        """Scroll up in fine steps while these bring URLs, when the page listens to its scroll bar.

        Such a page may show a film by the place of the bar, or something to a reader who turns back.
        """
        if self.scroll.steps == 1 or not await call(frame, "listens", ["scroll"]):
            return
        traffic, misses = self.page.window.traffic, 0
        for _ in range(_MOST_FINE_STEPS):
            asked = len(traffic.asked)
            position = await self._step(frame, 0, is_back=True, is_fine=True)
            misses = 0 if len(traffic.asked) > asked else misses + 1
            if misses >= most_misses or position.top <= 0 or self.page.clock.is_up:
                return

    async def _to_top(self, frame: Frame) -> None:
        """Scroll to the beginning of a page that was opened within, and again while the page grows there."""
        height = -1.0
        for _ in range(_MOST_BACK_STEPS):
            await ask(frame, "begin")
            self.page.window.traffic.renew()
            position = await call(frame, "toTop")
            self.steps += 1
            if position["height"] <= height or self.page.clock.is_up:
                return
            height = float(position["height"])
            await self._settle(frame, _QUIET_AT_BOTTOM_SECONDS, _QUIET_AT_BOTTOM_SECONDS)

    async def _up(self, frame: Frame, number: int) -> None:
        """Scroll a box up that begins at its end, such as the messages of a chat."""
        for _ in range(_MOST_BACK_STEPS):
            position = await self._step(frame, number, is_back=True)
            if position.top <= 0 or self.page.clock.is_up:
                return

    async def _step(
        self,
        frame: Frame,
        number: int,
        *,
        is_across: bool = False,
        is_back: bool = False,
        is_fine: bool = False,
        views: int = 1,
    ) -> ScrollPosition:
        await ask(frame, "begin")
        self.page.window.traffic.renew()
        if views > 1:
            position = ScrollPosition(**await call(frame, "scrollThrough", views))
        else:
            position = ScrollPosition(**await call(frame, "scrollStep", number, is_across, is_back, is_fine))
        self.steps += 1
        quiet = _QUIET_AT_BOTTOM_SECONDS if position.is_bottom and not is_back else _QUIET_SECONDS
        await self._settle(frame, quiet, quiet if number == 0 else _QUIET_SECONDS)
        return position

    async def _settle(self, frame: Frame, quiet_seconds: float, first_seconds: float) -> None:
        """Wait for the requests and the timers of a step."""
        page = self.page
        await page.window.traffic.settled(first_seconds, min(_STEP_SECONDS, page.clock.left), from_now=True)
        frames = None if frame.is_main else [page.window.main_frame, frame]
        await page.patience.settle(quiet_seconds, min(_STEP_SECONDS, page.clock.left), _STEP_SECONDS, frames)

    async def _wheel(self, frame: Frame, number: int = 0) -> None:
        """Turn the wheel both ways on a page that fits its window, or has no scroll bar, and moves its parts by itself.

        The wheel is turned back to where it began. With a number, turn the wheel on that box.
        """
        if not await call(frame, "listens", ["wheel"]):
            return
        there = await self._turn_wheel(frame, number, _MOST_BOX_STEPS, _MOST_WHEEL_STEPS)
        back = await self._turn_wheel(frame, number, _MOST_BOX_STEPS, there + _MOST_WHEEL_STEPS, is_back=True)
        if there and back > there:
            await self._turn_wheel(frame, number, back - there, back)

    async def _turn_wheel(
        self, frame: Frame, number: int, most_steps: int, most_misses: int, *, is_back: bool = False
    ) -> int:
        """Turn the wheel one way, until nothing changes or no URL was new for some turns. Return the turns."""
        dry = turns = 0
        while turns < most_steps and dry < most_misses and not self.page.clock.is_up:
            effect = await self.page.step(frame, lambda: call(frame, "wheel", number, is_back))
            self.steps += 1
            if not effect.is_any:
                break
            turns += 1
            dry = 0 if effect.urls else dry + 1
        return turns

    async def scroll_new_boxes(self, frame: Frame) -> int:
        """Scroll the boxes of a frame down that were not there before. Return the number of steps."""
        before, boxes = await call(frame, "newBoxes")
        for number in range(before + 1, boxes + 1):
            await self._down(frame, number, _MOST_BOX_STEPS)
        return self.steps
