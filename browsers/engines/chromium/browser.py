"""A running Chromium has a process and a profile folder. Both are removed at its end."""

from __future__ import annotations

import asyncio
import logging
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, Self

from archive.settings import BrowserSettings
from browsers.engines.chromium import flags
from browsers.engines.chromium.devtools.connection import Connection, DevToolsSession
from browsers.engines.chromium.devtools.cookies import parameter_of
from browsers.engines.chromium.devtools.kept_context import ChromiumContext
from browsers.engines.chromium.devtools.process import ChromiumProcess
from browsers.engines.chromium.devtools.window import ChromiumWindow
from browsers.engines.chromium.profile_folder import new_profile_folder
from browsers.engines.files import remove, start_failure, sweep
from browsers.engines.interface import BrowserCookie, EngineError, EngineLost, WindowOptions
from browsers.engines.running_browser import START_SECONDS, STOP_SECONDS, RunningBrowser

log = logging.getLogger(__name__)
OLDEST: Final = 120
"""Older versions of Chromium lack commands and flags that visits need, such as a headless mode with all features."""
_DISPOSE_SECONDS: Final = 10.0


class ChromiumEngine(RunningBrowser):
    """A running Chromium opens windows. It belongs to the event loop that started it."""

    name = "Chromium"

    def __init__(
        self, process: ChromiumProcess, connection: Connection, version: str, folder: Path, settings: BrowserSettings
    ) -> None:
        super().__init__(process.pid, version, settings)
        self.user_agent: Mapping[str, Any] = flags.user_agent_override(settings.user_agent, version, sys.platform)
        self._process = process
        self._connection = connection
        self._folder = folder
        self._windows: dict[str, ChromiumWindow] = {}
        self._kept: dict[str, ChromiumContext] = {}
        """Contexts without a window."""
        self._owners: dict[str, ChromiumWindow | ChromiumContext] = {}
        """Windows and contexts by the sessions that the browser itself announced."""
        self.root.handler = self._on_event
        self._watch(self._ping())
        self._watch(self._wait_for_end())

    @classmethod
    async def start(
        cls, executable: Path, command: Sequence[str], settings: BrowserSettings, *, answers_401: bool = False
    ) -> Self:
        """Return a running browser. Raises BrowserDown when it does not start.

        With `answers_401`, each of its windows must have an HTTP login.
        """
        sweep()
        folder, connection = None, Connection()
        try:
            folder = new_profile_folder(flags.LOCAL_STATE_WITH_LOGIN if answers_401 else flags.LOCAL_STATE)
            process = ChromiumProcess.start(executable, command, folder)
        except OSError as error:  # such as a full disk, or too many open files
            raise start_failure(executable, error.strerror or str(error), folder) from error
        try:
            async with asyncio.timeout(START_SECONDS):
                await connection.open(process.from_browser, process.to_browser)
                version = (await connection.root.send("Browser.getVersion"))["product"].rpartition("/")[2]
                if int(version.partition(".")[0]) < OLDEST:
                    raise EngineError(f"its version is {version}, and {OLDEST} is the oldest that can be used")
                started = cls(process, connection, version, folder, settings)
                await started.root.send(
                    "Target.setAutoAttach", autoAttach=True, waitForDebuggerOnStart=True, flatten=True
                )
        except (EngineError, TimeoutError) as error:
            connection.close()
            await process.end()
            told = process.said() if isinstance(error, EngineLost | TimeoutError) else str(error)
            raise start_failure(executable, told, folder) from error
        log.info("Chromium %s started, process %d", started.version, started.pid)
        return started

    @property
    def root(self) -> DevToolsSession:
        """Return the session of the browser itself."""
        return self._connection.root

    async def open(self, options: WindowOptions) -> ChromiumWindow:
        """Return a new window with an empty page. Raises EngineError, and the engine is broken then."""
        kept = options.context
        assert kept is None or isinstance(kept, ChromiumContext)
        context_id = ""
        try:
            async with asyncio.timeout(START_SECONDS):
                context_id = await self._new_context(options.proxy) if kept is None else kept.id
                self._kept.pop(context_id, None)
                window = self._windows[context_id] = ChromiumWindow(self, context_id, options)
                self._is_busy.set()
                self.root.send("Browser.setDownloadBehavior", behavior="deny", browserContextId=context_id)
                self.root.send("Browser.grantPermissions", permissions=[], browserContextId=context_id)
                if kept is None:
                    await self._set_cookies(context_id, options.cookies)
                await self.root.send("Target.createTarget", url="about:blank", browserContextId=context_id)
                await window.ready.wait()
                if kept is not None:
                    await kept.forgets(window.page)
                    await self._set_cookies(context_id, options.cookies)
        except (EngineError, TimeoutError) as error:
            self.is_broken = True
            self.closed(context_id)
            raise EngineError("no window could be opened") from error
        return window

    async def _new_context(self, proxy: str) -> str:
        context = await self.root.send(
            "Target.createBrowserContext",
            disposeOnDetach=True,
            proxyServer=f"http://{proxy}",
            proxyBypassList="<-loopback>",
        )
        return str(context["browserContextId"])

    async def _set_cookies(self, context_id: str, cookies: Sequence[BrowserCookie]) -> None:
        if cookies:
            values = [parameter_of(cookie) for cookie in cookies]
            await self.root.send("Storage.setCookies", cookies=values, browserContextId=context_id)

    def keep(self, context_id: str, origins: frozenset[str]) -> ChromiumContext:
        """Return the context of a window that is being left. New targets go to the context from now on."""
        kept = self._kept[context_id] = ChromiumContext(self, context_id, origins)
        self.closed(context_id)
        return kept

    def has_kept(self, context: ChromiumContext) -> bool:
        """Return whether the browser runs well and has the context."""
        return not self.is_broken and self._kept.get(context.id) is context

    async def dispose(self, context_id: str) -> None:
        """Close a context, unless that was done. A browser that can't do this in time is not used again."""
        if context_id not in self._windows and context_id not in self._kept:
            return
        try:
            async with asyncio.timeout(_DISPOSE_SECONDS):
                await self.root.send("Target.disposeBrowserContext", browserContextId=context_id)
        except (EngineError, TimeoutError):
            self.is_broken = True
        self._kept.pop(context_id, None)
        self.closed(context_id)

    def adopt(self, session_id: str, kind: str) -> DevToolsSession:
        """Return a session that a session of a window announced."""
        return self._connection.session(session_id, kind)

    def forget(self, session_id: str) -> DevToolsSession | None:
        """End a session that has gone, and return it."""
        self._owners.pop(session_id, None)
        return self._connection.end_session(session_id, "the target has ended")

    def closed(self, context_id: str) -> None:
        """Forget a window that was closed."""
        self._windows.pop(context_id, None)
        if not self._windows:
            self._is_busy.clear()

    async def stop(self) -> None:
        """Stop the browser, kill it when it does not answer, and remove its folder."""
        self.is_broken = True
        await self._end_watches()
        self.root.send("Browser.close")
        try:
            async with asyncio.timeout(STOP_SECONDS):
                await self._connection.closed.wait()
        except TimeoutError:
            log.warning("Chromium had to be killed, process %d", self.pid)
        self._lose()
        self._connection.close()
        await self._process.end()
        remove(self._folder)

    def _on_event(self, method: str, params: Mapping[str, Any]) -> None:
        match method:
            case "Target.attachedToTarget":
                target = params["targetInfo"]
                session = self._connection.session(params["sessionId"], target["type"])
                context_id = target.get("browserContextId", "")
                owner = self._windows.get(context_id) or self._kept.get(context_id)
                if owner is None:
                    session.send("Runtime.runIfWaitingForDebugger")
                else:
                    self._owners[session.id] = owner
                    owner.attach(session, target)
            case "Target.detachedFromTarget":
                owner = self._owners.get(params["sessionId"])
                ended = self.forget(params["sessionId"])
                if owner is not None and ended is not None:
                    owner.detach(ended)

    async def _ask(self) -> None:
        self._process.forget_said()
        await self.root.send("Browser.getVersion")

    def _open_windows(self) -> Iterable[ChromiumWindow]:
        return self._windows.values()

    async def _wait_for_end(self) -> None:
        await self._connection.closed.wait()
        self._lose()
        log.warning("Chromium ended by itself, process %d: %s", self.pid, await self._process.ending())
