"""Waiting for conditions, never for seconds."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable
from typing import Final

_SHARE: Final = 0.05
_LONGEST_PAUSE: Final = 1.0


def until[T](condition: Callable[[], T], *, what: str, within: float = 30.0, every: float = 0.02) -> T:
    """The first truthy answer of `condition`; fails the test, naming `what`, when none comes in time.

    `within` is in seconds of an idle machine. A busy one has as many times longer as processes wait for each processor.
    `every` is the least pause between two questions in seconds. The pause grows to a twentieth of the time waited:
    the questions take time from the processes that are waited for.
    """
    begin = time.monotonic()
    pause = threading.Event()
    while True:
        if answer := condition():
            return answer
        if (waited := time.monotonic() - begin) > within and waited > within * _processes_per_processor():
            raise AssertionError(f"waited {waited:.0f} s in vain for {what}")
        pause.wait(max(every, min(waited * _SHARE, _LONGEST_PAUSE)))


def _processes_per_processor() -> float:
    return os.getloadavg()[0] / (os.cpu_count() or 1)
