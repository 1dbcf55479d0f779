"""This bench steers a browser on the server by the admin site, and times how soon a press changes the picture.

The way is that of a person: the site's WebSocket, the capture process, Chromium, its proxy, and the picture back. Only
the person's own browser is missing: the bench takes its part, and decodes the pictures. Moves of the pointer arrive all
the time. Each press gives the page the next colour, so that the order of the presses shows.
"""

from __future__ import annotations

import asyncio
import contextlib
import io
import json
import shutil
import statistics
import struct
import subprocess
import tempfile
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from PIL import Image
from tornado.httpclient import HTTPRequest
from tornado.websocket import WebSocketClientConnection, websocket_connect

from admin.capture_sessions import sessions
from admin.capture_sessions.sessions import NewCaptureSession
from admin.demo.server import GardenServer
from admin.demo.wire import Answer
from admin.models.database import open_database
from admin.models.transaction import COMMAND_LINE
from admin.people.invitations import first_invitation
from archive.settings.load import load
from bench.admin_site.page_requests import logged_in, served
from bench.process import our_command, source_environment, stop

GOAL_MS: Final = 150.0
_COLOURS: Final = ((255, 0, 0), (0, 255, 0), (0, 0, 255), (255, 255, 0))
_PAGE: Final = """<!doctype html><html lang="en"><meta charset="utf-8"><title>0</title>
<style>html{background:#fff;height:100%}</style><script>
const colours = ['rgb(255,0,0)', 'rgb(0,255,0)', 'rgb(0,0,255)', 'rgb(255,255,0)'];
let presses = 0;
addEventListener('mousedown', () => {
  document.documentElement.style.background = colours[presses++ % 4];
  document.title = String(presses);
});
</script></html>"""
_START_SECONDS: Final = 240.0
_PRESS_SECONDS: Final = 30.0
_PAUSE_SECONDS: Final = 0.25
"""Between the picture of one press and the next press."""
_MOST_MESSAGE: Final = 96_000_000
_FAR: Final = 60
"""A colour is another one when a part of it differs by more. JPEG changes colours a little."""


class ScreenBenchFailed(Exception):
    """The bench could not measure. The message is one line."""


@dataclass(frozen=True, slots=True)
class ScreenTimes:
    """The presses of the pointer changed the picture after these times."""

    presses: int
    moves_per_second: float
    """Moves of the pointer that were sent in a second."""
    in_order: int
    """The presses whose own colour was the next one that the picture showed."""
    counted: int
    """The presses that the page has counted."""
    p50_ms: float
    p95_ms: float
    max_ms: float

    @property
    def is_whole(self) -> bool:
        """Return whether no press was lost, and each came in its turn."""
        return self.in_order == self.counted == self.presses


def measure(presses: int, moves_per_second: float, tell: Callable[[str], None]) -> ScreenTimes:
    """Press so many times while so many moves arrive in a second. Raises ScreenBenchFailed and UseCaseError."""
    home = Path(tempfile.mkdtemp(prefix="ghostfleet-bench-screen-"))
    site = GardenServer(lambda request: Answer(_PAGE.encode() if request.path == "/" else b""))
    page = f"http://127.0.0.1:{site.listen()}/"
    given = {"GHOSTFLEET_PROXY__ALLOW_PRIVATE": "true", "GHOSTFLEET_CAPTURE__PORT": "0"}
    settings = load({"home": str(home / "home")}, environment={})
    worker = None
    try:
        with closing(open_database(settings)) as database:
            with database.transaction(COMMAND_LINE) as transaction:
                link = first_invitation(transaction)
                session = sessions.start(transaction, NewCaptureSession(collection="bench", screen=True)).id
            assert link is not None
            url = database.engine.url.render_as_string(hide_password=False)
            worker = subprocess.Popen(
                our_command("session", "work", "--home", str(settings.home)),
                env={**source_environment(), **given},
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
            )
            with served(url, settings.home) as (address, _):
                cookies = logged_in(address, link.token)
                tell("waiting for the browser")
                return asyncio.run(_measured(address, cookies, session, page, presses, moves_per_second))
    finally:
        if worker is not None:
            stop(worker)
        site.stop()
        shutil.rmtree(home, ignore_errors=True)


