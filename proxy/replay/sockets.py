"""A recorded WebSocket is replayed: the client says what it has to say, and gets what the origin said behind that.

At first the client gets all that the origin said before the recorded client said anything. Each message of the client
then stands for the recorded one with the same payload that comes next, else for the next one that differs in made-up
values or in its running number alone, or else for the recorded one whose turn it is; and the client gets what the
origin said behind that one. What the client has made up now, such as the identifier of a subscription, stands in the
answers in the place of what it made up then. A client that says more than was recorded gets no answer.
"""

from __future__ import annotations

import asyncio
import logging
from base64 import b64encode
from collections import deque
from collections.abc import Awaitable, Callable, Mapping, Sequence
from hashlib import sha1
from typing import Any, Final

from archive.storage.storage import StorageError
from archive.warc.reading.member_reader import WarcError
from dedupdb.captures.schema import CapturesError
from proxy.delivery.delivery import Client
from proxy.fetch.incoming_request import IncomingRequest
from proxy.log_lines import about
from proxy.protocol import heads
from proxy.replay import call_numbers
from proxy.replay.conversation import Said, SocketScript
from proxy.replay.matching.echoes import MOST, Echo, echoes_between, repeated, template
from proxy.replay.matching.wanted import WantedCapture
from proxy.websocket.frames import CLOSE, SocketFrameReader, SocketMessage

log = logging.getLogger(__name__)

_GUID: Final = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
"""RFC 6455 section 1.3 has this text."""
_TEXT, _PING, _PONG = 1, 9, 10
_LONGEST_ALIKE: Final = 65_536
"""Bytes of a message that is compared without its made-up values."""
_MOST_ALIKE: Final = 200
_MOST_WAITING: Final = 1_000
"""Messages of a client that wait to be answered; a client that says more is cut off."""
_PROTOCOL_ERROR: Final = (1002).to_bytes(2)


