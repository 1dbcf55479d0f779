"""A thread waits for the result of a coroutine on the event loop, but not longer than the loop exists.

A loop that is closed cancels the tasks that it has at that moment. It still runs while the threads of its default
executor end, and tasks that begin meanwhile are never finished nor cancelled.
"""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from concurrent.futures import wait
from typing import Any, Final

_LOOK_SECONDS: Final = 0.5
"""Time between two looks whether the loop is closed."""


class LoopClosed(Exception):
    """The event loop was closed before the coroutine had its result."""


def result_on_loop[T](coroutine: Coroutine[Any, Any, T], loop: asyncio.AbstractEventLoop) -> T:
    """Run the coroutine on the loop of another thread, and return its result. Raises LoopClosed, and its errors."""
    try:
        running = asyncio.run_coroutine_threadsafe(coroutine, loop)
    except RuntimeError:  # the loop is closed already
        coroutine.close()
        raise LoopClosed from None
    while not wait([running], _LOOK_SECONDS).done:
        if loop.is_closed():
            raise LoopClosed
    return running.result()
