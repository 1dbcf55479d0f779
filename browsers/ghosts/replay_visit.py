"""A ghost visits an archived page in replay: the same steps as at its capture, through a session that replays.

Nothing is recorded, and nothing is fetched from the live web. The page sees the clock of its capture.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, Final

from archive.dates import Micros, iso_date
from archive.page_clock import clock_script
from archive.settings import BrowserSettings
from browsers.engines.interface import BrowserWindow, Device, EngineError, InitScript, WindowOptions
from browsers.engines.traffic import AskedExchange
from browsers.ghosts import render
from browsers.ghosts.ghost import Ghost
from browsers.ghosts.page import PageSnapshot, visit_page
from browsers.ghosts.page_random import random_script
from browsers.proxying.control_client import Control, SessionRequest

_FINISH_SECONDS: Final = 1.0
_MILLISECOND: Final = 1000
_RETAKE_SECONDS: Final = 5.0
"""Longest wait for one more picture of the window."""


@dataclass(frozen=True, slots=True)
class ReplayOrder:
    """An order names an archived page, and the window in which its capture was made."""

    collection: str
    url: str
    captured: Micros
    viewport: tuple[int, int, float] | None = None
    """Width and height in CSS pixels, and device pixels for each; None for those of the settings."""
    random_seed: int | None = None
    """The seed of the random numbers at the capture; None when it is not known."""
    visit: int = 0
    """The number of the visit. Without a seed, pages that choose at random choose differently in each visit."""


@dataclass(frozen=True, slots=True)
class ReplayedPage:
    """The ghost saw this of a page in replay."""

    snapshot: PageSnapshot
    exchanges: tuple[AskedExchange, ...] = ()
    requests: int = 0
    views: tuple[bytes, ...] = ()
    """Further pictures of the window, each a moment after the one before."""
    trouble: str = ""
    """The reason why our side could not replay the page; empty when it could."""
    facts: dict[str, Any] = field(default_factory=dict)


def replay_page(
    ghost: Ghost, control: Control, order: ReplayOrder, settings: BrowserSettings, *, further_views: int = 0
) -> ReplayedPage:
    """Return what a ghost sees of the page in replay, within `settings.page_seconds` and a few seconds more.

    With `further_views`, so many more pictures of the window are taken after the visit, about a second apart: a page
    that changes by itself may show the captured state a moment later. A page that hangs has none of them. Raises
    FleetUnavailable.
    """
    session = control.open(
        SessionRequest(order.collection, mode="replay", datetime=_digits(order.captured), listen=True)
    )
    sized = settings
    if order.viewport is not None:
        width, height, scale = order.viewport
        sized = settings.model_copy(update={"width": width, "height": height, "scale": scale})

    async def visit(window: BrowserWindow) -> ReplayedPage:
        snapshot = await visit_page(window, order.url, sized)
        views = []
        for _ in range(further_views if snapshot.is_page and not snapshot.hangs else 0):
            if (view := await render.later_picture(window, _RETAKE_SECONDS)) is None:
                break  # the page does not answer, and each further try would take its whole time
            views.append(view)
        traffic = window.traffic
        trouble = traffic.trouble.reason if traffic.trouble is not None else ""
        return ReplayedPage(snapshot, tuple(traffic.exchanges), traffic.requests, tuple(views), trouble)

    def prepared(options: WindowOptions) -> WindowOptions:
        device: Device = replace(options.device, width=sized.width, height=sized.height, scale=sized.scale)
        scripts = [InitScript(clock_script(order.captured + order.visit * _MILLISECOND))]
        if order.random_seed is not None:
            scripts.append(random_script(order.random_seed))
        return replace(options, device=device, init_scripts=(*scripts, *options.init_scripts))

    try:
        return ghost.in_window(session.address, visit, prepare=prepared)
    except EngineError as error:
        return ReplayedPage(PageSnapshot(crashed=True), trouble=str(error) or "browser-ended")
    finally:
        control.finish(session, wait_seconds=_FINISH_SECONDS)


def _digits(date: Micros) -> str:
    """Return the date in 17 digits, as sessions take it."""
    return "".join(letter for letter in iso_date(date) if letter.isdigit())[:17]
