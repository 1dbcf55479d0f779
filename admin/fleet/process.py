"""One child process as its parent sees it: how it is started, what it said when it was ready, how it ended."""

from __future__ import annotations

import json
import os
import select
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from enum import IntEnum
from pathlib import Path
from typing import Any, Final

LOG_BYTES: Final = 20_000_000
"""A child's log larger than this is put aside as `.log.1` before the next start."""
_SOURCE: Final = str(Path(__file__).resolve().parent.parent)


class Stage(IntEnum):
    """Who ends before whom: a lower stage has ended before the next one is asked to."""

    WORKERS = 0
    PROXIES = 1
    INDEX = 2
    REDIS = 3


class StartError(Exception):
    """A child can't do its work here; the message is one line, with the remedy."""


class Abandoned(Exception):
    """A signal came before everybody was ready."""


@dataclass(frozen=True, slots=True)
class Role:
    """What a child is for. `name` ("proxy-0") is its title and the name of its log."""

    name: str
    stage: Stage
    arguments: tuple[str, ...]
    """Of `python -m <module>`; --title, --ready-fd, --lifeline-fd and --held-fd are added."""
    module: str = "admin.cli"
    fds: tuple[int, ...] = ()
    """Descriptors it inherits besides, such as listening sockets. The parent keeps them open."""
    stop_seconds: float = 30.0
    """From SIGTERM to SIGKILL."""
    ends_by_itself: bool = False
    """True for workers: exit code 0 is the end of their work, not a death."""
    before_restart: Callable[[], None] | None = None
    """Run in the parent between a death and the next start, for instance to repair files that were left open."""
    environment: Mapping[str, str] = field(default_factory=dict)
    """What it gets besides the supervisor's."""
    hands_over: bool = False
    """Whether the child hands over to the one that replaces it: then --successor-fd and --predecessor-fd are added,
    the two ends of their link."""


@dataclass(frozen=True, slots=True)
class Lifeline:
    """`fd` ends when this child shall; `held` are what later stages wait for (see `admin.child`)."""

    fd: int
    held: tuple[int, ...]

    @property
    def arguments(self) -> list[str]:
        """As the child's command line has them."""
        return ["--lifeline-fd", str(self.fd), *(part for fd in self.held for part in ("--held-fd", str(fd)))]


