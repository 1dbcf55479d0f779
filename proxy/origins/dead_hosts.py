"""A request to a host that could not be reached a moment ago is answered at once, with that reason."""

from __future__ import annotations

import errno
import socket
import time
from collections.abc import Callable, Hashable
from typing import Final, NamedTuple

from proxy.origins.resolver import NameNotFound
from proxy.ttl_cache import TtlCache

ENTRIES: Final = 1024
_FIRST_SECONDS: Final = 1.0
_GROWTH: Final = 2.0
_HOST_ERRORS: Final = frozenset((errno.ECONNREFUSED, errno.ECONNRESET, errno.EHOSTUNREACH, errno.ETIMEDOUT))
"""Errors that the host caused. Others, such as too many open files, have their cause on this machine."""


class DeadHost(OSError):
    """The host was found dead before; `reason` is the error of that time."""

    def __init__(self, reason: OSError) -> None:
        super().__init__(f"{reason} (remembered from an earlier try; setting proxy.dead_host_seconds)")
        self.reason = reason


class DeadHosts:
    """Dead hosts are those of one process; `seconds` is the longest time for which one is believed dead, 0 never.
    never.

    A host is believed dead for one second at first, because a server may only have been started anew, or for as long as
    it took to find out that it can't be reached. The time doubles each time the host is tried again in vain, and a
    connection ends it. Only failures to connect count: a host that is slow to answer a request is alive.
    """

    def __init__(self, seconds: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._longest = seconds
        self._clock = clock
        # A host that nobody asked for so long begins with the shortest time again.
        self._known: TtlCache[Hashable, _Dead] = TtlCache(2 * seconds, ENTRIES, clock)

    def __len__(self) -> int:
        return self._known.count(lambda dead: self._clock() < dead.until)

    def check(self, host: Hashable) -> None:
        """Raise DeadHost for a host that was found dead a moment ago."""
        dead = self._known.get(host)
        if dead is not None and self._clock() < dead.until:
            raise DeadHost(dead.reason)

    def note(self, host: Hashable, error: OSError, took: float = 0.0) -> None:
        """Note that connecting failed after `took` seconds; remember it when it says something of the host."""
        if not self._longest or not is_host_error(error):
            return
        now, before = self._clock(), self._known.get(host)
        if before is not None and now < before.until:
            return  # another connection was being opened when the first one failed
        seconds = before.seconds * _GROWTH if before is not None else max(_FIRST_SECONDS, took)
        seconds = min(self._longest, seconds)
        self._known.note(host, _Dead(error.with_traceback(None), seconds, now + seconds))

    def reached(self, host: Hashable) -> None:
        """Note that connecting succeeded: the host is alive."""
        self._known.forget(host)


class _Dead(NamedTuple):
    """A host could not be reached: why, for how many seconds that is believed, and until when."""

    reason: OSError
    seconds: float
    until: float


def is_host_error(error: OSError) -> bool:
    """Return whether the host caused the error, and the error will be the same a moment later."""
    if isinstance(error, NameNotFound):
        cause = error.__cause__
        return not (isinstance(cause, socket.gaierror) and cause.errno == socket.EAI_AGAIN)
    return isinstance(error, TimeoutError) or error.errno in _HOST_ERRORS
