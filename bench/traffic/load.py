"""The load generator is a process that requests files through a proxy and measures the responses.

`python -m bench.traffic.load` reads orders (`LoadOrder`) and writes results (`Result`), one JSON line each. When a
proxy closes a connection after a response, the load generator connects again. The time for this counts as latency.
"""

from __future__ import annotations

import asyncio
import dataclasses
import hashlib
import json
import resource
import ssl
import subprocess
import sys
import time
from dataclasses import dataclass, field
from typing import Final

import uvloop

from bench.process import source_environment
from bench.traffic.corpus import Corpus, path
from bench.traffic.wire import ClosedIdle, LoadError, WireReader

SAMPLE: Final = 8
"""The digest of every eighth body is checked, and the length of every body."""


@dataclass(frozen=True, slots=True)
class LoadOrder:
    """An order describes one load. `scheme` is http, connect or absolute. With `proxy_port` 0, no proxy is used."""

    scheme: str
    name: str
    requests: int
    connections: int
    seconds: float
    proxy_host: str
    proxy_port: int
    origin_host: str
    origin_port: int


@dataclass(frozen=True, slots=True)
class Result:
    """A result has the wall and CPU seconds of the client, latencies in ms, and the indexes of whole responses."""

    seconds: float = 0.0
    cpu: float = 0.0
    latencies_ms: list[float] = field(default_factory=list)
    acknowledged: list[int] = field(default_factory=list)
    received_bytes: int = 0
    connects: int = 0
    errors: dict[str, int] = field(default_factory=dict)


class LoadConnection:
    """A connection of the load is opened again when the proxy closed it. Its measurements are added to `result`."""

    def __init__(self, order: LoadOrder, corpus: Corpus, result: Result, tls: ssl.SSLContext) -> None:
        self._order, self._corpus, self._result, self._tls = order, corpus, result, tls
        self._wire: WireReader | None = None
        self.received = self.connects = 0

    async def fetch(self, index: int) -> None:
        """Request one file and measure the response."""
        began = time.perf_counter()
        try:
            body = await self._exchange(index)
            self._check(index, body)
        except (LoadError, OSError, TimeoutError) as error:
            word = str(error) if isinstance(error, LoadError) else type(error).__name__
            self._result.errors[word] = self._result.errors.get(word, 0) + 1
            self.close()
            return
        self._result.latencies_ms.append(round((time.perf_counter() - began) * 1000, 3))
        self._result.acknowledged.append(index)
        self.received += len(body)

    def close(self) -> None:
        """Close the connection."""
        if self._wire and not self._wire.closed:
            self._wire.transport.abort()
        self._wire = None

    async def _exchange(self, index: int) -> bytes:
        request, kept = self._request(index), self._wire
        if kept is None or kept.closed:
            kept, self._wire = None, await self._connect()
        assert self._wire is not None
        try:
            reply = await self._wire.ask(request)
        except ClosedIdle:
            if kept is None:
                raise
            self._wire = await self._connect()
            reply = await self._wire.ask(request)
        if not reply.stays:
            self.close()
        if reply.status != 200:
            raise LoadError(f"status-{reply.status}")
        return reply.body

    def _request(self, index: int) -> bytes:
        order = self._order
        authority = f"{order.origin_host}:{order.origin_port}"
        scheme = {"http": "http://", "absolute": "https://", "connect": ""}[order.scheme]
        front = f"{scheme}{authority}" if scheme and order.proxy_port else ""
        return (
            f"GET {front}{path(order.name, index)} HTTP/1.1\r\nHost: {authority}\r\n"
            "User-Agent: Mozilla/5.0 (bench)\r\nAccept: */*\r\nAccept-Language: en\r\n\r\n"
        ).encode()

    async def _connect(self) -> WireReader:
        order, loop = self._order, asyncio.get_running_loop()
        self.connects += 1
        direct = not order.proxy_port
        where = (order.origin_host, order.origin_port) if direct else (order.proxy_host, order.proxy_port)
        _, wire = await loop.create_connection(WireReader, *where)
        if order.scheme == "connect" and not direct:
            await self._open_tunnel(wire)
        if order.scheme == "connect" or (direct and order.scheme == "absolute"):
            secured = await loop.start_tls(
                wire.transport, wire, self._tls, server_hostname=order.origin_host, ssl_handshake_timeout=30
            )
            if secured is None:
                raise LoadError("closed-in-handshake")
            wire.transport = secured
        return wire

    async def _open_tunnel(self, wire: WireReader) -> None:
        authority = f"{self._order.origin_host}:{self._order.origin_port}"
        request = f"CONNECT {authority} HTTP/1.1\r\nHost: {authority}\r\n\r\n"
        reply = await wire.ask(request.encode(), head_only=True)
        if reply.status != 200:
            raise LoadError(f"connect-status-{reply.status}")

    def _check(self, index: int, body: bytes) -> None:
        if len(body) != self._corpus.length(self._order.name, index):
            raise LoadError("wrong-length")
        if index % SAMPLE == 0 and hashlib.sha1(body, usedforsecurity=False).digest() != self._corpus.sha1(
            self._order.name, index
        ):
            raise LoadError("wrong-content")


async def run(order: LoadOrder, corpus: Corpus) -> Result:
    """Request every index of the order once, over `connections` connections, for at most `seconds`."""
    result, tls = Result(), ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    tls.check_hostname, tls.verify_mode = False, ssl.CERT_NONE
    clients = [LoadConnection(order, corpus, result, tls) for _ in range(order.connections)]
    indexes = iter(range(order.requests))
    began, cpu = time.perf_counter(), _cpu()

    async def work(client: LoadConnection) -> None:
        for index in indexes:
            if time.perf_counter() - began > order.seconds:
                break
            await client.fetch(index)
        client.close()

    await asyncio.gather(*map(work, clients))
    return dataclasses.replace(
        result,
        seconds=time.perf_counter() - began,
        cpu=_cpu() - cpu,
        received_bytes=sum(client.received for client in clients),
        connects=sum(client.connects for client in clients),
    )


class LoadProcess:
    """The load generator runs in a process of its own, which carries out any number of orders."""

    def __init__(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "bench.traffic.load"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=source_environment(),
            text=True,
        )

    def run(self, order: LoadOrder) -> Result:
        """Carry out one order."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps(dataclasses.asdict(order)) + "\n")
        self._process.stdin.flush()
        line = self._process.stdout.readline()
        if not line:
            raise RuntimeError(f"the load generator ended with exit code {self._process.wait()}")
        return Result(**json.loads(line))

    def close(self) -> None:
        """End the process."""
        self._process.communicate()


def _cpu() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def main() -> None:
    """Read orders from standard input, and write results to standard output."""
    corpus = Corpus()
    for line in sys.stdin:
        result = uvloop.run(run(LoadOrder(**json.loads(line)), corpus))
        print(json.dumps(dataclasses.asdict(result)), flush=True)


if __name__ == "__main__":
    main()
