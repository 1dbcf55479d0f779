"""A visit of a page has these steps: load, settle, take data, scroll, settle, take more data.

After an error, the data so far is the result, with a note. No step may use the time of the later ones, and no page more
than its time.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from archive.dates import Micros, now_micros
from archive.settings import BrowserSettings
from archive.settings.browsers import PageRecordKind
from browsers.behaviors.general_pass import PassReport, close_leftovers, run_behaviors
from browsers.behaviors.patience import Patience
from browsers.behaviors.user_files.hosted import HostedBehavior
from browsers.comparison.pictures import volatility_mask
from browsers.engines.interface import BrowserWindow, EngineError, EngineLost, Frame, NavigationFailed
from browsers.engines.traffic import MainAnswer
from browsers.ghosts import render
from browsers.ghosts.gates import Gates
from browsers.ghosts.page_errors import page_errors
from browsers.ghosts.resource_boxes import resource_boxes
from browsers.links import html
from browsers.links.documents import media_type
from browsers.links.kinds import is_xml
from browsers.page_quality.probe import PageProbe
from browsers.page_records.image_map import LinkArea
from browsers.stage_times import StageTimes
from frontier.definition.scope import REDIRECT_CHAIN

log = logging.getLogger(__name__)
_RESERVE_SECONDS: Final = 10.0
"""Time that scrolling and settling leave for pictures, DOM and links; a quarter of a page's time when that is less."""
_STEP_SECONDS: Final = 15.0
"""Longest time of one step."""
_ANSWER_SECONDS: Final = 10.0
"""A page that does not answer within this time hangs."""
_SHORTEST_ANSWER_SECONDS: Final = 2.0
_QUIET_WITHOUT_SCRIPTS: Final = 0.1
"""A page without scripts and animations counts as settled when it has requested nothing for this time."""
_GATE_SECONDS: Final = 20.0
"""Longest time for what a site shows before the page."""
_MANY_BYTES: Final = 4_000_000
_HEAVY_PAGES_TIMES: Final = 3
"""A page of many bytes gets so many times more time to answer."""
_MANY_WINDOWS: Final = 20
"""A page that opens so many windows is named in crawl.log."""
_MAX_PDF: Final = 100_000_000
"""Bytes of the largest PDF document that is kept."""


@dataclass(slots=True)
class PageSnapshot:
    """The snapshot holds the data of a page. It grows during the visit."""

    main: MainAnswer | None = None
    failure: str = ""
    """Chromium's name of the error, such as ERR_TUNNEL_CONNECTION_FAILED; empty when there is a page."""
    crashed: bool = False
    out_of_memory: bool = False
    """True if the page's process ended for its use of memory."""
    fell_with_another: bool = False
    """True if the browser ended because of another page."""
    hangs: bool = False
    """True if the page does not answer, since a script of it does not end."""
    title: str = ""
    final_url: str = ""
    loaded: Micros | None = None
    """Time of the load event."""
    view: bytes | None = None
    """PNG picture of the window after the page settled."""
    view_after_consent: bytes | None = None
    """PNG picture of the window after consent was given; None when nothing asked for it."""
    volatile: bytes | None = None
    """PNG mask of the window: white where the page changes by itself. None when nothing moves."""
    full_page: bytes | None = None
    """PNG picture of the whole page before behaviours."""
    full_page_final: bytes | None = None
    """PNG picture of the whole page after behaviours; None when these changed nothing."""
    text: str | None = None
    """Visible text before behaviours."""
    text_final: str | None = None
    """Visible text after behaviours; None when it is the same."""
    dom: str | None = None
    """The final DOM."""
    pdf: bytes | None = None
    probe: PageProbe = field(default_factory=PageProbe)
    """Signs of walls at the end of the visit."""
    has_age_question: bool = False
    """True if a question for the reader's age stood in place of the page, and was not passed."""
    areas: tuple[LinkArea, ...] = ()
    """Places of the links in the last picture of the whole page."""
    boxes: list[dict[str, Any]] = field(default_factory=list)
    """Places of pictures, films and frames at the end of the visit, as `resource_boxes` returns them."""
    errors: list[dict[str, Any]] | None = None
    """The errors of the page's scripts, as `page_errors` returns them; None when they were not asked for."""
    links: list[tuple[str, str]] = field(default_factory=list)
    searched_frames: list[str] = field(default_factory=list)
    """URLs with which the documents came that were searched for links, the one of the main frame included."""
    unsearched_frames: list[str] = field(default_factory=list)
    """URLs of the frames that were not searched for links, since there are too many or they do not answer."""
    behaviors: PassReport = field(default_factory=PassReport)
    notes: list[str] = field(default_factory=list)
    """Annotations about steps that failed or were cut short."""
    times: StageTimes = field(default_factory=StageTimes)

    @property
    def is_page(self) -> bool:
        """Return whether a document of the site is shown, and not a download or an error page of the browser."""
        return self.main is not None and self.main.is_sites and not self.failure and not self.crashed


