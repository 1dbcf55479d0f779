"""A supervised child sets its title, reports to its parent when it is ready, and ends when its parent is gone.

A child inherits a *lifeline*: the read end of a pipe to which no process ever writes. The parent holds the write end,
and so do all processes that must end before this one. The child ends when all write ends are closed. So the kernel
orders the shutdown even when the parent is killed by SIGKILL: workers first, then proxies, then the indexer, Redis
last (see `admin.fleet.supervisor`).
"""

from __future__ import annotations

import json
import os
import signal
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final, Self

from setproctitle import setproctitle

from admin.fleet.memory import limit_arenas, reduce_collections

GRACE_SECONDS: Final = 120.0
"""Time that a child without parent may take to end before it kills its process group."""


@dataclass(slots=True)
class ParentLink:
    """The link connects a child process to the parent that supervises it.

    Messages go to `ready_fd`, which is -1 for a role that a user started by hand.
    """

    ready_fd: int

    @classmethod
    def attach(cls, title: str, ready_fd: int, lifeline_fd: int, held_fds: Sequence[int]) -> Self:
        """Set the title of this process, and make it end when its lifeline ends.

        `held_fds` are the write ends of later stages' lifelines. The children of this process inherit none of the
        descriptors.
        """
        setproctitle(f"ghostfleet: {title}")
        limit_arenas()
        for fd in (ready_fd, lifeline_fd, *held_fds):
            if fd >= 0:
                os.set_inheritable(fd, False)
        if lifeline_fd >= 0:
            threading.Thread(target=_watch, args=(lifeline_fd,), name="lifeline", daemon=True).start()
        return cls(ready_fd)

    @property
    def is_absent(self) -> bool:
        """Return whether this process has no supervisor."""
        return self.ready_fd < 0

    @property
    def pid(self) -> int:
        """Return the id of this process."""
        return os.getpid()

    def report_ready(self, url: str = "", run: str = "") -> None:
        """Report that this process serves, with the URL where it does, or the folder of its run, if the parent asks.

        Objects that exist by now stay until the end, so the garbage collector skips them from now on.
        """
        reduce_collections()
        self._send(ready=True, url=url, run=run)

    def report_retired(self) -> None:
        """Report that a new process has replaced this one, which now ends by itself."""
        self._send(ready=True, retired=True)

    def report_unfinished(self, message: str) -> None:
        """Report in one line which work this process could not finish."""
        self._send(ready=True, unfinished=message)

    def report_unfit(self, message: str) -> None:
        """Report in one line why this process can't serve. The parent does not start it again."""
        self._send(ready=False, error=message)

    def _send(self, **fields: Any) -> None:
        """Send the fields of one `admin.fleet.process.ChildReport`."""
        if self.ready_fd >= 0:
            os.write(self.ready_fd, json.dumps(fields).encode() + b"\n")


def _watch(lifeline_fd: int) -> None:
    os.read(lifeline_fd, 1)
    os.kill(os.getpid(), signal.SIGTERM)
    threading.Event().wait(GRACE_SECONDS)
    os.killpg(0, signal.SIGKILL)
