"""Waiting for conditions, never for seconds."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable


def until[T](condition: Callable[[], T], *, what: str, within: float = 30.0) -> T:
    """The first truthy answer of `condition`; fails the test, naming `what`, when none comes in time.

    `within` is in seconds of an idle machine. A busy one has as many times longer as processes wait for each processor.
    """
    begin = time.monotonic()
    pause = threading.Event()
    while True:
        if answer := condition():
            return answer
        if (waited := time.monotonic() - begin) > within and waited > within * _processes_per_processor():
            raise AssertionError(f"waited {waited:.0f} s in vain for {what}")
        pause.wait(0.02)


def _processes_per_processor() -> float:
    return os.getloadavg()[0] / (os.cpu_count() or 1)
