"""The real proxy, run as anybody runs it: `ghostfleet proxy` in a temporary home, spoken to over raw sockets."""

from __future__ import annotations

import base64
import http.client
import json
import os
import signal
import socket
import ssl
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from types import TracebackType
from typing import Any, Literal, Self

from bench.process import our_command, source_environment, tree
from support.archive.warc_reader import Archive, ArchiveReader, Stored
from support.clients.raw_client import Client, Reply
from support.processes.fork_server import EXECUTED
from support.processes.waiting import until

type Route = Literal["plain", "connect", "absolute"]
ROUTES: tuple[Route, ...] = ("plain", "connect", "absolute")
PATIENCE_SECONDS = 60.0
STOP_SECONDS = 110.0
COMMON: Mapping[str, Any] = {"redis.timeout_seconds": 60}
"""A Redis on a busy machine may need this long for an answer."""


class RunningProxy:
    """A `ghostfleet proxy` of the test's own; settings by their dotted names: `{"dedup.enabled": False}`.

    Used as a context manager it is stopped at the end, unless the test did so before. An executed proxy has the memory
    of the real program; one that was forked has all modules.
    """

    def __init__(
        self,
        home: Path,
        settings: Mapping[str, Any] | None = None,
        *,
        private: bool = True,
        is_executed: bool = False,
    ) -> None:
        self._variables = EXECUTED if is_executed else {}
        self.home = home
        self._settings = {**COMMON, "proxy.port": 0, "proxy.allow_private": private, **(settings or {})}
        self.ready: dict[str, Any] = {}
        self._process: subprocess.Popen[bytes] | None = None
        self._reader = ArchiveReader()

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        if self._process is not None and kind is None:
            self.stop()
        elif self._process is not None:
            self.kill9()

    def start(self) -> Self:
        """Starts it and waits for its ready line."""
        self.home.mkdir(parents=True, exist_ok=True)
        with self.log.open("ab") as log:
            self._process = subprocess.Popen(
                our_command("proxy"), env=self.environment(), stdout=subprocess.PIPE, stderr=log, cwd=self.home
            )
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        assert line, f"no ready line; its log ends with: {self.log.read_text('utf-8', 'replace')[-2000:]}"
        self.ready = json.loads(line)
        assert self.ready["ready"] is True
        return self

    def environment(self) -> dict[str, str]:
        """The environment with our settings in it."""
        names = {f"GHOSTFLEET_{name.upper().replace('.', '__')}": value for name, value in self._settings.items()}
        settings = {name: str(value) for name, value in names.items()}
        return {**source_environment(), **self._variables, "GHOSTFLEET_HOME": str(self.home), **settings}

    @property
    def log(self) -> Path:
        """What it writes to its standard error."""
        return self.home.parent / f"{self.home.name}-proxy.log"

    @property
    def address(self) -> tuple[str, int]:
        """Where it listens."""
        host, _, port = self.ready["proxy"].rpartition(":")
        return host, int(port)

    def pids(self) -> list[int]:
        """All its processes, Redis and the keeper of Redis included."""
        assert self._process is not None
        return sorted(tree(self._process.pid, str(self.home)))

    def signal(self, number: signal.Signals) -> None:
        """Sends a signal to the command, not to its children."""
        assert self._process is not None
        self._process.send_signal(number)

    def stop(self) -> None:
        """SIGTERM; it must end with 0 and leave no file open."""
        process, self._process = self._process, None
        assert process is not None
        process.send_signal(signal.SIGTERM)
        try:
            code = process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            self._process = process
            self.kill9()
            raise AssertionError(f"not stopped {STOP_SECONDS:.0f} s after SIGTERM") from None
        finally:
            if process.stdout is not None:
                process.stdout.close()
        assert code == 0, f"exit code {code}: {self.log.read_text('utf-8', 'replace')[-2000:]}"

    def kill9(self) -> None:
        """kill -9 of every process of it, all in one moment."""
        process, self._process = self._process, None
        assert process is not None
        pids = tree(process.pid, str(self.home))
        for number in (signal.SIGSTOP, signal.SIGKILL):
            for pid in pids:
                with suppress(ProcessLookupError):
                    os.kill(pid, number)
        process.wait()
        if process.stdout is not None:
            process.stdout.close()
        until(lambda: not any(Path(f"/proc/{pid}/fd").exists() and _runs(pid) for pid in pids), what="all to be dead")

    def command(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Runs another `ghostfleet` command on the same home with the same settings."""
        return subprocess.run(
            our_command(*arguments), env=self.environment(), cwd=self.home, capture_output=True, text=True, check=False
        )

    def folder(self, collection: str = "default") -> Path:
        """Where a collection's WARC files are."""
        return self.home / "collections" / collection / "archive"

    def records(self, collection: str = "default", *, growing: bool = False) -> Archive:
        """Everything kept so far, files still open too; `growing` when a record may be on its way just now."""
        return self._reader.read(self.folder(collection), growing=growing)

    def awaited(self, url: str, *kinds: str) -> Stored:
        """The only record of a URL, once it is there."""
        (record,) = until(lambda: self.records(growing=True).of(url, *kinds), what=f"a record of {url}")
        return record

    def sidecar_lines(self, collection: str = "default") -> list[dict[str, Any]]:
        """Every line of the collection's CDXJ sidecars, as the JSON part with `urlkey` and `timestamp` added."""
        found = []
        for path in sorted((self.home / "collections" / collection / "indexes").rglob("*.cdxj*")):
            for line in path.read_text("utf-8").splitlines():
                key, stamp, block = line.split(" ", 2)
                found.append({"urlkey": key, "timestamp": stamp, **json.loads(block)})
        return found

    def connect(self, address: tuple[str, int] | None = None) -> Client:
        """A plain connection, to the main port unless an address is given."""
        return Client(socket.create_connection(address or self.address, PATIENCE_SECONDS))

    def tunnel(self, authority: str, *headers: str) -> Client:
        """A CONNECT tunnel with TLS in it, the proxy's certificate verified."""
        host = authority.rpartition(":")[0]
        stream = socket.create_connection(self.address, PATIENCE_SECONDS)
        lines = [f"CONNECT {authority} HTTP/1.1", f"Host: {authority}", *headers]
        stream.sendall("\r\n".join([*lines, "", ""]).encode())
        answer = b""
        while not answer.endswith(b"\r\n\r\n"):
            piece = stream.recv(1)
            assert piece, f"CONNECT was answered with {answer!r}"
            answer += piece
        assert answer.split(b" ", 2)[1] == b"200", answer
        return Client(self.trusting().wrap_socket(stream, server_hostname=host))

    def trusting(self) -> ssl.SSLContext:
        """A client's TLS context that trusts this proxy's authority and nobody else."""
        return ssl.create_default_context(cafile=str(self.home / "ca" / "ca.pem"))

    def open(self, route: Route, authority: str) -> Client:
        """A connection on which `request_line` of that route may be sent."""
        return self.tunnel(authority) if route == "connect" else self.connect()

    def exchange(self, request: bytes, *, route: Route = "plain", authority: str = "") -> Reply:
        """One request on a connection of its own."""
        with self.open(route, authority) as client:
            return client.ask(request)

    def get(self, url: str, *headers: str, route: Route = "plain", method: str = "GET") -> Reply:
        """One URL on a connection of its own."""
        authority = url.partition("//")[2].partition("/")[0]
        return self.exchange(request(route, url, *headers, method=method), route=route, authority=authority)

    def status(self) -> dict[str, Any]:
        """What /status on the main port says."""
        with self.connect() as client:
            reply = client.ask(f"GET /status HTTP/1.1\r\nHost: {self.ready['proxy']}\r\n\r\n".encode())
        found = json.loads(reply.body)
        assert isinstance(found, dict)
        return found

    def metrics(self) -> str:
        """What /metrics on the main port says."""
        with self.connect() as client:
            return client.ask(f"GET /metrics HTTP/1.1\r\nHost: {self.ready['proxy']}\r\n\r\n".encode()).body.decode()

    def control(self, method: str, path: str, body: Mapping[str, Any] | None = None) -> dict[str, Any]:
        """A call to the first control port; what it answers. Raises AssertionError for a refusal."""
        connection = http.client.HTTPConnection(self.ready["controls"][0], timeout=PATIENCE_SECONDS)
        token = (self.home / "control.token").read_text("ascii").strip()
        try:
            connection.request(
                method,
                path,
                body=json.dumps(body).encode() if body is not None else None,
                headers={"Authorization": f"Bearer {token}", "Content-Type": "application/json"},
            )
            reply = connection.getresponse()
            text = reply.read()
        finally:
            connection.close()
        assert reply.status < 300, f"{method} {path}: {reply.status} {text!r}"
        found = json.loads(text or b"{}")
        assert isinstance(found, dict)
        return found


def request(route: Route, url: str, *headers: str, method: str = "GET", body: bytes = b"") -> bytes:
    """A request as this route wants it: absolute form unless it goes through a tunnel."""
    authority, slash, rest = url.partition("//")[2].partition("/")
    target = slash + rest if route == "connect" else url
    length = (f"Content-Length: {len(body)}",) if body else ()
    lines = [f"{method} {target} HTTP/1.1", f"Host: {authority}", *headers, *length, "", ""]
    return "\r\n".join(lines).encode("latin-1") + body


def credentials(session: Mapping[str, Any]) -> str:
    """The Proxy-Authorization header of a session."""
    pair = f"{session['id']}:{session['token']}".encode()
    return f"Proxy-Authorization: Basic {base64.b64encode(pair).decode()}"


@contextmanager
def crawl_session(proxy: RunningProxy, log_dir: Path, collection: str = "default") -> Iterator[str]:
    """A session that writes a crawl.log; gives the header that selects it."""
    log_dir.mkdir(parents=True, exist_ok=True)
    session = proxy.control("POST", "/sessions", {"collection": collection, "job": "job", "log_dir": str(log_dir)})
    try:
        yield credentials(session)
    finally:
        proxy.control("DELETE", f"/sessions/{session['id']}")


def is_draining(proxy: RunningProxy) -> bool:
    """Return whether the proxy refuses new connections."""
    try:
        socket.create_connection(proxy.address, 5).close()
    except (ConnectionRefusedError, ConnectionResetError):  # or it stood in the queue as the port was closed
        return True
    return False


def at_rest(proxy: RunningProxy) -> dict[str, Any]:
    """Waits until nothing is under way, and returns the status. A client hears of a failure before it is counted."""

    def resting() -> dict[str, Any] | None:
        status = proxy.status()
        return status if status["active_requests"] == 0 == status["queued_urls"] else None

    return until(resting, what="nothing to be under way")


def _runs(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in ("Z", "X")
    except OSError:
        return False
