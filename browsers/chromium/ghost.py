"""The ghost: visits a page with Chromium, a session port and a fresh context each time.

`visit` is called by worker threads; everything of Playwright runs on one event loop in a thread of its own, where
visits go on side by side in one browser. A browser is replaced after a number of visits, or when it broke.
"""

from __future__ import annotations

import asyncio
import itertools
import logging
import os
import threading
import time
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Sequence
from contextlib import asynccontextmanager, suppress
from typing import Any

from playwright.async_api import Error as PlaywrightError

from archive.dates import now_micros
from archive.settings import Settings
from browsers import verdict
from browsers.browser import Browser, BrowserDown
from browsers.executable import BrowserMissing, find_chromium
from browsers.flags import launch_flags
from browsers.page import Look, look_at
from browsers.pageinfo import Sighting, derived_records, fetched_urls, found_links
from browsers.proxyclient import Control, ProxySession, SessionWish
from browsers.traffic import Traffic
from browsers.trust import spki_hash
from browsers.visit import FleetUnavailable, Visit, VisitOrder

log = logging.getLogger(__name__)


class ChromiumVisitor:
    """Visits pages as a person's browser would. Safe to use from several threads."""

    name = "chromium"

    def __init__(self, settings: Settings, controls: Sequence[Control], authority_pem: bytes) -> None:
        """`authority_pem` is the proxy's CA certificate. Raises BrowserMissing when there is no browser."""
        self._settings = settings
        self._controls = itertools.cycle(controls)
        hosts = [control.address.rpartition(":")[0] for control in controls]
        sandbox = _may_sandbox(settings)
        executable = find_chromium(settings.browsers.executable)
        command = launch_flags(spki_hash(authority_pem), hosts, settings.browsers.lang, sandbox=sandbox)
        self._browsers = _Browsers(
            lambda: Browser.start(executable, command, settings.browsers, sandbox=sandbox),
            settings.browsers.contexts_per_browser,
        )
        self._loop = _LoopThread("ghosts")

    def open(self) -> None:
        """Starts the first browser ahead of the first visit. Raises BrowserMissing when it does not start."""
        try:
            self._loop.run(self._browsers.begin())
        except BrowserDown as error:
            raise BrowserMissing(error.complaint) from error

    def visit(self, order: VisitOrder) -> Visit:
        """See Visitor: the final document's status, with the links of the page as it stood in the end."""
        began = time.monotonic()
        page_id = str(uuid.uuid4())
        control = next(self._controls)
        session = control.open(SessionWish.for_page(order, page_id))
        try:
            sighting, trouble = self._loop.run(self._sight(order, session, page_id))
            found = found_links(order.url, sighting.look, fetched_urls(order.url, sighting.asked))
            if sighting.look.is_page and trouble is None:
                for record in derived_records(sighting, found.links):
                    control.write(session, record.kind, record.uri, record.content_type, record.block)
        except BaseException:
            self._abandon(control, session)
            raise
        if trouble is None and sighting.look.crashed:
            trouble = FleetUnavailable("browser-crashed", may_be_the_page=True)
        if trouble is not None:
            self._abandon(control, session)  # there will be another visit: no need to wait for what this one asked for
            raise trouble
        report = control.finish(session, wait_seconds=self._settings.browsers.close_seconds)
        return verdict.visit_of(sighting, found, report, round((time.monotonic() - began) * 1000))

    def close(self) -> None:
        """Ends the browsers and their loop."""
        self._loop.run(self._browsers.close())
        self._loop.close()

    def _abandon(self, control: Control, session: ProxySession) -> None:
        with suppress(FleetUnavailable):  # a proxy that is gone has no session left to end
            control.finish(session, wait_seconds=1)

    async def _sight(
        self, order: VisitOrder, session: ProxySession, page_id: str
    ) -> tuple[Sighting, FleetUnavailable | None]:
        settings = self._settings.browsers
        moment = now_micros()
        async with self._browsers.lend() as browser:
            look, traffic = Look(crashed=True), None
            try:
                context = await browser.context(session.address)
            except PlaywrightError:
                browser.is_broken = True
            else:
                try:
                    traffic = Traffic(context)
                    look = await look_at(context, order.url, traffic, settings, browser.gone)
                except PlaywrightError:
                    look = Look(crashed=True)  # it fell over before there was a page
                finally:
                    await browser.give_back(context)
            version = browser.version
        asked = dict(traffic.asked) if traffic else {}
        requests = traffic.requests if traffic else 0
        sighting = Sighting(
            order, page_id, moment, look, asked, requests, f"Chromium/{version}", settings.width, settings.height
        )
        return sighting, traffic.trouble if traffic else None


class _Browsers:
    """The browser in use, and those that are replaced already but have visits going on."""

    def __init__(self, start: Callable[[], Awaitable[Browser]], contexts_per_browser: int) -> None:
        self._start = start
        self._contexts_per_browser = contexts_per_browser
        self._current: Browser | None = None
        self._lock = asyncio.Lock()

    @asynccontextmanager
    async def lend(self) -> AsyncIterator[Browser]:
        """A browser for one visit."""
        async with self._lock:
            browser = await self._ready()
            browser.used += 1
            browser.busy += 1
        try:
            yield browser
        finally:
            browser.busy -= 1
            if not browser.busy and browser.is_spent(self._contexts_per_browser):
                if browser is self._current:
                    self._current = None
                await browser.stop()

    async def begin(self) -> None:
        """Starts a browser, so that the first visit finds one."""
        async with self._lock:
            await self._ready()

    async def close(self) -> None:
        """Stops the browser; visits still going on in it end badly."""
        browser, self._current = self._current, None
        if browser is not None:
            await browser.stop()

    async def _ready(self) -> Browser:
        current = self._current
        if current is None or current.is_spent(self._contexts_per_browser):
            current = self._current = await self._start()
        return current


class _LoopThread:
    """An event loop in a thread, which other threads hand coroutines to."""

    def __init__(self, name: str) -> None:
        self._loop = asyncio.new_event_loop()
        self._loop.set_exception_handler(_note)
        self._thread = threading.Thread(target=self._loop.run_forever, name=name, daemon=True)
        self._thread.start()

    def run[T](self, work: Coroutine[Any, Any, T]) -> T:
        """The coroutine's result, or what it raises."""
        return asyncio.run_coroutine_threadsafe(work, self._loop).result()

    def close(self) -> None:
        """Stops the loop once what is ready has run."""
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(timeout=30)
        self._loop.close()


def _note(loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
    """What Playwright leaves behind when its driver dies: futures that nobody waits for any more."""
    log.debug("%s: %r", context.get("message"), context.get("exception"))


def _may_sandbox(settings: Settings) -> bool:
    if not settings.browsers.sandbox:
        log.warning("Chromium runs without its sandbox: setting browsers.sandbox is false")
        return False
    if hasattr(os, "geteuid") and os.geteuid() == 0:
        log.warning("Chromium runs without its sandbox, since it has none as root: use another user")
        return False
    return True