class Child:
    """One running process of a role, the leader of its own process group."""

    def __init__(
        self,
        role: Role,
        lifeline: Lifeline,
        environment: Mapping[str, str],
        logs: Path,
        predecessor: Child | None = None,
    ) -> None:
        """Starts it. With a `predecessor` it takes that one's place. Raises StartError."""
        self.role = role
        self.log_file = logs / f"{role.name}.log"
        self.started = time.monotonic()
        self.facts: dict[str, Any] | None = None
        self._told = b""
        self._pipe, ready_fd = os.pipe()
        os.set_blocking(self._pipe, False)
        self._link, its_end = socket.socketpair()
        links = {"--successor-fd": its_end, "--predecessor-fd": predecessor._link if predecessor else None}
        fds = {flag: end.fileno() for flag, end in links.items() if end and role.hands_over}
        arguments = [*role.arguments, *lifeline.arguments, *(part for flag in fds for part in (flag, str(fds[flag])))]
        try:
            self._process = self._start(arguments, (ready_fd, *fds.values()), lifeline, environment)
        except OSError as error:
            self._close_pipe()
            self._link.close()
            raise StartError(f"{role.name} can't be started: {error}") from error
        finally:
            os.close(ready_fd)
            its_end.close()

    @property
    def pid(self) -> int:
        """Its process id, which is its process group's too."""
        return self._process.pid

    @property
    def exit_code(self) -> int | None:
        """None while it runs; negative when a signal ended it."""
        return self._process.poll()

    @property
    def is_ready(self) -> bool:
        """Whether it said that it serves."""
        self._hear()
        return bool(self.facts and self.facts.get("ready"))

    @property
    def has_retired(self) -> bool:
        """Whether it said that another child has taken its place."""
        self._hear()
        return bool(self.facts and self.facts.get("retired"))

    @property
    def complaint(self) -> str | None:
        """Why it can't serve, in its own words when it gave any; None as long as it may become ready."""
        if self.is_ready or (self.exit_code is None and self.facts is None):
            return None
        return self.last_words()

    @property
    def refusal(self) -> str | None:
        """What it said when it found that it can't serve here; None when it did not say so."""
        self._hear()
        return str(self.facts["error"]) if self.facts and "error" in self.facts else None

    def await_word(self, seconds: float) -> None:
        """Return when it says something or ends, or when the time has passed."""
        if self._pipe >= 0:
            select.select([self._pipe], [], [], seconds)
        else:
            with suppress(subprocess.TimeoutExpired):
                self._process.wait(seconds)

    def last_words(self) -> str:
        """What it said was wrong; else how it ended and the last line of its log."""
        refusal = self.refusal
        unfinished = self.facts.get("unfinished") if self.facts else None
        return (
            refusal
            or unfinished
            or f"{self.role.name} {how_it_ended(self.exit_code)}: {_last_line(self.log_file)} ({self.log_file})"
        )

    def terminate(self) -> None:
        """Ask it to end."""
        if self.exit_code is None:
            self._process.terminate()

    def kill(self) -> None:
        """End it now, and whatever of its process group is left, such as a worker's browsers."""
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self.pid, signal.SIGKILL)

    def bury(self) -> None:
        """Reap it after its end; end what it left behind; let go of its pipe."""
        self.kill()
        self._process.wait()
        self._hear()
        self._close_pipe()
        self._link.close()

    def unlink(self) -> None:
        """Let go of the link to its successor: the two hear it when the other ends."""
        self._link.close()

    def _start(
        self, arguments: list[str], fds: tuple[int, ...], lifeline: Lifeline, environment: Mapping[str, str]
    ) -> subprocess.Popen[bytes]:
        # -P keeps the current folder, which may hold a redis.py or a folder named proxy, out of the import path.
        role, path = self.role, os.pathsep.join(filter(None, [_SOURCE, environment.get("PYTHONPATH", "")]))
        with self._open_log() as output:
            return subprocess.Popen(
                [
                    sys.executable,
                    "-P",
                    "-m",
                    role.module,
                    *arguments,
                    "--title",
                    role.name,
                    "--ready-fd",
                    str(fds[0]),
                ],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                pass_fds=(*role.fds, *fds, lifeline.fd, *lifeline.held),
                env={**environment, **role.environment, "PYTHONPATH": path},
                start_new_session=True,
            )

    def _open_log(self) -> Any:
        self.log_file.parent.mkdir(parents=True, exist_ok=True)
        if self.log_file.exists() and self.log_file.stat().st_size > LOG_BYTES:
            self.log_file.replace(self.log_file.with_suffix(".log.1"))
        return self.log_file.open("ab")

    def _hear(self) -> None:
        while self._pipe >= 0:
            try:
                piece = os.read(self._pipe, 65536)
            except BlockingIOError:
                break
            self._told += piece
            if not piece:
                self._close_pipe()
        *lines, self._told = self._told.split(b"\n")
        for line in lines:
            self.facts = _facts(line)

    def _close_pipe(self) -> None:
        if self._pipe >= 0:
            os.close(self._pipe)
            self._pipe = -1


def how_it_ended(exit_code: int | None) -> str:
    """In words: `was killed by SIGKILL`, `ended with code 1`."""
    if exit_code is None:
        return "is running"
    if exit_code >= 0:
        return f"ended with code {exit_code}"
    return f"was killed by {signal.Signals(-exit_code).name}"


def _facts(line: bytes) -> dict[str, Any]:
    """The JSON object a child sent; any other line means no more than that it is ready."""
    try:
        found = json.loads(line)
    except ValueError:
        return {"ready": True}
    return {"ready": True, **found} if isinstance(found, dict) else {"ready": True}


def _last_line(path: Path) -> str:
    try:
        with path.open("rb") as file:
            file.seek(max(0, path.stat().st_size - 4096))
            lines = file.read().decode("utf-8", "replace").split("\n")
    except OSError as error:
        return f"its log can't be read ({error.strerror})"
    return next((line.strip() for line in reversed(lines) if line.strip()), "its log is empty")
