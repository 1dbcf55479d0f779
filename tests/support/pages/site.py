"""The site serves every feature on loopback, under several host names, by http and https."""

from __future__ import annotations

import asyncio
import gzip
import ssl
import tempfile
import threading
import zlib
from collections.abc import Iterable
from contextlib import suppress
from email.utils import formatdate
from http import HTTPStatus
from pathlib import Path
from types import TracebackType
from typing import Final, Self
from urllib.parse import unquote, urlsplit

import brotli
import zstandard

from admin.demo import certificates
from browsers.engines.chromium.trust import spki_hash
from support.pages.feature import HOSTS, PICTURE, Feature, File, Question, Raw, Reply, page, png

MAX_HEAD: Final = 65_536
MAX_PIXELS: Final = 4_000_000
_ENCODERS: Final = {
    "gzip": lambda body: gzip.compress(body, mtime=0),
    "deflate": zlib.compress,
    "br": brotli.compress,
    "zstd": zstandard.ZstdCompressor().compress,
}
_NO_FEATURE: Final = Feature("", "", "")
_OPEN: Final = (("Access-Control-Allow-Origin", "*"), ("Timing-Allow-Origin", "*"))


class FeatureSite:
    """The site runs in a thread from the start to the end of the block. `log` holds each request as method and URL."""

    def __init__(self, features: Iterable[Feature]) -> None:
        self.features = {each.name: each for each in features}
        self.log: list[tuple[str, str]] = []
        self.http_port = 0
        self.https_port = 0
        self._memory: dict[str, dict[str, int]] = {}
        self._temporary = tempfile.TemporaryDirectory(prefix="features-")
        self._loop = asyncio.new_event_loop()
        self._tasks: set[asyncio.Task[None]] = set()
        self._thread = threading.Thread(target=self._loop.run_forever, name="features", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        asyncio.run_coroutine_threadsafe(self._start(), self._loop).result(30)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        asyncio.run_coroutine_threadsafe(self._stop(), self._loop).result(30)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(30)
        self._loop.close()
        self._temporary.cleanup()

    @property
    def ca_pem(self) -> Path:
        """Return the certificate of the site's authority."""
        return Path(self._temporary.name) / "ca.pem"

    @property
    def trusted(self) -> str:
        """Return the hash of the key of the site's certificate, for a browser without a proxy."""
        return spki_hash((Path(self._temporary.name) / "leaf.pem").read_bytes())

    @property
    def resolve(self) -> dict[str, str]:
        """Return the addresses of the site's names: `name:port` to `address:port`."""
        ports = {80: self.http_port, 443: self.https_port}
        return {f"{host}:{port}": f"127.0.0.1:{real}" for host in HOSTS for port, real in ports.items()}

    async def _start(self) -> None:
        authority = certificates.authority()
        signed = certificates.certificate(HOSTS, authority)
        folder = self.ca_pem.parent
        self.ca_pem.write_bytes(authority.public_pem())
        (folder / "leaf.pem").write_bytes(signed.public_pem())
        tls = certificates.server_context(signed, folder)
        self._plain = await asyncio.start_server(lambda r, w: self._serve("http", r, w), "127.0.0.1", 0)
        self._secure = await asyncio.start_server(lambda r, w: self._serve("https", r, w), "127.0.0.1", 0, ssl=tls)
        self.http_port = self._plain.sockets[0].getsockname()[1]
        self.https_port = self._secure.sockets[0].getsockname()[1]

    async def _stop(self) -> None:
        self._plain.close()
        self._secure.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _serve(self, scheme: str, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        try:
            while await self._exchange(scheme, reader, writer):
                pass
        except (OSError, EOFError, ValueError, ssl.SSLError, asyncio.CancelledError):
            return  # the client left, or the site stops
        finally:
            self._tasks.discard(task)
            with suppress(RuntimeError):
                writer.close()

    async def _exchange(self, scheme: str, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
        if len(head) > MAX_HEAD:
            return False
        first, *lines = head.split("\r\n")
        method, target, _ = first.split(" ", 2)
        headers = {name.strip().lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
        body = await reader.readexactly(int(headers.get("content-length") or 0))
        host = headers.get("host", "").partition(":")[0]
        self.log.append((method, f"{scheme}://{host}{target}"))
        parts = urlsplit(target)
        name, _, below = unquote(parts.path).lstrip("/").partition("/")
        if not below and method == "GET":
            self._memory.pop(name, None)
        memory = self._memory.setdefault(name, {})
        feature = self.features.get(name, _NO_FEATURE)
        question = Question(scheme, host, method, feature, below, parts.query, headers, body, memory)
        file = self._find(name, question)
        if isinstance(file, Raw):

            async def write(piece: bytes) -> None:
                writer.write(piece)
                await writer.drain()

            await file.write(question, write, reader.readexactly)
            return False
        await self._send(question, file if isinstance(file, Reply) else file(question), writer)
        return True

    def _find(self, name: str, question: Question) -> File:
        feature = question.feature
        if name == "":
            links = "".join(f'<p><a href="/{name}/">{each.about}</a>' for name, each in self.features.items())
            return page(f"<title>Features</title>{links}")
        if name == "robots.txt":
            return Reply("User-agent: *\nAllow: /\n")
        if feature is _NO_FEATURE:
            return Reply("Not found", status=404)
        if question.path == "":
            return feature.page or Reply(feature.text(), "text/html; charset=utf-8")
        if (file := feature.files.get(question.path)) is not None:
            return file
        if found := PICTURE.search(question.path):
            size = int(found[1]), int(found[2])
            if size[0] * size[1] <= MAX_PIXELS:
                return Reply(png(f"{name}/{question.path}", size), "image/png")
        for pattern, file in feature.files.items():
            if pattern.endswith("*") and question.path.startswith(pattern[:-1]):
                return file
        return Reply("Not found", status=404)

    async def _send(self, question: Question, reply: Reply, writer: asyncio.StreamWriter) -> None:
        if reply.wait_seconds:
            await asyncio.sleep(reply.wait_seconds)
        body = reply.body.encode() if isinstance(reply.body, str) else reply.body
        if reply.encoding:
            body = _ENCODERS[reply.encoding](body)
        chunked = reply.chunked or bool(reply.trailers)
        fields = [("Date", formatdate(usegmt=True)), *reply.headers]
        given = {name.lower() for name, _ in fields}
        fields += [(name, value) for name, value in _OPEN if name.lower() not in given]
        has_body = reply.status not in (204, 304)
        if has_body:
            fields.append(("Content-Type", reply.kind))
            fields.append(("Transfer-Encoding", "chunked") if chunked else ("Content-Length", str(len(body))))
        if reply.encoding:
            fields.append(("Content-Encoding", reply.encoding))
        if reply.trailers:
            fields.append(("Trailer", ", ".join(name for name, _ in reply.trailers)))
        head = f"HTTP/1.1 {reply.status} {HTTPStatus(reply.status).phrase}\r\n"
        head += "".join(f"{name}: {value}\r\n" for name, value in fields)
        writer.write(reply.early + head.encode("latin-1") + b"\r\n")
        if has_body and question.method != "HEAD":
            if chunked:
                for at in range(0, len(body), 700):
                    piece = body[at : at + 700]
                    writer.write(b"%x\r\n%s\r\n" % (len(piece), piece))
                ends = "".join(f"{name}: {value}\r\n" for name, value in reply.trailers)
                writer.write(b"0\r\n" + ends.encode() + b"\r\n")
            else:
                writer.write(body)
        await writer.drain()
