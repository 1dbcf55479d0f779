"""The capture process has the browsers that people steer in the admin page; the site reaches them by a Unix socket.

The first message on a connection names the capture session. Whoever reaches the socket may steer: it is in the folder
`run` of the home, which its owner alone can enter, and the site checks the person before it connects.
"""

from __future__ import annotations

import asyncio
import logging
import os
from collections import deque
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from admin.capture_sessions.recording import CaptureRecording
from archive.dates import now_micros
from archive.files import make_folder
from archive.settings.load import Settings
from browsers.engines.chromium.executable import find_chromium
from browsers.engines.chromium.trust import trusted_keys
from browsers.engines.interface import BrowserMissing
from browsers.ghosts.loop_thread import LoopThread
from browsers.logins.profile_store import ProfileStore, ProfileUnusable
from browsers.remote.autopilot import AutopilotOrder
from browsers.remote.browser import RemoteBrowser, RemoteBrowserFailed, RemoteNotes, RemoteOrder
from browsers.remote.framing import MessageKind, ScreenMessage, packed, read_message
from browsers.visit import FleetUnavailable

log = logging.getLogger(__name__)
_OPEN_SECONDS: Final = 15.0
"""Longest wait for the proxy to serve a session that was made a moment ago."""
_MOST_WAITING: Final = 500
"""Messages that wait for a slow reader. Pictures give way to newer ones."""


def socket_path(home: Path) -> Path:
    """Return the path of the socket by which the site reaches the browsers."""
    return home / "run" / "screens.sock"


@dataclass(slots=True)
class _Seat:
    """A session's browser, with the connection of the person who looks at it."""

    browser: RemoteBrowser
    viewer: _Viewer | None = None


