"""The general pass runs the behaviours on one page in order, within a budget of time, and keeps each one's outcome.

| behaviour | does |
|---|---|
| consent | agrees to cookies, by the button or the interface of the consent platform; closes windows over the page |
| move | moves the mouse and presses keys |
| autofetch | fetches lazy images and frames, and the sources for other windows and densities |
| scroll | scrolls the document and the boxes in it, in all frames |
| play | plays films and sounds without noise |
| hover | moves the mouse over menus |
| click | touches tabs, accordions, buttons, "load more", page numbers, and links of single-page applications |
| form | uses selects, sliders, search boxes and GET forms |
| gesture | sends double clicks, right clicks and touches, and looks away |

The document is kept from being left meanwhile. The addresses to which the page wanted to go are links.
"""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, Protocol

from browsers.behaviors.attention import FirstMove, Gestures, Hover
from browsers.behaviors.clicks import Clicks
from browsers.behaviors.consent import Consent
from browsers.behaviors.forms import Forms
from browsers.behaviors.media import Autofetch, Play
from browsers.behaviors.outcomes import BehaviorEnd, BehaviorOutcome, GivenUp
from browsers.behaviors.page_access import Clock, PageAccess, PageLeft
from browsers.behaviors.page_tools import ToolFailed, call
from browsers.behaviors.patience import Patience
from browsers.behaviors.scrolling import Scroll, Scrolling
from browsers.behaviors.user_files.hosted import HostedBehavior
from browsers.engines.interface import BrowserWindow, EngineLost

_STEP_SECONDS: Final = 4.0
_MAX_DETAIL: Final = 200
_LAST_TO_GROW: Final = "click"
"""A page that is longer after this behaviour is scrolled again."""
_AFTER_CLICKS: Final = ("form", "gesture")
"""The click behaviour runs again, on new controls alone, when one of these had an effect."""
_TIDY_SECONDS: Final = 5.0
_TIDY_STEP_SECONDS: Final = 1.0
_HOSTED_SHARE: Final = 0.5
"""Part of the time that users' behaviours get when there are some."""


class _Behavior(Protocol):
    """A behaviour counts its steps while it runs."""

    @property
    def steps(self) -> int:
        """Return the number of steps so far."""
        ...

    async def run(self) -> BehaviorEnd:
        """Run to the end, and return it."""
        ...


@dataclass(frozen=True, slots=True)
class _Entry:
    make: Callable[[PageAccess], _Behavior]
    share: float
    """Largest part of the time that is left."""
    is_guarded: bool = True
    """True if the document is kept from being left."""


_ENTRIES: Final[Mapping[str, _Entry]] = {
    "consent": _Entry(Consent, 0.4, is_guarded=False),
    "move": _Entry(FirstMove, 0.2),
    "autofetch": _Entry(Autofetch, 0.4),
    "scroll": _Entry(Scrolling, 0.5),
    "play": _Entry(Play, 0.3),
    "hover": _Entry(Hover, 0.3),
    "click": _Entry(Clicks, 0.6),
    "form": _Entry(Forms, 0.6),
    "gesture": _Entry(Gestures, 1.0),
}


@dataclass(slots=True)
class PassReport:
    """The report tells what the behaviours did on one page. It grows while they run."""

    outcomes: list[BehaviorOutcome] = field(default_factory=list)
    links: list[tuple[str, str]] = field(default_factory=list)
    """URLs that behaviours found, with their places."""
    scroll: Scroll = field(default_factory=Scroll)

    @property
    def notes(self) -> list[str]:
        """Return an annotation for each behaviour that was cut short."""
        notes = []
        for outcome in self.outcomes:
            if outcome.id == "scroll" and outcome.ended is BehaviorEnd.TIMEOUT:
                ended = self.scroll.ended if self.scroll.ended not in (None, "bottom") else "boxes"
                notes.append(f"scroll-{ended}")
            elif outcome.was_cut_short:
                notes.append(f"{outcome.id}-{outcome.ended}")
        return notes


