"""A child process as its parent sees it: its start, its reports and its end."""

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
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field, fields
from enum import IntEnum
from pathlib import Path
from typing import Any, Final, Self

from admin.fleet.logs import LOG_FILE
from archive.rotated_log import log_size, open_log

_SOURCE: Final = str(Path(__file__).resolve().parents[2])


class ShutdownStage(IntEnum):
    """The stages end one after the other, the lowest number first."""

    WORKERS = 0
    PROXIES = 1
    INDEX = 2
    REDIS = 3


class StartError(Exception):
    """A child can't do its work here. The message is one line with the remedy."""


class StartInterrupted(Exception):
    """A signal came before all children were ready."""


@dataclass(frozen=True, slots=True)
class ProcessRole:
    """The role describes how a child is started and ended. `name` ("proxy-0") is its title and names its log."""

    name: str
    stage: ShutdownStage
    arguments: tuple[str, ...]
    """The arguments of `python -m <module>`; --title, --ready-fd, --lifeline-fd and --held-fd are added."""
    does: str = "start"
    """The child's work before it is ready, such as `load its code`; a notice shows it to users who wait."""
    module: str = "admin.cli"
    fds: tuple[int, ...] = ()
    """Further descriptors that the child inherits, such as listening sockets. The parent keeps them open."""
    stop_seconds: float = 30.0
    """The time from SIGTERM to SIGKILL."""
    hurried_seconds: float = 0.0
    """In a hurry, the time from a second signal to SIGKILL. With 0, the child gets no second signal and less time."""
    ends_by_itself: bool = False
    """True for workers: after exit code 0 the child is not restarted."""
    before_restart: Callable[[], None] | None = None
    """The parent calls this function before it restarts a dead child, for instance to repair open files."""
    environment: Mapping[str, str] = field(default_factory=dict)
    """Variables that are added to the supervisor's environment."""
    hands_over: bool = False
    """The child hands its connections over to the child that replaces it. Then --successor-fd and
    --predecessor-fd are added, the two ends of the link between them."""


@dataclass(frozen=True, slots=True)
class ChildReport:
    """The report is the last message of a child to its parent (see `admin.fleet.child.ParentLink`)."""

    ready: bool = True
    url: str = ""
    """The URL of the private Redis; empty for other roles."""
    run: str = ""
    """The folder of the run of a harvester's crawl; empty for other roles."""
    retired: bool = False
    """True when another child has taken this one's place."""
    unfinished: str = ""
    """One line about work that the child could not finish."""
    error: str = ""
    """One line that says why the child can't serve here."""

    @classmethod
    def parse(cls, line: bytes) -> Self:
        """Return the report that a line of JSON has. Any other line means only that the child is ready."""
        try:
            found = json.loads(line)
        except ValueError:
            return cls()
        if not isinstance(found, dict):
            return cls()
        known = {each.name for each in fields(cls)}
        return cls(**{name: value for name, value in found.items() if name in known})


@dataclass(frozen=True, slots=True)
class Lifeline:
    """The child ends when `fd` does. `held` are the write ends of later stages (see `admin.fleet.child`)."""

    fd: int
    held: tuple[int, ...]

    @property
    def arguments(self) -> list[str]:
        """Return the options for the child's command line."""
        return ["--lifeline-fd", str(self.fd), *(part for fd in self.held for part in ("--held-fd", str(fd)))]


