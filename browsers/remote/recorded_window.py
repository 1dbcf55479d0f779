"""Take a picture of each page of a window that a person uses, over the two pipes of the DevTools protocol.

No port is opened, and the page can't tell: nothing is attached to a page but for the moment of its picture, and then
neither the console nor the debugger. A page that the person does not see is left alone, since a picture would make the
page visible.
"""

from __future__ import annotations

import asyncio
import base64
import fcntl
import logging
import os
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

from browsers.engines.chromium.devtools.connection import Connection
from browsers.engines.interface import EngineError
from browsers.ghosts.loop_thread import LoopThread

log = logging.getLogger(__name__)
_LATE_SECONDS: Final = 1.0
_LOOK_SECONDS: Final = 1.0
_LOOKS: Final = 60
"""Looks at a page that loads, or that the person does not see, before its picture is given up."""
_STEP_SECONDS: Final = 20.0
_MOST_WAITING: Final = 50
_ABOVE: Final = 10
_BECOME: Final = """
import os, sys
for given, wanted in ((sys.argv[1], 3), (sys.argv[2], 4)):
    os.dup2(int(given), wanted)
    os.close(int(given))
os.execv(sys.argv[3], sys.argv[3:])
"""
"""Chromium has its pipes at 3 and 4. The new process alone can put them there, before it becomes Chromium."""
_STATE: Final = "document.readyState === 'complete' && document.visibilityState === 'visible'"

type Keep = Callable[[str, bytes], None]
"""A function that keeps a PNG picture of the page at a URL. It may take its time."""


class WindowPictures:
    """The pictures of the pages of one window, taken on an event loop in a thread of its own."""

    def __init__(self, from_browser: int, to_browser: int, keep: Keep) -> None:
        """Read and write these descriptors, which are closed at the end."""
        self._keep = keep
        self._urls: dict[str, str] = {}
        """The URL of the page of each target."""
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._connection = Connection()
        self._one_at_a_time = asyncio.Lock()
        self._thread = LoopThread("window")
        self._thread.run(self._open(from_browser, to_browser))

    def close(self) -> None:
        """Close the pipes, which ends the browser when it still runs."""
        self._thread.run(self._close())
        self._thread.close()

    async def _open(self, from_browser: int, to_browser: int) -> None:
        self._connection.root.handler = self._event
        await self._connection.open(from_browser, to_browser)
        self._connection.root.send("Target.setDiscoverTargets", discover=True, filter=[{"type": "page"}])

    async def _close(self) -> None:
        for task in list(self._tasks.values()):
            task.cancel()
        self._connection.close()

    def _event(self, method: str, params: Mapping[str, Any]) -> None:
        if method in ("Target.targetCreated", "Target.targetInfoChanged"):
            info = params["targetInfo"]
            target, url = str(info["targetId"]), str(info["url"])
            if info["type"] != "page" or self._urls.get(target) == url:
                return
            self._urls[target] = url
            self._forget(target)
            if url.startswith(("http://", "https://")) and len(self._tasks) < _MOST_WAITING:
                self._tasks[target] = asyncio.get_running_loop().create_task(self._take(target, url))
        elif method in ("Target.targetDestroyed", "Target.targetCrashed"):
            self._urls.pop(str(params["targetId"]), None)
            self._forget(str(params["targetId"]))

    def _forget(self, target: str) -> None:
        task = self._tasks.pop(target, None)
        if task is not None:
            task.cancel()

    async def _take(self, target: str, url: str) -> None:
        """Take a picture of the page when it is loaded and seen, and its late parts had a moment to appear."""
        try:
            for _ in range(_LOOKS):
                await asyncio.sleep(_LOOK_SECONDS)
                picture = None
                try:
                    async with self._one_at_a_time, asyncio.timeout(_STEP_SECONDS):
                        picture = await self._picture(target)
                except (EngineError, TimeoutError, KeyError, ValueError) as error:
                    log.debug("there is no picture of a page of the window yet: %s", error)
                if self._connection.closed.is_set():
                    return
                if picture is not None:
                    await asyncio.to_thread(self._keep, url, picture)
                    return
        finally:
            if self._tasks.get(target) is asyncio.current_task():
                del self._tasks[target]

    async def _picture(self, target: str) -> bytes | None:
        """Return a PNG picture of the page; None for one that loads still, or that the person does not see."""
        root = self._connection.root
        number = str((await root.send("Target.attachToTarget", targetId=target, flatten=True))["sessionId"])
        page = self._connection.session(number, "page")
        try:
            if not await self._is_seen(page, target):
                return None
            await asyncio.sleep(_LATE_SECONDS)
            if not await self._is_seen(page, target):
                return None
            return base64.b64decode((await page.send("Page.captureScreenshot", format="png"))["data"])
        finally:
            root.send("Target.detachFromTarget", sessionId=number)
            self._connection.end_session(number, "detached")

    async def _is_seen(self, page: Any, target: str) -> bool:
        """Ask in a world of our own, in which the page's scripts don't see us."""
        world = await page.send("Page.createIsolatedWorld", frameId=target)
        context = world["executionContextId"]
        answer = await page.send("Runtime.evaluate", expression=_STATE, contextId=context, returnByValue=True)
        return answer["result"].get("value") is True


def start_window(
    executable: Path, arguments: Sequence[str], environment: Mapping[str, str]
) -> tuple[subprocess.Popen[bytes], int, int]:
    """Start a Chromium in a process group of its own; return the process and our ends of its pipes, to read and write.

    `arguments` contain `--remote-debugging-pipe`. Raises OSError.
    """
    theirs_in, to_browser = _high(os.pipe())
    from_browser, theirs_out = _high(os.pipe())
    try:
        process = subprocess.Popen(
            [sys.executable, "-ISc", _BECOME, str(theirs_in), str(theirs_out), executable, *arguments],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
            pass_fds=(theirs_in, theirs_out),
            env=dict(environment),
        )
    except OSError:
        for end in (from_browser, to_browser):
            os.close(end)
        raise
    finally:
        os.close(theirs_in)
        os.close(theirs_out)
    return process, from_browser, to_browser


def _high(pipe: tuple[int, int]) -> tuple[int, int]:
    """Return the same pipe with descriptors above those that Chromium has for its pipes."""
    moved = (fcntl.fcntl(pipe[0], fcntl.F_DUPFD_CLOEXEC, _ABOVE), fcntl.fcntl(pipe[1], fcntl.F_DUPFD_CLOEXEC, _ABOVE))
    with suppress(OSError):
        for end in pipe:
            os.close(end)
    return moved
