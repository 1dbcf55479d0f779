"""Little proxies for tests of the way out: SOCKS5 (RFC 1928, RFC 1929) and HTTP, on raw sockets.

Both know names that only they can resolve, and remember what they were asked for.
"""

from __future__ import annotations

import base64
import ipaddress
import socket
import threading
from collections.abc import Mapping
from contextlib import suppress
from types import TracebackType
from typing import Self

PATIENCE_SECONDS = 30.0


class _Proxy:
    """Listens; one thread per connection."""

    def __init__(
        self, names: Mapping[str, str] | None = None, *, user: str = "", password: str = "", address: str = "127.0.0.1"
    ) -> None:
        self.names = dict(names or {})
        self.asked: list[str] = []
        """Targets, as `host:port`, or as the URL that was to be forwarded."""
        self.heads: list[bytes] = []
        self.reply: int | None = None
        """What to answer instead of carrying out what is asked."""
        self._user, self._password = user, password
        self._listener = socket.create_server((address, 0))
        self._open: list[socket.socket] = []
        self.port: int = self._listener.getsockname()[1]
        self.authority = f"{address}:{self.port}"
        threading.Thread(target=self._accept, daemon=True).start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        with suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        for stream in self._open:
            with suppress(OSError):
                stream.shutdown(socket.SHUT_RDWR)

    def _accept(self) -> None:
        while True:
            try:
                stream, _ = self._listener.accept()
            except OSError:
                return
            stream.settimeout(PATIENCE_SECONDS)
            self._open.append(stream)
            threading.Thread(target=self._run, args=(stream,), daemon=True).start()

    def _run(self, stream: socket.socket) -> None:
        with stream, suppress(OSError, EOFError):
            self._serve(stream)

    def _serve(self, stream: socket.socket) -> None:
        raise NotImplementedError

    def _connect(self, host: str, port: int) -> socket.socket:
        far = socket.create_connection((self.names.get(host, host), port), PATIENCE_SECONDS)
        self._open.append(far)
        return far


class Socks5(_Proxy):
    """A SOCKS5 server for CONNECT; `reply` is the reply code it gives instead."""

    def _serve(self, stream: socket.socket) -> None:
        _, count = _exactly(stream, 2)
        methods = _exactly(stream, count)
        wanted = 2 if self._user else 0
        if wanted not in methods:
            stream.sendall(b"\x05\xff")
            return
        stream.sendall(bytes((5, wanted)))
        if wanted and not self._is_known(stream):
            return
        _, _, _, kind = _exactly(stream, 4)
        host = _host(stream, kind)
        port = int.from_bytes(_exactly(stream, 2))
        self.asked.append(f"{host}:{port}")
        code = self.reply or 0
        far = None
        if not code:
            try:
                far = self._connect(host, port)
            except OSError:
                code = 5
        stream.sendall(bytes((5, code, 0, 3, 4)) + b"here" + bytes(2))
        if far is not None:
            _join(stream, far)

    def _is_known(self, stream: socket.socket) -> bool:
        user = _exactly(stream, _exactly(stream, 2)[1])
        password = _exactly(stream, _exactly(stream, 1)[0])
        right = (user.decode(), password.decode()) == (self._user, self._password)
        stream.sendall(b"\x01" + bytes((not right,)))
        return right


class HttpProxy(_Proxy):
    """An HTTP proxy; `reply` is the status it gives instead."""

    def _serve(self, stream: socket.socket) -> None:
        head = b""
        while not head.endswith(b"\r\n\r\n"):
            head += _exactly(stream, 1)
        self.heads.append(head)
        method, target, _ = head.split(b"\r\n")[0].decode().split(" ")
        self.asked.append(target)
        wanted = base64.b64encode(f"{self._user}:{self._password}".encode())
        status = self.reply or (407 if self._user and b"Proxy-Authorization: Basic " + wanted not in head else 0)
        if status:
            stream.sendall(b"HTTP/1.1 %d No\r\nContent-Length: 0\r\nConnection: close\r\n\r\n" % status)
            return
        authority, _, path = target.removeprefix("http://").partition("/")
        host, _, port = authority.rpartition(":")
        far = self._connect(host, int(port))
        if method == "CONNECT":
            stream.sendall(b"HTTP/1.1 200 Connection established\r\nVia: 1.1 test\r\n\r\n")
        else:
            lines = [line for line in head.split(b"\r\n")[1:] if not line.lower().startswith(b"proxy-")]
            far.sendall(f"{method} /{path} HTTP/1.1\r\n".encode() + b"\r\n".join(lines))
        _join(stream, far)


def _host(stream: socket.socket, kind: int) -> str:
    if kind == 3:
        return _exactly(stream, _exactly(stream, 1)[0]).decode()
    return str(ipaddress.ip_address(_exactly(stream, 4 if kind == 1 else 16)))


def _exactly(stream: socket.socket, length: int) -> bytes:
    data = b""
    while len(data) < length:
        piece = stream.recv(length - len(data))
        if not piece:
            raise EOFError
        data += piece
    return data


def _join(one: socket.socket, other: socket.socket) -> None:
    back = threading.Thread(target=_pump, args=(other, one), daemon=True)
    back.start()
    _pump(one, other)
    back.join()
    other.close()


def _pump(source: socket.socket, sink: socket.socket) -> None:
    with suppress(OSError):
        while data := source.recv(65536):
            sink.sendall(data)
    with suppress(OSError):
        sink.shutdown(socket.SHUT_WR)
