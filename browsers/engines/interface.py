"""A browser engine shows pages in windows. The modules that visit, behave, render and record use only these names.

An engine implements the protocols of this module for one browser. All coroutines of an engine run on the event loop
that started the engine. A window belongs to one visit and shares nothing with other windows, but for the cache of a
`KeptContext`. Positions and sizes are CSS pixels. A call that waits for a page waits without an end, so that callers
bound each call with `asyncio.timeout`.
"""

from __future__ import annotations

import asyncio
import base64
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Protocol

from browsers.engines.traffic import Traffic


class EngineError(Exception):
    """A browser could not do what was asked. The message is for logs and annotations, in the browser's words."""


class ScriptFailed(EngineError):
    """A script raised an error, did not parse, or returned a value that is no JSON. The page may be unharmed."""


class FrameGone(EngineError):
    """The frame was removed, or it went to another document while a script ran in it. Other frames may be unharmed."""


class NavigationFailed(EngineError):
    """This error says that a URL has no document.

    `reason` is Chromium's name of the error, such as ERR_TUNNEL_CONNECTION_FAILED.
    """

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class EngineLost(EngineError):
    """The window was closed, its process ended, or the browser ended. The window is of no further use."""


class BrowserMissing(RuntimeError):
    """No browser was found. The message says what to install or set."""


class World(StrEnum):
    """A script runs in one of these JavaScript worlds. Both see the same DOM."""

    PAGE = "page"
    """The page's own world: the script sees the page's variables, and the page sees the script's."""
    ISOLATED = "isolated"
    """A world of our own: the page can neither see the script nor replace the built-in functions that the script
    uses."""


class DialogAnswer(StrEnum):
    """Alerts, confirmations, prompts and questions before unload get this answer at once."""

    ACCEPT = "accept"
    DISMISS = "dismiss"


@dataclass(frozen=True, slots=True)
class Point:
    """A position is counted from the upper left corner of the window's visible part."""

    x: float
    y: float


@dataclass(frozen=True, slots=True)
class Area:
    """A rectangle of the page is counted from the upper left corner of the whole page, scrolled or not."""

    x: float
    y: float
    width: float
    height: float


@dataclass(frozen=True, slots=True)
class Device:
    """A window looks like this device to its page. Empty texts stand for the browser's own values."""

    width: int = 1280
    height: int = 1024
    scale: float = 1.0
    """Device pixels for each CSS pixel."""
    has_touch: bool = False
    is_mobile: bool = False
    """True if the page's viewport element counts, as in browsers of telephones."""
    user_agent: str = ""
    lang: str = ""
    """Value of Accept-Language, such as `de-AT,de;q=0.9`."""
    timezone: str = ""
    """Name in the time zone database, such as `Europe/Copenhagen`."""
    dark: bool = False
    """True if the page is told that its reader prefers dark colours."""


@dataclass(frozen=True, slots=True)
class InitScript:
    """The source runs in each new document of every frame, before the scripts of the page."""

    source: str
    world: World = World.PAGE


@dataclass(frozen=True, slots=True)
class Binding:
    """Scripts in every frame can call a function of this name with one JSON value.

    The script gets a promise of the value that `function` returns. An error of `function` rejects the promise with the
    error's message. `function` runs on the engine's loop. A page can call a binding of its own world at any time with
    any value, and as often as it likes: `function` must bound what it does.
    """

    name: str
    function: Callable[[Frame, Any], Awaitable[Any]]
    world: World = World.PAGE


@dataclass(frozen=True, slots=True)
class BrowserCookie:
    """A cookie belongs to a window. Its text form does not show the value."""

    name: str
    value: str = field(repr=False)
    domain: str
    path: str = "/"
    expires: float = -1
    """Seconds since 1970; -1 for a cookie of the session."""
    http_only: bool = False
    secure: bool = False
    same_site: str = ""
    """Strict, Lax, None, or empty when the site did not say."""


