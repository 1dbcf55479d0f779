"""An origin that speaks HTTP/2 over TLS (hyper-h2), and HTTP/1.1 to those who don't offer it; scripted by coroutines.

async def answer(stream: Stream) -> None:
    await stream.head(200, ("content-type", "text/plain"))
    await stream.data(b"hello", end=True)

with H2Origin("127.0.1.62", tls) as origin:
    origin.answer("/hello", answer)
"""

from __future__ import annotations

import asyncio
import ssl
import threading
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass, field
from types import TracebackType
from typing import Self

from h2 import events, exceptions
from h2.config import H2Configuration
from h2.connection import H2Connection
from h2.settings import SettingCodes

PIECE = 16_384
type Answer = Callable[[Stream], Awaitable[None]]


@dataclass(eq=False)
class Stream:
    """One request, and the means to answer it."""

    connection: Connection
    id: int
    headers: list[tuple[str, str]]
    body: bytes = b""
    sent: int = 0
    """Bytes of the body sent so far."""
    ended: asyncio.Event = field(default_factory=asyncio.Event)
    """The request is whole."""
    reset: int | None = None
    behind: list[tuple[str, str]] = field(default_factory=list)
    """Trailers of the request."""

    def header(self, name: str) -> str | None:
        return next((value for found, value in self.headers if found == name), None)

    async def head(self, status: int, *headers: tuple[str, str], end: bool = False) -> None:
        """A head; interim ones too."""
        self.connection.wire.send_headers(self.id, [(":status", str(status)), *headers], end_stream=end)
        await self.connection.flush()

    async def data(self, data: bytes, *, end: bool = False) -> None:
        """A body's next bytes, as the peer's windows allow."""
        wire = self.connection.wire
        while data or end:
            room = min(wire.local_flow_control_window(self.id), wire.max_outbound_frame_size)
            if not room and data:
                self.connection.room.clear()
                await self.connection.room.wait()
                continue
            piece, data = data[:room], data[room:]
            wire.send_data(self.id, piece, end_stream=end and not data)
            self.sent += len(piece)
            await self.connection.flush()
            if not data:
                return

    async def trailers(self, *headers: tuple[str, str]) -> None:
        """Trailers end the stream."""
        self.connection.wire.send_headers(self.id, headers, end_stream=True)
        await self.connection.flush()

    async def give_up(self, code: int) -> None:
        """RST_STREAM."""
        self.connection.wire.reset_stream(self.id, code)
        await self.connection.flush()

    async def until(self, event: threading.Event) -> None:
        """Waits for the test."""
        await asyncio.to_thread(event.wait, 60)


class Connection:
    """One connection of a proxy; `number` counts from 1."""

    def __init__(self, origin: H2Origin, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, number: int):
        self.origin = origin
        self.number = number
        self.wire = H2Connection(H2Configuration(client_side=False, header_encoding="latin-1"))
        self.wire.config.validate_outbound_headers = False
        self.room = asyncio.Event()
        self.hold = False
        """Take in no more of requests' bodies: their windows stay shut."""
        self._streams: dict[int, Stream] = {}
        self._reader, self._writer = reader, writer
        self._tasks: set[asyncio.Task[None]] = set()

    async def serve(self) -> None:
        self.wire.initiate_connection()
        if self.origin.most_streams is not None:
            self.wire.update_settings({SettingCodes.MAX_CONCURRENT_STREAMS: self.origin.most_streams})
        await self.flush()
        while data := await self._reader.read(65536):
            for event in self.wire.receive_data(data):
                self._on(event)
            self.room.set()
            await self.flush()

    async def flush(self) -> None:
        """Sends what waits."""
        if data := self.wire.data_to_send():
            self._writer.write(data)
            await self._writer.drain()

    async def go_away(self, *, last: int, code: int = 0) -> None:
        """GOAWAY, and the streams up to `last` go on: hyper-h2 can't, so the frame is made by hand."""
        payload = last.to_bytes(4) + code.to_bytes(4)
        self._writer.write(len(payload).to_bytes(3) + b"\x07\x00" + bytes(4) + payload)
        await self._writer.drain()

    def close(self) -> None:
        """FIN."""
        self._writer.close()

    def _on(self, event: events.Event) -> None:
        match event:
            case events.RequestReceived():
                stream = Stream(self, event.stream_id, [(str(name), str(value)) for name, value in event.headers])
                self._streams[stream.id] = stream
                self.origin.streams.append(stream)
                path = stream.header(":path") or ""
                task = asyncio.get_running_loop().create_task(self._answer(stream, path))
                self._tasks.add(task)
                task.add_done_callback(self._tasks.discard)
            case events.DataReceived():
                self._streams[event.stream_id].body += event.data
                if not self.hold:
                    self.wire.acknowledge_received_data(event.flow_controlled_length, event.stream_id)
            case events.TrailersReceived():
                self._streams[event.stream_id].behind = [(str(name), str(value)) for name, value in event.headers]
            case events.StreamEnded():
                self._streams[event.stream_id].ended.set()
            case events.StreamReset():
                self._streams[event.stream_id].reset = int(event.error_code)

    async def _answer(self, stream: Stream, path: str) -> None:
        with suppress(exceptions.ProtocolError, ConnectionError):  # the proxy left first, as some tests want
            await self.origin.answers.get(path, _page)(stream)


