"""Waiting for conditions, never for seconds."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable


def until[T](condition: Callable[[], T], *, what: str, within: float = 30.0) -> T:
    """The first truthy answer of `condition`; fails the test, naming `what`, when none comes in time."""
    deadline = time.monotonic() + within
    pause = threading.Event()
    while True:
        if answer := condition():
            return answer
        if time.monotonic() > deadline:
            raise AssertionError(f"waited {within:.0f} s in vain for {what}")
        pause.wait(0.02)
