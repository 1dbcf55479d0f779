"""A running Firefox has a process and a profile folder. Both are removed at its end."""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Final, Self

from archive.settings import BrowserSettings
from browsers.engines.files import new_folder, remove, start_failure, sweep
from browsers.engines.firefox.bidi.connection import BidiConnection
from browsers.engines.firefox.bidi.cookies import parameter_of
from browsers.engines.firefox.bidi.http_login import cancelled
from browsers.engines.firefox.bidi.window import FirefoxWindow
from browsers.engines.firefox.preferences import preferences_of, user_js
from browsers.engines.firefox.process import FirefoxProcess
from browsers.engines.interface import Device, EngineError, WindowOptions
from browsers.engines.running_browser import START_SECONDS, RunningBrowser

log = logging.getLogger(__name__)
_MAX_EARLY: Final = 1000
"""The number of events that are kept for browsing contexts that have not been announced yet."""
_EVENTS: Final = (
    "browsingContext.contextCreated",
    "browsingContext.contextDestroyed",
    "browsingContext.domContentLoaded",
    "browsingContext.fragmentNavigated",
    "browsingContext.historyUpdated",
    "browsingContext.load",
    "browsingContext.navigationCommitted",
    "browsingContext.navigationStarted",
    "browsingContext.userPromptOpened",
    "network.authRequired",
    "network.beforeRequestSent",
    "network.fetchError",
    "network.responseCompleted",
    "network.responseStarted",
    "script.message",
)


