"""The behaviour `click` touches what looks or behaves like a control: tabs, accordions, buttons, pages, routes.

Controls that look alike are one family. A family is given up when several of its members in a row had no effect. A
control is touched again while it brings URLs that the page had not asked for, such as "load more".
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, Final

from browsers.behaviors.outcomes import BehaviorEnd
from browsers.behaviors.page_access import Effect, PageAccess
from browsers.behaviors.page_tools import ToolFailed, ask, call
from browsers.behaviors.scrolling import Scrolling
from browsers.engine import Frame

MOST_STEPS: Final = 400
"""Largest number of clicks on one page."""
MOST_REPEATS: Final = 40
"""Largest number of clicks on one control."""
_MISSES: Final = 3
"""A family is given up after so many members without effect in a row."""
_MOST_OF_FAMILY: Final = 60
_MOST_WITHOUT_URLS: Final = 15
"""A family whose members change the page but fetch nothing new is given up after so many members in a row."""
_ROUTE_KINDS: Final = frozenset(("link", "hash", "window", "download"))
_TURNS: Final = {"toggle": 0, "choice": 1, "button": 2, "pointer": 3, "hash": 4, "link": 5, "window": 6, "download": 7}
_MOST_OF_KIND: Final = {"window": 3, "download": 5}
"""Largest number of links that are opened in windows of their own, and of files that are downloaded."""
_BLIND_REPEATS: Final = 3
"""A control with a label such as "next" is touched so often in a row without new URLs."""


@dataclass(frozen=True, slots=True)
class _Candidate:
    frame: Frame
    number: int
    key: str
    family: str
    kind: str
    is_more: bool
    url: str
    """Address of the main document when the control was found."""


@dataclass(slots=True)
class _Family:
    touched: int = 0
    misses: int = 0
    dry: int = 0
    """Number of members in a row that brought no new URL."""

    def note(self, effect: Effect, kind: str) -> None:
        is_hit = effect.is_any
        if kind in _ROUTE_KINDS:
            is_hit = bool(effect.urls or effect.moved or effect.added)
        self.touched += 1
        self.misses = 0 if is_hit else self.misses + 1
        self.dry = 0 if effect.urls or effect.moved else self.dry + 1

    @property
    def is_given_up(self) -> bool:
        return self.misses >= _MISSES or self.touched >= _MOST_OF_FAMILY or self.dry >= _MOST_WITHOUT_URLS


@dataclass(slots=True)
class Clicks:
    """The object touches the controls of one page."""

    page: PageAccess
    steps: int = 0
    _hits: int = 0
    _of_kind: Counter[str] = field(default_factory=Counter)
    _seen: set[str] = field(default_factory=set)
    _families: dict[str, _Family] = field(default_factory=dict)

    async def run(self) -> BehaviorEnd:
        """Touch the controls of all frames, and then those that appeared meanwhile. Raises PageLeft."""
        queue = await self._fresh()
        while queue:
            if self.page.clock.is_up or self.steps >= MOST_STEPS:
                return BehaviorEnd.TIMEOUT
            candidate = queue.pop(0)
            family = self._families.setdefault(candidate.family, _Family())
            most = _MOST_OF_KIND.get(candidate.kind, MOST_STEPS)
            if family.is_given_up or self._of_kind[candidate.kind] >= most:
                continue
            self._of_kind[candidate.kind] += 1
            try:
                effect = await self._touch(candidate)
            except ToolFailed:
                continue  # the control's frame went away
            if effect is None:
                continue
            family.note(effect, candidate.kind)
            if effect.changes and not effect.moved:
                await self._scroll_new_boxes(candidate.frame)
            if effect.is_any:
                self._hits += 1
                queue = _ordered(await self._fresh(), queue)
            if not queue:
                queue = await self._fresh()
        return BehaviorEnd.DONE if self._hits or not self.steps else BehaviorEnd.NO_EFFECT

    async def _scroll_new_boxes(self, frame: Frame) -> None:
        """Scroll the boxes that a click has shown, such as the list in a panel or in a dialog."""
        try:
            self.steps += await Scrolling(self.page).scroll_new_boxes(frame)
        except ToolFailed:
            return  # the frame went away

    async def _fresh(self) -> list[_Candidate]:
        """Return the controls that were not seen before."""
        url = (await self.page.counts(self.page.window.main_frame)).url
        found = []
        for index, (frame, values) in enumerate(await self.page.in_frames("clickable")):
            for value in values if isinstance(values, list) else ():
                candidate = _candidate(frame, index, value, url)
                if candidate.key not in self._seen:
                    self._seen.add(candidate.key)
                    found.append(candidate)
        return _ordered(found, ())

    async def _touch(self, candidate: _Candidate) -> Effect | None:
        """Click a control, and again while this brings something new. None when it can't be reached."""
        page = self.page
        main = page.window.main_frame
        if (await page.counts(main)).url != candidate.url and not await ask(main, "goTo", candidate.url):
            return None
        total, blind = Effect(), 0
        for turn in range(MOST_REPEATS):
            if page.clock.is_up or self.steps >= MOST_STEPS:
                break
            effect = await self._click(candidate)
            if effect is None:
                return total if turn else None
            self.steps += 1
            total = _sum(total, effect)
            if effect.moved:
                await self._look_at_route()
                break
            blind = 0 if effect.urls else blind + 1
            if not effect.urls and not (candidate.is_more and effect.is_any and blind < _BLIND_REPEATS):
                break
        return total

    async def _click(self, candidate: _Candidate) -> Effect | None:
        frame = candidate.frame
        number = candidate.number
        place: dict[str, Any] | None = await call(frame, "aim", number)
        if place is None:
            again = await self._again(candidate)
            place = await call(frame, "aim", again) if again is not None else None
            if place is None or again is None:
                return None
            number = again
        if place["isOnTop"]:
            return await self.page.step(frame, lambda: self.page.click(frame, place))
        return await self.page.step(frame, lambda: call(frame, "push", number))

    async def _again(self, candidate: _Candidate) -> int | None:
        """Return the number of the same control when the page has drawn it again."""
        for value in await call(candidate.frame, "clickable"):
            if candidate.key.endswith(f"|{value['key']}"):
                return int(value["number"])
        return None

    async def _look_at_route(self) -> None:
        """Keep the links of a route, and load what is lazy there."""
        page = self.page
        frame = page.window.main_frame
        page.add_links([(await page.counts(frame)).url], "script/history")
        page.add_links(await call(frame, "anchors", 1000), "a/@href")
        await page.step(frame, lambda: call(frame, "makeEager"))


def _candidate(frame: Frame, index: int, value: dict[str, Any], url: str) -> _Candidate:
    family = f"{index}|{value['family']}"
    key = f"{index}|{value['key']}"
    return _Candidate(frame, int(value["number"]), key, family, str(value["kind"]), bool(value["isMore"]), url)


def _ordered(fresh: Iterable[_Candidate], old: Iterable[_Candidate]) -> list[_Candidate]:
    """Return what has just appeared before what waited, and links after everything else."""
    turn = sorted(fresh, key=lambda each: _TURNS.get(each.kind, 1))
    both = [*turn, *old]
    return sorted(both, key=lambda each: _TURNS[each.kind] if each.kind in _ROUTE_KINDS else 0)


def _sum(one: Effect, other: Effect) -> Effect:
    return Effect(
        one.requests + other.requests,
        one.urls + other.urls,
        one.changes + other.changes,
        one.added + other.added,
        moved=one.moved or other.moved,
    )
