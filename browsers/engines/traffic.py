"""A browser engine reports what a window asked for. This module counts requests in flight and remembers each answer.

An engine only listens. Interception (credentials, extra headers) would switch the browser's cache off and make CORS ask
first. The proxy knows by the port whose traffic a request is.
"""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from archive.dates import Micros, now_micros
from archive.url import MAX_LENGTH
from browsers.links.documents import media_type
from browsers.proxying.outcomes import proxy_error
from browsers.visit import FleetUnavailable
from frontier.definition.scope import MAX_CHAIN

MAX_REMEMBERED: Final = 5000
"""URLs in a page's account; what comes after is counted and not listed."""
_ENDLESS: Final = frozenset(("eventsource", "websocket"))
"""Kinds of requests that are not waited for: they stay open on purpose."""
_TICK: Final = 0.05
MAX_BODY: Final = 65_536
"""Largest number of bytes of a request's body that an engine reports."""
MAX_LISTED_TEXT: Final = 16_000_000
"""Largest number of characters of URLs, headers and bodies in the list of a page's requests."""
DOCUMENTS: Final = frozenset(("document", "popup"))
"""Kinds of requests for documents: those of the page's frames, and those in windows that the page opened."""
MAX_INITIATOR: Final = 500
"""Largest number of characters of the name of what made a page send a request."""
_POLLING: Final = frozenset(("fetch", "xhr", "script"))
"""Kinds of requests with which pages ask the same again and again."""
_MOST_TURNS: Final = 5
"""A page that asks the same more often, one request after the other, is not waited for."""
_VARIABLE: Final = re.compile(r"\?.*|\d+", re.DOTALL)
"""Parts of a URL that differ between requests for the same."""
_MAX_SHAPES: Final = 1000


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


@dataclass(frozen=True, slots=True)
class BrowserRequest:
    """A request of the browser. A redirect ends one request and begins another."""

    url: str
    method: str
    kind: str
    """The browser's word for the destination in lower case, such as document, image, fetch.

    A document in a window that the page opened is a popup."""
    is_main: bool = False
    """True if the request is a navigation of the window's main frame."""
    is_awaited: bool = True
    """True if the page counts as unsettled until the request ends."""
    headers: Mapping[str, str] = field(default_factory=dict, compare=False)
    """Headers of the request, with names in lower case, as far as the browser reports them."""
    body: str | None = field(default=None, compare=False)
    """Beginning of the request's body as text; None without a body."""
    initiator: str = field(default="", compare=False)
    """The kind and the place of what made the page send the request, such as `script http://a.example/app.js:12`.

    The kinds are script, stylesheet, document and preload. Empty when the browser does not tell."""


@dataclass(slots=True, eq=False)
class AskedExchange:
    """The browser sent a request, and reports here how the request went on."""

    request: BrowserRequest
    began: Micros
    status: int = 0
    """The HTTP status; 0 without an answer."""
    headers: Mapping[str, str] = field(default_factory=dict)
    answered: Micros | None = None
    """Time when the head of the answer came."""
    ended: Micros | None = None
    error: str = ""
    """The reason why there is no whole answer, in the browser's words."""
    is_cached: bool = False
    """True if the browser's cache gave the answer. It may have asked the site whether the answer is still good."""