async def _measured(
    address: str, cookies: dict[str, Any], session: int, page: str, presses: int, moves_per_second: float
) -> ScreenTimes:
    async with _person(address, cookies, session, page) as person:
        await person.until(lambda: person.title == "0", "the page", _START_SECONDS)
        moving = asyncio.create_task(person.move(moves_per_second))
        times = [await person.press(number) for number in range(presses)]
        moving.cancel()
        with contextlib.suppress(TimeoutError):
            await person.until(lambda: person.title == str(presses), "the count of the page", _PRESS_SECONDS)
    ordered = sorted(times)
    return ScreenTimes(
        presses=presses,
        moves_per_second=round(person.moves / max(person.moved_seconds, 0.001), 1),
        in_order=person.in_order,
        counted=int(person.title),
        p50_ms=round(statistics.median(ordered) * 1000, 1),
        p95_ms=round(ordered[min(len(ordered) - 1, len(ordered) * 95 // 100)] * 1000, 1),
        max_ms=round(ordered[-1] * 1000, 1),
    )


@asynccontextmanager
async def _person(address: str, cookies: dict[str, Any], session: int, page: str) -> AsyncIterator[_Person]:
    cookie = "; ".join(f"{name}={value}" for name, value in cookies.items())
    url = f"{address.replace('http', 'ws', 1)}/capture/{session}/screen/live"
    asked = HTTPRequest(url, headers={"Cookie": cookie, "Origin": address})
    connection = await websocket_connect(asked, max_message_size=_MOST_MESSAGE)
    person = _Person(connection)
    listening = asyncio.create_task(person.listen())
    try:
        person.send({"t": "begin", "url": page})
        person.send({"t": "size", "width": 1280, "height": 800, "zoom": 1})
        yield person
    finally:
        listening.cancel()
        connection.close()


class _Person:
    """The person's page: it says that it has shown a picture as soon as it has decoded it."""

    def __init__(self, connection: WebSocketClientConnection) -> None:
        self._connection = connection
        self._changed = asyncio.Condition()
        self._trouble = ""
        self.title = ""
        self.colours: list[int] = []
        """The colours that pictures have shown, each once for as long as it stayed."""
        self.in_order = self.moves = 0
        self.moved_seconds = 0.0

    def send(self, message: dict[str, Any]) -> None:
        """Send a message to the browser, without a wait."""
        self._connection.write_message(json.dumps(message))

    async def listen(self) -> None:
        """Take messages until the connection ends."""
        while (message := await self._connection.read_message()) is not None:
            if isinstance(message, str):
                self._told(json.loads(message))
            elif message[:1] == b"p":
                colour = _colour_of(message)
                self.send({"t": "shown"})
                if colour is not None and self.colours[-1:] != [colour]:
                    self.colours.append(colour)
            async with self._changed:
                self._changed.notify_all()
        self._trouble = self._trouble or "the connection was closed"

    def _told(self, message: dict[str, Any]) -> None:
        if message["t"] == "over":
            self._trouble = str(message["text"])
        elif message["t"] == "tabs":
            self.title = next((tab["title"] for tab in message["tabs"] if tab["on"]), "")

    async def move(self, per_second: float) -> None:
        """Move the pointer all the time."""
        loop, begun = asyncio.get_running_loop(), time.perf_counter()
        due = loop.time()
        while per_second > 0:
            at = self.moves % 400
            self.send({"t": "mouse", "kind": "move", "x": 200 + at, "y": 300, "button": -1, "buttons": 0})
            self.moves += 1
            self.moved_seconds = time.perf_counter() - begun
            due += 1 / per_second
            await asyncio.sleep(max(due - loop.time(), 0))

    async def press(self, number: int) -> float:
        """Press and release the button; return the seconds until the picture has the next colour."""
        await asyncio.sleep(_PAUSE_SECONDS)
        seen, wanted = len(self.colours), number % len(_COLOURS)
        event = {"t": "mouse", "x": 640, "y": 400, "button": 0, "clicks": 1}
        begun = time.perf_counter()
        self.send({**event, "kind": "down", "buttons": 1})
        self.send({**event, "kind": "up", "buttons": 0})
        await self.until(lambda: wanted in self.colours[seen:], f"the picture of press {number + 1}", _PRESS_SECONDS)
        seconds = time.perf_counter() - begun
        self.in_order += self.colours[seen:] == [wanted]
        return seconds

    async def until(self, condition: Callable[[], bool], what: str, seconds: float) -> None:
        """Wait for the condition. Raises ScreenBenchFailed when the time is over, or the browser ends."""
        try:
            async with asyncio.timeout(seconds), self._changed:
                await self._changed.wait_for(lambda: condition() or bool(self._trouble))
        except TimeoutError:
            raise ScreenBenchFailed(f"waited {seconds:g} s in vain for {what}") from None
        if self._trouble:
            raise ScreenBenchFailed(self._trouble)


def _colour_of(message: bytes) -> int | None:
    """Return the number of the colour in the middle of a picture; None for none of the page's."""
    (length,) = struct.unpack(">H", message[1:3])
    with Image.open(io.BytesIO(message[3 + length :])) as picture:
        shown = picture.convert("RGB")
        point = shown.getpixel((shown.width // 2, shown.height // 2))
    assert isinstance(point, tuple)
    for number, colour in enumerate(_COLOURS):
        if all(abs(part - wanted) <= _FAR for part, wanted in zip(point, colour, strict=True)):
            return number
    return None
