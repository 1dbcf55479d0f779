"""Clients that behave badly over time: they hold connections, leave at the worst moment, speak garbage within TLS."""

from __future__ import annotations

import random
import socket
import ssl
import struct
import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field

from support.clients.hostile_requests import HOSTILE, SMUGGLED

PATIENCE_SECONDS = 20.0
_SAME_LENGTH = b"abcdefghijklmnop.test"
_ODD_NAMES = (
    *(b"\x00" * 21, b"../../../../etc/passwd"[:21], b"moss\r\nfern: 1\r\n......", b"*.*.*.*.*.*.*.*.*.*.*"),
    *(b" " * 21, b"\xff" * 21, b"-----------------.---", b"....................."),
)


@dataclass
class Ground:
    """Where the clients are: the proxy, an origin that answers over TLS and one that does without, a giant file."""

    proxy: tuple[str, int]
    plain: str
    secure: str
    released: threading.Event = field(default_factory=threading.Event)
    """Set when those who hold connections must let go."""
    held: threading.Semaphore = field(default_factory=lambda: threading.Semaphore(0))
    """Released by each of them when it has begun to hold."""

    def connect(self) -> socket.socket:
        return socket.create_connection(self.proxy, PATIENCE_SECONDS)

    def hold(self) -> None:
        """Stays here until all are released."""
        self.held.release()
        self.released.wait(PATIENCE_SECONDS * 6)


type Client = Callable[[Ground], None]


def _sends(data: bytes, *, reads: bool = True) -> Client:
    def act(ground: Ground) -> None:
        with ground.connect() as stream:
            stream.sendall(data.replace(b"AUTHORITY", ground.plain.encode()))
            stream.shutdown(socket.SHUT_WR)
            while reads and stream.recv(65536):
                pass

    return act


def _resets(data: bytes) -> Client:
    """Sends and breaks the connection at once."""

    def act(ground: Ground) -> None:
        with ground.connect() as stream:
            stream.sendall(data.replace(b"AUTHORITY", ground.plain.encode()))
            stream.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))

    return act


def _holds(data: bytes) -> Client:
    """Sends and then neither says nor reads anything."""

    def act(ground: Ground) -> None:
        with ground.connect() as stream:
            stream.sendall(data.replace(b"AUTHORITY", ground.plain.encode()))
            ground.hold()

    return act


def _drips(data: bytes) -> Client:
    """A byte now and then, and never the last one."""

    def act(ground: Ground) -> None:
        with ground.connect() as stream:
            ground.held.release()
            for byte in data.replace(b"AUTHORITY", ground.plain.encode()):
                stream.sendall(bytes([byte]))
                if ground.released.wait(0.2):
                    return
            ground.released.wait(PATIENCE_SECONDS * 6)

    return act


def _in_tunnel(data: bytes) -> Client:
    """Opens a tunnel and says this in it, in place of a handshake."""

    def act(ground: Ground) -> None:
        with _tunnel(ground) as stream:
            stream.sendall(data)
            stream.shutdown(socket.SHUT_WR)
            while stream.recv(65536):
                pass

    return act


def _in_tls(data: bytes, *, name: str | None = None, breaks: bool = False) -> Client:
    """Says this within TLS, under that name (SNI) or none."""

    def act(ground: Ground) -> None:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        with context.wrap_socket(_tunnel(ground), server_hostname=name) as stream:
            stream.sendall(data.replace(b"AUTHORITY", ground.secure.encode()))
            if breaks:
                stream.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                return
            while stream.recv(65536):
                pass

    return act


def _odd_name(name: bytes) -> Client:
    """A client's hello whose SNI is this, of the same length as a good one."""
    incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    with suppress(ssl.SSLWantReadError):
        context.wrap_bio(incoming, outgoing, server_hostname=_SAME_LENGTH.decode()).do_handshake()
    hello = outgoing.read()
    assert _SAME_LENGTH in hello
    return _in_tunnel(hello.replace(_SAME_LENGTH, name))


def _tunnel(ground: Ground) -> socket.socket:
    stream = ground.connect()
    stream.sendall(f"CONNECT {ground.secure} HTTP/1.1\r\nHost: {ground.secure}\r\n\r\n".encode())
    while not stream.recv(65536).endswith(b"\r\n\r\n"):
        pass
    return stream