class H2Origin:
    """The origin, listening on a free port of `address` until it is closed."""

    def __init__(self, address: str, tls: ssl.SSLContext, *, most_streams: int | None = None) -> None:
        self.address = address
        self.most_streams = most_streams
        self.answers: dict[str, Answer] = {}
        self.streams: list[Stream] = []
        self.connections = 0
        self.spoken: list[str | None] = []
        """What each connection agreed on."""
        self.port = 0
        tls.set_alpn_protocols(["h2", "http/1.1"])
        self._tls = tls
        self._writers: set[asyncio.StreamWriter] = set()
        self._ready, self._loop = threading.Event(), asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        assert self._ready.wait(30)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._loop.call_soon_threadsafe(self._stop.set)
        self._thread.join(30)

    @property
    def authority(self) -> str:
        return f"{self.address}:{self.port}"

    def url(self, path: str) -> str:
        return f"https://{self.authority}{path}"

    def answer(self, path: str, answer: Answer) -> None:
        """What is done for a path; others get a page of their own."""
        self.answers[path] = answer

    def asked(self, path: str) -> list[Stream]:
        """The requests for a path, oldest first."""
        return [stream for stream in self.streams if stream.header(":path") == path]

    def _run(self) -> None:
        with asyncio.Runner(loop_factory=lambda: self._loop) as runner:
            runner.run(self._serve())

    async def _serve(self) -> None:
        self._stop = asyncio.Event()
        server = await asyncio.start_server(self._accept, self.address, 0, ssl=self._tls)
        self.port = server.sockets[0].getsockname()[1]
        self._ready.set()
        await self._stop.wait()
        server.close()
        while self._writers:
            for writer in list(self._writers):
                writer.transport.abort()
            await asyncio.sleep(0.01)

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        self._writers.add(writer)
        try:
            await self._speak(reader, writer)
        finally:
            writer.close()
            with suppress(ConnectionError, ssl.SSLError):
                await writer.wait_closed()
            self._writers.discard(writer)

    async def _speak(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        spoken = writer.get_extra_info("ssl_object").selected_alpn_protocol()
        self.spoken.append(spoken)
        with suppress(ConnectionError, exceptions.ProtocolError, ssl.SSLError):
            if spoken == "h2":
                await Connection(self, reader, writer, self.connections).serve()
            else:
                await _speak_http_1(reader, writer)


async def _page(stream: Stream) -> None:
    body = f"<p>{stream.header(':path')}</p>".encode()
    await stream.head(200, ("content-type", "text/html"), ("content-length", str(len(body))))
    await stream.data(body, end=True)


async def _speak_http_1(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with suppress(asyncio.IncompleteReadError):
        while await reader.readuntil(b"\r\n\r\n"):
            writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nold")
            await writer.drain()
