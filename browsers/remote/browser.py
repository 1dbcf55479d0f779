"""The browser of one capture session: its tabs, its picture, and what a person does in it.

A browser process belongs to one session alone, with a profile folder of its own, so that people can't see each other.
All of its traffic goes through the session's proxy. Events for the person are given to `tell`; what the person does
comes by `take`. Both belong to the event loop that started the browser.
"""

from __future__ import annotations

import asyncio
import base64
import logging
import os
from collections.abc import Callable, Coroutine, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, Self

from playwright.async_api import (
    BrowserContext,
    CDPSession,
    Dialog,
    Download,
    Error,
    FileChooser,
    Page,
    Playwright,
    async_playwright,
)

from archive.dates import Micros
from browsers.behaviors.outcomes import BehaviorOutcome
from browsers.behaviors.page_tools import observer
from browsers.engines.chromium.devtools.http_login import AskedRequests
from browsers.engines.chromium.flags import recorded_window_flags
from browsers.engines.chromium.profile_folder import prepare_window_profile
from browsers.logins.browser_profile import BrowserProfile
from browsers.remote import messages
from browsers.remote.autopilot import Autopilot, AutopilotOrder
from browsers.remote.framing import MessageKind, ScreenMessage
from browsers.remote.page_scripts import AT_POINT, PASSWORD_BINDING, PASSWORD_FIELDS, PICK, SELECTED, WORLD
from browsers.remote.profile_login import login_of_state

log = logging.getLogger(__name__)
_START_SECONDS: Final = 120.0
_STOP_SECONDS: Final = 10.0
_STEP_SECONDS: Final = 20.0
_COPY_SECONDS: Final = 5.0
"""Longest wait for the selected text. A page that hangs has none."""
MOST_TABS: Final = 20
_MOST_DOWNLOAD: Final = 90_000_000
_MOST_FILES: Final = 20
_MOST_INPUTS: Final = 2_000
"""Inputs that wait for their turn. A page that hangs takes none, and what comes later is left out."""
_PICTURE_SECONDS: Final = 1.0
"""A person's page that does not say that it has shown a picture gets the next one after this time."""
_TITLES_SECONDS: Final = 1.0
_LATE_SECONDS: Final = 1.0
_QUALITY: Final = 70
_DESKTOP: Final = (1280, 800)
_PHONE_AGENT: Final = (
    "Mozilla/5.0 (Linux; Android 10; K) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/140.0.0.0 Mobile Safari/537.36"
)
_HEAP: Final = "--js-flags=--max-old-space-size=1024"


@dataclass(frozen=True, slots=True)
class RemoteOrder:
    """The order says what a browser is started with."""

    executable: Path
    proxy: str
    """Host and port of the proxy of the session."""
    trusted: tuple[str, ...]
    """The hashes of the keys whose certificates the browser trusts."""
    profile: Path
    url: str = "about:blank"
    sandbox: bool = True
    autopilot: AutopilotOrder = field(default_factory=AutopilotOrder)


@dataclass(frozen=True, slots=True)
class RemoteNotes:
    """These functions get what the browser notices beside what it shows to the person."""

    secret_field: Callable[[str], None] = lambda _: None
    """The function gets the name of a form field that takes a password."""
    picture: Callable[[str, bytes], None] = lambda _url, _png: None
    """The function gets the URL and a PNG picture of a page that was loaded. It may take its time."""


@dataclass(slots=True, eq=False)
class _Tab:
    number: int
    page: Page
    devtools: CDPSession
    login: dict[str, str] = field(default_factory=dict)
    """User and password for the origin that asked for them."""
    asked: AskedRequests = field(default_factory=AskedRequests)
    """The requests that got the user and the password."""


