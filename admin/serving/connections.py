"""A connection whose client does not finish a request is closed in time, and such connections are few at once.

uvicorn itself waits for the head of a request for ever, and answers 503 to everybody once there are many connections.
The names of uvicorn's HTTP/1.1 protocol that this module uses are not documented; no other module uses them.
"""

from __future__ import annotations

import asyncio
from operator import attrgetter
from typing import Any, Final

from uvicorn.protocols.http.h11_impl import H11Protocol

from proxy.protocol.read_budget import SMALL, Portions

PATIENCE_SECONDS: Final = 30.0
"""How long a client may take for the head of a request, for the rest of a refused body, or for its next request."""
MOST_WAITING: Final = 256
"""With more connections that have no request under way, the one that has waited longest is closed."""
READING_SECONDS: Final = 30.0
"""How long a client may read nothing of an answer that does not fit into the buffers."""
MOST_STALLED: Final = 40
"""With more clients that do not read, the connection of the one that has not read for longest is closed."""
_DRAINED_BYTES: Final = 1_000_000
"""A client that sends so much of a refused body has its time anew, so that it reads the answer in the end."""


class BoundedConnection(H11Protocol):
    """The connection is an HTTP/1.1 connection of uvicorn with a deadline while no request is under way.

    Its bytes are taken in portions, since some bytes cost much more than others: chunks of one byte, for example.
    """

    _portions: Portions | None = None
    waiting_since: float | None = None
    """When the client's turn to send a request began; None while the server answers one."""
    stalled_since: float | None = None
    """When the client ceased to read; None while it reads."""
    _turn_ends: asyncio.TimerHandle | None = None
    _stall_ends: asyncio.TimerHandle | None = None
    _drained = 0

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Begin to wait for the first request. The connection that has waited longest may have to go."""
        super().connection_made(transport)
        self._note_turn()
        self._bound("waiting_since", MOST_WAITING)

    def data_received(self, data: bytes) -> None:
        """Take the bytes, which may complete a request."""
        if self._portions is None:
            if len(data) <= SMALL:
                self._take(data)
                return
            self._portions = Portions(self._take, self._stop_reading, self._go_on_reading, self.loop)
        self._portions.put(data)
        if self._portions.is_waiting:
            self._stop_reading()  # uvicorn may have begun to read again

    def _take(self, data: bytes) -> None:
        if self.transport.is_closing():
            return
        super().data_received(data)
        if self.waiting_since is not None and self.cycle is not None and self.cycle.more_body:
            self._drained += len(data)
            if self._drained > _DRAINED_BYTES:
                self._stop_waiting()
        self._note_turn()

    def on_response_complete(self) -> None:
        """Note the end of an answer; a request that was sent behind it begins at once."""
        super().on_response_complete()
        self._note_turn()

    def pause_writing(self) -> None:
        """Note that the client does not read."""
        super().pause_writing()
        self.stalled_since = self.loop.time()
        self._wait_for_reader()
        self._bound("stalled_since", MOST_STALLED)

    def resume_writing(self) -> None:
        """Note that the client reads."""
        self._stop_stalling()
        super().resume_writing()

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget the deadlines, and the bytes that were not taken."""
        if self._portions is not None:
            self._portions.drop()
        self._stop_waiting()
        self._stop_stalling()
        super().connection_lost(exc)

    def give_up(self) -> None:
        """Break the connection."""
        self._stop_waiting()
        self._stop_stalling()
        self.transport.abort()

    def _stop_reading(self) -> None:
        self.transport.pause_reading()

    def _go_on_reading(self) -> None:
        if not self.flow.read_paused and not self.transport.is_closing():
            self.transport.resume_reading()

    def _note_turn(self) -> None:
        is_answering = self.cycle is not None and not self.cycle.response_complete
        if is_answering or self.transport.is_closing() or self.transport.get_protocol() is not self:
            self._stop_waiting()
        elif self.waiting_since is None:
            self.waiting_since = self.loop.time()
            self._turn_ends = self.loop.call_later(PATIENCE_SECONDS, self.transport.close)

    def _stop_waiting(self) -> None:
        self.waiting_since, self._drained = None, 0
        if self._turn_ends is not None:
            self._turn_ends.cancel()

    def _wait_for_reader(self) -> None:
        self._stall_ends = self.loop.call_later(READING_SECONDS, self._look_at_reader, self._unsent())

    def _look_at_reader(self, unsent: int) -> None:
        """Go on waiting for a client that has read some of the `unsent` bytes; break the connection otherwise."""
        if self._unsent() < unsent:
            self._wait_for_reader()
        else:
            self.give_up()

    def _unsent(self) -> int:
        return self.transport.get_write_buffer_size()

    def _stop_stalling(self) -> None:
        self.stalled_since = None
        if self._stall_ends is not None:
            self._stall_ends.cancel()

    def _bound(self, since: str, most: int) -> None:
        """Break the connection that has been in a state for longest, when more than `most` are in that state."""
        found: list[Any] = [each for each in self.connections if getattr(each, since, None) is not None]
        if len(found) > most:
            min(found, key=attrgetter(since)).give_up()
