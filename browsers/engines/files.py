"""A running browser of any engine has a process and a folder.

The folder `ghostfleet-ghost-<pid>-…` in the system's temporary folder holds all files of the browser, or in `/tmp` when
the path of that folder is too long. The next start removes the folders of processes that have ended.
"""

from __future__ import annotations

import asyncio
import logging
import os
import re
import shutil
import signal
import sys
import tempfile
import time
from contextlib import suppress
from pathlib import Path
from typing import Final

from browsers.visit import FleetUnavailable

log = logging.getLogger(__name__)

_FOLDER: Final = "ghostfleet-ghost-"
_FOLDER_NAME: Final = re.compile(rf"{_FOLDER}(\d+)-")
_SHORT_FOLDER: Final = "/tmp"
_LONGEST_FOLDER: Final = (103 if sys.platform == "darwin" else 107) - len(
    f"/{_FOLDER}4194304-12345678/.org.chromium.Chromium.123456/SingletonSocket"
)
"""Chromium makes a socket below its folder, and the system limits the path of a socket to 103 or 107 bytes."""
_END_SECONDS: Final = 5.0
_END_TICK: Final = 0.02
_SAID_BYTES: Final = 20_000
_left_over: Final[set[Path]] = set()
"""Folders of this process whose browsers have ended."""


class BrowserDown(FleetUnavailable):
    """The browser does not start. `complaint` is one line with the remedy, where it is known."""

    def __init__(self, executable: Path, told: str) -> None:
        """`told` is the error output of the browser, or the reason why it could not be started."""
        super().__init__("browser-start")
        lines = [line for line in told.splitlines() if line.strip()] or ["the browser ended at once"]
        fatal = [line for line in lines if ":FATAL:" in line]
        reason, remedy = (fatal or lines)[-1].strip()[:200], ""
        if "No usable sandbox" in told:
            reason = "no sandbox can be had here"
            remedy = (
                "; install the package chromium-sandbox, or allow namespaces to users"
                " (Ubuntu: sysctl kernel.apparmor_restrict_unprivileged_userns=0),"
                " or set browsers.sandbox to false where nothing else is on the machine"
            )
        self.complaint = f"{executable} does not start: {reason}{remedy}"


class BrowserProcess:
    """The process was started in a process group of its own. Its error output goes to a file in its folder."""

    def __init__(self, pid: int, said: Path) -> None:
        self.pid = pid
        self._said = said
        self._is_reaped = False
        self._status = 0

    def said(self) -> str:
        """Return the end of the error output."""
        with suppress(OSError):
            return self._said.read_bytes()[-_SAID_BYTES:].decode("utf-8", "replace")
        return ""

    def forget_said(self) -> None:
        """Empty the file of the error output, which a page could fill."""
        with suppress(OSError):
            os.truncate(self._said, 0)

    @property
    def has_ended(self) -> bool:
        """Return whether the process has ended."""
        return self._is_reaped or self._reap()

    async def ending(self) -> str:
        """Return how the process ended, in words, once its pipes are closed. An end is waited for a moment."""
        give_up = time.monotonic() + _END_SECONDS
        while not self.has_ended and time.monotonic() < give_up:
            await asyncio.sleep(_END_TICK)
        if not self.has_ended:
            return "it closed its pipes and did not end"
        code = os.waitstatus_to_exitcode(self._status)
        if code < 0:
            return f"signal {signal.Signals(-code).name}"
        lines = [line.strip() for line in self.said().splitlines() if line.strip()]
        return f"exit code {code}" + (f", {lines[-1][:200]}" if lines else "")

    async def end(self) -> None:
        """Kill what is left of the process group, and wait for the process."""
        if self._is_reaped:
            return
        self._kill_group()
        give_up = time.monotonic() + _END_SECONDS
        while not self._reap() and time.monotonic() < give_up:
            await asyncio.sleep(_END_TICK)

    def _reap(self) -> bool:
        try:
            pid, self._status = os.waitpid(self.pid, os.WNOHANG)
        except ChildProcessError:
            pid = self.pid
        if pid:
            self._is_reaped = True
            # A browser that was killed leaves processes, which may write into its folder after its removal.
            self._kill_group()
        return self._is_reaped

    def _kill_group(self) -> None:
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self.pid, signal.SIGKILL)


def new_folder() -> Path:
    """Return a new folder for the files of one browser."""
    return Path(tempfile.mkdtemp(prefix=f"{_FOLDER}{os.getpid()}-", dir=_parent()))


def remove(folder: Path) -> None:
    """Remove a folder, or let the next `sweep` do this, for example when files can't be opened now."""
    shutil.rmtree(folder, ignore_errors=True)
    if folder.exists():
        _left_over.add(folder)


def start_failure(executable: Path, told: str, folder: Path | None) -> BrowserDown:
    """Return the error of a browser that did not start, for `told`. Log it, and remove the browser's folder."""
    if folder is not None:
        remove(folder)
    down = BrowserDown(executable, told)
    log.error("%s", down.complaint)
    return down


def sweep() -> None:
    """Remove the folders of processes that have ended, and those of this process that could not be removed."""
    for folder in tuple(_left_over):
        _left_over.discard(folder)
        remove(folder)
    for folder in Path(_parent()).glob(f"{_FOLDER}*"):
        match = _FOLDER_NAME.match(folder.name)
        if match and not _is_alive(int(match[1])):
            shutil.rmtree(folder, ignore_errors=True)


def _parent() -> str:
    """Return the folder for the folders of browsers."""
    usual = tempfile.gettempdir()
    is_usable = len(os.fsencode(usual)) <= _LONGEST_FOLDER or not os.access(_SHORT_FOLDER, os.W_OK | os.X_OK)
    return usual if is_usable else _SHORT_FOLDER


def _is_alive(pid: int) -> bool:
    with suppress(PermissionError):
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            return False
    return True