class RemoteBrowser:
    """A running browser. `tell` gets messages for the person's page."""

    def __init__(
        self,
        driver: Playwright,
        context: BrowserContext,
        notes: RemoteNotes,
        autopilot: AutopilotOrder,
    ) -> None:
        self._driver, self._context = driver, context
        self._autopilot_order = autopilot
        self._notes = notes
        self._tell: Callable[[ScreenMessage], None] = lambda _: None
        self._tabs: list[_Tab] = []
        self._active: _Tab | None = None
        self._count = 0
        self._told_tabs: list[dict[str, Any]] = []
        self._size = (*_DESKTOP, 1.0)
        self._is_phone = False
        self._dialogs: dict[_Tab, Dialog] = {}
        """The open dialog of each tab. The person is asked for the oldest one."""
        self._chooser: FileChooser | None = None
        self._asked_login: tuple[_Tab, str] | None = None
        self._inputs: asyncio.Queue[Mapping[str, Any]] = asyncio.Queue(_MOST_INPUTS)
        self._shown = asyncio.Event()
        self._tasks: set[asyncio.Task[Any]] = set()
        self._last_input: asyncio.Task[Any] | None = None
        """The last key, click or text that was sent to a page. It ends when the page has taken it."""
        self._autopilot: Autopilot | None = None
        self._autopilot_run: asyncio.Task[Any] | None = None
        self.is_over = False
        context.on("page", lambda page: self._do(self._opened(page)))
        context.on("close", lambda _: self._end())
        self._do(self._work())
        self._do(self._watch_titles())

    @classmethod
    async def start(cls, order: RemoteOrder, notes: RemoteNotes) -> Self:
        """Return a running browser with one tab. Raises RemoteBrowserFailed."""
        await asyncio.to_thread(prepare_window_profile, order.profile)
        driver = await async_playwright().start()
        try:
            flags = recorded_window_flags(order.trusted, order.proxy, str(order.profile), is_visible=False)
            given = [flag for flag in flags if not flag.startswith("--user-data-dir")]
            given += [_HEAP, "--hide-scrollbars=false"]
            async with asyncio.timeout(_START_SECONDS):
                context = await driver.chromium.launch_persistent_context(
                    order.profile,
                    executable_path=order.executable,
                    ignore_default_args=["--enable-automation", "--hide-scrollbars", "--mute-audio"],
                    args=given,
                    headless=True,
                    chromium_sandbox=order.sandbox,
                    accept_downloads=True,
                    viewport={"width": _DESKTOP[0], "height": _DESKTOP[1]},
                )
                await context.add_init_script(observer().source)
                browser = cls(driver, context, notes, order.autopilot)
                for page in context.pages[1:]:
                    await page.close()
                await browser._add(context.pages[0])
                browser.take({"t": "go", "url": order.url})
        except (Error, OSError, TimeoutError) as error:
            with suppress(Error):
                await driver.stop()
            raise RemoteBrowserFailed(
                f"the browser could not be started: {str(error).splitlines()[0][:300]}"
            ) from error
        return browser

    def show_to(self, tell: Callable[[ScreenMessage], None]) -> None:
        """Give all messages to this function from now on, beginning with the present state."""
        self._tell = tell
        self._told_tabs = []
        self._shown.set()
        self._tell_tabs()
        self._do(self._picture())
        if self._autopilot is not None:
            self._tell_autopilot(())
        self._tell_dialog()

    def take(self, sent: Mapping[str, Any]) -> None:
        """Take what the person did. Moves of the mouse give way when too much waits; keys and buttons never do."""
        if sent.get("t") == "shown":
            self._shown.set()
            return
        if sent.get("t") in ("answer", "stop-autopilot"):  # the page waits for these, and so do the inputs behind
            self._do(self._handle(sent))
            return
        if sent.get("kind") == "move" and self._inputs.qsize() > 2:
            return
        with suppress(asyncio.QueueFull):
            self._inputs.put_nowait(dict(sent))

    async def stored_login(self, name: str, created: Micros) -> BrowserProfile:
        """Return the cookies and the local storage of the browser as a login. Raises RemoteBrowserFailed."""
        try:
            state = await self._context.storage_state()
        except Error as error:
            raise RemoteBrowserFailed(f"the login could not be read: {error.message[:300]}") from error
        url = self._active.page.url if self._active is not None else ""
        return login_of_state(state, name, url, created)

    async def close(self) -> None:
        """End the browser with all of its processes."""
        self.is_over = True
        for task in list(self._tasks):
            task.cancel()
        for work in (self._context.close, self._driver.stop):
            try:
                async with asyncio.timeout(_STOP_SECONDS):
                    await work()
            except (Error, TimeoutError):
                log.warning("the browser of a capture session did not end in time")

    # ---- Tabs --------------------------------------------------------------------------------------------------------

    async def _opened(self, page: Page) -> None:
        """Show a new page as a tab, unless the autopilot's page opened it."""
        pilot = self._autopilot
        if pilot is not None and await pilot.owns(page):
            pilot.take_popup(page)
        else:
            await self._add(page)

    async def _add(self, page: Page) -> None:
        if any(tab.page is page for tab in self._tabs):
            return
        if len(self._tabs) >= MOST_TABS:
            self._say(f"there are {MOST_TABS} tabs already; close one")
            await page.close()
            return
        devtools = await self._context.new_cdp_session(page)
        self._count += 1
        tab = _Tab(self._count, page, devtools)
        self._tabs.append(tab)
        devtools.on("Page.screencastFrame", lambda frame: self._do(self._frame(tab, frame)))
        devtools.on("Fetch.requestPaused", lambda paused: self._send(tab, "Fetch.continueRequest", paused))
        devtools.on("Fetch.authRequired", lambda asked: self._answer_login(tab, asked))
        devtools.on("Runtime.bindingCalled", self._password_field)
        page.on("dialog", lambda dialog: self._open_dialog(tab, dialog))
        page.on("filechooser", self._choose_files)
        page.on("download", lambda download: self._do(self._give(download)))
        page.on("close", lambda _: self._do(self._removed(tab)))
        page.on("crash", lambda _: self._say("the page has crashed; reload it"))
        page.on("framenavigated", lambda frame: self._tell_tabs() if frame.parent_frame is None else None)
        page.on("load", lambda _: self._loaded(tab))
        page.on("response", lambda answer: self._note_answer(tab, answer))
        with suppress(Error):
            await devtools.send("Page.enable")
            await devtools.send("Runtime.enable")
            await devtools.send("Runtime.addBinding", {"name": PASSWORD_BINDING, "executionContextName": WORLD})
            await devtools.send(
                "Page.addScriptToEvaluateOnNewDocument",
                {"source": PASSWORD_FIELDS, "worldName": WORLD, "runImmediately": True},
            )
        await self._activate(tab)

    async def _activate(self, tab: _Tab) -> None:
        before, self._active = self._active, tab
        if before is not None and before is not tab:
            with suppress(Error):
                await before.devtools.send("Page.stopScreencast")
        with suppress(Error):
            await tab.page.bring_to_front()
            await self._fit(tab)
            await tab.devtools.send("Page.startScreencast", {"format": "jpeg", "quality": _QUALITY})
        self._tell_tabs()
        await self._picture()

    async def _removed(self, tab: _Tab) -> None:
        if tab in self._tabs:
            self._tabs.remove(tab)
        self._end_dialog(tab)
        if not self._tabs and not self.is_over:
            await self._context.new_page()
        elif self._active is tab and self._tabs:
            await self._activate(self._tabs[-1])
        self._tell_tabs()

    async def _fit(self, tab: _Tab) -> None:
        """Give the tab the size and the kind of screen that the person chose."""
        width, height, zoom = self._size
        if self._is_phone:
            metrics: dict[str, float] = {"width": 390, "height": 844, "deviceScaleFactor": 2, "mobile": True}
        else:
            size = {"width": round(width / zoom), "height": round(height / zoom)}
            metrics = {**size, "deviceScaleFactor": zoom, "mobile": False}
        agent = _PHONE_AGENT if self._is_phone else await self._user_agent()
        await tab.devtools.send("Emulation.setDeviceMetricsOverride", metrics)
        await tab.devtools.send("Emulation.setTouchEmulationEnabled", {"enabled": self._is_phone})
        await tab.devtools.send("Emulation.setUserAgentOverride", {"userAgent": agent})

    async def _user_agent(self) -> str:
        assert self._active is not None
        version = await self._active.devtools.send("Browser.getVersion")
        return str(version["userAgent"]).replace("Headless", "")

    # ---- The picture -------------------------------------------------------------------------------------------------

    async def _frame(self, tab: _Tab, frame: Mapping[str, Any]) -> None:
        """Send a picture, and let the browser make the next one when the person's page has shown this one."""
        if tab is self._active:
            self._shown.clear()
            facts = frame["metadata"]
            shown = {"w": facts["deviceWidth"], "h": facts["deviceHeight"], "top": facts["offsetTop"]}
            picture = base64.b64decode(frame["data"])
            self._tell(ScreenMessage.of_content(MessageKind.PICTURE, shown, picture))
            with suppress(TimeoutError):
                await asyncio.wait_for(self._shown.wait(), _PICTURE_SECONDS)
        self._send(tab, "Page.screencastFrameAck", {"sessionId": frame["sessionId"]})

    def _loaded(self, tab: _Tab) -> None:
        self._tell_tabs()
        if tab.page.url.startswith(("http://", "https://")):
            self._do(self._take_picture(tab, tab.page.url))

    async def _take_picture(self, tab: _Tab, url: str) -> None:
        """Take a picture of a page for the list of pages, when its late parts had a moment to appear."""
        await asyncio.sleep(_LATE_SECONDS)
        if tab not in self._tabs or tab.page.url != url:
            return  # the person has gone on
        with suppress(Error, TimeoutError):
            async with asyncio.timeout(_STEP_SECONDS):
                taken = await tab.devtools.send("Page.captureScreenshot", {"format": "png"})
            await asyncio.to_thread(self._notes.picture, url, base64.b64decode(taken["data"]))

    async def _picture(self) -> None:
        """Send a picture of the page as it is, since a page that does not change sends none."""
        tab = self._active
        if tab is None:
            return
        with suppress(Error, TimeoutError):
            async with asyncio.timeout(_STEP_SECONDS):
                taken = await tab.devtools.send("Page.captureScreenshot", {"format": "jpeg", "quality": _QUALITY})
                view = (await tab.devtools.send("Page.getLayoutMetrics"))["cssVisualViewport"]
            if tab is self._active:
                facts = {"w": view["clientWidth"], "h": view["clientHeight"], "top": 0}
                content = base64.b64decode(taken["data"])
                self._tell(ScreenMessage.of_content(MessageKind.PICTURE, facts, content))

    # ---- What the person does ----------------------------------------------------------------------------------------

    async def _work(self) -> None:
        """Take the inputs in their order, for as long as the browser runs."""
        while not self.is_over:
            sent = await self._inputs.get()
            try:
                async with asyncio.timeout(_STEP_SECONDS):
                    await self._handle(sent)
            except (Error, TimeoutError) as error:
                log.debug("an input was not taken: %s", error)
            except Exception:  # pages give any values, and the inputs behind this one are taken
                log.warning("an input of a capture session failed unexpectedly", exc_info=True)

    async def _handle(self, sent: Mapping[str, Any]) -> None:
        kind, tab = messages.text(sent.get("t"), 20), self._active
        if tab is None:
            return
        match kind:
            case "mouse":
                await self._mouse(tab, sent)
            case "key":
                event = messages.key_event(sent)
                if event is not None:
                    if messages.is_copy(event):
                        await self._copy(tab)
                    self._send(tab, "Input.dispatchKeyEvent", event)
            case "text":
                self._send(tab, "Input.insertText", {"text": messages.text(sent.get("text"))})
            case "compose":
                self._send(tab, "Input.imeSetComposition", messages.composition(sent))
            case "pick":
                await tab.page.evaluate(PICK, [messages.text(str(sent.get("value", "")), 1_000)])
            case "size":
                self._size = messages.viewport(sent)
                await self._fit(tab)
            case "phone":
                self._is_phone = sent.get("on") is True
                await self._fit(tab)
            case "go":
                await self._go(tab, sent)
            case "back" | "forward" | "reload" | "again":
                await self._navigate(tab, kind)
            case "new-tab":
                await self._context.new_page()
            case "tab" | "close-tab":
                chosen = next((each for each in self._tabs if each.number == sent.get("number")), None)
                if chosen is not None:
                    await (self._activate(chosen) if kind == "tab" else chosen.page.close())
            case "answer":
                await self._answer_dialog(sent)
            case "files":
                await self._set_files(sent)
            case "login":
                await self._log_in(sent)
            case "autopilot":
                self._start_autopilot(tab)
            case "stop-autopilot":
                if self._autopilot_run is not None:
                    self._autopilot_run.cancel()
            case _:
                log.debug("an unknown input %r was left out", kind)

    async def _mouse(self, tab: _Tab, sent: Mapping[str, Any]) -> None:
        if self._is_phone and sent.get("kind") != "wheel":
            touch = messages.touch_event(sent)
            if touch is not None and (touch["type"] != "touchMove" or sent.get("buttons")):
                self._send(tab, "Input.dispatchTouchEvent", touch)
            return
        event = messages.mouse_event(sent)
        if event is None:
            return
        if event["type"] == "mousePressed" and event["button"] == "left":
            with suppress(Error):
                found = await tab.page.evaluate(AT_POINT, [event["x"], event["y"]])
                if found is not None:
                    self._tell(ScreenMessage.of_json({"t": "picker", **found}))
                    return
        self._send(tab, "Input.dispatchMouseEvent", event)

    async def _copy(self, tab: _Tab) -> None:
        """Tell the person's browser the selected text, before the page gets the key, since a cut removes the text.

        The inputs before the key, such as a choice of the whole text, have reached the page then.
        """
        with suppress(Error, TimeoutError):
            async with asyncio.timeout(_COPY_SECONDS):
                if self._last_input is not None:
                    await asyncio.wait({self._last_input})
                selected = await tab.page.evaluate(SELECTED)
            self._tell(ScreenMessage.of_json({"t": "clip", "text": messages.text(selected)}))

    async def _go(self, tab: _Tab, sent: Mapping[str, Any]) -> None:
        if sent.get("url") == "about:blank":  # a browser starts with this page
            return
        url = messages.address(sent.get("url"))
        if url is None:
            self._say("only addresses of the web can be opened, such as https://example.org/")
        else:
            self._do(self._open(tab, url))

    async def _open(self, tab: _Tab, url: str) -> None:
        try:
            await tab.page.goto(url, wait_until="commit", timeout=60_000)
        except Error as error:
            text = error.message.splitlines()[0]
            if "ERR_ABORTED" not in text:
                self._say(f"the page could not be opened: {text[:300]}")
        self._tell_tabs()

    async def _navigate(self, tab: _Tab, kind: str) -> None:
        if kind == "again":
            self._send(tab, "Page.reload", {"ignoreCache": True})
            return
        if kind == "reload":
            self._send(tab, "Page.reload", {})
            return
        history = await tab.devtools.send("Page.getNavigationHistory")
        at = history["currentIndex"] + (1 if kind == "forward" else -1)
        if 0 <= at < len(history["entries"]):
            self._send(tab, "Page.navigateToHistoryEntry", {"entryId": history["entries"][at]["id"]})

    def _start_autopilot(self, tab: _Tab) -> None:
        if self._autopilot is None:
            self._autopilot = Autopilot(tab.page, self._autopilot_order)
            self._autopilot_run = self._do(self._run_autopilot(self._autopilot))

    async def _run_autopilot(self, pilot: Autopilot) -> None:
        """Run the behaviours on the page of a tab, and tell the person how far they are."""
        self._tell_autopilot(())
        try:
            await pilot.run(self._tell_autopilot)
        finally:
            self._autopilot = None
            self._tell(ScreenMessage.of_json({"t": "autopilot", "on": False}))

    def _tell_autopilot(self, outcomes: Sequence[BehaviorOutcome]) -> None:
        done = [{"name": each.id, "steps": each.steps, "requests": each.requests} for each in outcomes]
        self._tell(ScreenMessage.of_json({"t": "autopilot", "on": True, "done": done}))

    # ---- Dialogs, files, logins --------------------------------------------------------------------------------------

    def _open_dialog(self, tab: _Tab, dialog: Dialog) -> None:
        if dialog.type == "beforeunload":
            self._do(dialog.accept())
            return
        if self._autopilot is not None and dialog.page == self._autopilot.page:
            return  # the autopilot answers
        self._end_dialog(tab)
        self._dialogs[tab] = dialog
        if len(self._dialogs) == 1:
            self._tell_dialog()

    def _end_dialog(self, tab: _Tab) -> None:
        """Forget the dialog of a tab, and ask the person for the next one when this one was asked for."""
        was_first = next(iter(self._dialogs), None) is tab
        self._dialogs.pop(tab, None)
        if was_first:
            self._tell_dialog()

    def _tell_dialog(self) -> None:
        """Ask the person for the oldest dialog, if there is one."""
        dialog = next(iter(self._dialogs.values()), None)
        if dialog is not None:
            facts = {"kind": dialog.type, "text": dialog.message[:10_000], "value": dialog.default_value[:10_000]}
            self._tell(ScreenMessage.of_json({"t": "dialog", **facts}))

    async def _answer_dialog(self, sent: Mapping[str, Any]) -> None:
        tab, dialog = next(iter(self._dialogs.items()), (None, None))
        if tab is None or dialog is None:
            return
        self._end_dialog(tab)
        with suppress(Error):
            if sent.get("ok") is True:
                await dialog.accept(messages.text(sent.get("text"), 10_000) if dialog.type == "prompt" else None)
            else:
                await dialog.dismiss()

    def _choose_files(self, chooser: FileChooser) -> None:
        if self._autopilot is not None and chooser.page == self._autopilot.page:
            return  # nobody waits for a choice
        self._chooser = chooser
        self._tell(ScreenMessage.of_json({"t": "files", "many": chooser.is_multiple()}))

    async def _set_files(self, sent: Mapping[str, Any]) -> None:
        chooser, self._chooser = self._chooser, None
        listed = sent.get("files")
        if chooser is None or not isinstance(listed, list):
            return
        files = []
        for each in listed[:_MOST_FILES]:
            if isinstance(each, dict):
                name = os.path.basename(messages.text(each.get("name"), 255)) or "file"
                data = base64.b64decode(messages.text(each.get("data"), 90_000_000))
                mime = messages.text(each.get("type"), 200) or "application/octet-stream"
                files.append({"name": name, "mimeType": mime, "buffer": data})
        await chooser.set_files(files)  # type: ignore[arg-type]

    async def _give(self, download: Download) -> None:
        """Give a file to the person; the collection has it already."""
        name = os.path.basename(download.suggested_filename)[:255] or "download"
        try:
            path = await download.path()
            if path.stat().st_size > _MOST_DOWNLOAD:
                self._say(f"{name} is recorded; it is too large to be given to your browser")
            else:
                content = await asyncio.to_thread(path.read_bytes)
                self._tell(ScreenMessage.of_content(MessageKind.DOWNLOAD, {"name": name}, content))
        except (Error, OSError):
            self._say(f"{name} could not be fetched")
        finally:
            with suppress(Error):
                await download.delete()

    def _note_answer(self, tab: _Tab, answer: Any) -> None:
        """Ask the person for user and password when the page's document needs them."""
        with suppress(Error):
            request = answer.request
            if answer.status == 401 and request.is_navigation_request() and request.frame.parent_frame is None:
                origin = "/".join(answer.url.split("/")[:3])
                if tab.login.get("origin") == origin:
                    tab.login = {}  # the credentials were wrong
                self._asked_login = (tab, origin)
                self._tell(ScreenMessage.of_json({"t": "login", "origin": origin}))

    async def _log_in(self, sent: Mapping[str, Any]) -> None:
        if self._asked_login is None:
            return
        (tab, origin), self._asked_login = self._asked_login, None
        tab.login = {
            "origin": origin,
            "user": messages.text(sent.get("user"), 1_000),
            "password": messages.text(sent.get("password"), 1_000),
        }
        tab.asked = AskedRequests()
        wanted = {"patterns": [{"urlPattern": f"{origin}/*"}], "handleAuthRequests": True}
        await tab.devtools.send("Fetch.enable", wanted)
        self._send(tab, "Page.reload", {})

    def _answer_login(self, tab: _Tab, asked: Mapping[str, Any]) -> None:
        answer = {"response": "CancelAuth"}
        if asked["authChallenge"].get("origin") == tab.login.get("origin"):
            answer = tab.asked.answer(asked["requestId"], tab.login["user"], tab.login["password"])
        given = {"requestId": asked["requestId"], "authChallengeResponse": answer}
        self._do(tab.devtools.send("Fetch.continueWithAuth", given))

    def _password_field(self, called: Mapping[str, Any]) -> None:
        if called.get("name") == PASSWORD_BINDING:
            self._notes.secret_field(messages.text(called.get("payload"), 200))

    # ---- Telling -----------------------------------------------------------------------------------------------------

    def _tell_tabs(self) -> None:
        self._do(self._tabs_told())

    async def _tabs_told(self) -> None:
        titles: dict[int, str] = {}
        for tab in list(self._tabs):
            with suppress(Error, TimeoutError):
                async with asyncio.timeout(2):
                    titles[tab.number] = await tab.page.title()
        listed = [  # without a wait in between, so that one tab is the active one
            {
                "number": tab.number,
                "title": titles.get(tab.number, "")[:300],
                "url": tab.page.url[:2_000],
                "on": tab is self._active,
            }
            for tab in self._tabs
        ]
        if listed != self._told_tabs:
            self._told_tabs = listed
            self._tell(ScreenMessage.of_json({"t": "tabs", "tabs": listed}))

    async def _watch_titles(self) -> None:
        """Tell titles and addresses that scripts change without a new document."""
        while not self.is_over:
            await asyncio.sleep(_TITLES_SECONDS)
            if not self._dialogs:  # a page with a dialog does not answer
                await self._tabs_told()

    def _say(self, text: str) -> None:
        self._tell(ScreenMessage.of_json({"t": "say", "text": text}))

    def _send(self, tab: _Tab, method: str, params: Mapping[str, Any]) -> None:
        """Send a command without waiting for its answer."""
        if method == "Fetch.continueRequest":
            params = {"requestId": params["requestId"]}
        sent = self._do(tab.devtools.send(method, dict(params)))
        if method.startswith("Input."):
            self._last_input = sent

    def _do[T](self, work: Coroutine[Any, Any, T]) -> asyncio.Task[T | None]:
        """Do the work beside all else. Errors of a page that has gone are left out."""

        async def done() -> T | None:
            try:
                return await work
            except Error as error:
                log.debug("a command was not done: %s", error)
                return None

        task = asyncio.get_running_loop().create_task(done())
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    def _end(self) -> None:
        self.is_over = True
        self._tell(ScreenMessage.of_json({"t": "over", "text": "the browser has ended"}))


class RemoteBrowserFailed(Exception):
    """The browser could not be started. The message is one line."""