async def run_behaviors(
    window: BrowserWindow,
    patience: Patience,
    names: Collection[str],
    seconds: float,
    scroll_seconds: float,
    report: PassReport,
    hosted: Sequence[HostedBehavior] = (),
    after_consent: Callable[[], Awaitable[None]] | None = None,
) -> None:
    """Run the behaviours with these names, and fill the report. Raises EngineLost.

    `seconds` bound all of them, and `scroll_seconds` the scrolling. `hosted` run at the end. `after_consent` is called
    when consent was given, before the other behaviours. A TimeoutError means that the page does not answer.
    """
    general = Clock(seconds * (1 - _HOSTED_SHARE) if hosted else seconds)
    clock = Clock(seconds)
    page = PageAccess(window, patience, _STEP_SECONDS, names)
    is_guarded = has_closed = False
    clicks: _Behavior | None = None
    try:
        for name, entry in _ENTRIES.items():
            if name not in names or general.is_up:
                continue
            if entry.is_guarded and not is_guarded:
                await page.begin()
                is_guarded = True
            share = general.left * entry.share
            page.clock = Clock(min(share, scroll_seconds) if name == "scroll" else share)
            behavior = entry.make(page)
            report.outcomes.append(await _run(name, behavior, page, report))
            clicks = behavior if name == "click" else clicks
            if name == "consent" and behavior.steps and after_consent is not None:
                await after_consent()
            if name == "scroll" and "consent" in names:
                has_closed = await _close_windows(page)
            if name == _LAST_TO_GROW and "scroll" in names and (has_closed or await _has_grown(page, report)):
                page.clock = Clock(min(general.left * _ENTRIES["scroll"].share, scroll_seconds))
                report.outcomes.append(await _run("scroll", Scrolling(page), page, report))
        if clicks is not None and not general.is_up and _has_shown_more(report):
            page.clock = Clock(general.left)
            report.outcomes.append(await _run("click", clicks, page, report))
        if hosted and not is_guarded:
            await page.begin()
            is_guarded = True
        for number, each in enumerate(hosted):
            page.clock = Clock(clock.left / (len(hosted) - number))
            report.outcomes.append(await _run(each.id, _Hosted(each, page), page, report))
            await page.guard(is_on=True)
        if is_guarded:
            await page.collect()
            page.clock = Clock(_STEP_SECONDS)
            await page.come_back()
            await page.in_frames("makeLazy")
            await page.guard(is_on=False)
    except ToolFailed:
        return  # the document runs no scripts, or it was left for good
    finally:
        report.links.extend(page.links.items())


async def close_leftovers(window: BrowserWindow, patience: Patience) -> None:
    """Close what the behaviours have left over the page, such as a dialog, a menu or a large picture.

    A page on which nothing is left is only asked. Raises EngineLost and TimeoutError.
    """
    page, main = PageAccess(window, patience, _TIDY_STEP_SECONDS), window.main_frame
    page.clock = Clock(_TIDY_SECONDS)
    try:
        if not await call(main, "hasLeftovers"):
            return
        await page.begin()
        for close in (
            lambda: call(main, "closeLeftovers"),
            lambda: window.press("Escape"),
            lambda: Consent(page).close_windows(are_known=True),
            lambda: _click_beside(page),
        ):
            await page.step(main, close)
            if not await call(main, "hasLeftovers") or page.clock.is_up:
                break
        await page.come_back()
        await page.guard(is_on=False)
    except (ToolFailed, PageLeft):
        return  # the document runs no scripts, or it was left for good


async def _click_beside(page: PageAccess) -> None:
    """Click where no control is, which closes many menus and windows."""
    main = page.window.main_frame
    if place := await call(main, "harmlessPoint"):
        await page.click(main, place)


def _has_shown_more(report: PassReport) -> bool:
    """Return whether forms or gestures changed the page, so that it may have new controls."""
    return any(each.id in _AFTER_CLICKS and each.steps and each.ended is BehaviorEnd.DONE for each in report.outcomes)


async def _close_windows(page: PageAccess) -> bool:
    """Close windows that came over the page while it was scrolled, and return whether there was one."""
    try:
        return await Consent(page).close_windows()
    except ToolFailed:
        return False


async def _has_grown(page: PageAccess, report: PassReport) -> bool:
    """Return whether the page is longer than it was when it was scrolled, and reacts to what comes into view."""
    main = page.window.main_frame
    try:
        position = await call(main, "position")
        is_longer = position["height"] > report.scroll.height + position["view"] / 4
        return is_longer and bool(await call(main, "watchesView"))
    except ToolFailed:
        return False


class _Hosted:
    def __init__(self, behavior: HostedBehavior, page: PageAccess) -> None:
        self._behavior = behavior
        self._page = page

    @property
    def steps(self) -> int:
        return self._behavior.steps

    async def run(self) -> BehaviorEnd:
        return await self._behavior.run(self._page)


async def _run(name: str, behavior: _Behavior, page: PageAccess, report: PassReport) -> BehaviorOutcome:
    """Run one behaviour, and return to the visited page after it."""
    links, requests, began = len(page.links), page.window.traffic.requests, time.monotonic()
    detail = ""
    try:
        ended = await behavior.run()
    except (ToolFailed, PageLeft) as error:
        ended, detail = BehaviorEnd.ERROR, str(error) or "the page was left"
    if isinstance(behavior, Scrolling):
        report.scroll = behavior.scroll
    if isinstance(behavior, Consent):
        detail = behavior.detail
    given_up: tuple[GivenUp, ...] = behavior.given_up if isinstance(behavior, Clicks) else ()
    detail = detail or "; ".join(each.text for each in given_up)
    try:
        if name != "consent" and behavior.steps:
            await page.collect()
            await page.come_back()
    except (ToolFailed, TimeoutError) as error:
        if isinstance(error, EngineLost):
            raise
        detail = detail or "the page did not come back"
    return BehaviorOutcome(
        name,
        behavior.steps,
        ended,
        links=len(page.links) - links,
        requests=page.window.traffic.requests - requests,
        seconds=round(time.monotonic() - began, 3),
        detail=detail[:_MAX_DETAIL],
        given_up=given_up,
    )
