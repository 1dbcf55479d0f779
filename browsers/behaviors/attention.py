"""These behaviours do what a reader does with the mouse, the keys and the window without clicking."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from typing import Any, Final

from browsers.behaviors.outcomes import BehaviorEnd
from browsers.behaviors.page_access import PageAccess
from browsers.behaviors.page_tools import ToolFailed, call
from browsers.engines.interface import Frame, Point

_MOST_HOVERS: Final = 60
_MISSES: Final = 3
_MOST_REPEATS: Final = 30
"""A key is pressed again, and a box is dragged again, so often while this brings URLs."""
_TRACK: Final = (0.05, 0.95, 0.25, 0.75, 0.4, 0.6, 0.15, 0.85, 0.33, 0.67)
"""Places along an element that listens to moves of the mouse, such as the bar of a film."""
_TRACK_MISSES: Final = 2
_MOST_DRAGGED: Final = 10
_MOST_KEYED: Final = 10
_KEYS_OF_A_LIST: Final = ("ArrowDown", "ArrowRight", "ArrowUp", "ArrowLeft")
_KEYS_OF_A_SLIDER: Final = ("End", "Home", "ArrowRight", "ArrowLeft")
_KEYS: Final = ("ArrowDown", "ArrowUp", "ArrowRight", "ArrowRight", "ArrowLeft", "PageDown", "End", "Escape")
_OPPOSITES: Final = {"ArrowUp": "ArrowDown", "ArrowLeft": "ArrowRight"}
"""A key leads back over what another one has shown."""
_KEY_EVENTS: Final = ["keydown", "keyup", "keypress"]
_MOVE_EVENTS: Final = [
    *("mousemove", "mouseover", "mouseenter", "mouseout", "mouseleave"),
    *("pointermove", "pointerover", "pointerenter", "touchstart", "scroll", "wheel"),
]
_PRESS_EVENTS: Final = ["pointerdown", "pointerup", "mousedown", "mouseup", "click", "touchstart"]
_GESTURES: Final = {
    "gesture": ["dblclick", "contextmenu", "touchstart", "touchend", "touchmove", "dragstart"],
    "lookAway": ["visibilitychange", "focus", "blur"],
    "leaveWindow": ["mouseout", "mouseleave", "pointerout", "pointerleave"],
}
"""Tools that send events, with the events for which a page must listen."""


@dataclass(slots=True)
class FirstMove:
    """The behaviour `move` moves the mouse and presses keys, for pages that wait for a first sign of their reader."""

    page: PageAccess
    steps: int = 0

    async def run(self) -> BehaviorEnd:
        """Move the mouse over the window. Click and press keys when the page listens to that."""
        page = self.page
        frame = page.window.main_frame
        hits = 0
        if not await call(frame, "listens", _MOVE_EVENTS):
            await page.window.move_mouse(Point(200, 200))
        else:
            self.steps += 1
            hits += (await page.step(frame, self._move)).is_any
        if await call(frame, "listens", _PRESS_EVENTS) and (place := await call(frame, "harmlessPoint")):
            self.steps += 1
            hits += (await page.step(frame, partial(page.click, frame, place))).is_any
        if await call(frame, "listens", _KEY_EVENTS):
            pressed: dict[str, int] = {}
            for key in _KEYS:
                if page.clock.is_up:
                    return BehaviorEnd.TIMEOUT
                lead = pressed.get(_OPPOSITES.get(key, ""), 0)
                for turn in range(_MOST_REPEATS + lead):
                    self.steps += 1
                    effect = await page.step(frame, partial(page.window.press, key))
                    hits += effect.is_any
                    pressed[key] = pressed.get(key, 0) + effect.is_any
                    if not effect.is_any or (not effect.urls and turn >= lead) or page.clock.is_up:
                        break
        return BehaviorEnd.DONE if hits or not self.steps else BehaviorEnd.NO_EFFECT

    async def _move(self) -> None:
        for x, y in ((200, 200), (260, 240)):
            await self.page.window.move_mouse(Point(x, y))


@dataclass(slots=True)
class Hover:
    """The behaviour `hover` moves the mouse over menus and other elements that react to this."""

    page: PageAccess
    steps: int = 0
    _misses: dict[str, int] = field(default_factory=dict)

    async def run(self) -> BehaviorEnd:
        """Move the mouse over each element of all frames once; a family is given up after some without effect."""
        hits = 0
        for index, (frame, values) in enumerate(await self.page.in_frames("hoverable")):
            for value in values if isinstance(values, list) else ():
                if self.page.clock.is_up or self.steps >= _MOST_HOVERS:
                    return BehaviorEnd.TIMEOUT
                family = f"{index}|{value['family']}"
                if self._misses.get(family, 0) >= _MISSES:
                    continue
                try:
                    place: dict[str, Any] | None = await call(frame, "aim", value["number"])
                    if place is None:
                        continue
                    point = await self.page.point(frame, place)
                    effect = await self.page.step(frame, partial(self.page.window.move_mouse, point))
                except ToolFailed:
                    break  # the frame went away
                self.steps += 1
                hits += effect.is_any
                self._misses[family] = 0 if effect.is_any else self._misses.get(family, 0) + 1
                if value["isTrack"] and effect.is_any:
                    await self._follow(frame, int(value["number"]))
        return BehaviorEnd.DONE if hits or not self.steps else BehaviorEnd.NO_EFFECT

    async def _follow(self, frame: Frame, number: int) -> None:
        """Move the mouse along an element, until this brings no more URLs."""
        misses = 0
        for share in _TRACK:
            if self.page.clock.is_up or misses >= _TRACK_MISSES:
                return
            try:
                place: dict[str, Any] | None = await call(frame, "aimAside", number, share)
                if place is None:
                    return
                point = await self.page.point(frame, place)
                effect = await self.page.step(frame, partial(self.page.window.move_mouse, point))
            except ToolFailed:
                return  # the frame went away
            self.steps += 1
            misses = 0 if effect.urls else misses + 1


@dataclass(slots=True)
class Gestures:
    """The behaviour `gesture` sends double clicks, right clicks, touches and drags to what listens to them.

    It also tells the page that its reader looked away and came back, and that the mouse left the window.
    """

    page: PageAccess
    steps: int = 0

    async def run(self) -> BehaviorEnd:
        """Send the events in all frames."""
        hits = 0
        for frame in self.page.frames():
            for name, types in _GESTURES.items():
                if self.page.clock.is_up:
                    return BehaviorEnd.TIMEOUT
                try:
                    hits += await self._send(frame, name) if await call(frame, "listens", types) else 0
                except ToolFailed:
                    break  # the frame went away
            try:
                hits += await self._drag(frame)
                hits += await self._walk(frame) if await call(frame, "listens", _KEY_EVENTS) else 0
            except ToolFailed:
                continue  # the frame went away
        return BehaviorEnd.DONE if hits or not self.steps else BehaviorEnd.NO_EFFECT

    async def _drag(self, frame: Frame) -> int:
        """Drag each box that can be dragged to the left and to the right, while this brings URLs. Return the hits."""
        hits = 0
        for number in (await call(frame, "draggable"))[:_MOST_DRAGGED]:
            lead = 0
            for is_right in (False, True):
                pulled = 0
                for turn in range(_MOST_REPEATS + lead):
                    if self.page.clock.is_up:
                        return hits
                    effect = await self.page.step(frame, partial(call, frame, "drag", number, is_right))
                    self.steps += 1
                    hits += effect.is_any
                    pulled += effect.is_any
                    if not effect.is_any or (not effect.urls and turn >= lead):
                        break
                lead = pulled
        return hits

    async def _walk(self, frame: Frame) -> int:
        """Walk with keys through each list and slider that listens to them, while this brings URLs. Return the hits."""
        hits = 0
        for number, is_slider in (await call(frame, "keyed"))[:_MOST_KEYED]:
            pressed: dict[str, int] = {}
            for key in _KEYS_OF_A_SLIDER if is_slider else _KEYS_OF_A_LIST:
                lead = pressed.get(_OPPOSITES.get(key, ""), 0)
                for turn in range(_MOST_REPEATS + lead):
                    if self.page.clock.is_up or not await call(frame, "focusOn", number):
                        return hits
                    effect = await self.page.step(frame, partial(self.page.window.press, key))
                    self.steps += 1
                    hits += effect.is_any
                    pressed[key] = pressed.get(key, 0) + effect.is_any
                    if not effect.is_any or (not effect.urls and turn >= lead):
                        break
        return hits

    async def _send(self, frame: Frame, name: str) -> bool:
        """Call the tool that sends events, and return whether they had an effect."""

        async def send() -> None:
            self.steps += int(await call(frame, name))

        return (await self.page.step(frame, send)).is_any
