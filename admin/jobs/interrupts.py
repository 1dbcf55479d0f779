"""Signals that ask a process to end, counted: the first asks it to finish, the second to stop now.

SIGHUP is one of them, except for a fleet that can restart: there it asks for that, as usual for services, unless it
came because the terminal is gone.
"""

from __future__ import annotations

import os
import select
import signal
from contextlib import suppress
from types import FrameType
from typing import Any, Final, Self

ASKING: Final = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class Interrupts:
    """While entered, SIGINT, SIGTERM and SIGHUP are counted and wake `wait`; afterwards they are as before.

    With `restarts`, SIGHUP sets `asked_to_restart` instead, which its reader takes back. A pipe and not a
    threading.Event, since a handler that runs within `Event.wait` could wait for itself.
    """

    def __init__(self, *, restarts: bool = False) -> None:
        self.count = 0
        self.asked_to_restart = False
        self._restarts = restarts
        self._had_terminal = _has_terminal()
        self._before: dict[int, Any] = {}
        self._read_fd = self._write_fd = -1

    def __enter__(self) -> Self:
        self._read_fd, self._write_fd = os.pipe()
        os.set_blocking(self._write_fd, False)
        os.set_blocking(self._read_fd, False)
        self._before = {number: signal.signal(number, self._handle) for number in ASKING}
        return self

    def __exit__(self, *_: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)
        os.close(self._read_fd)
        os.close(self._write_fd)

    @property
    def asked_to_stop(self) -> bool:
        """Whether there was a signal."""
        return self.count > 0

    def in_haste(self) -> bool:
        """Whether there was a second one."""
        return self.count > 1

    def wake(self) -> None:
        """End a `wait` without a signal; for other threads."""
        with suppress(BlockingIOError):
            os.write(self._write_fd, b".")

    def wait(self, seconds: float | None) -> bool:
        """Wait for so long (None: for ever), or until the next signal or `wake`; whether there was a signal ever."""
        if select.select([self._read_fd], [], [], seconds)[0]:
            with suppress(BlockingIOError):
                os.read(self._read_fd, 4096)
        return self.asked_to_stop

    def _handle(self, number: int, frame: FrameType | None) -> None:
        if number == signal.SIGHUP and self._restarts and _has_terminal() == self._had_terminal:
            self.asked_to_restart = True
        else:
            self.count += 1
        self.wake()


def _has_terminal() -> bool:
    """Whether this process has a terminal that still is there."""
    try:
        os.close(os.open("/dev/tty", os.O_RDWR | os.O_NOCTTY))
    except OSError:
        return False
    return True
