"""Listening ports of processes, as the kernel has them, and strangers who send much, or little, to each of them."""

from __future__ import annotations

import socket
import ssl
import zlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import psutil

PATIENCE_SECONDS: Final = 40.0
_SIZE: Final = 6_000_000
_GIVEN_UP_SECONDS: Final = 5.0


@dataclass(frozen=True, slots=True)
class Listener:
    """A TCP port on which a process listens."""

    ip: str
    port: int
    speaks_tls: bool = False

    def connect(self, seconds: float = PATIENCE_SECONDS) -> socket.socket:
        """Return a connection to the port, after the handshake where it speaks TLS."""
        stream = socket.create_connection((self.ip, self.port), seconds)
        if not self.speaks_tls:
            return stream
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        try:
            return context.wrap_socket(stream, server_hostname="garden.test")
        except OSError:
            stream.close()
            raise

    def answers(self, seconds: float = PATIENCE_SECONDS) -> bool:
        """Whether a stranger's request gets an answer of any status."""
        with self.connect(seconds) as stream:
            stream.sendall(_head("GET /", "Connection: close", end=True))
            return stream.recv(65536).startswith(b"HTTP/1.")


def tree_of(pid: int) -> list[psutil.Process]:
    """The process and all its descendants."""
    root = psutil.Process(pid)
    return [root, *root.children(recursive=True)]


def listeners_of(processes: Iterable[psutil.Process]) -> list[Listener]:
    """Every TCP port on which one of the processes listens, whoever opened it."""
    found = set()
    for process in processes:
        with suppress(psutil.NoSuchProcess):
            for each in process.net_connections("tcp"):
                if each.status == psutil.CONN_LISTEN:
                    found.add((each.laddr.ip, each.laddr.port))
    return [_spoken_to(Listener(ip, port)) for ip, port in sorted(found)]


def _spoken_to(listener: Listener) -> Listener:
    try:
        if listener.answers():
            return listener
    except OSError:
        pass
    return Listener(listener.ip, listener.port, speaks_tls=True)


class Peaks:
    """The growth of the processes' resident memory since the object was made, at its peak."""

    def __init__(self, processes: Iterable[psutil.Process]) -> None:
        self._before = {}
        for process in processes:
            with suppress(OSError, psutil.NoSuchProcess):
                Path(f"/proc/{process.pid}/clear_refs").write_text("5")  # the peak is the present size from here on
                self._before[process.pid] = (_peak(process.pid), " ".join(process.cmdline()))

    def growth(self) -> dict[str, int]:
        """Bytes by the title of the process."""
        found = {}
        for pid, (before, title) in self._before.items():
            with suppress(OSError):
                found[f"{title} ({pid})"] = _peak(pid) - before
        return found


def _peak(pid: int) -> int:
    return int(Path(f"/proc/{pid}/status").read_text().partition("VmHWM:")[2].split()[0]) * 1024


def _head(line: str, *fields: str, end: bool) -> bytes:
    lines = (f"{line} HTTP/1.1", "Host: 127.0.0.1", *fields)
    return ("\r\n".join(lines) + ("\r\n\r\n" if end else "\r\n")).encode()


def _post(body: bytes, kind: str, *fields: str, path: str = "/login", length: int | None = None) -> bytes:
    size = len(body) if length is None else length
    return _head(f"POST {path}", f"Content-Type: {kind}", f"Content-Length: {size}", *fields, end=True) + body


