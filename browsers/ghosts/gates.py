"""A site may show something else before the page: a check of the browser by a script, or a question for the age.

The visit waits for a check that ends by itself, answers a plain question, and comes back to the page that was wanted.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import Final
from urllib.parse import urlsplit

from browsers.behaviors.consent import Consent
from browsers.behaviors.page_access import Clock, PageAccess
from browsers.behaviors.page_tools import ToolFailed, call
from browsers.behaviors.patience import Patience
from browsers.engines.interface import BrowserWindow, FrameGone, ScriptFailed
from browsers.engines.traffic import MainAnswer
from browsers.page_quality.age_words import MAX_TEXT, NO_LABEL, YES_LABEL, asks_for_age
from browsers.page_quality.assessment import flaws_of
from browsers.page_quality.flaws import PageEvidence, PageFlawType

_STEP_SECONDS: Final = 4.0
_CHECK_SECONDS: Final = 10.0
"""The script of a check gets this time after the page has settled."""
_LOOK_SECONDS: Final = 0.25
_GO_SECONDS: Final = 3.0
"""An answer leads to another document within this time, or it stays in the same one."""
_MOST_CHECKS: Final = 3
_MOST_QUESTIONS: Final = 3
_MOST_WALL: Final = 1500
"""Characters of the text of a page that may be a wall."""
_MOST_DOM: Final = 60_000
_SHORT_SCRIPT: Final = """
([most, mostDom]) => {
  const body = document.body;
  if (!body || body.getElementsByTagName('*').length > 1500 || !document.querySelector('script')) return null;
  const text = body.innerText;
  if (text.length > most) return null;
  return [document.title.slice(0, 1000), text, document.documentElement.outerHTML.slice(0, mostDom)];
}
"""


@dataclass(frozen=True, slots=True)
class _Short:
    """The main frame shows a page with little text."""

    title: str
    text: str
    dom: str


@dataclass(slots=True)
class Gates:
    """A visitor's way through the gates before one page."""

    window: BrowserWindow
    patience: Patience
    url: str
    """The URL that is visited."""
    has_question: bool = False
    """True if a question for the age stands where the page should be."""

    @property
    def main(self) -> MainAnswer | None:
        """Return the answer with which the document came that is shown now; None when this is not known."""
        main = self.window.traffic.main
        shown = self.window.main_frame.url.partition("#")[0]
        return main if main is not None and main.url.partition("#")[0] == shown else None

    async def wait_for_check(self, seconds: float) -> bool:
        """Wait while the page is a firewall's check with a script. Return whether another document came.

        Raises EngineError.
        """
        clock, came = Clock(seconds), False
        for _ in range(_MOST_CHECKS):
            if not await self._is_check():
                return came
            before, turn = self.window.traffic.main, Clock(min(_CHECK_SECONDS, clock.left))
            while self.window.traffic.main is before and await self._is_check():
                if turn.is_up:
                    return came
                await asyncio.sleep(_LOOK_SECONDS)
            came = True
            await self._arrive(clock)
        return came

    async def answer_question(self, seconds: float) -> bool:
        """Answer a question for the age that stands in place of the page, and go to the page if this is elsewhere.

        Return whether a question was answered. `has_question` says afterwards whether one is still there. Raises
        EngineError.
        """
        clock = Clock(seconds)
        self.has_question = await self._asks()
        if not self.has_question:
            return False
        place, has_answered = _place(self.window.main_frame.url), False
        for _ in range(_MOST_QUESTIONS):
            if not await self._answer(clock):
                break
            has_answered = True
            if not await self._asks():
                break
        if _place(self.window.main_frame.url) != _place(self.url) and not await self._asks():
            is_same_site = urlsplit(self.window.main_frame.url).hostname == urlsplit(self.url).hostname
            if place != _place(self.url) or is_same_site:
                async with asyncio.timeout(clock.left):
                    await self.window.navigate(self.url)
                await self._arrive(clock)
        # A short page that only mentions an age has nothing to answer, and stands at its own address.
        is_elsewhere = _place(self.window.main_frame.url) != _place(self.url)
        self.has_question = await self._asks() and (has_answered or is_elsewhere)
        return has_answered

    async def _answer(self, clock: Clock) -> bool:
        """Answer once, and return whether there was something to press."""
        page = PageAccess(self.window, self.patience, _STEP_SECONDS)
        page.clock = Clock(min(_STEP_SECONDS * 2, clock.left))
        before = self.window.traffic.main
        if clock.is_up or not await Consent(page).answer_age(is_whole=True):
            return False
        wait = Clock(min(_GO_SECONDS, clock.left))
        while self.window.traffic.main is before and not wait.is_up and await self._asks():
            await asyncio.sleep(_LOOK_SECONDS)
        await self._arrive(clock)
        return True

    async def _arrive(self, clock: Clock) -> None:
        """Wait for the document that comes."""
        try:
            async with asyncio.timeout(clock.left):
                await self.window.loaded()
        except TimeoutError:
            return
        await self.patience.settle(0.3, min(_STEP_SECONDS, clock.left), _STEP_SECONDS)

    async def _asks(self) -> bool:
        """Return whether the page asks for the age: where it should not be, or with something to answer with."""
        frame = self.window.main_frame
        try:
            text, is_over, can_answer = await call(frame, "questionText", MAX_TEXT, YES_LABEL, NO_LABEL)
        except ToolFailed:
            return False  # the document is about to change, or runs no scripts
        is_place = can_answer or _place(frame.url) != _place(self.url)
        return bool(not is_over and is_place and asks_for_age(str(text)))

    async def _short(self) -> _Short | None:
        try:
            found = await self.window.main_frame.evaluate(_SHORT_SCRIPT, [_MOST_WALL, _MOST_DOM])
        except (ScriptFailed, FrameGone):
            return None  # the document is about to change
        return _Short(*map(str, found)) if found is not None else None

    async def _is_check(self) -> bool:
        main, short = self.window.traffic.main, await self._short()
        if main is None or short is None:
            return False
        evidence = PageEvidence(
            url=self.url,
            final_url=main.url,
            status=main.status,
            headers=main.headers,
            title=short.title,
            text=short.text,
            dom=short.dom,
        )
        return any(flaw.type is PageFlawType.WAF for flaw in flaws_of(evidence))


def _place(url: str) -> tuple[str, str]:
    """Return what tells a page of a site from its others, whatever its scheme and the end of its path."""
    parts = urlsplit(url)
    return (parts.hostname or "").removeprefix("www."), parts.path.rstrip("/")
