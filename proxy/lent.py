"""What the writer thread has to compute, done on the event loop's thread while the writer waits.

Two threads of one interpreter that both compute hold each other up: whichever lets go of the interpreter, to compress,
hash or write, must be woken to get it back, under load several times in vain. That was a sixth of the proxy's CPU.
The writer keeps what may wait for a disk or for Redis, and so does the loop what may not.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import Future, wait
from typing import Final

type Job = Callable[[], None]
type Compute = Callable[[Job], None]
"""Does a job and comes back when it is done; raises what the job raises."""

_PATIENCE_SECONDS: Final = 1.0


def on_loop(loop: asyncio.AbstractEventLoop) -> Compute:
    """Does jobs on the loop's thread, for callers on any other.

    A loop that has ended, or does not come to it within a second, does not hold the job up: then the caller does it.
    """

    def compute(job: Job) -> None:
        turn: Future[None] = Future()
        try:
            loop.call_soon_threadsafe(_take, turn, job)
        except RuntimeError:  # it has ended
            return job()
        wait([turn], _PATIENCE_SECONDS)
        return job() if turn.cancel() else turn.result()

    return compute


def at_once(job: Job) -> None:
    """Does the job here and now."""
    job()


def _take(turn: Future[None], job: Job) -> None:
    if not turn.set_running_or_notify_cancel():
        return
    try:
        job()
        turn.set_result(None)
    except BaseException as error:
        turn.set_exception(error)
        if not isinstance(error, Exception):
            raise
