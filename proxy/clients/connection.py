"""One client connection: drives mitmproxy's layers from an asyncio protocol, hooks inline.

mitmproxy's own handler runs a task, a lock and a walk over all addons for every hook; a relay has no use for that.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from typing import Final, Protocol, cast

from mitmproxy import connection as mitm
from mitmproxy.addonmanager import AddonManager
from mitmproxy.options import Options
from mitmproxy.proxy import commands, events, layer, layers, server_hooks
from mitmproxy.proxy.context import Context as LayerContext
from mitmproxy.proxy.layers.tls import TlsEstablishedClientHook, TlsFailedClientHook

from proxy.gate import Gate, Refused, Session
from proxy.loglines import about
from proxy.relay import Stream
from proxy.scripts import ScriptFolder

log = logging.getLogger(__name__)

_NOBODY: Final = ("", 0)
"""Who calls when the client had broken its connection before we took it: the kernel doesn't know any more."""
_HIGH_WATER: Final = 1 << 19
_LINGER_SECONDS: Final = 2.0
_TLS_BYTES: Final = 1 << 16
"""Given to TLS at once: its layer puts together the plain text of all it gets, and moves it each time it grows."""


class House(Protocol):
    """What all connections of a process share."""

    options: Options
    addons: AddonManager
    scripts: ScriptFolder
    gate: Gate
    connections: dict[str, ClientConnection]
    """By the id of mitmproxy's client object."""
    max_head_bytes: int
    loop: asyncio.AbstractEventLoop


