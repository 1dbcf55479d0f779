"""Bodies that no memory would hold pass both ways at flat memory, and are kept to the byte."""

from __future__ import annotations

import hashlib
import socket
import ssl
import threading
import time
from base64 import b32encode
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from support.archive.warc_reader import files
from support.origins.raw_origin import certificate_authority, server_tls
from support.processes.memory import peak_bytes
from support.proxy.running_proxy import Route, RunningProxy
from warcio.archiveiterator import ArchiveIterator

ADDRESS = "127.0.1.76"
MEGABYTE = 1 << 20
GROWTH = 40 * MEGABYTE
MOST = 150_000_000
PIECE = hashlib.shake_128(b"a film").digest(MEGABYTE)


class BigOrigin:
    """Sends `megabytes` to each GET, and hears as many of each POST."""

    def __init__(self, megabytes: int, tls: ssl.SSLContext | None) -> None:
        self._megabytes, self._tls = megabytes, tls
        self.heard = hashlib.sha1()
        self._listener = socket.create_server((ADDRESS, 0))
        self.authority = f"{ADDRESS}:{self._listener.getsockname()[1]}"
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self) -> None:
        with suppress(OSError), self._listener:
            plain, _ = self._listener.accept()
            stream = self._tls.wrap_socket(plain, server_side=True) if self._tls else plain
            with stream:
                self._answer(stream)

    def _answer(self, stream: socket.socket) -> None:
        head = b""
        while b"\r\n\r\n" not in head:
            head += stream.recv(65536)
        length = self._megabytes * MEGABYTE
        if head.startswith(b"GET"):
            stream.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % length)
            for _ in range(self._megabytes):
                stream.sendall(PIECE)
        else:
            body = head.partition(b"\r\n\r\n")[2]
            self.heard.update(body)
            left, room = length - len(body), bytearray(MEGABYTE)
            while left and (size := stream.recv_into(room)):
                self.heard.update(memoryview(room)[:size])
                left -= size
            stream.sendall(b"HTTP/1.1 204 No Content\r\n\r\n")
        stream.recv(1)


@pytest.fixture(scope="module")
def tls(tmp_path_factory: pytest.TempPathFactory) -> tuple[ssl.SSLContext, Path]:
    authority = certificate_authority()
    path = tmp_path_factory.mktemp("authority") / "ca.pem"
    authority.cert_pem.write_to_path(str(path))
    return server_tls(authority, ADDRESS), path


@pytest.fixture
def proxy(tmp_path: Path, tls: tuple[ssl.SSLContext, Path]) -> Iterator[RunningProxy]:
    with RunningProxy(tmp_path / "home", {"proxy.upstream_ca": tls[1]}, is_executed=True) as running:
        yield running


SIZES = [pytest.param(64, id="64MB"), pytest.param(2048, id="2GB", marks=[pytest.mark.slow, pytest.mark.timeout(600)])]


@pytest.mark.parametrize("megabytes", SIZES)
@pytest.mark.parametrize(
    ("route", "method"),
    [
        ("plain", "GET"),
        ("connect", "POST"),
        pytest.param("plain", "POST", marks=pytest.mark.slow),
        pytest.param("connect", "GET", marks=pytest.mark.slow),
    ],
)
def test_memory_stays_flat_and_every_byte_is_kept(
    proxy: RunningProxy, tls: tuple[ssl.SSLContext, Path], route: Route, method: str, megabytes: int
) -> None:
    origin = BigOrigin(megabytes, tls[0] if route == "connect" else None)
    before = peak_bytes(proxy.pids())
    began = time.monotonic()
    seen = _exchange(proxy, route, method, origin.authority, megabytes)
    rate = megabytes * MEGABYTE / (time.monotonic() - began)

    expected = hashlib.sha1()
    for _ in range(megabytes):
        expected.update(PIECE)
    assert (seen if method == "GET" else origin.heard.digest()) == expected.digest()
    url = f"{'https' if route == 'connect' else 'http'}://{origin.authority}/film"
    kept, label = _kept(proxy, url, "response" if method == "GET" else "request")
    assert kept == expected.digest()
    assert label == f"sha1:{b32encode(kept).decode()}"
    peak = peak_bytes(proxy.pids())
    print(f"{method} {megabytes} MB {route}: {rate / 1e6:.0f} MB/s, peak {peak / 1e6:.0f} MB")
    assert peak - before < GROWTH
    assert peak < MOST


def _kept(proxy: RunningProxy, url: str, kind: str) -> tuple[bytes, str | None]:
    """SHA-1 of the body in the URL's record of that kind, and what the record says of it; read piece by piece."""
    for path in files(proxy.folder()):
        with path.open("rb") as stream:
            for record in ArchiveIterator(stream):
                if record.rec_type == kind and record.rec_headers.get_header("WARC-Target-URI") == url:
                    found = hashlib.sha1()
                    while piece := record.raw_stream.read(MEGABYTE):
                        found.update(piece)
                    return found.digest(), record.rec_headers.get_header("WARC-Payload-Digest")
    raise AssertionError(f"no {kind} of {url}")


def _exchange(proxy: RunningProxy, route: Route, method: str, authority: str, megabytes: int) -> bytes:
    """SHA-1 of the body the client got."""
    target = "/film" if route == "connect" else f"http://{authority}/film"
    length = f"Content-Length: {megabytes * MEGABYTE}\r\n" if method == "POST" else ""
    got = hashlib.sha1()
    with proxy.open(route, authority) as client:
        client.stream.settimeout(300)
        client.send(f"{method} {target} HTTP/1.1\r\nHost: {authority}\r\n{length}\r\n".encode())
        if method == "POST":
            for _ in range(megabytes):
                client.send(PIECE)
            assert client.read_reply().status == 204
            return got.digest()
        head = b""
        while not head.endswith(b"\r\n\r\n"):
            head += client.read_some(1)
        left = megabytes * MEGABYTE
        while left and (piece := client.read_some(min(left, MEGABYTE))):
            got.update(piece)
            left -= len(piece)
    return got.digest()
