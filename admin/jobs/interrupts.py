"""Count the signals that ask a process to end: the first asks it to finish its work, the second to end at once.

SIGHUP is one of these signals. In a fleet that can restart, SIGHUP asks for a restart instead, as usual for services,
unless it came because the terminal was closed.

A process that was started with SIGHUP ignored, as by nohup, goes on when its terminal is closed. In a fleet that can
restart, SIGHUP then always asks for a restart: the command `restart` has to work after the terminal was closed, and a
restart too many loses no request.
"""

from __future__ import annotations

import os
import select
import signal
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from types import FrameType
from typing import Any, Final, Self

ASKING: Final = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class Interrupts:
    """Interrupts are SIGINT, SIGTERM and SIGHUP, which are counted while the context is entered. Each signal ends a
    `wait`.

    With `restarts`, SIGHUP sets `asked_to_restart` instead; the reader sets that to False again. Signals are passed on
    by a pipe: a handler that runs within `threading.Event.wait` could deadlock. The interpreter itself writes to the
    pipe when a signal comes. A handler runs only when the main thread runs Python code again, so a signal between the
    last line of code and `select` would not end the `wait`.
    """

    def __init__(self, *, restarts: bool = False) -> None:
        self.count = 0
        self.asked_to_restart = False
        self._restarts = restarts
        self._had_terminal = _has_terminal()
        self._before: dict[int, Any] = {}
        self._wakeup_before = -1
        self._read_fd = self._write_fd = -1

    def __enter__(self) -> Self:
        self._read_fd, self._write_fd = os.pipe()
        os.set_blocking(self._write_fd, False)
        os.set_blocking(self._read_fd, False)
        self._wakeup_before = signal.set_wakeup_fd(self._write_fd, warn_on_full_buffer=False)
        self._before = {number: signal.getsignal(number) for number in ASKING}
        for number in ASKING:
            signal.signal(number, self._handle)
        return self

    def __exit__(self, *_: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)
        signal.set_wakeup_fd(self._wakeup_before)
        os.close(self._read_fd)
        os.close(self._write_fd)

    @property
    def asked_to_stop(self) -> bool:
        """Return whether a signal came."""
        return self.count > 0

    def asked_to_hurry(self) -> bool:
        """Return whether a second signal came."""
        return self.count > 1

    def wake(self) -> None:
        """End a `wait` from another thread, without a signal."""
        with suppress(BlockingIOError):
            os.write(self._write_fd, b".")

    def wait(self, seconds: float | None) -> bool:
        """Wait `seconds` (None: without limit), or until the next signal or `wake`. Return `asked_to_stop`."""
        if select.select([self._read_fd], [], [], seconds)[0]:
            with suppress(BlockingIOError):
                os.read(self._read_fd, 4096)
        return self.asked_to_stop

    def _handle(self, number: int, frame: FrameType | None) -> None:
        is_ignored = number == signal.SIGHUP and self._before[number] is signal.SIG_IGN
        if number == signal.SIGHUP and self._restarts and (is_ignored or _has_terminal() == self._had_terminal):
            self.asked_to_restart = True
        elif not is_ignored:
            self.count += 1
        self.wake()


def run_until_signal[T](work: Callable[[], T], stop: threading.Event) -> T:
    """Run `work` in a thread and return its result. Set `stop` when a signal asks this process to end."""
    with Interrupts() as interrupts, ThreadPoolExecutor(1, thread_name_prefix="work") as thread:
        done = thread.submit(work)
        done.add_done_callback(lambda _: interrupts.wake())
        while not done.done():
            if interrupts.wait(None):
                stop.set()
                break
        return done.result()


def _has_terminal() -> bool:
    """Return whether this process has a terminal that is still open."""
    try:
        os.close(os.open("/dev/tty", os.O_RDWR | os.O_NOCTTY))
    except OSError:
        return False
    return True
