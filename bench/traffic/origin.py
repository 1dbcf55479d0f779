"""The origin of the load is a process that serves the corpus over http and https with little CPU.

`python -m bench.traffic.origin ADDRESS` prints one JSON line `{"http": port, "https": port}` and serves until its
standard input is closed. It serves `GET /<set>/<index>` on keep-alive connections only. All content is made before
the first request.
"""

from __future__ import annotations

import asyncio
import json
import ssl
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path
from typing import Final, cast

import uvloop
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from bench.process import source_environment
from bench.traffic.corpus import FILES, Corpus, path, prefix

_REFUSAL: Final = b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n"


class Answers:
    """The answers are computed from files that are made in advance."""

    def __init__(self, corpus: Corpus, files: int) -> None:
        self._files = files
        self._ready = [corpus.file(index) for index in range(files)]

    def parts(self, target: bytes) -> Sequence[bytes]:
        """Return what to send for a request target; a 404 for anything outside the corpus."""
        _, _, rest = target.partition(b"/")
        name, _, number = rest.rpartition(b"/")
        if not name or not number.isdigit():
            return (_REFUSAL,)
        index = int(number)
        file = self._ready[index % self._files]
        front = prefix(name.decode("ascii", "replace"), index)
        head = (
            b"HTTP/1.1 200 OK\r\nDate: Sat, 21 Nov 2026 08:15:00 GMT\r\nServer: bench\r\nContent-Type: %b\r\n"
            b'ETag: "%b-%d"\r\nCache-Control: max-age=600\r\nContent-Length: %d\r\n\r\n'
            % (file.media_type.encode(), name, index, len(front) + len(file.content))
        )
        return (head + front, file.content)


class Server(asyncio.Protocol):
    """A server answers the requests of one connection in order."""

    def __init__(self, answers: Answers) -> None:
        self._answers = answers
        self._pending = b""
        self._transport: asyncio.Transport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)

    def data_received(self, data: bytes) -> None:
        heads = (self._pending + data).split(b"\r\n\r\n")
        self._pending = heads.pop()
        for head in heads:
            self._answer(head)

    def _answer(self, head: bytes) -> None:
        assert self._transport is not None
        pieces = head.split(b" ", 2)
        target = pieces[1] if len(pieces) == 3 else b""
        self._transport.writelines(list(self._answers.parts(target)))


class OriginProcess:
    """The origin runs in a process of its own.

    `http` and `https` are its ports on `address`; `certificate` is a PEM file.
    """

    def __init__(self, address: str) -> None:
        self.address = address
        self._folder = tempfile.TemporaryDirectory(prefix="ghostfleet-bench-origin-")
        self.certificate = Path(self._folder.name) / "origin.pem"
        self._process = subprocess.Popen(
            [sys.executable, "-m", "bench.traffic.origin", address, str(self.certificate)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=source_environment(),
        )
        assert self._process.stdout is not None
        ports = json.loads(self._process.stdout.readline() or "{}")
        if not ports:
            raise RuntimeError(
                f"the bench's origin did not start on {address}; check that this loopback address can be used"
            )
        self.http, self.https = int(ports["http"]), int(ports["https"])

    @property
    def pid(self) -> int:
        """Return the process id."""
        return self._process.pid

    def url(self, scheme: str, name: str, index: int) -> str:
        """Return the URL of file `index` of set `name`."""
        port = self.http if scheme == "http" else self.https
        return f"{scheme}://{self.address}:{port}{path(name, index)}"

    def close(self) -> None:
        """Stop the origin and remove its certificate."""
        self._process.communicate()
        self._folder.cleanup()


def write_certificate(address: str, file: Path) -> None:
    """Write a self-signed P-256 certificate for an IP address, with its key, in one PEM file."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "bench origin")])
    now = datetime.now(UTC)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=2))
        .add_extension(x509.SubjectAlternativeName([x509.IPAddress(ip_address(address))]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .sign(key, hashes.SHA256())
    )
    file.touch(0o600)
    file.write_bytes(
        key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
        + certificate.public_bytes(serialization.Encoding.PEM)
    )


async def _serve(address: str, certificate: Path) -> None:
    write_certificate(address, certificate)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    answers = Answers(Corpus(), FILES)
    loop = asyncio.get_running_loop()
    plain = await loop.create_server(lambda: Server(answers), address, 0, backlog=1024)
    secure = await loop.create_server(lambda: Server(answers), address, 0, backlog=1024, ssl=context)
    ports = [server.sockets[0].getsockname()[1] for server in (plain, secure)]
    print(json.dumps({"http": ports[0], "https": ports[1]}), flush=True)
    await loop.run_in_executor(None, sys.stdin.read)
    plain.close()
    secure.close()


if __name__ == "__main__":
    uvloop.run(_serve(sys.argv[1], Path(sys.argv[2])))