class Child:
    """The child is one running process of a role, the leader of its own process group."""

    def __init__(
        self,
        role: ProcessRole,
        lifeline: Lifeline,
        environment: Mapping[str, str],
        logs: Path,
        predecessor: Child | None = None,
    ) -> None:
        """Start the process. A new child takes the place of its `predecessor`. Raises StartError."""
        self.role = role
        self.log_file = logs / f"{role.name}.log"
        self.started = time.monotonic()
        self._report: ChildReport | None = None
        self._received = b""
        self._is_reaped = False
        try:
            with ExitStack() as own_ends, ExitStack() as child_ends:
                self._pipe, ready_fd = os.pipe()
                own_ends.callback(self._close_pipe)
                child_ends.callback(os.close, ready_fd)
                os.set_blocking(self._pipe, False)
                self._link, child_link = socket.socketpair()
                own_ends.callback(self._link.close)
                child_ends.callback(child_link.close)
                predecessor_link = predecessor._link if predecessor else None  # noqa: SLF001 (this class's own)
                links = {"--successor-fd": child_link, "--predecessor-fd": predecessor_link}
                fds = {flag: end.fileno() for flag, end in links.items() if end and role.hands_over}
                options = [part for flag, fd in fds.items() for part in (flag, str(fd))]
                arguments = [*role.arguments, *lifeline.arguments, *options]
                self._process = self._start(arguments, (ready_fd, *fds.values()), lifeline, environment)
                own_ends.pop_all()
        except OSError as error:
            raise StartError(f"{role.name} can't be started: {error}") from error

    @property
    def pid(self) -> int:
        """Return the process id, which is also the id of the process group."""
        return self._process.pid

    @property
    def exit_code(self) -> int | None:
        """Return None while the process runs; a negative number when a signal ended it.

        The rest of the process group is killed as soon as the end is seen. Later, the number may be another group's.
        """
        if not self._is_reaped and self._process.poll() is not None:
            self._is_reaped = True
            self._kill_group()
        return self._process.returncode

    @property
    def report(self) -> ChildReport:
        """Return the last report of the child. A child that has sent none yet is not ready."""
        self._read_reports()
        return self._report or ChildReport(ready=False)

    @property
    def is_ready(self) -> bool:
        """Return whether the child reported that it serves."""
        return self.report.ready

    @property
    def has_retired(self) -> bool:
        """Return whether the child reported that another child has taken its place."""
        return self.report.retired

    @property
    def start_failure(self) -> str | None:
        """Return why the child can't become ready; None while it may, and when it is ready."""
        if self.is_ready or (self.exit_code is None and self._report is None):
            return None
        return self.failure_message()

    def wait_for_report(self, seconds: float) -> None:
        """Return when the child sends a report or ends, or when the time has passed."""
        if self._pipe >= 0:
            select.select([self._pipe], [], [], seconds)
        else:
            with suppress(subprocess.TimeoutExpired):
                self._process.wait(seconds)

    def failure_message(self) -> str:
        """Return the error that the child reported; else its exit, and the last line of its log if that may explain it.

        A child that a signal ended wrote nothing about its end.
        """
        reported = self.report.error or self.report.unfinished
        if reported:
            return reported
        how = f"{self.role.name} {exit_text(self.exit_code)}"
        if (self.exit_code or 0) < 0:
            return f"{how}; its log is {self.log_file}"
        return f"{how}: {_last_line(self.log_file)} ({self.log_file})"

    def last_log_line(self) -> str:
        """Return the last line of the child's log that is not empty."""
        return _last_line(self.log_file)

    def terminate(self) -> None:
        """Ask the process to end."""
        if self.exit_code is None:
            self._process.terminate()

    def hurry(self) -> None:
        """Ask the process a second time to end. A second SIGTERM would be lost while the first one is pending."""
        if self.exit_code is None:
            self._process.send_signal(signal.SIGINT)

    def kill(self) -> None:
        """Kill the process and its process group, such as the browsers of a worker."""
        if self.exit_code is None:
            self._kill_group()

    def reap(self) -> None:
        """Wait for the process, kill the rest of its process group, and close its pipe and link."""
        self.kill()
        self._process.wait()
        self._is_reaped = True
        self._read_reports()
        self._close_pipe()
        self._link.close()

    def close_link(self) -> None:
        """Close the parent's copy of the link to the successor, so that each of the two sees when the other ends."""
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
                env={**environment, **role.environment, "PYTHONPATH": path, LOG_FILE: str(self.log_file)},
                start_new_session=True,
            )

    def _kill_group(self) -> None:
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self.pid, signal.SIGKILL)

    def _open_log(self) -> Any:
        self.log_file.parent.mkdir(parents=True, exist_ok=True)
        return self.log_file.open("ab")

    def _read_reports(self) -> None:
        while self._pipe >= 0:
            try:
                piece = os.read(self._pipe, 65536)
            except BlockingIOError:
                break
            self._received += piece
            if not piece:
                self._close_pipe()
        *lines, self._received = self._received.split(b"\n")
        for line in lines:
            self._report = ChildReport.parse(line)

    def _close_pipe(self) -> None:
        if self._pipe >= 0:
            os.close(self._pipe)
            self._pipe = -1


def exit_text(exit_code: int | None) -> str:
    """Return an exit code in words: `was killed by SIGKILL`, `ended with code 1`."""
    if exit_code is None:
        return "is running"
    if exit_code >= 0:
        return f"ended with code {exit_code}"
    return f"was killed by {signal.Signals(-exit_code).name}"


def _last_line(path: Path) -> str:
    try:
        with open_log(path) as file:
            file.seek(max(0, log_size(path) - 4096))
            lines = file.read().decode("utf-8", "replace").split("\n")
    except OSError as error:
        return f"its log can't be read ({error.strerror})"
    return next((line.strip() for line in reversed(lines) if line.strip()), "its log is empty")