class Screens:
    """The browsers of the sessions of one process, on an event loop in a thread of their own."""

    def __init__(self, settings: Settings, recording: CaptureRecording, proxy: str) -> None:
        """Listen on the socket. `proxy` is the main port of the proxy, whose keys browsers trust."""
        self._settings, self._recording, self._proxy = settings, recording, proxy
        self._seats: dict[int, _Seat] = {}
        self._starting: dict[int, asyncio.Lock] = {}
        self._path = socket_path(settings.home)
        self._thread = LoopThread("screens")
        self._server: asyncio.Server | None = self._thread.run(self._listen())

    def close_session(self, session: int) -> None:
        """End the browser of a session, so that nothing is fetched any more."""
        self._thread.run(self._close(session))

    def close(self) -> None:
        """End all browsers, and listen no more."""
        self._thread.run(self._close_all())
        self._thread.close()
        self._path.unlink(missing_ok=True)

    async def _listen(self) -> asyncio.Server:
        make_folder(self._path.parent)
        self._path.unlink(missing_ok=True)
        mask = os.umask(0o177)
        try:
            return await asyncio.start_unix_server(self._connected, path=self._path)
        finally:
            os.umask(mask)

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        viewer = _Viewer(writer)
        sending = asyncio.create_task(viewer.send_all())
        session = 0
        try:
            first = await read_message(reader)
            if first is None:
                return
            asked = first.json
            session = int(asked.get("session", 0))
            url, before = str(asked.get("url", "about:blank")), self._seats.get(session)
            seat = await self._seat(session, url, viewer)
            if seat is None:
                return
            if seat is before and asked.get("open") is True and url != "about:blank":
                seat.browser.take({"t": "go", "url": url})
            while (message := await read_message(reader)) is not None and not seat.browser.is_over:
                if message.kind is MessageKind.JSON:
                    with suppress(ValueError):
                        sent = message.json
                        if sent.get("t") == "save-login":
                            await self._save_login(seat.browser, viewer, str(sent.get("name", "")))
                        else:
                            seat.browser.take(sent)
        except (ValueError, ConnectionError) as error:
            log.warning("a message on the socket of the screens can't be read: %s", error)
        finally:
            found = self._seats.get(session)
            if found is not None and found.viewer is viewer:
                found.viewer = None
                found.browser.show_to(lambda _: None)
            viewer.close()
            with suppress(asyncio.CancelledError):
                await sending
            writer.close()

    async def _seat(self, session: int, url: str, viewer: _Viewer) -> _Seat | None:
        """Return the browser of the session, started when there is none, with the person who looks now."""
        async with self._starting.setdefault(session, asyncio.Lock()):
            seat = self._seats.get(session)
            if seat is not None and seat.browser.is_over:
                await self._close(session)
                seat = None
            if seat is None:
                if len(self._seats) >= self._settings.capture.most_screens:
                    viewer.give(_say(f"{len(self._seats)} browsers run already (setting capture.most_screens)"))
                    return None
                try:
                    seat = _Seat(await self._start(session, url))
                except (RemoteBrowserFailed, BrowserMissing, FleetUnavailable) as error:
                    viewer.give(_say(str(error)))
                    return None
                self._seats[session] = seat
        if seat.viewer is not None:
            seat.viewer.give(ScreenMessage.of_json({"t": "over", "text": "the session was opened in another page"}))
            seat.viewer.close()
        seat.viewer = viewer
        seat.browser.show_to(viewer.give)
        return seat

    async def _start(self, session: int, url: str) -> RemoteBrowser:
        deadline = asyncio.get_running_loop().time() + _OPEN_SECONDS
        while (address := self._recording.address_of(session)) is None:
            if asyncio.get_running_loop().time() < deadline:
                await asyncio.sleep(0.1)
                continue
            raise RemoteBrowserFailed("the session is not open; resume it first")
        trusted = await asyncio.to_thread(trusted_keys, self._settings.home, self._proxy)
        order = RemoteOrder(
            executable=find_chromium(self._settings.browsers.executable),
            proxy=address,
            trusted=trusted,
            profile=self._settings.home / "windows" / str(session),
            url=url,
            sandbox=self._settings.browsers.sandbox and os.geteuid() != 0,  # root can't use the sandbox
            autopilot=AutopilotOrder(
                self._settings.capture.autopilot_behaviors,
                self._settings.capture.autopilot_seconds,
                self._settings.capture.autopilot_seconds / 2,
            ),
        )
        notes = RemoteNotes(
            secret_field=lambda name: self._recording.note_secret_field(session, name),
            picture=lambda url, png: self._recording.keep_picture(session, url, png),
        )
        browser = await RemoteBrowser.start(order, notes)
        if self._recording.address_of(session) != address:
            await browser.close()
            raise RemoteBrowserFailed("the session has ended")
        return browser

    async def _save_login(self, browser: RemoteBrowser, viewer: _Viewer, name: str) -> None:
        """Keep the cookies and the storage of the browser, encrypted, as a login that crawls can use."""
        store = ProfileStore(self._settings.home)
        try:
            store.check_name(name)
            login = await browser.stored_login(name, now_micros())
            await asyncio.to_thread(store.save, login)
        except (ProfileUnusable, RemoteBrowserFailed) as error:
            viewer.give(ScreenMessage.of_json({"t": "say", "text": str(error)}))
            return
        said = f"the login was saved as {name}; the profile of a crawl can name it (browser_profile)"
        viewer.give(ScreenMessage.of_json({"t": "say", "text": said}))

    async def _close(self, session: int) -> None:
        seat = self._seats.pop(session, None)
        if seat is None:
            return
        if seat.viewer is not None:
            seat.viewer.give(ScreenMessage.of_json({"t": "over", "text": "the session has ended"}))
            seat.viewer.close()
        await seat.browser.close()

    async def _close_all(self) -> None:
        if self._server is not None:
            self._server.close()
        for session in list(self._seats):
            await self._close(session)


class _Viewer:
    """The connection of a person's page: messages wait here until the page has taken those before them."""

    def __init__(self, writer: asyncio.StreamWriter) -> None:
        self._writer = writer
        self._waiting: deque[ScreenMessage] = deque()
        self._has_more = asyncio.Event()
        self._is_closed = False

    def give(self, message: ScreenMessage) -> None:
        """Send the message when its turn comes. An older picture that still waits is left out."""
        if self._is_closed:
            return
        if message.kind is MessageKind.PICTURE:
            self._waiting = deque(each for each in self._waiting if each.kind is not MessageKind.PICTURE)
        if len(self._waiting) < _MOST_WAITING:
            self._waiting.append(message)
        self._has_more.set()

    def close(self) -> None:
        """Send what waits, and then nothing."""
        self._is_closed = True
        self._has_more.set()

    async def send_all(self) -> None:
        """Send messages until the connection is closed."""
        with suppress(ConnectionError):
            while not self._is_closed or self._waiting:
                while self._waiting:
                    self._writer.write(packed(self._waiting.popleft()))
                    await self._writer.drain()
                self._has_more.clear()
                if not self._is_closed:
                    await self._has_more.wait()
            self._writer.write_eof()


def _say(text: str) -> ScreenMessage:
    return ScreenMessage.of_json({"t": "over", "text": text})