class SocketReplay:
    """A socket replay answers one WebSocket from the archive."""

    def __init__(
        self,
        wanted: WantedCapture,
        request: IncomingRequest,
        find: Callable[[WantedCapture], Awaitable[SocketScript | None]],
        missed: Callable[[Client], None],
    ) -> None:
        """`missed` answers for a WebSocket that the archive does not have."""
        self.id = wanted.exchange
        self._wanted, self._find, self._missed = wanted, find, missed
        self._key = request.head.get(b"sec-websocket-key") or b""
        self._session = request.session
        self._client: Client | None = request.client
        self._reader = SocketFrameReader(self._heard, None)
        self._waiting: deque[SocketMessage] = deque()
        self._stirred = asyncio.Event()
        self._session.began()

    # -- from the client ------------------------------------------------------------------------------------------

    request_is_whole = True
    wants_no_more = False
    ends_with_client = True

    def request_data(self, data: bytes) -> int:
        """Return 0: a handshake has no body."""
        return 0

    def client_data(self, data: bytes) -> None:
        """Take the client's frames."""
        if not self._reader.feed(data):
            self._say(CLOSE, _PROTOCOL_ERROR)
            self._finish()

    def client_writable(self) -> None:
        """Note that the client takes more bytes again."""
        self._stirred.set()

    def client_left(self) -> None:
        """Note that the client has left."""
        self._client = None
        self._stirred.set()

    def _heard(self, message: SocketMessage) -> None:
        if message.opcode == _PING:
            self._say(_PONG, message.payload)
        elif message.opcode == CLOSE:
            self._say(CLOSE, message.payload[:2])
            self._finish()
        elif message.opcode != _PONG:
            self._waiting.append(message)
            if len(self._waiting) > _MOST_WAITING:
                self._cut()
            self._stirred.set()

    # -- the conversation -----------------------------------------------------------------------------------------

    async def answer(self) -> None:
        """Find the conversation and replay it."""
        try:
            found = await self._find(self._wanted)
            client = self._client
            if found is None and client is not None:
                self._client = None
                self._missed(client)
            elif found is not None and client is not None:
                self._session.counts["urls"] += 1
                self._session.counts["websockets"] += 1
                client.send(self._handshake(found))
                client.upgraded()
                await self._replay(found)
        except (OSError, WarcError, CapturesError, StorageError, TimeoutError) as error:
            self._refuse(error)
        finally:
            self._cut()
            self._session.ended()

    def _handshake(self, found: SocketScript) -> bytes:
        accept = b64encode(sha1(self._key + _GUID, usedforsecurity=False).digest())
        chosen = b"Sec-WebSocket-Protocol: %s\r\n" % found.subprotocol if found.subprotocol else b""
        return (
            b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
            b"Sec-WebSocket-Accept: %s\r\n%s\r\n" % (accept, chosen)
        )

    async def _replay(self, found: SocketScript) -> None:
        messages = found.messages
        asked = [at for at, said in enumerate(messages) if said.by_client and said.opcode != CLOSE]
        echoes: list[Echo] = []
        numbers: dict[tuple[call_numbers.Place, Any], Any] = {}
        at = 0
        while self._client is not None:
            while at < len(messages) and not messages[at].by_client and self._client is not None:
                await self._room()
                self._say(messages[at].opcode, _answer(messages[at], echoes, numbers))
                if messages[at].opcode == CLOSE:
                    self._finish()
                    return
                at += 1
            heard = await self._next()
            if heard is None:
                return
            place = _place(messages, asked, heard)
            if place is None:
                at = len(messages)
            else:
                asked.remove(place)
                at = place + 1
                if heard.opcode == _TEXT == messages[place].opcode:
                    said, asks = _text(messages[place].payload), _text(heard.payload)
                    if len(echoes) < MOST:
                        echoes += echoes_between(said, asks)
                    if len(numbers) < MOST:
                        numbers |= call_numbers.changes(said, asks)

    async def _next(self) -> SocketMessage | None:
        """Return the client's next message; None when it has left."""
        while self._client is not None and not self._waiting:
            self._stirred.clear()
            await self._stirred.wait()
        return self._waiting.popleft() if self._waiting else None

    async def _room(self) -> None:
        while self._client is not None and self._client.is_full:
            self._stirred.clear()
            await self._stirred.wait()

    # -- to the client --------------------------------------------------------------------------------------------

    def _say(self, opcode: int, payload: bytes) -> None:
        if self._client is not None:
            self._session.counts["messages"] += opcode < CLOSE
            self._session.counts["bytes"] += len(payload)
            self._client.send(server_frame(opcode, payload))

    def _finish(self) -> None:
        client, self._client = self._client, None
        self._stirred.set()
        if client is not None:
            client.finish(keep_alive=False)

    def _cut(self) -> None:
        client, self._client = self._client, None
        self._stirred.set()
        if client is not None:
            client.abort()

    def _refuse(self, error: Exception) -> None:
        log.warning("replay of the WebSocket %s: %s", self._wanted.url, error, extra=about(self.id))
        self._session.counts["urls"] += 1
        self._session.counts["failed"] += 1
        self._session.errors["503"] += 1
        client, self._client = self._client, None
        if client is not None:
            client.send(heads.refusal(503, "socket-away", str(error)))
            client.finish(keep_alive=False)


def _place(messages: Sequence[Said], asked: Sequence[int], heard: SocketMessage) -> int | None:
    """Return the recorded message of the client for which a message stands; None when none is left."""
    for place in asked:
        if messages[place].payload == heard.payload:
            return place
    if heard.opcode == _TEXT and len(heard.payload) <= _LONGEST_ALIKE:
        form = template(_text(heard.payload))
        for place in asked[:_MOST_ALIKE]:
            said = messages[place]
            if said.opcode == _TEXT and len(said.payload) <= _LONGEST_ALIKE and template(_text(said.payload)) == form:
                return place
        for place in asked[:_MOST_ALIKE]:
            said = messages[place]
            if said.opcode == _TEXT and call_numbers.changes(_text(said.payload), _text(heard.payload)):
                return place
    return asked[0] if asked else None


def _answer(said: Said, echoes: Sequence[Echo], numbers: Mapping[tuple[call_numbers.Place, Any], Any]) -> bytes:
    if said.opcode != _TEXT:
        return said.payload
    payload = (repeated(said.payload, echoes) if echoes else None) or said.payload
    changed = call_numbers.renumbered(_text(payload), numbers)
    return payload if changed is None else changed.encode("utf-8")


def _text(payload: bytes) -> str:
    return payload.decode("utf-8", "replace")


def server_frame(opcode: int, payload: bytes) -> bytes:
    """Return a whole message as one frame of a server, which masks nothing (RFC 6455 section 5.2)."""
    size = len(payload)
    if size < 126:
        head = bytes((0x80 | opcode, size))
    elif size < 65_536:
        head = bytes((0x80 | opcode, 126)) + size.to_bytes(2)
    else:
        head = bytes((0x80 | opcode, 127)) + size.to_bytes(8)
    return head + payload
