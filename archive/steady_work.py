"""A thread that must live does its work in rounds, and a round that fails is never its last one.

An error such as a lack of file descriptors (EMFILE) passes. The work is tried again with the next round.
"""

from __future__ import annotations

import logging
from collections.abc import Callable

log = logging.getLogger(__name__)


class SteadyWork[**P, T]:
    """Steady work is done one round at each call. Only the thread that owns it may call it."""

    def __init__(self, what: str, work: Callable[P, T], *expected: type[Exception]) -> None:
        """Do nothing yet. `what` names the work in messages, such as "the renewal of leases".

        An error that is neither an OSError nor `expected` is a fault of ours, and is logged with its traceback.
        """
        self._what = what
        self._work = work
        self._expected: tuple[type[Exception], ...] = (OSError, *expected)
        self._fails = False

    def __call__(self, *args: P.args, **options: P.kwargs) -> T | None:
        """Do the work and return its result; None when it failed.

        The first failure is logged, and then nothing until a round succeeds, which is logged too.
        """
        try:
            result = self._work(*args, **options)
        except Exception as error:  # the thread must live, whatever is wrong with one round
            if not self._fails:
                log.warning(
                    "%s failed and is tried again: %s: %s",
                    *(self._what, type(error).__name__, error),
                    exc_info=not isinstance(error, self._expected),
                )
            self._fails = True
            return None
        if self._fails:
            log.warning("%s goes on", self._what)
            self._fails = False
        return result