class Traffic:
    """The account of one window's requests.

    The engine calls `began`, `answered`, `finished` and `failed`.
    """

    def __init__(self) -> None:
        self.asked: dict[str, PageRequest] = {}
        self.exchanges: list[AskedExchange] = []
        """The first requests in their order, with their answers."""
        self.requests = 0
        self.bytes = 0
        """Number of bytes that were received, as far as the engine reports them."""
        self.main: MainAnswer | None = None
        """The newest answer to a main-frame navigation that was no redirect."""
        self.trouble: FleetUnavailable | None = None
        """Set when the proxy said of any request that it can't keep anything at present."""
        self.main_failed = asyncio.Event()
        """Set when the main document broke off after its head."""
        self.too_many_navigations = asyncio.Event()
        """Set when the main frame went on to one new URL after the other by itself. A reload is no new URL."""
        self._navigations: set[str] = set()
        self._open: dict[str, str] = {}
        """Shapes of the URLs of awaited requests, by their keys."""
        self._turns: dict[str, int] = {}
        """Number of requests of a shape that came one after the other."""
        self._changed = time.monotonic()
        self._listed: dict[int, AskedExchange] = {}
        """The exchanges by the identity of their requests, which live as long as the list."""
        self._room = MAX_LISTED_TEXT

    async def settled(self, quiet_seconds: float, most_seconds: float, *, from_now: bool = False) -> bool:
        """Wait until nothing has been in flight for `quiet_seconds`; False when `most_seconds` are over first.

        With `from_now`, quiet before this call does not count, since something was just set off. Requests that are in
        flight at the end of the time are not waited for again.
        """
        began = time.monotonic()
        while True:
            now = time.monotonic()
            quiet = now - (max(self._changed, began) if from_now else self._changed)
            if not self._open and quiet >= quiet_seconds:
                return True
            if now >= began + most_seconds:
                self._open.clear()
                return False
            left = quiet_seconds - quiet if not self._open else _TICK
            await asyncio.sleep(min(max(left, 0.005), began + most_seconds - now))

    def began(self, key: str, request: BrowserRequest) -> None:
        """Count a request. `key` is the engine's name of the request."""
        self.requests += 1
        self._list(request)
        if request.is_main:
            self._navigations.add(request.url)
            if len(self._navigations) > 1 + MAX_CHAIN:
                self.too_many_navigations.set()
        if request.is_awaited and request.kind not in _ENDLESS and request.url.startswith("http"):
            shape = _VARIABLE.sub("", request.url)
            if request.kind not in _POLLING or not self._is_polled(shape):
                self.hold(key, shape)

    def hold(self, key: str, shape: str = "") -> None:
        """Count the page as unsettled until `release`, for example while a window that it opened loads."""
        self._open[key] = shape
        self._changed = time.monotonic()

    def release(self, key: str) -> None:
        """End what `hold` began."""
        if self._open.pop(key, None) is not None:
            self._changed = time.monotonic()

    def renew(self) -> None:
        """Wait again for a page that asked the same several times, since a behaviour has done something.

        Navigations count anew, too.
        """
        self._turns.clear()
        self._navigations.clear()

    def answered(self, request: BrowserRequest, status: int, headers: Mapping[str, str]) -> None:
        """Remember the head of an answer. Names of headers are in lower case."""
        error = self._proxy_said(status, headers)
        if listed := self._listed.get(id(request)):
            listed.status, listed.answered, listed.error = status, now_micros(), error or ""
            if self._takes(headers):
                listed.headers = dict(headers)
        mime = media_type(headers.get("content-type", ""))
        self._remember(request.url, PageRequest(status, mime, request.kind, error))
        is_redirect = status in range(300, 400) and "location" in headers
        if not is_redirect and request.is_main:
            self.main = MainAnswer(request.url, status, headers, is_sites=error is None)

    def cached(self, request: BrowserRequest) -> None:
        """Note that the browser's cache gave the answer."""
        if listed := self._listed.get(id(request)):
            listed.is_cached = True

    def finished(self, key: str, request: BrowserRequest, size: int = 0) -> None:
        """End a request whose answer of `size` bytes arrived whole."""
        self.bytes += size
        if listed := self._listed.get(id(request)):
            listed.ended = now_micros()
        self.release(key)
        asked = self.asked.get(request.url)
        if asked is not None and asked.error is None and asked.status != 206 and request.method == "GET":
            self.asked[request.url] = PageRequest(asked.status, asked.mime, asked.kind, None, is_whole=True)

    def failed(self, key: str, request: BrowserRequest, error: str) -> None:
        """End a request that had no answer, or whose answer broke off."""
        if listed := self._listed.get(id(request)):
            listed.ended, listed.error = now_micros(), error or "failed"
        self.release(key)
        asked = self.asked.get(request.url)
        status, mime = (asked.status, asked.mime) if asked else (0, "")
        self._remember(request.url, PageRequest(status, mime, request.kind, error or "failed"))
        if self.main is not None and self.main.url == request.url and request.is_main:
            self.main_failed.set()

    def _list(self, request: BrowserRequest) -> None:
        if (
            len(self.exchanges) < MAX_REMEMBERED
            and len(request.url) <= MAX_LENGTH
            and not request.url.startswith("data:")
        ):
            if not self._takes(request.headers, request.url, request.body or "", request.initiator):
                return
            listed = AskedExchange(request, now_micros())
            self.exchanges.append(listed)
            self._listed[id(request)] = listed

    def _takes(self, headers: Mapping[str, str], *texts: str) -> bool:
        """Return whether there is room to remember these texts, and use the room."""
        size = sum(map(len, texts)) + sum(len(name) + len(value) for name, value in headers.items())
        if size > self._room:
            return False
        self._room -= size
        return True

    def _is_polled(self, shape: str) -> bool:
        if shape in self._open.values():
            return False  # requests at the same time belong to one turn
        turns = self._turns.get(shape, 0) + 1
        if shape in self._turns or len(self._turns) < _MAX_SHAPES:
            self._turns[shape] = turns
        return turns > _MOST_TURNS

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
