"""The behaviour `click` touches what looks or behaves like a control: tabs, accordions, buttons, pages, routes.

Controls that look alike are one family. A family is given up when several of its members in a row had no effect. A
control is touched again while it brings URLs that the page had not asked for, such as "load more", but all controls get
their first turns before one gets a long one. The controls of a pair, such as "previous" and "next", lead back over what
the other one has shown: each gets as many touches for the way back as the other one was ahead.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Final

from browsers.behaviors.forms import Forms
from browsers.behaviors.outcomes import BehaviorEnd, GivenUp, GivenUpFor
from browsers.behaviors.page_access import Clock, Effect, PageAccess
from browsers.behaviors.page_tools import ToolFailed, ask, call
from browsers.behaviors.scrolling import Scrolling
from browsers.engines.interface import Frame

MOST_STEPS: Final = 400
"""Largest number of clicks on one page."""
MOST_REPEATS: Final = 40
"""Largest number of clicks on one control, or on both of a pair together, that bring something new."""
_TURN_REPEATS: Final = (3, 17)
"""The number of them that belong to the first turns of a control. A later turn has as many as are left."""
_TURN_SECONDS: Final = 4.0
"""A turn of a control ends after this time, too."""
_MOST_BACK: Final = 80
"""Largest number of clicks in a row on the way back over what the other control of a pair has shown."""
_MOST_AT_ONCE: Final = 6
"""New controls of one family that are touched at once after the control that has shown them."""
_DRY_FAMILY: Final = 3
"""Members of a family without new URLs, after which its further members wait until all other controls had a turn."""
_MOST_NAMES: Final = 20
_LONGEST_NAME: Final = 60
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
_SIDES: Final = (0.85, 0.15)
"""Parts of the width at which a large box is touched, after its middle."""
_MOST_OPENERS: Final = 3
"""Controls that are touched before one that they show, such as a menu in a menu."""
_MOST_LOST: Final = 50
_MOST_WALKS: Final = 5
"""Windows over the page in which an arrow key is pressed."""
_MOST_LIKELY: Final = 20
_MOST_RETURNS: Final = 6
"""Controls that are touched at the end to bring lost ones back."""
_MOST_FAILURES: Final = 2
"""A control that did not show again what it had shown is left so many times later."""


@dataclass(frozen=True, slots=True)
class _Candidate:
    frame: Frame
    number: int
    key: str
    family: str
    kind: str
    is_more: bool
    is_area: bool
    """True if this is a large box, which may act by the place of a click."""
    is_closer: bool
    """A closer closes something, such as a window over the page."""
    label: str
    heading: int
    """-1 for a control that leads back, such as "previous" or "zoom out", and 1 for one that leads forth."""
    pair: str
    """Name of the pair of controls that lead to both directions; empty without another one."""
    url: str
    """Address of the main document when the control was found."""
    opener: _Candidate | None = None
    """The control after whose click this one appeared."""

    @property
    def name(self) -> str:
        """Return the key within the frame."""
        return self.key.partition("|")[2]


@dataclass(slots=True)
class _Family:
    touched: int = 0
    misses: int = 0
    dry: int = 0
    """Number of members in a row that brought no new URL."""
    has_fetched: bool = False
    """True if any member brought a new URL."""

    def note(self, effect: Effect, kind: str) -> None:
        is_hit = effect.is_any
        if kind in _ROUTE_KINDS:
            is_hit = bool(effect.urls or effect.moved or effect.added)
        self.touched += 1
        self.misses = 0 if is_hit else self.misses + 1
        self.dry = 0 if effect.urls or effect.moved else self.dry + 1
        self.has_fetched = self.has_fetched or bool(effect.urls or effect.moved)

    @property
    def given_up_for(self) -> GivenUpFor | None:
        """Return why further members are not touched; None when they are."""
        if self.misses >= _MISSES:
            return GivenUpFor.ALIKE_IDLE
        if self.touched >= _MOST_OF_FAMILY:
            return GivenUpFor.MANY_ALIKE
        return GivenUpFor.ALIKE_DRY if self.dry >= _MOST_WITHOUT_URLS else None

    @property
    def can_wait(self) -> bool:
        """Return whether other controls are likelier to bring something."""
        return self.touched >= _DRY_FAMILY and not self.has_fetched


@dataclass(slots=True)
class _Turns:
    """The turns of one control so far."""

    count: int = 0
    fruits: int = 0
    """Number of touches that brought something new."""
    url: str = ""
    """Address at which the last turn ended; empty before the first."""

    def share(self, walk: _Walk) -> int:
        """Return how many touches that bring something new belong to the next turn."""
        left = MOST_REPEATS - max(self.fruits, walk.fruits)
        return min(_TURN_REPEATS[self.count], left) if self.count < len(_TURN_REPEATS) else left


@dataclass(slots=True)
class _Walk:
    """A pair of controls has led to this position, and to these ends."""

    at: int = 0
    fruits: int = 0
    """Number of touches of both that brought something new."""
    ends: dict[int, int] = field(default_factory=lambda: {-1: 0, 1: 0})

    def lead(self, heading: int) -> int:
        """Return the number of touches to the end that was reached in this direction."""
        return abs(self.ends[heading] - self.at)

    def go(self, heading: int) -> None:
        """Note a touch that had an effect."""
        self.at += heading
        self.ends[heading] = max(self.ends[heading] * heading, self.at * heading) * heading


@dataclass(slots=True)
class Clicks:
    """A clicker that touches the controls of one page."""

    page: PageAccess
    steps: int = 0
    _hits: int = 0
    _of_kind: Counter[str] = field(default_factory=Counter)
    _seen: set[str] = field(default_factory=set)
    _families: dict[str, _Family] = field(default_factory=dict)
    _spent: set[str] = field(default_factory=set)
    """Controls that brought URLs until they could not be used any more, such as "next" before an answer is chosen."""
    _used: Counter[str] = field(default_factory=Counter)
    _failures: Counter[str] = field(default_factory=Counter)
    _lost: set[str] = field(default_factory=set)
    """Controls that went away before their turn, such as those of the first tab."""
    _touched: list[_Candidate] = field(default_factory=list)
    """Controls that may bring lost ones back."""
    _idle: dict[str, _Candidate] = field(default_factory=dict)
    """The first control of each family that had no effect."""
    _woken: set[str] = field(default_factory=set)
    _has_been_below: bool = False
    _walks: int = 0
    _returns: int = 0
    _turned: set[str] = field(default_factory=set)
    """Families of controls that changed the page."""
    _turns: dict[str, _Turns] = field(default_factory=dict)
    _walks_of_pairs: dict[str, _Walk] = field(default_factory=dict)
    _queue: list[_Candidate] = field(default_factory=list)
    _later: list[_Candidate] = field(default_factory=list)
    """Controls whose next turn comes when all others had theirs."""
    _url: str = ""
    """Address of the main document, as it was seen last."""
    _routes: set[str] = field(default_factory=set)
    """Addresses that the page gave itself."""
    _given_up: dict[GivenUpFor, dict[str, str]] = field(default_factory=dict)
    """Labels of controls by their keys, by the reason why they were given up."""

    @property
    def given_up(self) -> tuple[GivenUp, ...]:
        """Return the controls that were given up so far. Those whose address is among the links are left out."""
        return tuple(
            GivenUp(reason, len(found), tuple(dict.fromkeys(list(found.values())[:_MOST_NAMES])))
            for reason, found in self._given_up.items()
            if found
        )

    async def run(self) -> BehaviorEnd:
        """Touch the controls of all frames, and then those that appeared meanwhile. Raises PageLeft."""
        self._given_up.pop(GivenUpFor.UNTOUCHED, None)
        ended = await self._run()
        for candidate in (*self._queue, *self._later):
            self._give_up(candidate, GivenUpFor.UNTOUCHED)
        return BehaviorEnd.BUDGET if any(each.reason.is_for_budget for each in self.given_up) else ended

    async def _run(self) -> BehaviorEnd:
        if "form" in self.page.names:
            await self.page.in_frames("noteControls")
        queue = self._queue = [*await self._fresh(), *self._queue]
        while queue := queue or await self._next_round():
            self._queue = queue
            if self.page.clock.is_up or self.steps >= MOST_STEPS:
                return BehaviorEnd.TIMEOUT
            candidate = queue.pop(0)
            family = self._families.setdefault(candidate.family, _Family())
            most = _MOST_OF_KIND.get(candidate.kind, MOST_STEPS)
            if self._of_kind[candidate.kind] >= most:
                continue
            if candidate.key not in self._turns:
                if reason := family.given_up_for:
                    self._give_up(candidate, reason)
                    continue
                self._of_kind[candidate.kind] += 1
            fresh: list[_Candidate] = []
            try:
                effect = await self._touch(candidate, fresh)
            except ToolFailed:
                continue  # the control's frame went away
            if effect is None:
                self._lose(candidate)
            else:
                family.note(effect, candidate.kind)
                queue = self._queue = await self._after(candidate, effect, fresh, queue)
        return BehaviorEnd.DONE if self._hits or not self.steps else BehaviorEnd.NO_EFFECT

    async def _next_round(self) -> list[_Candidate]:
        """Return the controls that come when all others had their turn."""
        if fresh := await self._fresh():
            return fresh
        later, self._later = self._later, []
        return later or await self._found_again() or await self._found_below()

    def _give_up(self, candidate: _Candidate, reason: GivenUpFor) -> None:
        """Note a control that is given up, unless its address is a link that others follow."""
        if candidate.kind in ("link", "window", "download"):
            return
        name = candidate.label or candidate.name.strip("|").replace("|", " ")
        self._given_up.setdefault(reason, {}).setdefault(candidate.key, name[:_LONGEST_NAME])

    async def _after(
        self, candidate: _Candidate, effect: Effect, fresh: list[_Candidate], queue: list[_Candidate]
    ) -> list[_Candidate]:
        """Return what is to be touched after a control had this effect."""
        if candidate.kind not in _ROUTE_KINDS and len(self._touched) < MOST_STEPS:
            self._touched.append(candidate)
        if not effect.is_any:
            if candidate.kind not in _ROUTE_KINDS:
                self._idle.setdefault(candidate.family, candidate)
            return queue
        self._hits += 1
        if effect.changes and not effect.moved:
            self._turned.add(candidate.family)
            await self._scroll_new_boxes(candidate.frame)
            await self._walk_overlay(candidate.frame)
            await self._use_forms(candidate.frame)
        if fresh and candidate.opener is None and candidate.key in self._turns:
            self._later.append(candidate)  # it closes again what it has opened
        elif fresh:
            queue = [candidate, *queue]
        now = self._shared_out(fresh or await self._fresh(candidate))
        queue = _ordered(now, queue)
        idle = self._idle.pop(candidate.family, None)
        if idle is not None and candidate.family not in self._woken:
            self._woken.add(candidate.family)
            queue.append(idle)  # the tab that was open at first, and is not any more
        return queue

    def _shared_out(self, fresh: list[_Candidate]) -> list[_Candidate]:
        """Return the new controls that are touched at once, and let the others wait: very many that look alike, and
        those whose like has brought nothing.
        """
        now: list[_Candidate] = []
        counts: Counter[str] = Counter()
        for candidate in fresh:
            counts[candidate.family] += 1
            family = self._families.get(candidate.family)
            can_wait = family is not None and family.can_wait and not candidate.is_closer
            if counts[candidate.family] > _MOST_AT_ONCE or can_wait:
                self._later.append(candidate)
            else:
                now.append(candidate)
        return now

    def _lose(self, candidate: _Candidate) -> None:
        """Note a control that can't be reached, when nothing had shown it. It counts as new when it comes back."""
        if candidate.opener is None and candidate.kind not in _ROUTE_KINDS and len(self._lost) < _MOST_LOST:
            self._lost.add(candidate.key)
            self._spent.add(candidate.key)

    async def _walk_overlay(self, frame: Frame) -> None:
        """Walk through what came over the page with an arrow key, while this brings URLs."""
        if not frame.is_main or self._walks >= _MOST_WALKS or not await call(frame, "hasNewOverlay"):
            return
        if not await call(frame, "listens", ["keydown", "keyup"]):
            return
        self._walks += 1
        back = await self._press_on("ArrowLeft", frame, _TURN_REPEATS[0], 0)
        await self._press_on("ArrowRight", frame, MOST_REPEATS, back)

    async def _press_on(self, key: str, frame: Frame, most: int, lead: int) -> int:
        """Press a key while this brings URLs, at first over `lead` places that were shown. Return how often it did."""
        hits = 0
        for turn in range(most + lead):
            if self.page.clock.is_up or self.steps >= MOST_STEPS:
                break
            effect = await self.page.step(frame, partial(self.page.window.press, key))
            self.steps += 1
            if not effect.is_any or (not effect.urls and turn >= lead):
                break
            hits += 1
        return hits

    async def _found_again(self) -> list[_Candidate]:
        """Touch controls like those that changed the page, until lost ones are there again. Return these."""
        while self._lost and self._returns < _MOST_RETURNS and not self.page.clock.is_up and self.steps < MOST_STEPS:
            found = await self._reachable()
            if found is None:
                return []
            likely, at = found
            self._touched = [each for each in self._touched if each.key != likely.key]
            self._returns += 1
            self.steps += 1
            try:
                await self._click_at(likely.frame, *at)
            except ToolFailed:
                continue  # the frame went away
            if back := await self._fresh(likely):
                return back
        return []

    async def _found_below(self) -> list[_Candidate]:
        """Scroll a page down once, when the page watches this, and return the controls that come into view then."""
        main = self.page.window.main_frame
        if self._has_been_below or self.page.clock.is_up:
            return []
        self._has_been_below = True
        if not await call(main, "watchesView"):
            return []
        await self.page.step(main, partial(call, main, "toMiddle"))
        return await self._fresh()

    async def _reachable(self) -> tuple[_Candidate, tuple[int, dict[str, Any]]] | None:
        """Return the first touched control that is there, of the families that changed the page."""
        likely = {each.key: each for each in self._touched if each.family in self._turned}
        for candidate in list(likely.values())[:_MOST_LIKELY]:
            try:
                at = await self._find(candidate)
            except ToolFailed:
                continue  # the frame went away
            if at is not None:
                return candidate, at
        return None

    async def _scroll_new_boxes(self, frame: Frame) -> None:
        """Scroll the boxes that a click has shown, such as the list in a panel or in a dialog."""
        try:
            self.steps += await Scrolling(self.page).scroll_new_boxes(frame)
        except ToolFailed:
            return  # the frame went away

    async def _use_forms(self, frame: Frame) -> None:
        """Use the selects and other fields that a click has shown, since another click may hide them again."""
        if "form" not in self.page.names:
            return
        forms = Forms(self.page)
        try:
            await forms.use_shown(frame)
        except ToolFailed:
            return  # the frame went away
        finally:
            self.steps += forms.steps

    async def _fresh(self, opener: _Candidate | None = None) -> list[_Candidate]:
        """Return the controls that were not seen before, and those that can be used again."""
        url = self._url = (await self.page.counts(self.page.window.main_frame)).url
        self._routes.add(url)
        found = []
        for index, (frame, values) in enumerate(await self.page.in_frames("clickable")):
            for value in values if isinstance(values, list) else ():
                candidate = _candidate(frame, index, value, url, opener)
                if candidate.key not in self._seen or candidate.key in self._spent:
                    self._seen.add(candidate.key)
                    self._spent.discard(candidate.key)
                    self._lost.discard(candidate.key)
                    found.append(candidate)
        return _ordered(found, ())

    async def _touch(self, candidate: _Candidate, fresh: list[_Candidate]) -> Effect | None:
        """Click a control, and again while this brings something new, within its turn. None when it can't be reached.

        A control that has turned waits when it has shown others, which are put into `fresh`: a branch of a tree closes
        at the second click.
        """
        page = self.page
        turns = self._turns.get(candidate.key, _Turns())
        if not await self._return_to(turns.url or candidate.url) and not await self._return_to(candidate.url):
            return None
        walk = self._walk_of(candidate)
        clock, share, fruits = Clock(_TURN_SECONDS), turns.share(walk), 0
        total, blind = Effect(), 0
        has_more = False
        for turn in range(MOST_REPEATS + _MOST_BACK):
            if page.clock.is_up or self.steps >= MOST_STEPS:
                has_more = turn > 0
                break
            if fruits >= share or (fruits and clock.is_up):
                has_more = True
                break
            opened = self._used[candidate.opener.key] if candidate.opener is not None else 0
            found = await self._reach(candidate)
            effect = await self._click_at(candidate.frame, *found) if found is not None else None
            if candidate.opener is not None and self._used[candidate.opener.key] > opened:
                walk.at = 0  # what was opened again begins anew
            if effect is None or found is None:
                if total.urls and turns.fruits + fruits < MOST_REPEATS:
                    self._spent.add(candidate.key)
                self._note_turn(candidate, turns, fruits)
                return total if turn else None
            self.steps += 1
            if effect.changes and not effect.requests and not effect.moved:
                effect = _sum(effect, await self._apply(candidate.frame))
            total = _sum(total, effect)
            lead = walk.lead(candidate.heading) if candidate.pair else 0
            if effect.is_any and candidate.pair:
                walk.go(candidate.heading)
            is_new = bool(effect.urls)
            if effect.moved:
                is_new = await self._look_at_route() or is_new
                if not is_new or candidate.kind in _ROUTE_KINDS or not (candidate.is_more or candidate.heading):
                    break
            fruits += is_new
            blind = 0 if is_new or (lead and effect.is_any) else blind + 1  # the way back is no failure
            is_choice = candidate.kind == "choice"
            if is_choice and effect.requests and turn == 0:
                fresh += await self._fresh(candidate)
                if fresh:
                    break
                continue  # a box that was checked is cleared again, so that the others are tried without it
            has_patience = effect.is_any and blind < (_BLIND_REPEATS if candidate.is_more or candidate.heading else 0)
            if is_choice or not (is_new or has_patience):
                break
            is_open = candidate.kind == "toggle" and effect.added
            if not candidate.is_more and (
                is_open or await call(candidate.frame, "hasTurned", found[0], found[1]["state"])
            ):
                fresh += await self._fresh(candidate)
                if fresh:
                    break
        self._note_turn(candidate, turns, fruits)
        if has_more and not fresh:
            self._go_on_later(candidate)
        if fresh or not candidate.is_area or total.moved:
            return total
        return await self._touch_sides(candidate, total)

    async def _return_to(self, url: str) -> bool:
        """Show an address of the document again, and return whether it is shown."""
        main = self.page.window.main_frame
        is_shown = (await self.page.counts(main)).url == url or bool(await ask(main, "goTo", url))
        if is_shown:
            self._url = url
        return is_shown

    def _walk_of(self, candidate: _Candidate) -> _Walk:
        return self._walks_of_pairs.setdefault(candidate.pair, _Walk()) if candidate.pair else _Walk()

    def _note_turn(self, candidate: _Candidate, turns: _Turns, fruits: int) -> None:
        self._walk_of(candidate).fruits += fruits
        turns.count += 1
        turns.fruits += fruits
        turns.url = self._url
        self._turns[candidate.key] = turns

    def _go_on_later(self, candidate: _Candidate) -> None:
        """Let a control that still brings something new wait for its next turn, or give it up.

        What lies in something that another control has opened goes on before this is closed.
        """
        if self._turns[candidate.key].share(self._walk_of(candidate)) <= 0:
            self._give_up(candidate, GivenUpFor.ENDLESS)
            return
        if candidate.opener is None:
            self._later.append(candidate)
            return
        inside = [at for at, each in enumerate(self._queue) if each.opener == candidate.opener and not each.is_closer]
        self._queue.insert(inside[-1] + 1 if inside else 0, candidate)

    async def _touch_sides(self, candidate: _Candidate, total: Effect) -> Effect:
        """Click the right and the left side of a large box, and each again while this brings something new."""
        page, frame = self.page, candidate.frame
        for share in _SIDES:
            for _ in range(MOST_REPEATS):
                if page.clock.is_up or self.steps >= MOST_STEPS or total.moved:
                    return total
                place: dict[str, Any] | None = await call(frame, "aimAside", candidate.number, share)
                if place is None:
                    return total
                effect = await page.step(frame, partial(page.click, frame, place))
                self.steps += 1
                total = _sum(total, effect)
                if not effect.urls:
                    break
        return total

    async def _apply(self, frame: Frame) -> Effect:
        """Press the button that the choice of the last click waits for, such as OK in a list of filters."""
        place: dict[str, Any] | None = await call(frame, "applyPlace")
        if place is None or not place["isOnTop"]:
            return Effect()
        self.steps += 1
        return await self.page.step(frame, partial(self.page.click, frame, place))

    async def _click_at(self, frame: Frame, number: int, place: dict[str, Any]) -> Effect:
        if place["isOnTop"]:
            return await self.page.step(frame, lambda: self.page.click(frame, place), may_tick=True)
        return await self.page.step(frame, lambda: call(frame, "push", number), may_tick=True)

    async def _reach(self, candidate: _Candidate, depth: int = 0) -> tuple[int, dict[str, Any]] | None:
        """Return the number and the place of a control. When it is hidden, touch what had shown it.

        Menus close after each choice.
        """
        found = await self._find(candidate)
        opener = candidate.opener
        if found is not None or opener is None or opener.kind in _ROUTE_KINDS:
            return found
        if depth >= _MOST_OPENERS or self.steps >= MOST_STEPS or self.page.clock.is_up:
            return None
        if self._used[opener.key] >= MOST_REPEATS or self._failures[opener.key] >= _MOST_FAILURES:
            return None
        at = await self._reach(opener, depth + 1)
        if at is not None:
            self.steps += 1
            self._used[opener.key] += 1
            await self._click_at(opener.frame, *at)
            found = await self._find(candidate)
        if found is None:
            self._failures[opener.key] += 1
        return found

    async def _find(self, candidate: _Candidate) -> tuple[int, dict[str, Any]] | None:
        place: dict[str, Any] | None = await call(candidate.frame, "aim", candidate.number)
        if place is not None:
            return candidate.number, place
        again = await self._again(candidate)
        place = await call(candidate.frame, "aim", again) if again is not None else None
        return None if place is None or again is None else (again, place)

    async def _again(self, candidate: _Candidate) -> int | None:
        """Return the number of the same control when the page has drawn it again."""
        for value in await call(candidate.frame, "clickable"):
            if value["key"] == candidate.name:
                return int(value["number"])
        return None

    async def _look_at_route(self) -> bool:
        """Keep the links of a route, and load what is lazy there. Return whether the route is new."""
        page = self.page
        frame = page.window.main_frame
        self._url = (await page.counts(frame)).url
        page.add_links([self._url], "script/history")
        page.add_links(await call(frame, "anchors", 1000), "a/@href")
        await page.step(frame, lambda: call(frame, "makeEager"))
        is_new = self._url not in self._routes
        self._routes.add(self._url)
        return is_new


def _candidate(
    frame: Frame, index: int, value: dict[str, Any], url: str, opener: _Candidate | None = None
) -> _Candidate:
    return _Candidate(
        frame,
        int(value["number"]),
        key=f"{index}|{value['key']}",
        family=f"{index}|{value['family']}",
        kind=str(value["kind"]),
        is_more=bool(value["isMore"]),
        is_area=bool(value["isArea"]),
        is_closer=bool(value["isCloser"]),
        label=str(value["label"]),
        heading=int(value["heading"]),
        pair=f"{index}|{value['pair']}" if value["pair"] else "",
        url=url,
        opener=opener,
    )


def _ordered(fresh: Iterable[_Candidate], old: Iterable[_Candidate]) -> list[_Candidate]:
    """Return what has just appeared before what waited, and links after everything else.

    What closes something comes after the other new controls, and a link to the next page before links to others.
    """
    turn = sorted(
        fresh,
        key=lambda each: (each.is_closer, _TURNS.get(each.kind, 1), each.kind == "link" and not each.is_more),
    )
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