@dataclass(frozen=True, slots=True)
class HttpCredentials:
    """A window answers with these credentials when a site asks for some by HTTP (RFC 9110 section 11)."""

    origin: str
    """Scheme, host and port of the site, such as `https://example.org`; no other origin gets the credentials."""
    user: str
    password: str = field(repr=False)
    scheme: str = ""
    """Scheme in lower case, such as `basic` or `digest`; empty while unknown. Basic is sent before the site asks."""
    realm: str = ""
    """The site is answered when it asks for this realm alone; empty for any realm."""

    def is_of(self, url: str) -> bool:
        """Return whether the URL is one of the origin."""
        return url == self.origin or url.startswith(f"{self.origin}/")

    def is_for_realm(self, realm: str) -> bool:
        """Return whether a site that asks for this realm gets the credentials."""
        return not self.realm or self.realm == realm

    @property
    def is_sent_at_once(self) -> bool:
        """Return whether the credentials go with each request to the origin, before it asks."""
        return self.scheme == "basic"

    @property
    def basic(self) -> str:
        """Return the value of Authorization for the scheme Basic (RFC 7617), in UTF-8."""
        return "Basic " + base64.b64encode(f"{self.user}:{self.password}".encode()).decode()


@dataclass(frozen=True, slots=True)
class WindowOptions:
    """A window is opened with these options, which hold for all its documents."""

    proxy: str
    """Host and port of the proxy that all requests of the window pass."""
    device: Device = field(default_factory=Device)
    headers: Mapping[str, str] = field(default_factory=dict)
    """Further headers of every request."""
    dialogs: DialogAnswer = DialogAnswer.ACCEPT
    popup_seconds: float = 0.0
    """Windows that the page opens are closed when they have loaded, and at the latest after this time."""
    init_scripts: Sequence[InitScript] = ()
    bindings: Sequence[Binding] = ()
    cookies: Sequence[BrowserCookie] = ()
    """Cookies that the window has before its first request."""
    http_login: HttpCredentials | None = None
    passes_by_service_workers: bool = False
    """True if the requests of pages go to the network when a service worker could answer them."""
    context: KeptContext | None = None
    """The context of an earlier window, with its cache. The first document of the window comes from the network."""


@dataclass(frozen=True, slots=True)
class DialogSeen:
    """A dialog of the page, which was answered."""

    kind: str
    """One of alert, confirm, prompt, beforeunload."""
    message: str
    """Beginning of the text."""


class Frame(Protocol):
    """A frame shows one document after the other."""

    @property
    def url(self) -> str:
        """Return the URL of the present document; empty before the first one."""
        ...

    @property
    def is_main(self) -> bool:
        """Return whether this is the outermost frame of its window."""
        ...

    async def offset(self) -> Point:
        """Return the position of the document's visible corner in the window. Raises FrameGone and EngineLost.

        A point of the frame's `getBoundingClientRect` plus this offset is a point to click.
        """
        ...

    async def evaluate(self, function: str, argument: Any = None, *, world: World = World.ISOLATED) -> Any:
        """Call a JavaScript function such as `most => document.title.slice(0, most)` and return its result.

        The argument and the result are JSON values. A promise is waited for. Raises ScriptFailed, FrameGone and
        EngineLost.
        """
        ...


