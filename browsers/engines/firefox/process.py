"""This module starts and ends the process of a Firefox, and finds the port of its WebDriver BiDi."""

from __future__ import annotations

import asyncio
import json
import os
import signal
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final, Self

from browsers.engines.files import BrowserProcess

_PORT_FILE: Final = "WebDriverBiDiServer.json"
"""Firefox writes the address on which it listens into this file of the profile."""
_SCREEN: Final = "8192"
"""Width and height of the screen that Firefox thinks of, which bound its windows."""
_TICK: Final = 0.02
_KEPT: Final = ("PATH", "LANG", "LC_ALL", "LD_LIBRARY_PATH", "TZ", "MOZ_DISABLE_CONTENT_SANDBOX")
"""Variables of the worker that Firefox gets. A desktop's services are none of its business."""
_GUARD: Final = 'read -r _; kill -s KILL -- "-$0"'
"""The guard ends the browser's process group when the worker has ended."""


class FirefoxProcess(BrowserProcess):
    """The process ends with the worker: a guard waits for the end of the worker, and kills the browser then."""

    def __init__(self, pid: int, said: Path, profile: Path, guard: BrowserProcess, lifeline: int) -> None:
        super().__init__(pid, said)
        self._profile = profile
        self._guard = guard
        self._lifeline = lifeline

    @classmethod
    def start(cls, executable: Path, folder: Path, *, sandbox: bool) -> Self:
        """Start Firefox without a screen, with the folder's `profile` and all its files in `folder`. Raises OSError."""
        said, profile = folder / "stderr.log", folder / "profile"
        command = ["--headless", "--no-remote", "--profile", str(profile), "--remote-debugging-port=0"]
        environment = {name: os.environ[name] for name in _KEPT if name in os.environ}
        environment |= {
            "HOME": str(folder),
            "XDG_CACHE_HOME": str(folder),
            "XDG_CONFIG_HOME": str(folder),
            "XDG_RUNTIME_DIR": str(folder),
            "TMPDIR": str(folder),
            "MOZ_HEADLESS": "1",
            "MOZ_HEADLESS_WIDTH": _SCREEN,
            "MOZ_HEADLESS_HEIGHT": _SCREEN,
            "MOZ_CRASHREPORTER_DISABLE": "1",
            "MOZ_DATA_REPORTING": "0",
            "DBUS_SESSION_BUS_ADDRESS": "disabled:",
            "NO_AT_BRIDGE": "1",
        }
        if not sandbox:
            environment["MOZ_DISABLE_CONTENT_SANDBOX"] = "1"
        pid = _spawn(executable, command, environment, 0, os.devnull, said)
        reading, lifeline = os.pipe()
        try:
            guard = _spawn(Path("/bin/sh"), ["-c", _GUARD, str(pid)], environment, reading, "", said)
        except OSError:
            os.close(lifeline)
            os.killpg(pid, signal.SIGKILL)
            raise
        finally:
            os.close(reading)
        return cls(pid, said, profile, BrowserProcess(guard, said), lifeline)

    async def port(self) -> tuple[str, int]:
        """Return host and port of WebDriver BiDi when Firefox listens. Raises OSError when Firefox has ended."""
        file = self._profile / _PORT_FILE
        while True:
            with suppress(OSError, ValueError, KeyError):
                told = json.loads(file.read_text("utf-8"))
                return str(told["ws_host"]), int(told["ws_port"])
            if self.has_ended:
                raise OSError(f"it ended with {await self.ending()}")
            await asyncio.sleep(_TICK)

    async def end(self) -> None:
        """Kill what is left of the browser and its guard, and wait for both."""
        await self._guard.end()
        if self._lifeline >= 0:
            os.close(self._lifeline)
            self._lifeline = -1
        await super().end()


def _spawn(
    executable: Path, command: Sequence[str], environment: dict[str, str], source: int, path: str, said: Path
) -> int:
    """Start a program in a process group of its own, which reads from `path`, or from the descriptor `source`."""
    reads = (os.POSIX_SPAWN_OPEN, 0, path, os.O_RDONLY, 0) if path else (os.POSIX_SPAWN_DUP2, source, 0)
    return os.posix_spawn(
        executable,
        [str(executable), *command],
        environment,
        file_actions=[
            reads,
            (os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0),
            (os.POSIX_SPAWN_OPEN, 2, str(said), os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600),
        ],
        setpgroup=0,
    )
