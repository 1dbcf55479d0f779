"""Hosts that could not be reached a moment ago: what else is asked of them is answered at once, with that reason."""

from __future__ import annotations

import errno
import socket
from collections.abc import Hashable
from typing import Final

from proxy.addresses import NameNotFound
from proxy.remembered import Remembered

ENTRIES: Final = 1024
_OF_THE_HOST: Final = frozenset((errno.ECONNREFUSED, errno.ECONNRESET, errno.EHOSTUNREACH, errno.ETIMEDOUT))
"""Errors that say something of the host. Others, such as too many open files, are troubles of our own."""


class DeadHost(OSError):
    """The host was found dead before; `reason` is the error of that time."""

    def __init__(self, reason: OSError) -> None:
        super().__init__(f"{reason} (known from an earlier try; setting proxy.dead_host_seconds)")
        self.reason = reason


class DeadHosts:
    """The dead hosts of one process, each for `seconds`; with 0 none is remembered.

    Only failures to connect count: a host that is slow to answer a request is alive.
    """

    def __init__(self, seconds: float) -> None:
        self._reasons: Remembered[Hashable, OSError] | None = Remembered(seconds, ENTRIES) if seconds else None

    def __len__(self) -> int:
        return len(self._reasons) if self._reasons else 0

    def check(self, host: Hashable) -> None:
        """Raises DeadHost for a host that was found dead a moment ago."""
        reason = self._reasons.get(host) if self._reasons else None
        if reason is not None:
            raise DeadHost(reason)

    def note(self, host: Hashable, error: OSError) -> None:
        """Connecting failed; remembered when it says something of the host."""
        if self._reasons is not None and is_of_the_host(error):
            self._reasons.note(host, error.with_traceback(None))


def is_of_the_host(error: OSError) -> bool:
    """Whether the error will be the same a moment later, and has its cause over there."""
    if isinstance(error, NameNotFound):
        cause = error.__cause__
        return not (isinstance(cause, socket.gaierror) and cause.errno == socket.EAI_AGAIN)
    return isinstance(error, TimeoutError) or error.errno in _OF_THE_HOST
