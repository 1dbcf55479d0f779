"""The autopilot runs the behaviours of crawls on the page that a person looks at, until they are done or stopped.

The page stays where it is: it is kept from being left meanwhile, its questions are answered by yes, and the windows
that it opens load for a moment and are closed.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Final

from playwright.async_api import Dialog, Error, Page

from browsers.behaviors.general_pass import PassReport, run_behaviors
from browsers.behaviors.outcomes import BehaviorOutcome
from browsers.behaviors.page_tools import ToolFailed, ask
from browsers.behaviors.patience import Patience
from browsers.engines.interface import EngineError, WindowOptions
from browsers.engines.playwright.window import PlaywrightWindow

log = logging.getLogger(__name__)
_POPUP_SECONDS: Final = 5.0
_TELL_SECONDS: Final = 0.5
_STOP_SECONDS: Final = 5.0


@dataclass(frozen=True, slots=True)
class AutopilotOrder:
    """The order names the behaviours, and bounds their time."""

    behaviors: Sequence[str] = ()
    seconds: float = 120.0
    """Longest time of all behaviours together."""
    scroll_seconds: float = 60.0
    """Longest time of the scrolling."""


class Autopilot:
    """One run of the behaviours on one page. It belongs to the event loop of the page."""

    def __init__(self, page: Page, order: AutopilotOrder) -> None:
        self.page = page
        self._order = order
        self._window = _SteeredWindow(page)
        self._report = PassReport()

    async def run(self, tell: Callable[[Sequence[BehaviorOutcome]], None]) -> None:
        """Run the behaviours. `tell` gets the outcomes so far each time a further behaviour has ended.

        A cancelled run lets the page be left again before it ends.
        """
        told = asyncio.create_task(self._tell(tell))
        try:
            async with self._window:
                await run_behaviors(
                    self._window,
                    Patience(self._window),
                    self._order.behaviors,
                    self._order.seconds,
                    self._order.scroll_seconds,
                    self._report,
                )
        except (EngineError, Error, TimeoutError) as error:
            log.info("the autopilot ended early on %s: %s", self.page.url[:200], str(error)[:300])
        finally:
            told.cancel()
            with suppress(ToolFailed, EngineError, Error, TimeoutError):
                async with asyncio.timeout(_STOP_SECONDS):
                    await ask(self._window.main_frame, "guard", False)
            tell(self._report.outcomes)

    async def owns(self, page: Page) -> bool:
        """Return whether the page was opened by the one on which the behaviours run."""
        with suppress(Error):
            opener = await page.opener()
            return opener is not None and (opener == self.page or self._window.has_opened(opener))
        return False

    def take_popup(self, page: Page) -> None:
        """Let a window that the page opened load for a moment, and close it."""
        self._window.take_popup(page)

    async def _tell(self, tell: Callable[[Sequence[BehaviorOutcome]], None]) -> None:
        known = -1
        while True:
            if len(self._report.outcomes) != known:
                known = len(self._report.outcomes)
                tell(self._report.outcomes)
            await asyncio.sleep(_TELL_SECONDS)


class _SteeredWindow(PlaywrightWindow):
    """The window of behaviours on a page that was opened by others. It watches the page while it is entered."""

    def __init__(self, page: Page) -> None:
        super().__init__(_NoHost(), page.context, WindowOptions("", popup_seconds=_POPUP_SECONDS))
        self._own_page = page
        self._listeners: list[tuple[Any, Callable[[Any], Any]]] = [
            ("request", self._on_request),
            ("response", self._on_response),
            ("requestfinished", self._requests.finished),
            ("requestfailed", self._requests.failed),
            ("crash", lambda _: self.lose()),
            ("close", lambda _: self.lose()),
            ("load", lambda _: self._loaded.set()),
            ("framenavigated", self._on_navigated),
            ("framedetached", lambda _: self._requests.abandon()),
            ("dialog", self._on_dialog),
        ]

    def has_opened(self, page: Page) -> bool:
        """Return whether the page is a window that the behaviours opened."""
        return page in self._depths

    def take_popup(self, page: Page) -> None:
        """Let a window that the page opened load for a moment, and close it."""
        self._on_page(page)

    def _on_dialog(self, dialog: Dialog) -> None:
        self._chores.begin(self._answer(dialog))

    async def __aenter__(self) -> None:
        self._loaded.set()
        for event, listener in self._listeners:
            self._page.on(event, listener)

    async def __aexit__(self, *_: object) -> None:
        for event, listener in self._listeners:
            self._page.remove_listener(event, listener)
        await self._chores.end()


class _NoHost:
    """The browser of a person: its page may be lost as any other, and it is not replaced."""

    is_broken = False
    was_ended_by_a_page = False

    def ended_for_memory(self) -> bool:
        """Return False: nobody watches the memory of single pages here."""
        return False

    def page_crashed(self) -> None:
        """Take no note, since the browser tells the person."""

    def closed(self, window: PlaywrightWindow) -> None:
        """Take no note: a page of a person is closed by the person."""
