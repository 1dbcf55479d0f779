"""This module starts the process of a Chromium, with the two pipes of the DevTools protocol."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final, Self

from browsers.engines.chromium.profile_folder import environment_of, profile_flag
from browsers.engines.files import BrowserProcess

_TO_BROWSER: Final = 3
_FROM_BROWSER: Final = 4
"""Chromium reads commands from this descriptor, and writes to the next one."""
_ABOVE: Final = 10
"""Our ends of the pipes have descriptors from this one on, so that none is in the way of Chromium's numbers."""
_PIPE_BYTES: Final = 1024 * 1024


class ChromiumProcess(BrowserProcess):
    """The process has two pipes."""

    def __init__(self, pid: int, from_browser: int, to_browser: int, said: Path) -> None:
        super().__init__(pid, said)
        self.from_browser = from_browser
        """Descriptor of our end, which the connection reads and closes."""
        self.to_browser = to_browser

    @classmethod
    def start(cls, executable: Path, command: Sequence[str], folder: Path) -> Self:
        """Start Chromium with these flags and all its files in `folder`. Raises OSError."""
        said = folder / "stderr.log"
        their_in, to_browser = _high(os.pipe())
        try:
            from_browser, their_out = _high(os.pipe())
        except OSError:
            os.close(their_in)
            os.close(to_browser)
            raise
        if hasattr(fcntl, "F_SETPIPE_SZ"):
            with suppress(OSError):  # the limit of this user is smaller
                fcntl.fcntl(from_browser, fcntl.F_SETPIPE_SZ, _PIPE_BYTES)
        try:
            pid = os.posix_spawn(
                executable,
                [str(executable), *command, profile_flag(folder)],
                environment_of(folder),
                file_actions=[
                    (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0),
                    (os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0),
                    (os.POSIX_SPAWN_OPEN, 2, str(said), os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600),
                    (os.POSIX_SPAWN_DUP2, their_in, _TO_BROWSER),
                    (os.POSIX_SPAWN_DUP2, their_out, _FROM_BROWSER),
                ],
                setpgroup=0,
            )
        except OSError:
            os.close(to_browser)
            os.close(from_browser)
            raise
        finally:
            os.close(their_in)
            os.close(their_out)
        return cls(pid, from_browser, to_browser, said)


def _high(pipe: tuple[int, int]) -> tuple[int, int]:
    """Return the same pipe with descriptors that Chromium's numbers do not replace. Raises OSError, and closes both."""
    moved: list[int] = []
    try:
        for end in pipe:
            moved.append(fcntl.fcntl(end, fcntl.F_DUPFD_CLOEXEC, _ABOVE))  # an error may come between
    except OSError:
        for end in moved:
            os.close(end)
        raise
    finally:
        for end in pipe:
            os.close(end)
    return moved[0], moved[1]