def _chunked(chunk: bytes, path: str = "/login") -> bytes:
    head = _head(f"POST {path}", f"Content-Type: {_FORM}", "Transfer-Encoding: chunked", end=True)
    one = b"%x\r\n%s\r\n" % (len(chunk), chunk)
    return head + one * (_SIZE // 4 // len(one))


_FORM: Final = "application/x-www-form-urlencoded"
_PART: Final = b'--b\r\nContent-Disposition: form-data; name="a"\r\n\r\n1\r\n'
_LINE: Final = b"a b c\n"

FLOODS: Final[dict[str, Callable[[], bytes]]] = {
    "a form of many fields": lambda: _post(b"a=&" * (_SIZE // 3), _FORM),
    "a form of many fields for a page that needs a login": lambda: _post(
        b"a=&" * (_SIZE // 3), _FORM, path="/domains/new"
    ),
    "a form of many parts": lambda: _post(_PART * (_SIZE // 60), "multipart/form-data; boundary=b"),
    "a part without an end": lambda: _post(_PART[:48] + b"x" * _SIZE, "multipart/form-data; boundary=b"),
    "JSON of many keys": lambda: _post(
        b"{" + b",".join(b'"k%d":1' % number for number in range(_SIZE // 14)) + b"}",
        "application/json",
        path="/api/v1/domains",
    ),
    "lines": lambda: _post(_LINE * (_SIZE // 6), "text/plain", path="/news"),
    "a record": lambda: _post(
        _LINE * (_SIZE // 6), "text/plain", "Authorization: Bearer no", path="/sessions/0/records"
    ),
    "a body that grows when it is decoded": lambda: _post(
        zlib.compress(bytes(10 * _SIZE)), _FORM, "Content-Encoding: deflate"
    ),
    "small chunks without an end": lambda: _chunked(b"a"),
    "large chunks without an end": lambda: _chunked(b"a=&" * 20_000),
    "a field of the head without an end": lambda: _head("GET /", "A: " + "a" * _SIZE, end=False),
    "a head of many fields": lambda: _head("GET /", *["a: b"] * (_SIZE // 8), end=True),
    "a long target": lambda: _head(f"GET /{'a' * _SIZE}", end=True),
    "a query of many fields": lambda: _head(f"GET /login?{'a=&' * 10_000}", end=True),
    "many cookies": lambda: _head("GET /login", "Cookie: " + "a=b; " * 6_000, end=True),
    "a foreign target": lambda: _post(b"a" * _SIZE, _FORM, path="http://127.0.0.1:9/"),
    "an upload through a proxy": lambda: _post(b"a" * _SIZE, _FORM, path="http://garden.test/"),
    "an upload without an end through a proxy": lambda: _chunked(b"a" * 50_000, "http://garden.test/"),
    "many requests and no ears": lambda: _head("GET /login", end=True) * 500,
    "WebSocket": lambda: _head(
        "GET /", "Upgrade: websocket", "Connection: Upgrade", "Sec-WebSocket-Version: 13",
        "Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==", end=True,
    ),
}  # fmt: skip
"""The functions make what one connection may send: several megabytes, which no test needs before or after."""

SLOW: Final[dict[str, Callable[[], bytes]]] = {
    "nothing": lambda: b"",
    "a part of the head": lambda: _head("GET /", "A: b", end=False),
    "two bytes of a form": lambda: _post(b"a=", _FORM, length=1000),
    "two bytes of a form for a page that needs a login": lambda: _post(b"a=", _FORM, path="/domains/new", length=1000),
    "the beginning of a long upload": lambda: _post(b"a=", "application/octet-stream", path="/news", length=_SIZE),
    "a chunk and no end": lambda: _chunked(b"aa")[:200],
    "two bytes of an upload through a proxy": lambda: _post(b"a=", _FORM, path="http://garden.test/", length=1000),
    "questions and no ears": lambda: _head("GET /login", end=True) * 30,
}
"""The functions make the beginning that slow clients send before they wait."""


def flood(listener: Listener, sent: bytes) -> None:
    """Send all of it, or as much as the listener takes in some seconds, and look for an answer."""
    with suppress(OSError), listener.connect(_GIVEN_UP_SECONDS) as stream:
        stream.sendall(sent)
        stream.recv(65536)


@contextmanager
def slow_clients(listener: Listener, sent: bytes, count: int = 20) -> Iterator[Callable[[], int]]:
    """Let so many clients begin and wait. Yields a function that tells how many of them are connected or answered."""
    with ExitStack() as opened:
        clients = [opened.enter_context(listener.connect()) for _ in range(count)]
        for client in clients:
            client.settimeout(0.2)
            with suppress(OSError):
                client.sendall(sent)
        yield lambda: sum(_is_connected(client) or _is_answered(client) for client in clients)


def _is_connected(client: socket.socket) -> bool:
    information = client.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 1)
    return information[0] == _ESTABLISHED


def _is_answered(client: socket.socket) -> bool:
    try:
        return client.recv(8).startswith(b"HTTP/1.")
    except OSError:
        return False


_ESTABLISHED: Final = 1
"""As `tcp_states.h` of Linux has it; a connection that the other side has closed is in CLOSE_WAIT."""
