"""The child's side of supervision: its title, its readiness, and its end when the parent is gone.

A child inherits a *lifeline*: the read end of a pipe nobody ever writes to. Its write ends are held by the parent
and by all processes that must end before this one, so the kernel itself orders the shutdown, even when the parent
was killed with -9: workers first, then proxies, then the indexer, Redis last (see `admin.supervise`).
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

from admin.memory import collect_seldom, keep_small

GRACE_SECONDS: Final = 120.0
"""How long an abandoned child may take to end by itself before it kills its process group."""


@dataclass(slots=True)
class Standing:
    """This process as its parent knows it. `ready_fd` is -1 for a role that somebody started by hand."""

    ready_fd: int

    @classmethod
    def attach(cls, title: str, ready_fd: int, lifeline_fd: int, held_fds: Sequence[int]) -> Self:
        """Name this process, and see to it that it ends when its lifeline does.

        `held_fds` are the write ends of later stages' lifelines. None of the descriptors goes to its own children.
        """
        setproctitle(f"ghostfleet: {title}")
        keep_small()
        for fd in (ready_fd, lifeline_fd, *held_fds):
            if fd >= 0:
                os.set_inheritable(fd, False)
        if lifeline_fd >= 0:
            threading.Thread(target=_watch, args=(lifeline_fd,), name="lifeline", daemon=True).start()
        return cls(ready_fd)

    @property
    def is_alone(self) -> bool:
        """Whether no supervisor started it."""
        return self.ready_fd < 0

    @property
    def pid(self) -> int:
        """Its process id."""
        return os.getpid()

    def report_ready(self, **facts: Any) -> None:
        """Tell the parent that this process serves, and what it should know. What it has made by now is to stay."""
        collect_seldom()
        self._tell({"ready": True, **facts})

    def report_retired(self) -> None:
        """Tell the parent that another process has taken this one's place: it ends by itself."""
        self._tell({"ready": True, "retired": True})

    def report_unfinished(self, message: str) -> None:
        """Tell the parent in one line what this process could not bring to its end."""
        self._tell({"ready": True, "unfinished": message})

    def report_unfit(self, message: str) -> None:
        """Tell the parent in one line why this process can't serve, and that trying again is no use."""
        self._tell({"ready": False, "error": message})

    def _tell(self, facts: dict[str, Any]) -> None:
        if self.ready_fd >= 0:
            os.write(self.ready_fd, json.dumps(facts).encode() + b"\n")


def _watch(lifeline_fd: int) -> None:
    os.read(lifeline_fd, 1)
    os.kill(os.getpid(), signal.SIGTERM)
    threading.Event().wait(GRACE_SECONDS)
    os.killpg(0, signal.SIGKILL)
