"""Playwright's events of requests become the account of a window's requests."""

from __future__ import annotations

import itertools
from contextlib import suppress
from typing import Final

from playwright.async_api import Error, Request, Response

from browsers.engines.traffic import DOCUMENTS, MAX_BODY, BrowserRequest, Traffic

_UNAWAITED: Final = frozenset(("ping", "beacon", "cspviolationreport", "prefetch", "eventsource", "websocket"))
"""Kinds whose end a browser does not report in all cases, or that stay open on purpose."""
_ABORTED: Final = "net::ERR_ABORTED"


class PlaywrightRequests:
    """An observer that follows each request of a browser context from its sending to its end."""

    def __init__(self, traffic: Traffic) -> None:
        self._traffic = traffic
        self._asked: dict[Request, tuple[str, BrowserRequest]] = {}
        self._numbers = itertools.count(1)
        self._cached: set[str] = set()
        """URLs that the browser's cache answered before Playwright told of their requests."""

    def sent(self, request: Request, *, is_main_page: bool) -> None:
        """Take a new request. `is_main_page` says whether a frame of the window's own page sent the request."""
        if not request.url.startswith("http"):
            return
        kind = request.resource_type
        if not is_main_page and kind == "document":
            kind = "popup"
        is_main = False
        if is_main_page and request.is_navigation_request():
            with suppress(Error):
                is_main = request.frame.parent_frame is None
        body: str | None = None
        with suppress(Error, UnicodeDecodeError):
            body = request.post_data
        asked = BrowserRequest(
            url=request.url,
            method=request.method,
            kind=kind,
            is_main=is_main,
            is_awaited=is_main_page and kind not in _UNAWAITED,
            headers=request.headers,
            body=body[:MAX_BODY] if body is not None else None,
        )
        key = f"request {next(self._numbers)}"
        self._asked[request] = (key, asked)
        self._traffic.began(key, asked)
        if asked.url in self._cached:
            self._cached.discard(asked.url)
            self._traffic.cached(asked)

    def answered(self, response: Response) -> None:
        """Take the head of an answer."""
        if known := self._asked.get(response.request):
            self._traffic.answered(known[1], response.status, response.headers)

    def finished(self, request: Request) -> None:
        """Take the end of a request whose answer is whole, or that was redirected."""
        if known := self._asked.pop(request, None):
            self._traffic.finished(*known)

    def failed(self, request: Request) -> None:
        """Take the end of a request without a whole answer."""
        if known := self._asked.pop(request, None):
            self._traffic.failed(*known, request.failure or "failed")

    def cached(self, url: str) -> None:
        """Note that the browser's cache answers the newest request for the URL."""
        for _, asked in reversed(self._asked.values()):
            if asked.url == url:
                self._traffic.cached(asked)
                return
        self._cached.add(url)

    def abandon(self, *, of_gone_frames: bool = True) -> None:
        """End the requests of frames that have gone, since no event of them will come."""
        for request in [each for each in self._asked if _is_gone(each)]:
            key, asked = self._asked.pop(request)
            if asked.kind in DOCUMENTS:
                self._traffic.release(key)
            else:
                self._traffic.failed(key, asked, _ABORTED)


def _is_gone(request: Request) -> bool:
    """Return whether the frame that sent the request was removed."""
    try:
        return request.frame.is_detached()
    except Error:  # a request of a service worker, or of a page that does not exist yet
        return False