class Deadline:
    """The deadline is the end of a page's time."""

    def __init__(self, seconds: float) -> None:
        self._end = time.monotonic() + seconds

    def left(self, most: float, reserve: float = 0.0) -> float:
        """Return the seconds that a step may take: at most `most`, and `reserve` seconds must be left."""
        return max(0.0, min(most, self._end - reserve - time.monotonic()))


async def visit_page(
    window: BrowserWindow,
    url: str,
    settings: BrowserSettings,
    hosted: Sequence[HostedBehavior] = (),
    times: StageTimes | None = None,
) -> PageSnapshot:
    """Visit `url` in a fresh window, within the page's time. `hosted` are behaviours of the user.

    The stages of the visit are added to `times`.
    """
    snapshot = PageSnapshot(times=times or StageTimes())
    steps: asyncio.Future[Any] = asyncio.ensure_future(_Steps(window, url, settings, snapshot, hosted).run())
    chained = asyncio.ensure_future(window.traffic.too_many_navigations.wait())
    ends = {steps, asyncio.ensure_future(window.lost.wait()), chained}
    try:
        done, _ = await asyncio.wait(ends, timeout=settings.page_seconds, return_when="FIRST_COMPLETED")
        snapshot.crashed = snapshot.crashed or window.lost.is_set()
        if chained in done and not steps.done():
            snapshot.notes.append(REDIRECT_CHAIN)
        if not done:
            snapshot.notes.append("page-timeout")
            snapshot.hangs = snapshot.hangs or not await _answers(window.main_frame, _SHORTEST_ANSWER_SECONDS)
    finally:
        for task in ends:
            task.cancel()
        await asyncio.gather(*ends, return_exceptions=True)
    snapshot.main = snapshot.main or window.traffic.main
    if len(window.popups) >= _MANY_WINDOWS:
        snapshot.notes.append("many-windows")
    return snapshot


