"""The `ghostfleet` command, run as people run it: a process, its JSON lines, its children."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from support.places import ROOT
from support.processes.waiting import until


class Command:
    """A `ghostfleet` command that runs; at the end of the `with` block it is gone, its children too."""

    def __init__(self, *arguments: str, home: Path, **environment: str) -> None:
        self.home = home
        self._before = set(processes_of(home))
        self.lines: list[dict[str, Any]] = []
        self._process = subprocess.Popen(
            [sys.executable, "-m", "admin.cli", *arguments, "--home", str(home)],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            cwd=ROOT,
            env={**os.environ, **environment},
        )
        self.stderr = ""
        self.errors = ""
        """What it has written to its standard error so far; `stderr` has all of it once it has ended."""
        self._readers = [threading.Thread(target=self._read_lines), threading.Thread(target=self._read_errors)]

    @property
    def pid(self) -> int:
        """Of the command itself."""
        return self._process.pid

    def line(self, **facts: Any) -> dict[str, Any]:
        """The first JSON line with these facts, waited for."""

        def found() -> dict[str, Any] | None:
            return next((line for line in list(self.lines) if facts.items() <= line.items()), None)

        def arrived() -> dict[str, Any] | None:
            return found() or (self._fail(f"no line with {facts}") if self._process.poll() is not None else None)

        return until(arrived, what=f"a line with {facts}", within=90)

    def signal(self, number: signal.Signals) -> None:
        """Send a signal to the command, not to its children."""
        self._process.send_signal(number)

    def ended(self, within: float = 90) -> int:
        """Its exit code, waited for, with every line read."""
        code = self._process.wait(within)
        for reader in self._readers:
            reader.join(90)
            assert not reader.is_alive(), "another process has the output of the command open"
        return code

    def __enter__(self) -> Self:
        for reader in self._readers:
            reader.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        if self._process.poll() is None:
            self._process.terminate()
            with suppress(subprocess.TimeoutExpired):
                self._process.wait(60)
        if self._process.poll() is None:
            self._process.kill()
        self.ended()
        until(
            lambda: set(processes_of(self.home)) <= self._before,
            what=f"the end of all processes of {self.home}",
            within=60,
        )

    def _fail(self, what: str) -> None:
        for reader in self._readers:
            reader.join(90)
            assert not reader.is_alive(), "another process has the output of the command open"
        raise AssertionError(f"{what}; exit code {self._process.poll()}, {self.lines[-1:]}, {self.stderr}")

    def _read_lines(self) -> None:
        assert self._process.stdout is not None
        with self._process.stdout as stream:
            for line in stream:
                with suppress(ValueError):
                    self.lines.append(json.loads(line))

    def _read_errors(self) -> None:
        assert self._process.stderr is not None
        with self._process.stderr as stream:
            for line in stream:
                self.errors += line
        self.stderr = self.errors


def processes_of(home: Path) -> dict[int, str]:
    """Children of commands in this home that live, with their title: those whose standard error is a log there."""
    found = {}
    for entry in Path("/proc").iterdir():
        with suppress(OSError):
            if entry.name.isdigit() and os.readlink(entry / "fd" / "2").startswith(f"{home}/logs/"):
                found[int(entry.name)] = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode().strip()
    return found


def child(home: Path, title: str) -> int:
    """Process id of the child with this title, such as `proxy-0`; waited for."""

    def found() -> int | None:
        return next((pid for pid, text in processes_of(home).items() if text == f"ghostfleet: {title}"), None)

    return until(lambda: found(), what=f"child {title}")
