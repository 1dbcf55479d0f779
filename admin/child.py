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
from typing import Any, Final

from setproctitle import setproctitle

GRACE_SECONDS: Final = 90.0
"""How long an abandoned child may take to end by itself before it kills its process group."""


def attach(title: str, lifeline_fd: int, held_fds: Sequence[int] = ()) -> None:
    """Name this process, and see to it that it ends when its lifeline does.

    `held_fds` are the write ends of later stages' lifelines; they are kept from this process's own children.
    """
    setproctitle(f"ghostfleet: {title}")
    for fd in held_fds:
        os.set_inheritable(fd, False)
    if lifeline_fd >= 0:
        os.set_inheritable(lifeline_fd, False)
        threading.Thread(target=_watch, args=(lifeline_fd,), name="lifeline", daemon=True).start()


def report_ready(ready_fd: int, **facts: Any) -> None:
    """Tell the parent that this process serves, and what it should know; once."""
    _tell(ready_fd, {"ready": True, **facts})


def report_failed(ready_fd: int, message: str) -> None:
    """Tell the parent in one line why this process can't serve; once."""
    _tell(ready_fd, {"ready": False, "error": message})


def _tell(ready_fd: int, facts: dict[str, Any]) -> None:
    if ready_fd < 0:
        return
    with os.fdopen(ready_fd, "w", encoding="utf-8") as pipe:
        pipe.write(json.dumps(facts) + "\n")


def _watch(lifeline_fd: int) -> None:
    os.read(lifeline_fd, 1)
    os.kill(os.getpid(), signal.SIGTERM)
    threading.Event().wait(GRACE_SECONDS)
    os.killpg(0, signal.SIGKILL)
