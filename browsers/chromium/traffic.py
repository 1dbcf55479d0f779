"""The browser reports what a page asked for. This module counts requests in flight and remembers each answer in brief.

It only listens. Interception (`route`, credentials, extra headers) would switch the browser's cache off and make
CORS ask first; whose traffic it is, the proxy knows by the port.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from playwright.async_api import BrowserContext, Frame, Request, Response
from playwright.async_api import Error as PlaywrightError

from archive.url import MAX_LENGTH
from browsers.links.documents import media_type
from browsers.proxy_outcome import proxy_error
from browsers.visit import FleetUnavailable

MAX_REMEMBERED: Final = 5000
"""URLs in a page's account; what comes after is counted and not listed."""
_ENDLESS: Final = frozenset(("eventsource", "websocket"))
"""Kinds of requests that are not waited for: they stay open on purpose."""
_TICK: Final = 0.05


@dataclass(frozen=True, slots=True)
class PageRequest:
    """A page asked for this URL: `status` is 0 when it had no answer, and then `error` says why."""

    status: int
    mime: str
    kind: str
    error: str | None = None
    is_whole: bool = False
    """The answer was the site's and arrived whole: it is in the archive."""


@dataclass(frozen=True, slots=True)
class MainAnswer:
    """The answer to a navigation of the main frame."""

    url: str
    status: int
    headers: Mapping[str, str]
    is_sites: bool = True
    """False when the proxy answered by itself, since the site did not."""


class Traffic:
    """Listens to one context from before its first request."""

    def __init__(self, context: BrowserContext) -> None:
        self.asked: dict[str, PageRequest] = {}
        self.requests = 0
        self.main: MainAnswer | None = None
        """The newest answer to a main-frame navigation that was no redirect."""
        self.trouble: FleetUnavailable | None = None
        """Set when the proxy said of any request that it can't keep anything at present."""
        self.main_failed = asyncio.Event()
        """Set when the main document broke off after its head."""
        self._main_frame: Frame | None = None
        self._open: set[Request] = set()
        self._changed = time.monotonic()
        context.on("request", self._on_request)
        context.on("response", self._on_response)
        context.on("requestfinished", self._on_finished)
        context.on("requestfailed", self._on_failed)

    def watch(self, frame: Frame) -> None:
        """Watch the page's main frame: its navigations set `main`."""
        self._main_frame = frame

    async def settled(self, quiet_seconds: float, most_seconds: float, *, from_now: bool = False) -> bool:
        """Wait until nothing has been in flight for `quiet_seconds`; False when `most_seconds` are over first.

        With `from_now`, quiet before this call does not count, since something was just set off.
        """
        began = time.monotonic()
        while True:
            now = time.monotonic()
            quiet = now - (max(self._changed, began) if from_now else self._changed)
            if not self._open and quiet >= quiet_seconds:
                return True
            if now >= began + most_seconds:
                return False
            left = quiet_seconds - quiet if not self._open else _TICK
            await asyncio.sleep(min(max(left, 0.005), began + most_seconds - now))

    def _on_request(self, request: Request) -> None:
        self.requests += 1
        if request.resource_type not in _ENDLESS and request.url.startswith("http") and self._is_of_page(request):
            self._open.add(request)
            self._changed = time.monotonic()

    def _on_response(self, response: Response) -> None:
        request = response.request
        headers = response.headers
        error = self._proxy_said(response.status, headers)
        self._remember(
            request.url,
            PageRequest(response.status, media_type(headers.get("content-type", "")), request.resource_type, error),
        )
        is_redirect = response.status in range(300, 400) and "location" in headers
        if not is_redirect and self._is_main(request):
            self.main = MainAnswer(request.url, response.status, headers, is_sites=error is None)

    def _on_finished(self, request: Request) -> None:
        self._closed(request)
        asked = self.asked.get(request.url)
        if asked is not None and asked.error is None and asked.status != 206 and request.method == "GET":
            self.asked[request.url] = PageRequest(asked.status, asked.mime, asked.kind, None, is_whole=True)

    def _on_failed(self, request: Request) -> None:
        self._closed(request)
        asked = self.asked.get(request.url)
        status, mime = (asked.status, asked.mime) if asked else (0, "")
        self._remember(request.url, PageRequest(status, mime, request.resource_type, request.failure or "failed"))
        if self.main is not None and self.main.url == request.url and self._is_main(request):
            self.main_failed.set()

    def _closed(self, request: Request) -> None:
        self._open.discard(request)
        self._changed = time.monotonic()

    def _remember(self, url: str, asked: PageRequest) -> None:
        is_new = url not in self.asked and len(self.asked) < MAX_REMEMBERED and len(url) <= MAX_LENGTH
        if url.startswith("http") and (is_new or url in self.asked):
            self.asked[url] = asked

    def _proxy_said(self, status: int, headers: Mapping[str, str]) -> str | None:
        try:
            failure = proxy_error(status, headers)
        except FleetUnavailable as trouble:
            self.trouble = trouble
            return trouble.reason
        return failure[1] if failure else None

    def _is_main(self, request: Request) -> bool:
        return request.is_navigation_request() and _frame_of(request) == self._main_frame

    def _is_of_page(self, request: Request) -> bool:
        """Return whether the page is waited for this request: not if it is a popup's, which is closed at once."""
        frame = _frame_of(request)
        return frame is not None and self._main_frame is not None and frame.page == self._main_frame.page


def _frame_of(request: Request) -> Frame | None:
    try:
        return request.frame
    except PlaywrightError:  # a request of a service worker, or of a window that is only being opened, has none
        return None