class _Steps:
    """The steps of a visit, which run in order."""

    def __init__(
        self,
        window: BrowserWindow,
        url: str,
        settings: BrowserSettings,
        snapshot: PageSnapshot,
        hosted: Sequence[HostedBehavior],
    ) -> None:
        self._window = window
        self._url = url
        self._traffic = window.traffic
        self._settings = settings
        self._snapshot = snapshot
        self._deadline = Deadline(settings.page_seconds)
        self._reserve = min(_RESERVE_SECONDS, settings.page_seconds / 4)
        self._state: tuple[int, Sequence[int], str | None] | None = None
        """The state of the page before behaviours."""
        self._patience = Patience(window)
        self._hosted = hosted
        self._gates = Gates(window, self._patience, url)
        self._is_heavy = False
        """True if the document is so large that no picture of the whole page is taken."""

    async def run(self) -> None:
        snapshot = self._snapshot
        with snapshot.times.measure("load"):
            await self._load()
        if not snapshot.is_page or snapshot.hangs:
            return
        await self._try("weight", self._weigh)
        await self._try("settle", self._settle)
        if not self._is_heavy:
            await self._try("gate", self._pass_gates)
        self._note_main()
        if not self._snapshot.is_page:
            return
        await self._try("view", self._take_view)
        named = media_type((snapshot.main or MainAnswer("", 0, {})).headers.get("content-type", ""))
        if named not in html.TYPES | {""} and not (is_xml(named) and await render.shows_page(self._window)):
            return  # a picture, a text, a feed: shown by the browser in a page of its own making
        await self._try_wanted("full-page", self._take_full_page)
        await self._try("text", self._take_text)
        await self._try("state", self._note_state)
        await self._try_wanted("volatile", self._take_volatile)
        await self._try("behaviors", self._behave)
        await self._try("settle", self._settle, stage="settle-again")
        if self._settings.second_device:
            await self._try("second-device", self._show_on_second_device)
        await self._try("dom", self._take_dom)
        await self._try("text-final", self._take_final_text)
        await self._try("links", self._take_links)
        if any(outcome.steps for outcome in snapshot.behaviors.outcomes):
            await self._try("leftovers", self._close_leftovers)
        await self._try("errors", self._take_errors)
        await self._try("probe", self._take_probe)
        await self._try("boxes", self._take_boxes)
        await self._try_wanted("full-page-final", self._take_final_full_page)
        await self._try_wanted("image-map", self._take_areas)
        await self._try_wanted("pdf", self._take_pdf)

    async def _load(self) -> None:
        try:
            async with asyncio.timeout(self._deadline.left(self._settings.load_seconds)):
                await self._window.navigate(self._url)
                self._snapshot.main = self._traffic.main
                await self._window.loaded()
                self._snapshot.loaded = now_micros()
        except TimeoutError:
            if self._traffic.main is None:
                self._snapshot.failure = "ERR_TIMED_OUT"
            else:
                self._snapshot.notes.append("load-timeout")
                await self._check_whether_it_hangs()
        except NavigationFailed as error:
            self._snapshot.failure = error.reason
            if error.reason == "ERR_TOO_MANY_REDIRECTS":
                self._snapshot.notes.append(REDIRECT_CHAIN)
        except EngineLost:
            self._snapshot.crashed = True
            self._snapshot.failure = "ERR_FAILED"
        except EngineError:
            self._snapshot.failure = "ERR_FAILED"
        self._snapshot.main = self._traffic.main

    async def _weigh(self) -> None:
        """Look how large the document is, and wait until the browser has laid a large one out."""
        self._is_heavy = await render.is_heavy(self._window)

    async def _pass_gates(self) -> None:
        """Wait for a check of the browser that ends by itself, and answer a question for the reader's age."""
        seconds = self._deadline.left(_GATE_SECONDS, self._reserve)
        has_changed = await self._gates.wait_for_check(seconds)
        if "consent" in self._settings.behaviors:
            has_changed = await self._gates.answer_question(self._deadline.left(seconds, self._reserve)) or has_changed
            self._snapshot.has_age_question = self._gates.has_question
        if has_changed:
            await self._settle()

    def _note_main(self) -> None:
        """Take the answer with which the shown document came as that of the page."""
        self._snapshot.main = self._gates.main or self._snapshot.main

    async def _close_leftovers(self) -> None:
        await close_leftovers(self._window, self._patience)

    async def _take_view_after_consent(self) -> None:
        self._snapshot.view_after_consent = await render.window_picture(self._window)

    async def _settle(self) -> None:
        most = self._deadline.left(self._settings.settle_max_seconds, self._reserve)
        settings = self._settings
        quiet = settings.settle_seconds
        if quiet > _QUIET_WITHOUT_SCRIPTS and not self._hosted and not await self._patience.is_scripted():
            quiet = _QUIET_WITHOUT_SCRIPTS
        if not await self._patience.settle(quiet, most, settings.patience_seconds):
            self._snapshot.notes.append("never-settled")

    async def _behave(self) -> None:
        settings, report = self._settings, self._snapshot.behaviors
        await self._patience.rest()
        seconds = self._deadline.left(settings.behavior_seconds, self._reserve)
        try:
            await run_behaviors(
                self._window,
                self._patience,
                settings.behaviors,
                seconds,
                settings.scroll_seconds,
                report,
                self._hosted,
                lambda: self._try("view-after-consent", self._take_view_after_consent),
            )
        finally:
            for outcome in report.outcomes:
                self._snapshot.times.add(f"behaviors/{outcome.id}", outcome.seconds)
            self._snapshot.notes += report.notes
            self._snapshot.links += report.links

    async def _show_on_second_device(self) -> None:
        """Show the page at another size and scroll it there, so that it fetches what it shows at that size."""
        width, height, scale = second_device_of(self._settings.second_device)
        own = self._settings
        await self._window.resize(width, height, scale)
        try:
            await self._patience.settle(own.settle_seconds, self._deadline.left(_STEP_SECONDS, self._reserve), 1.0)
            seconds = self._deadline.left(min(own.scroll_seconds, _STEP_SECONDS), self._reserve)
            report = PassReport()
            await run_behaviors(self._window, self._patience, ("scroll",), seconds, seconds, report)
            self._snapshot.links += report.links
        finally:
            await self._window.resize(own.width, own.height, own.scale)
        await self._patience.settle(own.settle_seconds, self._deadline.left(_STEP_SECONDS, self._reserve), 1.0)

    async def _take_view(self) -> None:
        self._snapshot.view = await render.window_picture(self._window)

    async def _take_full_page(self) -> None:
        most = self._settings.full_page_height
        if self._is_heavy:
            self._snapshot.notes.append("full-page-cut")
            self._snapshot.full_page = self._snapshot.view
            return
        if self._snapshot.view is not None and await render.fits_window(self._window, most):
            self._snapshot.full_page = self._snapshot.view
            return
        self._snapshot.full_page = await render.whole_picture(self._window, most)

    async def _take_volatile(self) -> None:
        """Take a second picture of the window, to see what changes by itself. Other pages never change."""
        first = self._snapshot.view
        if first is None or self._is_heavy or not await self._patience.is_scripted():
            return
        second = await render.window_picture(self._window)
        if first != second:
            self._snapshot.volatile = await asyncio.to_thread(volatility_mask, first, second)

    async def _note_state(self) -> None:
        if self._is_heavy:
            return
        self._state = await self._page_state()

    async def _take_final_full_page(self) -> None:
        """Take the picture again, unless behaviours changed nothing: neither size, nor DOM, nor requests."""
        if self._is_heavy:
            self._snapshot.full_page_final = await render.window_picture(self._window)
        elif self._snapshot.full_page is None or self._state != await self._page_state():
            self._snapshot.full_page_final = await render.whole_picture(self._window, self._settings.full_page_height)

    async def _page_state(self) -> tuple[int, Sequence[int], str | None]:
        sizes = await render.page_sizes(self._window)
        return self._traffic.requests, sizes, self._snapshot.text_final

    async def _take_pdf(self) -> None:
        document = await self._window.pdf()
        if len(document) > _MAX_PDF:
            self._snapshot.notes.append("pdf-too-large")
        else:
            self._snapshot.pdf = document

    async def _take_errors(self) -> None:
        self._snapshot.errors = await page_errors(self._window)

    async def _take_probe(self) -> None:
        self._snapshot.probe = await render.page_probe(self._window)

    async def _take_boxes(self) -> None:
        self._snapshot.boxes = await resource_boxes(self._window)

    async def _take_areas(self) -> None:
        self._snapshot.areas = await render.link_areas(self._window)

    async def _take_dom(self) -> None:
        self._note_main()
        self._snapshot.final_url = self._window.main_frame.url
        self._snapshot.title = await render.page_title(self._window)
        self._snapshot.dom = await render.page_dom(self._window, self._settings.max_page_bytes)
        if self._snapshot.dom is None:
            self._snapshot.notes.append("dom-too-large")

    async def _take_text(self) -> None:
        self._snapshot.text = await render.page_text(self._window)
        if len(self._snapshot.text) >= render.MAX_TEXT:
            self._snapshot.notes.append("text-cut")

    async def _take_final_text(self) -> None:
        text = await render.page_text(self._window)
        self._snapshot.text_final = text if text != self._snapshot.text else None

    async def _take_links(self) -> None:
        snapshot = self._snapshot
        await render.collect_links(self._window, snapshot.links, snapshot.searched_frames, snapshot.unsearched_frames)

    async def _check_whether_it_hangs(self) -> None:
        most = _ANSWER_SECONDS * (_HEAVY_PAGES_TIMES if self._traffic.bytes > _MANY_BYTES else 1)
        seconds = max(_SHORTEST_ANSWER_SECONDS, self._deadline.left(most))
        self._snapshot.hangs = not await _answers(self._window.main_frame, seconds)

    async def _try_wanted(self, kind: PageRecordKind, step: Callable[[], Awaitable[None]]) -> None:
        if kind in self._settings.page_records:
            await self._try(kind, step)

    async def _try(self, name: str, step: Callable[[], Awaitable[None]], stage: str = "") -> None:
        """Run one step, and measure it as `stage`. When it fails, note this, and continue with the next.

        The steps of a page that hangs are skipped.
        """
        if self._snapshot.hangs:
            return
        seconds = self._deadline.left(max(_STEP_SECONDS, self._settings.behavior_seconds + self._reserve))
        try:
            with self._snapshot.times.measure(stage or name):
                async with asyncio.timeout(seconds):
                    await step()
        except TimeoutError:
            self._snapshot.notes.append(f"{name}-failed")
            await self._check_whether_it_hangs()
        except EngineError:
            self._snapshot.notes.append(f"{name}-failed")
        except Exception:  # a page may give any value where a script of ours is asked
            log.warning("the step %s of the visit of %s failed unexpectedly", name, self._url, exc_info=True)
            self._snapshot.notes.append(f"{name}-failed")


def second_device_of(text: str) -> tuple[int, int, float]:
    """Return width, height and scale of a device such as `390x844@3`."""
    size, _, scale = text.partition("@")
    width, _, height = size.partition("x")
    return int(width), int(height), float(scale or 1)


async def _answers(frame: Frame, seconds: float) -> bool:
    """Return whether the page's scripts answer. A page that is closed or crashed does not hang."""
    try:
        async with asyncio.timeout(seconds):
            await frame.evaluate("() => 1")
    except TimeoutError:
        return False
    except EngineError:
        return True
    return True
