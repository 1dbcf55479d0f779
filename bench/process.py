"""This module reads the resources of a process tree from /proc, and ends a process in order."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

_TICKS: Final = os.sysconf("SC_CLK_TCK")
_REDIS_NAMES: Final = ("redis-server", "valkey-server")


@dataclass(frozen=True, slots=True)
class ResourceUsage:
    """A process tree used these CPU seconds and peak resident bytes; Redis is counted apart."""

    cpu: float = 0.0
    redis_cpu: float = 0.0
    peak_bytes: int = 0
    redis_peak_bytes: int = 0
    by_title: Mapping[str, float] = field(default_factory=dict)
    """CPU seconds of each process, by the title it gave itself."""

    def since(self, earlier: ResourceUsage) -> ResourceUsage:
        """Return the CPU seconds since `earlier`, with the present peaks."""
        return ResourceUsage(
            cpu=self.cpu - earlier.cpu,
            redis_cpu=self.redis_cpu - earlier.redis_cpu,
            peak_bytes=self.peak_bytes,
            redis_peak_bytes=self.redis_peak_bytes,
            by_title={title: cpu - earlier.by_title.get(title, 0.0) for title, cpu in self.by_title.items()},
        )


@dataclass(frozen=True, slots=True)
class _Stat:
    pid: int
    parent: int
    name: str
    cpu: float
    """CPU seconds of the process and of its ended children."""
    own_cpu: float


def resource_usage(root: int, mark: str = "") -> ResourceUsage:
    """Return the resources that `root` and its descendants have used since their start.

    A daemon that left the process tree is counted when its command line contains `mark`.
    """
    members = tree(root, mark)
    own = [stat for stat in _stats() if stat.pid in members]
    redis = [stat for stat in own if stat.name in _REDIS_NAMES]
    rest = [stat for stat in own if stat.name not in _REDIS_NAMES]
    return ResourceUsage(
        cpu=sum(stat.cpu for stat in rest),
        redis_cpu=sum(stat.cpu for stat in redis),
        peak_bytes=sum(_peak(stat.pid) for stat in rest),
        redis_peak_bytes=sum(_peak(stat.pid) for stat in redis),
        by_title=_by_title(own),
    )


@dataclass(frozen=True, slots=True)
class ProcessUsage:
    """One process used these CPU seconds, without those of its children."""

    pid: int
    title: str
    """The title that a process of ours gave itself, or the name of the program."""
    cpu: float
    proportional_bytes: int = 0
    """Memory, where a page that processes share counts in parts (Linux calls this PSS)."""


def process_usages(roots: Iterable[int], mark: str, *, with_memory: bool) -> list[ProcessUsage]:
    """Return what each process of these trees has used, and each one whose command line contains `mark`."""
    members = set().union(*(tree(root, mark) for root in roots))
    return [
        ProcessUsage(stat.pid, _title(stat), stat.own_cpu, proportional_bytes(stat.pid) if with_memory else 0)
        for stat in _stats()
        if stat.pid in members
    ]


def proportional_bytes(pid: int) -> int:
    """Return the memory of a process, where a page that processes share counts in parts; 0 when it has ended."""
    try:
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text("ascii").splitlines()
    except OSError:
        return 0
    return sum(int(line.split()[1]) * 1024 for line in lines if line.startswith("Pss:"))


def tree(root: int, mark: str = "") -> set[int]:
    """Return the process ids of `root`, of all below it, and of those whose command line contains `mark`."""
    parents = {stat.pid: stat.parent for stat in _stats()}
    found = {root} | {pid for pid in parents if mark and pid != os.getpid() and mark in _command(pid)}
    grown = True
    while grown:
        more = {pid for pid, parent in parents.items() if parent in found} - found
        found |= more
        grown = bool(more)
    return found


def stop(process: subprocess.Popen[bytes], seconds: float = 60) -> int:
    """Send SIGTERM and return the exit code. After `seconds`, send SIGKILL and raise RuntimeError."""
    if process.poll() is None:
        process.send_signal(signal.SIGTERM)
    try:
        process.communicate(timeout=seconds)
    except subprocess.TimeoutExpired:
        process.kill()
        process.communicate()
        raise RuntimeError(f"{process.args!r} did not end within {seconds:.0f} s after SIGTERM") from None
    return process.returncode


def free_port(address: str = "127.0.0.1") -> int:
    """Return a port that is free at this moment."""
    with socket.socket() as probe:
        probe.bind((address, 0))
        return int(probe.getsockname()[1])


def source_environment() -> dict[str, str]:
    """Return an environment in which a child process can import our packages from any folder."""
    root = str(Path(__file__).resolve().parents[1])
    paths = [root, *filter(None, [os.environ.get("PYTHONPATH")])]
    return {**os.environ, "PYTHONPATH": os.pathsep.join(paths)}


def our_command(*arguments: str) -> Sequence[str]:
    """Return the command line that starts `ghostfleet` with these arguments."""
    return [sys.executable, "-P", "-m", "admin.cli", *arguments]


def _by_title(stats: Sequence[_Stat]) -> dict[str, float]:
    found: dict[str, float] = {}
    for stat in stats:
        title = _title(stat)
        found[title] = found.get(title, 0.0) + stat.cpu
    return found


def _title(stat: _Stat) -> str:
    command = _command(stat.pid)
    return command.strip() if command.startswith("ghostfleet: ") else stat.name


def _stats() -> Iterator[_Stat]:
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                text = (entry / "stat").read_text("utf-8", "replace")
            except OSError:
                continue  # it ended while we were looking
            name, _, rest = text.partition("(")[2].rpartition(")")
            fields = rest.split()
            own, children = (sum(map(int, each)) / _TICKS for each in (fields[11:13], fields[13:15]))
            yield _Stat(int(entry.name), int(fields[1]), name, own + children, own)


def _command(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode("utf-8", "replace")
    except OSError:
        return ""


def _peak(pid: int) -> int:
    try:
        status = Path(f"/proc/{pid}/status").read_text("utf-8", "replace")
    except OSError:
        return 0
    lines = (line.split() for line in status.splitlines() if line.startswith("VmHWM:"))
    return next((int(words[1]) * 1024 for words in lines), 0)