_GET = b"GET http://AUTHORITY/a HTTP/1.1\r\nHost: AUTHORITY\r\n\r\n"
_GIANT = b"GET http://AUTHORITY/giant HTTP/1.1\r\nHost: AUTHORITY\r\n\r\n"
_INNER = b"GET /a HTTP/1.1\r\nHost: AUTHORITY\r\n\r\n"
_UPLOAD = b"POST http://AUTHORITY/a HTTP/1.1\r\nHost: AUTHORITY\r\nContent-Length: 9999999\r\n\r\n" + b"a" * 9999
_CHUNKS = b"POST http://AUTHORITY/a HTTP/1.1\r\nHost: AUTHORITY\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nmos"
_RECORD = b"\x16\x03\x01\x40\x00\x01\x00\x3f\xfc\x03\x03" + b"\x55" * 500

BEHAVIOURS: dict[str, Client] = {
    "says nothing and leaves": _sends(b"", reads=False),
    "asks and leaves": _sends(_GET, reads=False),
    "asks a hundred times and leaves": _sends(_GET * 100, reads=False),
    "asks a hundred times at once": _sends(_GET * 100),
    "asks for much and breaks off": _resets(_GIANT),
    "asks often for much and breaks off": _resets(_GIANT * 20),
    "breaks off within a head": _resets(_GET[:-9]),
    "breaks off within an upload": _resets(_UPLOAD),
    "breaks off within chunks": _resets(_CHUNKS),
    "leaves within an upload": _sends(_UPLOAD),
    "waits for leave to send": _sends(_UPLOAD.replace(b"\r\n\r\n", b"\r\nExpect: 100-continue\r\n\r\n", 1)[:200]),
    "garbage in a tunnel": _in_tunnel(bytes(range(256)) * 40),
    "nothing in a tunnel": _in_tunnel(b""),
    "half a record of TLS": _in_tunnel(_RECORD),
    "http in a tunnel meant for TLS": _in_tunnel(b"GET / HTTP/1.1\r\nHost: moss\r\n\r\n"),
    "another CONNECT in a tunnel": _in_tunnel(b"CONNECT 127.0.0.1:22 HTTP/1.1\r\n\r\n"),
    "redis in a tunnel": _in_tunnel(b"FLUSHALL\r\nSHUTDOWN\r\n"),
    "no name": _in_tls(_INNER + _INNER),
    "another name": _in_tls(_INNER.replace(b"Connection", b""), name="moss.test"),
    "a long name": _in_tls(_INNER, name="a" * 63 + ".test"),
    "a name with an underscore": _in_tls(_INNER, name="moss_fern.test"),
    "smuggles within TLS": _in_tls(_INNER[:-2] + b"Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n" + SMUGGLED),
    "garbage within TLS": _in_tls(b"\x00\xff" * 4000),
    "breaks off within TLS": _in_tls(_INNER, breaks=True),
    **{f"the name {name!r}": _odd_name(name) for name in _ODD_NAMES},
    **{hostile.name: _sends(hostile.sent) for hostile in HOSTILE},
}
"""What ends by itself, soon."""

HOLDERS: tuple[Client, ...] = (
    *[_drips(_GET[:-4])] * 60,
    *[_drips(_CHUNKS)] * 20,
    *[_holds(b"")] * 30,
    *[_holds(_GET[:-4])] * 30,
    *[_holds(b"CONNECT AUTHORITY HTTP/1.1\r\n\r\n")] * 20,
    *[_holds(b"CONNECT AUTHORITY HTTP/1.1\r\n\r\n" + _RECORD)] * 20,
    *[_holds(_GIANT)] * 10,
    *[_holds(_UPLOAD)] * 10,
)
"""Those who hold a connection until they are released."""


def attack(ground: Ground, clients: list[Client], draw: random.Random, at_once: int = 24) -> None:
    """All of these, in random order, many at once; returns when the last has ended."""
    left = draw.sample(clients, len(clients))

    def work() -> None:
        with suppress(IndexError):
            while True:
                with suppress(OSError):  # refused, cut, or closed with something unread: as may be
                    left.pop()(ground)

    threads = [threading.Thread(target=work, daemon=True) for _ in range(at_once)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(PATIENCE_SECONDS * 6)
        assert not thread.is_alive(), "a client still waits for the proxy"


def occupy(ground: Ground) -> list[threading.Thread]:
    """The holders, holding."""

    def work(client: Client) -> None:
        with suppress(OSError):
            client(ground)

    threads = [threading.Thread(target=work, args=(client,), daemon=True) for client in HOLDERS]
    for thread in threads:
        thread.start()
    for _ in threads:
        assert ground.held.acquire(timeout=PATIENCE_SECONDS), "a client could not even connect"
    return threads
