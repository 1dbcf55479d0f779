"""HTTP/2 peers of the tests' own, by hyper-h2 over blocking sockets: a client on a TLS stream, and its answers."""

from __future__ import annotations

import socket
import ssl
from collections import defaultdict
from dataclasses import dataclass, field
from types import TracebackType
from typing import Self

from h2 import events
from h2.config import H2Configuration
from h2.connection import H2Connection

PATIENCE_SECONDS = 60.0
type Pairs = list[tuple[str, str]]


@dataclass
class Answer:
    """What has come for one stream so far."""

    status: int = 0
    headers: Pairs = field(default_factory=list)
    body: bytearray = field(default_factory=bytearray)
    trailers: Pairs = field(default_factory=list)
    interim: list[int] = field(default_factory=list)
    ended: bool = False
    reset: int | None = None
    """The code of RST_STREAM."""

    @property
    def is_over(self) -> bool:
        return self.ended or self.reset is not None

    def header(self, name: str) -> str | None:
        return next((value for found, value in self.headers if found == name), None)


class H2Client:
    """One connection. With `window` the client takes so many bytes of each stream and no more until `take`."""

    def __init__(self, stream: socket.socket, *, window: int | None = None) -> None:
        self.stream = stream
        self.stream.settimeout(PATIENCE_SECONDS)
        self.answers: dict[int, Answer] = defaultdict(Answer)
        self.goaway: events.ConnectionTerminated | None = None
        self.closed = False
        self._lazy = window is not None
        self._held: dict[int, int] = defaultdict(int)
        self.wire = H2Connection(H2Configuration(client_side=True, header_encoding="latin-1"))
        if window is not None:
            self.wire.local_settings.initial_window_size = window
            self.wire.local_settings.acknowledge()
        self.wire.initiate_connection()
        if window is not None:
            self.wire.increment_flow_control_window(1 << 29)
        self.flush()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.stream.close()

    def ask(self, authority: str, path: str, *headers: tuple[str, str], method: str = "GET", end: bool = True) -> int:
        """Opens a stream; its number."""
        first = [(":method", method), (":scheme", "https"), (":authority", authority), (":path", path)]
        return self.open([*first, *headers], end=end)

    def open(self, headers: Pairs, *, end: bool = True) -> int:
        """Opens a stream with these fields alone, pseudo-headers among them; its number."""
        number = self.wire.get_next_available_stream_id()
        self.wire.send_headers(number, headers, end_stream=end)
        self.flush()
        return number

    def say_anything(self) -> None:
        """Sends fields as they are told, malformed ones too."""
        self.wire.config.validate_outbound_headers = False
        self.wire.config.normalize_outbound_headers = False

    def send(self, number: int, data: bytes, *, end: bool = False) -> None:
        """A body's next bytes, as the window allows."""
        while data or end:
            room = min(self.wire.local_flow_control_window(number), self.wire.max_outbound_frame_size)
            if not room and data:
                self.step()
                continue
            piece, data = data[:room], data[room:]
            last = end and not data
            self.wire.send_data(number, piece, end_stream=last)
            self.flush()
            if last:
                return

    def trailers(self, number: int, *headers: tuple[str, str]) -> None:
        """A body's trailers, and its end."""
        self.wire.send_headers(number, headers, end_stream=True)
        self.flush()

    def reset(self, number: int) -> None:
        """RST_STREAM with CANCEL."""
        self.wire.reset_stream(number, 8)
        self.flush()

    def take(self, number: int) -> None:
        """Gives the room of what was held back, and takes all from now on."""
        self._lazy = False
        for stream, size in [*self._held.items()]:
            if size and stream == number:
                self.wire.acknowledge_received_data(self._held.pop(stream), stream)
        self.flush()

    def answer(self, number: int) -> Answer:
        """The whole answer of a stream, waited for."""
        while not self.answers[number].is_over and not self.closed:
            self.step()
        return self.answers[number]

    def step(self) -> None:
        """Reads once, and takes in what has come."""
        data = self.stream.recv(65536)
        if not data:
            self.closed = True
            return
        for event in self.wire.receive_data(data):
            self._note(event)
        self.flush()

    def flush(self) -> None:
        """Sends what waits."""
        if data := self.wire.data_to_send():
            self.stream.sendall(data)

    def _note(self, event: events.Event) -> None:
        match event:
            case events.ResponseReceived():
                answer = self.answers[event.stream_id]
                answer.headers = [(str(name), str(value)) for name, value in event.headers]
                answer.status = int(answer.header(":status") or 0)
            case events.InformationalResponseReceived():
                self.answers[event.stream_id].interim.append(int(dict(event.headers)[":status"]))
            case events.DataReceived():
                self.answers[event.stream_id].body += event.data
                if self._lazy:
                    self._held[event.stream_id] += event.flow_controlled_length
                else:
                    self.wire.acknowledge_received_data(event.flow_controlled_length, event.stream_id)
            case events.TrailersReceived():
                self.answers[event.stream_id].trailers = [(str(name), str(value)) for name, value in event.headers]
            case events.StreamEnded():
                self.answers[event.stream_id].ended = True
            case events.StreamReset():
                self.answers[event.stream_id].reset = int(event.error_code)
            case events.ConnectionTerminated():
                self.goaway = event


def offering_h2(context: ssl.SSLContext) -> ssl.SSLContext:
    """The context, with h2 before http/1.1 in its ALPN."""
    context.set_alpn_protocols(["h2", "http/1.1"])
    return context