class BrowserWindow(Protocol):
    """A window shows a page for one visit."""

    @property
    def traffic(self) -> Traffic:
        """Return the account of the window's requests so far."""
        ...

    @property
    def main_frame(self) -> Frame:
        """Return the outermost frame."""
        ...

    @property
    def frames(self) -> Sequence[Frame]:
        """Return the present frames, the main frame first."""
        ...

    @property
    def lost(self) -> asyncio.Event:
        """Return the event that is set when the page's process or the browser has ended."""
        ...

    @property
    def dialogs(self) -> Sequence[DialogSeen]:
        """Return the first dialogs so far, at most `MAX_DIALOGS`."""
        ...

    @property
    def http_scheme(self) -> str:
        """Return the scheme by which the site of the HTTP login asked for credentials; empty when it has not."""
        ...

    @property
    def popups(self) -> Sequence[str]:
        """Return the URLs of the first windows that the page opened, at most `MAX_POPUPS`."""
        ...

    @property
    def fell_with_another(self) -> bool:
        """Return whether the browser ended because of another page, so that this page is not the reason."""
        ...

    def ended_for_memory(self) -> bool:
        """Return whether the page's process has just ended for its use of memory. Each end is reported once."""
        ...

    async def navigate(self, url: str) -> None:
        """Go to the URL, and return when its document begins. Raises NavigationFailed and EngineLost."""
        ...

    async def loaded(self) -> None:
        """Wait for the load event of the main frame, or until its document broke off. Raises EngineLost."""
        ...

    async def go_back(self) -> bool:
        """Go to the previous entry of the window's history, and return whether there was one. Raises EngineLost."""
        ...

    async def resize(self, width: int, height: int, scale: float) -> None:
        """Give the page another size in CSS pixels, and another number of device pixels for each. Raises EngineError.

        All other facts of the device stay. Pictures are taken at the size of the window's own device only.
        """
        ...

    async def screenshot(self, area: Area | None = None) -> bytes:
        """Return a PNG picture of the visible part of the page, or of an area of the whole page.

        The picture has one pixel for each CSS pixel, whatever the device's scale. Raises EngineError.
        """
        ...

    async def pdf(self) -> bytes:
        """Return the page as a PDF document of A4 pages with backgrounds. Raises EngineError."""
        ...

    async def move_mouse(self, to: Point) -> None:
        """Move the mouse. Raises EngineLost."""
        ...

    async def click(self, at: Point) -> None:
        """Move the mouse, press its left button and release it. Raises EngineLost."""
        ...

    async def press(self, key: str) -> None:
        """Send a key to the focus: a character, or a name of the UI Events standard such as `Escape`, `ArrowRight`.

        Raises ValueError for an unknown name, and EngineLost.
        """
        ...

    async def insert_text(self, text: str) -> None:
        """Insert text where the focus is, as an input method does. Raises EngineLost."""
        ...

    async def cookies(self) -> Sequence[BrowserCookie]:
        """Return all cookies of the window. Raises EngineError."""
        ...

    async def leave(self) -> KeptContext | None:
        """Close all pages and workers of the window, and return its context, which has the cache.

        Return None after the context was closed, since it can't be used again. An engine may do so each time.
        """
        ...

    async def close(self) -> None:
        """Close the window and forget its cookies, storage and cache. A window that is lost may be closed."""
        ...


class KeptContext(Protocol):
    """A browser context without windows has the cache for another window with the same proxy.

    That window finds neither cookies nor storage of earlier ones.
    """

    def is_usable_in(self, engine: Engine) -> bool:
        """Return whether the engine has the context, and nothing has run in it since its last window."""
        ...

    async def settle(self) -> bool:
        """Wait until the browser has acted upon each connection that the proxy has broken so far.

        Return whether the context is still usable.
        """
        ...

    async def close(self) -> None:
        """Close the context and forget its cache. A context that is lost may be closed."""
        ...


class Engine(Protocol):
    """A running browser opens windows."""

    name: str
    """Name of the browser as in a product token, such as `Chromium`."""
    version: str
    pid: int
    """Process of the browser; 0 when it is not known."""

    @property
    def is_broken(self) -> bool:
        """Return whether a part of the browser hung or ended, so that it should open no further window."""
        ...

    @property
    def lost(self) -> asyncio.Event:
        """Return the event that is set when the browser has ended or does not answer. Its visits are over."""
        ...

    async def open(self, options: WindowOptions) -> BrowserWindow:
        """Return a new window with an empty page. Raises EngineError."""
        ...

    async def stop(self) -> None:
        """Stop the browser and remove its files. Windows that are open are lost."""
        ...


MAX_DIALOGS = 100
"""A window remembers so many dialogs."""
MAX_POPUPS = 100
"""A window remembers so many URLs of opened windows."""
MAX_MESSAGE = 1000
"""A window remembers so many characters of a dialog's text."""
POPUP_DEPTH = 3
"""A window that a page opened may open another one, and so on, down to this depth. Further ones are closed at once."""
LOADING_POPUPS = 10
"""The number of windows opened by a page that may load at the same time. Others are closed at once."""