class FirefoxEngine(RunningBrowser):
    """A running Firefox opens windows. It belongs to the event loop that started it."""

    name = "Firefox"

    def __init__(
        self, process: FirefoxProcess, connection: BidiConnection, version: str, folder: Path, settings: BrowserSettings
    ) -> None:
        super().__init__(process.pid, version, settings)
        self.root = connection.channel()
        self.hides_control = not settings.webdriver
        self._user_agent = settings.user_agent
        self._process = process
        self._connection = connection
        self._folder = folder
        self._windows: dict[str, FirefoxWindow] = {}
        """Windows by their user contexts."""
        self._owners: dict[str, FirefoxWindow] = {}
        """Windows by their browsing contexts."""
        self._early: deque[tuple[str, Mapping[str, Any]]] = deque(maxlen=_MAX_EARLY)
        connection.handler = self._on_event
        self._watch(self._ping())
        self._watch(self._wait_for_end())

    @classmethod
    async def start(
        cls,
        executable: Path,
        trust: Mapping[str, bytes],
        settings: BrowserSettings,
        device: Device,
        *,
        answers_401: bool = False,
    ) -> Self:
        """Return a running browser for windows that look like the device. Raises BrowserDown when it does not start.

        With `answers_401`, each of its windows must have an HTTP login.

        `trust` has the files of `trust.make_database`.
        """
        sweep()
        folder = None
        try:
            folder = new_folder()
            profile = folder / "profile"
            profile.mkdir()
            for name, content in trust.items():
                (profile / name).write_bytes(content)
            (profile / "user.js").write_text(user_js(preferences_of(device, answers_401=answers_401)), "utf-8")
            process = FirefoxProcess.start(executable, folder, sandbox=settings.sandbox)
        except OSError as error:  # such as a full disk, or too many open files
            raise start_failure(executable, error.strerror or str(error), folder) from error
        connection: BidiConnection | None = None
        try:
            async with asyncio.timeout(START_SECONDS):
                connection = await BidiConnection.open(*await process.port())
                session = connection.channel()
                prompts = {"default": "ignore", "beforeUnload": "ignore"}
                answer = await session.send(
                    "session.new", capabilities={"alwaysMatch": {"unhandledPromptBehavior": prompts}}
                )
                version = str(answer["capabilities"]["browserVersion"])
                started = cls(process, connection, version, folder, settings)
                await started.root.send("session.subscribe", events=list(_EVENTS))
                await started.root.send("network.addIntercept", phases=["authRequired"])
        except (EngineError, OSError, TimeoutError) as error:
            if connection is not None:
                connection.close()
            await process.end()
            raise start_failure(executable, f"{process.said()}\n{error}", folder) from error
        log.info("Firefox %s started, process %d", started.version, started.pid)
        return started

    async def open(self, options: WindowOptions) -> FirefoxWindow:
        """Return a new window with an empty page. Raises EngineError, and the engine is broken then."""
        window: FirefoxWindow | None = None
        try:
            async with asyncio.timeout(START_SECONDS):
                proxy = {"proxyType": "manual", "httpProxy": options.proxy}
                answer = await self.root.send("browser.createUserContext", proxy=proxy)
                user_context = answer["userContext"]
                window = FirefoxWindow(self, user_context, self._connection.channel(), options)
                self._windows[user_context] = window
                self._is_busy.set()
                await self._configure(user_context, options)
                await window.prepare()
        except (EngineError, TimeoutError) as error:
            self.is_broken = True
            if window is not None:
                self.closed(window)
            raise EngineError("no window could be opened") from error
        return window

    async def _configure(self, user_context: str, options: WindowOptions) -> None:
        """Make the user context look like the device. Raises EngineError."""
        device, mine = options.device, {"userContexts": [user_context]}
        headers = dict(options.headers)
        viewport = {"width": device.width, "height": device.height}
        sent = [
            self.root.send("browser.setDownloadBehavior", downloadBehavior={"type": "denied"}, **mine),
            self.root.send("browsingContext.setViewport", viewport=viewport, devicePixelRatio=device.scale, **mine),
            self.root.send("emulation.setScreenSettingsOverride", screenArea=viewport, **mine),
        ]
        if agent := device.user_agent or self._user_agent:
            sent.append(self.root.send("emulation.setUserAgentOverride", userAgent=agent, **mine))
        if device.timezone:
            sent.append(self.root.send("emulation.setTimezoneOverride", timezone=device.timezone, **mine))
        if device.lang:
            locale = device.lang.partition(",")[0].partition(";")[0].strip()
            sent.append(self.root.send("emulation.setLocaleOverride", locale=locale, **mine))
            headers = {"Accept-Language": device.lang, **headers}
        if headers:
            named = [{"name": name, "value": {"type": "string", "value": value}} for name, value in headers.items()]
            sent.append(self.root.send("network.setExtraHeaders", headers=named, **mine))
        partition = {"type": "storageKey", "userContext": user_context}
        for cookie in options.cookies:
            sent.append(self.root.send("storage.setCookie", cookie=parameter_of(cookie), partition=partition))
        for answer in sent:
            await answer

    def closed(self, window: FirefoxWindow) -> None:
        """Forget a window that was closed."""
        self._windows.pop(window.user_context, None)
        self._owners = {context: owner for context, owner in self._owners.items() if owner is not window}
        self._connection.end_channel(window.channel, "the window was closed")
        if not self._windows:
            self._is_busy.clear()
            self._early.clear()

    async def stop(self) -> None:
        """Stop the browser, kill it when it does not answer, and remove its folder."""
        self.is_broken = True
        await self._end_watches()
        self._lose()
        self._connection.close()
        await self._process.end()
        remove(self._folder)

    def _on_event(self, method: str, params: Mapping[str, Any]) -> None:
        context = params.get("context") or params.get("source", {}).get("context") or ""
        if method == "browsingContext.contextCreated":
            owner = self._owners.get(params.get("parent") or "") or self._windows.get(params.get("userContext") or "")
            if owner is not None:
                self._owners[context] = owner
                owner.on_event(method, params)
                self._replay(context)
            return
        owner = self._owners.get(context)
        if owner is None and method == "network.authRequired":
            # A 401 is an answer to show and to record. Firefox would wait until a person enters a password.
            cancelled(self.root, params)
        elif owner is None:
            self._early.append((method, params))
        else:
            owner.on_event(method, params)
            if method == "browsingContext.contextDestroyed":
                self._owners.pop(context, None)

    def _replay(self, context: str) -> None:
        """Give a new browsing context the events that came before its announcement."""
        early, self._early = self._early, deque(maxlen=_MAX_EARLY)
        for method, params in early:
            if params.get("context") == context:
                self._on_event(method, params)
            else:
                self._early.append((method, params))

    async def _ask(self) -> None:
        self._process.forget_said()
        await self.root.send("browser.getUserContexts")

    def _open_windows(self) -> Iterable[FirefoxWindow]:
        return self._windows.values()

    async def _wait_for_end(self) -> None:
        await self._connection.closed.wait()
        self._lose()
