"""A real redis-server of the tests' own: on a unix socket, started, stopped, killed and paused at will.

A test module gets one with

    @pytest.fixture
    def server(tmp_path: Path) -> Iterator[RedisServer]:
        with RedisServer(tmp_path) as server:
            yield server
"""

from __future__ import annotations

import shutil
import signal
import subprocess
import tempfile
from pathlib import Path
from types import TracebackType

import redis

from support.processes.machine_needs import redis_server
from support.processes.waiting import until


class RedisServer:
    """A redis-server process with its data in `folder`; nothing listens on TCP."""

    def __init__(self, folder: Path, *options: str, append_only: bool = False) -> None:
        self.folder = folder / "redis"
        self.folder.mkdir(parents=True, exist_ok=True)
        # A unix socket's path may have 107 bytes at most, and pytest's folders are longer than that.
        self._run = Path(tempfile.mkdtemp(prefix="gf-redis-"))
        self.socket = self._run / "s"
        self._options = [
            *("--logfile", str(self.folder / "log"), "--save", "", "--appendonly", "yes" if append_only else "no"),
            # With everysec, Redis holds writes back while an fsync runs, so that a kill could lose them.
            *("--appendfsync", "no"),
            # The old names of the listpack options: every version knows them.
            *("--hash-max-ziplist-value", "1024", "--hash-max-ziplist-entries", "512"),
            *options,
        ]
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        """The server as redis-py and our settings name it."""
        return f"unix://{self.socket}"

    def start(self) -> RedisServer:
        """Start the process and wait until it answers."""
        self._process = subprocess.Popen(
            [redis_server(), "--port", "0", "--unixsocket", str(self.socket), "--dir", str(self.folder), *self._options]
        )
        until(self._answers, what="redis-server to answer")
        return self

    def client(self) -> redis.Redis:
        """A plain client, to look and to meddle; close it."""
        return redis.Redis.from_url(self.url, protocol=2, socket_timeout=60)

    def alone(self) -> RedisServer:
        """The server, for tests that change its settings; a cluster of the whole run skips them."""
        return self

    def stop(self) -> None:
        """Ask the process to end, and wait for it."""
        self._end(signal.SIGTERM)

    def kill(self) -> None:
        """kill -9."""
        self._end(signal.SIGKILL)

    def pause(self) -> None:
        """Stop answering, with connections kept: a host that hangs."""
        assert self._process
        self._process.send_signal(signal.SIGSTOP)

    def resume(self) -> None:
        """Go on after `pause`."""
        assert self._process
        self._process.send_signal(signal.SIGCONT)

    def __enter__(self) -> RedisServer:
        return self.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.kill()
        shutil.rmtree(self._run, ignore_errors=True)

    def _end(self, number: int) -> None:
        if self._process is not None:
            self._process.send_signal(number)
            self._process.wait(20)
            self._process = None

    def _answers(self) -> bool:
        assert self._process
        assert self._process.poll() is None, f"redis-server ended: {(self.folder / 'log').read_text()[-500:]}"
        with self.client() as client:
            try:
                return bool(client.ping())
            except redis.ConnectionError:
                return False