class ClientConnection(asyncio.Protocol):
    """A client of the listener that belongs to `listener`, or of the main port when that is None."""

    def __init__(self, house: House, listener: Session | None = None) -> None:
        self.house = house
        self.listener = listener
        self.stream: Stream | None = None
        """The exchange under way."""
        self.is_full = False
        self.is_at_end = False
        """Whether the client has closed its sending side."""
        self.last_heard = house.loop.time()
        self.asking_since = 0.0
        """When it began a request's head, or a TLS handshake, that is not whole yet; 0 when there is none."""
        self._transport: asyncio.Transport | None = None
        self._layer: layers.modes.HttpProxy | None = None
        self._client: mitm.Client | None = None
        self._events: deque[events.Event] = deque()
        self.relay: layer.Layer | None = None
        """What reads the connection's requests, once it is known. Then it is asked at once: the layers around it would
        only pass everything on."""
        self._is_running = False
        self._is_paused = False
        self._is_deaf = False

    @property
    def awaits_client(self) -> bool:
        """Whether it is the client's turn to speak: there is no request, or not all of it."""
        exchange = self.stream.exchange if self.stream is not None else None
        return exchange is None or not exchange.request_is_whole

    @property
    def is_local(self) -> bool:
        """Whether the client is on this machine."""
        host = self._client.peername[0] if self._client is not None else ""
        return host.startswith(("127.", "::ffff:127.")) or host == "::1"

    @property
    def is_open(self) -> bool:
        """Whether there is a connection."""
        return self._transport is not None

    # -- asyncio.Protocol -----------------------------------------------------------------------------------------

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)
        self._transport.set_write_buffer_limits(high=_HIGH_WATER)
        self._client = mitm.Client(
            peername=transport.get_extra_info("peername") or _NOBODY,
            sockname=transport.get_extra_info("sockname"),
            state=mitm.ConnectionState.OPEN,
        )
        context = LayerContext(self._client, self.house.options)
        self._layer = layers.modes.HttpProxy(context)
        self.house.connections[self._client.id] = self
        self.run(events.Start())

    def data_received(self, data: bytes) -> None:
        assert self._client is not None
        self.last_heard = self.house.loop.time()
        if self._is_deaf:
            return
        if len(data) <= _TLS_BYTES or not self._client.tls:
            self.run(events.DataReceived(self._client, data))
            return
        for start in range(0, len(data), _TLS_BYTES):
            self.run(events.DataReceived(self._client, data[start : start + _TLS_BYTES]))

    def eof_received(self) -> bool:
        """A client that has said all it will say still gets the answer it waits for (RFC 9112 section 9.6)."""
        self.is_at_end = True
        exchange = self.stream.exchange if self.stream is not None else None
        return exchange is not None and not self.awaits_client and not exchange.ends_with_client

    def connection_lost(self, exc: Exception | None) -> None:
        assert self._client is not None
        self._transport = None
        self.house.connections.pop(self._client.id, None)
        self._client.state = mitm.ConnectionState.CLOSED
        self.run(events.ConnectionClosed(self._client))

    def pause_writing(self) -> None:
        self.is_full = True

    def resume_writing(self) -> None:
        self.is_full = False
        if self.stream is not None and self.stream.exchange is not None:
            self.stream.exchange.client_writable()

    # -- for the layers -------------------------------------------------------------------------------------------

    def run(self, event: events.Event) -> None:
        """Feed the layers one event and carry out what they command, also when called from within."""
        self._events.append(event)
        if self._is_running or self._layer is None:
            return
        self._is_running = True
        try:
            while self._events:
                event = self._events.popleft()
                asked = self.relay
                if asked is None or isinstance(event, events.CommandCompleted):
                    asked = self._layer
                for command in asked.handle_event(event):
                    self._execute(command)
        except Exception:
            # A fault of ours must not leave the client waiting, nor let bytes pass unrecorded.
            exchange = self.stream.exchange if self.stream is not None else None
            log.exception("relaying failed; the connection is cut", extra=about(exchange.id if exchange else ""))
            self._layer = None
            self.abort()
        finally:
            self._is_running = False

    def refused(self, refused: Refused, exchange: str) -> None:
        """Count a request that was turned away; `exchange` is empty when none had begun."""
        self.house.gate.counts["refused"] += 1
        log.info("refused %d: %s", refused.status, refused, extra=about(exchange))

    def pause_reading(self) -> None:
        """Let the client wait with what it has to say."""
        if self._transport is not None and not self._is_paused:
            self._is_paused = True
            self._transport.pause_reading()

    def resume_reading(self) -> None:
        """Listen again."""
        if self._transport is not None and self._is_paused:
            self._is_paused = False
            self._transport.resume_reading()

    def abort(self) -> None:
        """Break the connection so that the client can't take what it has for a whole response."""
        if self._transport is not None:
            self._transport.abort()

    def linger(self) -> None:
        """Close so that the client can read our last words even when it was still talking (RFC 9112 section 9.6)."""
        if self._transport is not None and not self._transport.is_closing():
            self._transport.write_eof()
            self.resume_reading()
            self.house.loop.call_later(_LINGER_SECONDS, self.close)

    def hang_up(self) -> None:
        """Close an idle connection; a request that comes just now is not begun, and not answered with a reset."""
        self._is_deaf = True
        self.linger()

    def close(self) -> None:
        """Close after what was written has been sent."""
        if self._transport is not None:
            self._transport.close()

    def _execute(self, command: commands.Command) -> None:
        if isinstance(command, commands.SendData):
            if self._transport is not None:
                self._transport.write(command.data)
        elif isinstance(command, commands.CloseConnection):
            self.close()
        elif isinstance(command, commands.StartHook):
            self._hook(command)
        elif isinstance(command, commands.OpenConnection):
            self._events.append(events.OpenConnectionCompleted(command, "only the relay opens connections"))
        elif isinstance(command, commands.Log):
            log.log(command.level, "%s", command.message)

    def _hook(self, hook: commands.StartHook) -> None:
        if isinstance(hook, TlsEstablishedClientHook):
            self.asking_since = 0.0
        elif isinstance(hook, TlsFailedClientHook):
            self.house.gate.counts["client_tls_failed"] += 1
        if not isinstance(hook, server_hooks.ServerDisconnectedHook):
            self.house.addons.trigger(hook)
        if hook.blocking:
            self._events.append(events.HookCompleted(hook, None))
