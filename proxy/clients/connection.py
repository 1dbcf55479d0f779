"""An asyncio protocol drives mitmproxy's layers for one client connection, with hooks inline.

mitmproxy's own handler runs a task, a lock and a walk over all addons for every hook; a relay has no use for that.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from typing import Final, Protocol, cast

from proxy.clients.client_stream import Stream
from proxy.fetch.contracts import Tunnel
from proxy.log_lines import about
from proxy.protocol.mitmproxy_adapter import (
    AddonManager,
    HttpProxy,
    LayerContext,
    Options,
    ServerDisconnectedHook,
    TlsEstablishedClientHook,
    TlsFailedClientHook,
    commands,
    events,
    layer,
)
from proxy.protocol.mitmproxy_adapter import connection as mitm
from proxy.protocol.read_budget import SMALL, Portions
from proxy.refusal import Refused
from proxy.scripting.scripts import ScriptFolder
from proxy.sessions.gate import Gate
from proxy.sessions.session import Session

log = logging.getLogger(__name__)

_NOBODY: Final = ("", 0)
"""Who calls when the client had broken its connection before we took it: the kernel doesn't know any more."""
_HIGH_WATER: Final = 1 << 19
_LINGER_SECONDS: Final = 2.0
_LINGER_PAUSE_SECONDS: Final = 0.005
"""Between two reads of what is dropped."""
_TLS_BYTES: Final = 1 << 16
"""Given to TLS at once: its layer puts together the plain text of all it gets, and moves it each time it grows."""


class ConnectionHost(Protocol):
    """All connections of a process share these objects."""

    options: Options
    addons: AddonManager
    scripts: ScriptFolder
    gate: Gate
    connections: dict[str, ClientConnection]
    """By the id of mitmproxy's client object."""
    max_head_bytes: int
    loop: asyncio.AbstractEventLoop


class ClientConnection(asyncio.Protocol):
    """The client came by the listener of the session `listener`, or by the main port when that is None."""

    def __init__(self, owner: ConnectionHost, listener: Session | None = None) -> None:
        self.owner = owner
        self.listener = listener
        self.stream: Stream | None = None
        """The exchange under way."""
        self.is_full = False
        self.is_at_end = False
        """The client has closed its sending side."""
        self.last_heard = owner.loop.time()
        self.asking_since = 0.0
        """When it began a request's head, or a TLS handshake, that is not whole yet; 0 when there is none."""
        self._transport: asyncio.Transport | None = None
        self._layer: HttpProxy | None = None
        self._client: mitm.Client | None = None
        self._events: deque[events.Event] = deque()
        self.relay: layer.Layer | None = None
        """The reader of the connection's requests, once it is known. Then it is asked at once: the layers around it
        would only pass everything on."""
        self.tunnel: Tunnel | None = None
        """The tunnel that the client's CONNECT opened."""
        self._is_running = False
        self._is_paused = False
        self._is_deaf = False
        self._is_lingering = False
        self._portions: Portions | None = None

    @property
    def awaits_client(self) -> bool:
        """Return whether it is the client's turn to speak: there is no request, or not all of it."""
        exchange = self.stream.exchange if self.stream is not None else None
        return exchange is None or not exchange.request_is_whole

    @property
    def address(self) -> str:
        """Return the client's address; the same text for all addresses of this machine's loopback interface."""
        return "localhost" if self.is_local or self._client is None else self._client.peername[0]

    @property
    def is_local(self) -> bool:
        """Return whether the client is on this machine."""
        host = self._client.peername[0] if self._client is not None else ""
        return host.startswith(("127.", "::ffff:127.")) or host == "::1"

    @property
    def ends(self) -> tuple[object, object] | None:
        """Return our address and the client's; None without a connection."""
        if self._client is None or self._transport is None:
            return None
        return self._client.sockname, self._client.peername

    def carries(self, exchange: object) -> bool:
        """Return whether this exchange is under way here, by HTTP/1.1."""
        return self.stream is not None and self.stream.exchange is exchange

    @property
    def is_open(self) -> bool:
        """Return whether there is a connection."""
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
        context = LayerContext(self._client, self.owner.options)
        self._layer = HttpProxy(context)
        self.owner.connections[self._client.id] = self
        self.run(events.Start())

    def data_received(self, data: bytes) -> None:
        self.last_heard = self.owner.loop.time()
        if self._is_lingering:
            self._wait_with_rest()
            return
        portions = self._portions
        if portions is None:
            if len(data) <= SMALL:
                self._take(data)
                return
            portions = self._portions = Portions(self._take, self._stop_reading, self._all_taken, self.owner.loop)
        portions.put(data)

    def _take(self, data: bytes) -> None:
        assert self._client is not None
        if self._is_deaf:
            return
        if len(data) <= _TLS_BYTES or not self._client.tls:
            self.run(events.DataReceived(self._client, data))
            return
        for start in range(0, len(data), _TLS_BYTES):
            self.run(events.DataReceived(self._client, data[start : start + _TLS_BYTES]))

    def eof_received(self) -> bool:
        """Return whether the client still gets the answer it waits for (RFC 9112 section 9.6).

        A browser never closes its sending side alone: the client of a page's session has left.
        """
        self.is_at_end = True
        if self.listener is not None and self.listener.is_of_page:
            return False
        exchange = self.stream.exchange if self.stream is not None else None
        return exchange is not None and not self.awaits_client and not exchange.ends_with_client

    def connection_lost(self, exc: Exception | None) -> None:
        assert self._client is not None
        self._transport = None
        if self._portions is not None:
            self._portions.drop()
        self.owner.connections.pop(self._client.id, None)
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
        """Feed one event to the layers and carry out their commands, also when called from within."""
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
        self.owner.gate.counts["refused"] += 1
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
            if self._portions is None or not self._portions.is_waiting:
                self._transport.resume_reading()

    def _wait_with_rest(self) -> None:
        """Drop what comes behind our last words, and let the others have their turn before more of it is read."""
        self.pause_reading()
        self.owner.loop.call_later(_LINGER_PAUSE_SECONDS, self.resume_reading)

    def _stop_reading(self) -> None:
        if self._transport is not None:
            self._transport.pause_reading()

    def _all_taken(self) -> None:
        if self._transport is not None and not self._is_paused:
            self._transport.resume_reading()

    def abort(self) -> None:
        """Break the connection so that the client can't take what it has for a whole response."""
        if self._transport is not None:
            self._transport.abort()

    def linger(self) -> None:
        """Close so that the client can read our last words even when it was still talking (RFC 9112 section 9.6)."""
        if self._transport is not None and not self._transport.is_closing():
            self._transport.write_eof()
            self._is_lingering = True
            self.resume_reading()
            self.owner.loop.call_later(_LINGER_SECONDS, self.close)

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
            self._note_handshake()
        elif isinstance(hook, TlsFailedClientHook):
            self.owner.gate.counts["client_tls_failed"] += 1
            self._note_handshake(hook.data.conn.error or "the handshake failed")
        if not isinstance(hook, ServerDisconnectedHook):
            self.owner.addons.trigger(hook)
        if hook.blocking:
            self._events.append(events.HookCompleted(hook, None))

    def _note_handshake(self, failure: str = "") -> None:
        if self.tunnel is not None and self._client is not None:
            host = self._client.sni or self.tunnel.authority.rpartition(":")[0]
            self.tunnel.session.note_handshake(host, failure)
