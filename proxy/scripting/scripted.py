"""An exchange with mitmproxy scripts in its path: mitmproxy's own HTTP stream above, our fetch below.

The client's request becomes a mitmproxy flow; its scripts may change it, answer it or kill it. What they send on is a
request like any client's: judged, fetched, recorded and made durable by the same parts as on the fast path. So a WARC
has the request as it went to the origin and the response as the origin sent it; what scripts make of the response
then reaches the client only. An answer without an origin is a line in crawl.log and nothing else.
"""

from __future__ import annotations

import logging
import uuid
from collections import deque
from collections.abc import Callable
from typing import Final

from mitmproxy import connection as mitm
from mitmproxy import http
from mitmproxy.proxy import commands, events
from mitmproxy.proxy.context import Context as LayerContext
from mitmproxy.proxy.layers import http as flows
from mitmproxy.proxy.layers.http import _events as parts
from mitmproxy.proxy.layers.http._base import HttpEvent
from mitmproxy.proxy.layers.http._hooks import HttpResponseHeadersHook

from archive import crawl_log
from archive.dates import now_micros
from proxy.asking import Asking
from proxy.bodyreader import BodyReader
from proxy.delivery import Client
from proxy.exchanging import Exchanging
from proxy.flowsides import ClientSide, OriginSide, is_endless, request_flow, response_flow, sent_head
from proxy.http1 import BadMessage, Framing, RequestHead, ResponseHead
from proxy.loglines import about
from proxy.refusal import Refused
from proxy.scripts import Scripts
from proxy.services import Services

log = logging.getLogger(__name__)

_STREAM: Final = 1
_CLIENT_GONE: Final = parts.ErrorCode.CLIENT_DISCONNECTED
_BROKEN: Final = parts.ErrorCode.GENERIC_SERVER_ERROR


class _Stream(flows.HttpStream):
    """mitmproxy's, without a layer above it that would tell the mode."""

    mode = flows.HTTPMode.regular


class Scripted:
    """Towards the client an exchange, towards the fetch a client."""

    remarks: tuple[str, ...] = ()

    def __init__(
        self,
        asking: Asking,
        scripts: Scripts,
        client: Client,
        fetch: Callable[[RequestHead, Client], Exchanging],
        services: Services,
    ) -> None:
        """`fetch` starts what gets a request in absolute form; it may raise Refused or BadMessage."""
        self.id = uuid.uuid4().hex
        self._asking = asking
        self._scripts = scripts
        self._services = services
        self._fetch = fetch
        self._started, self._began = now_micros(), services.loop.time()
        self._client: ClientSide | None = ClientSide(client, asking.head)
        self._reader = BodyReader(asking.framing, asking.length, self._payload, strict=True)
        self._origin: OriginSide | None = None
        self._was_fetched = False
        self._refused: Refused | None = None
        self._hooks = 0
        """Hooks under way: nothing is taken from either side meanwhile."""
        self._events: deque[events.Event] = deque()
        self._is_running = False
        self._is_over = False
        peer = mitm.Client(peername=("", 0), sockname=("", 0), state=mitm.ConnectionState.OPEN)
        self._context = LayerContext(peer, scripts.options)
        self._stream = _Stream(self._context, _STREAM)

    def start(self) -> None:
        """Show the request's head to the scripts."""
        self._asking.session.began()
        self._events.append(events.Start())
        self._push(
            parts.RequestHeaders(_STREAM, request_flow(self._asking.head, self._asking.target), self._reader.done)
        )
        if self._reader.done:
            self._push(parts.RequestEndOfMessage(_STREAM))

    # -- from the client: proxy.exchanging.Exchanging ------------------------------------------------------------------

    @property
    def request_is_whole(self) -> bool:
        return self._reader.done

    @property
    def ends_with_client(self) -> bool:
        return self._origin is not None and self._origin.exchange.ends_with_client

    @property
    def wants_no_more(self) -> bool:
        return self._hooks > 0 or (self._origin is not None and self._origin.exchange.wants_no_more)

    def request_data(self, data: bytes) -> int:
        """The next bytes of the request's body. Raises BadMessage."""
        taken = self._reader.feed(data)
        if self._reader.broken:
            raise BadMessage(self._reader.broken)
        if self._reader.done:
            if trailers := self._reader.trailers:
                self._push(parts.RequestTrailers(_STREAM, http.Headers(trailers)))
            self._push(parts.RequestEndOfMessage(_STREAM))
        return taken

    def client_data(self, data: bytes) -> None:
        """Never called: upgrades pass scripts by."""

    def client_writable(self) -> None:
        if self._origin is not None and not self._hooks:
            self._origin.exchange.client_writable()

    def client_left(self) -> None:
        """The fetch goes on by itself, as any does; scripts see an error."""
        self._client = None
        self._leave_origin()
        self._push(parts.RequestProtocolError(_STREAM, "Client disconnected.", _CLIENT_GONE))
        self._over()

    # -- from the fetch: proxy.delivery.Client --------------------------------------------------------------------

    @property
    def is_full(self) -> bool:
        return self._hooks > 0 or (self._client is not None and self._client.client.is_full)

    def send(self, data: bytes) -> None:
        if self._origin is None:
            return
        for part in self._origin.answer.feed(data):
            if isinstance(part, bytes):
                self._push(parts.ResponseData(_STREAM, part))
            elif not isinstance(part, ResponseHead):
                self._push(parts.ResponseTrailers(_STREAM, http.Headers(part)))
            elif part.status >= 200:
                without_body = self._origin.answer.framing is Framing.NONE
                self._push(parts.ResponseHeaders(_STREAM, response_flow(part), without_body))

    def finish(self, *, keep_alive: bool, last: bytes = b"") -> None:
        self.send(last)
        self._origin = None
        self._push(parts.ResponseEndOfMessage(_STREAM))

    def abort(self) -> None:
        self._origin = None
        self._push(parts.ResponseProtocolError(_STREAM, "the response broke off", _BROKEN))

    def upgraded(self) -> None:
        """Never called: upgrades pass scripts by."""

    def take_more(self) -> None:
        if self._client is not None and not self._hooks:
            self._client.client.take_more()

    # -- mitmproxy's stream ---------------------------------------------------------------------------------------

    def _payload(self, piece: bytes | memoryview) -> None:
        self._push(parts.RequestData(_STREAM, bytes(piece)))

    def _push(self, event: events.Event) -> None:
        self._events.append(event)
        if self._is_running:
            return
        self._is_running = True
        try:
            while self._events:
                for command in self._stream.handle_event(self._events.popleft()):
                    self._execute(command)
        except Exception as error:  # a script's streaming function raises in here
            self._services.gate.counts["script_errors"] += 1
            url = self._asking.target.url
            log.error("%s: a script broke its flow: %r", url, error, exc_info=error, extra=about(self.id))
            self._events.clear()
            self._give_up(f"a script failed: {error}")
        finally:
            self._is_running = False

    def _execute(self, command: commands.Command) -> None:
        if isinstance(command, flows.SendHttp):
            if command.connection is self._context.client:
                self._to_client(command.event)
            else:
                self._to_origin(command.event)
        elif isinstance(command, commands.StartHook):
            self._run_hook(command)
        elif isinstance(command, flows.GetHttpConnection):
            server = mitm.Server(address=command.address)
            server.state = mitm.ConnectionState.OPEN
            self._events.append(flows.GetHttpConnectionCompleted(command, (server, None)))

    def _run_hook(self, hook: commands.StartHook) -> None:
        if isinstance(hook, HttpResponseHeadersHook) and hook.flow.response and is_endless(hook.flow.response):
            hook.flow.response.stream = True
        self._hooks += 1
        self._services.run(self._hooked(hook))

    async def _hooked(self, hook: commands.StartHook) -> None:
        await self._scripts.run(hook)
        self._hooks -= 1
        self._push(events.HookCompleted(hook))
        if not self._hooks:
            self.client_writable()
            self.take_more()

    # -- to the origin --------------------------------------------------------------------------------------------

    def _to_origin(self, event: HttpEvent) -> None:
        if isinstance(event, parts.RequestHeaders):
            self._was_fetched = True
            try:
                self._ask(event)
            except (Refused, BadMessage) as error:
                self._refused = error if isinstance(error, Refused) else Refused(502, f"a script's request: {error}")
                self._push(parts.ResponseProtocolError(_STREAM, str(error), _BROKEN))
        elif isinstance(event, parts.RequestProtocolError):
            self._leave_origin()
        elif self._origin is not None:
            try:
                self._origin.send(event)
            except (BadMessage, OSError) as error:
                self._leave_origin()
                self._push(parts.ResponseProtocolError(_STREAM, str(error), _BROKEN))

    def _leave_origin(self) -> None:
        """Nobody waits for the fetch any more: it goes on by itself, within the limits of orphans."""
        origin, self._origin = self._origin, None
        if origin is not None:
            origin.exchange.client_left()

    def _ask(self, event: parts.RequestHeaders) -> None:
        head = sent_head(event.request, has_body=not event.end_stream)
        side = OriginSide(head)
        self._origin = side
        try:
            side.exchange = self._fetch(head, self)
        except (Refused, BadMessage):
            self._origin = None
            raise

    # -- to the client --------------------------------------------------------------------------------------------

    def _to_client(self, event: HttpEvent) -> None:
        if self._client is None:
            return
        if isinstance(event, parts.ResponseProtocolError):
            if not self._was_fetched and event.code is parts.ErrorCode.KILL:
                self._note("killed-by-script")
            self._give_up(event.message)
        elif isinstance(event, parts.ResponseHeaders) and event.response.status_code < 200:
            self._client.client.send(b"HTTP/1.1 100 Continue\r\n\r\n")
        elif isinstance(event, parts.ResponseHeaders):
            if not self._was_fetched:
                self._note("answered-by-script")
            if not self._client.begin(event.response):
                self._give_up("a script made a response that is none")
        elif isinstance(event, parts.ResponseEndOfMessage):
            client, self._client = self._client, None
            client.end(keep_alive=self._asking.head.keep_alive and self._reader.done)
            self._over()
        else:
            self._client.send(event)

    def _give_up(self, why: str) -> None:
        """No whole response will come: say so, or break off. A fetch that is under way is recorded to its end."""
        client, self._client = self._client, None
        self._leave_origin()
        if client is not None:
            client.refuse(self._refused or Refused(502, f"ghostfleet: {why}", "script"))
        self._over()

    def _note(self, word: str) -> None:
        """A line in crawl.log: nothing was asked of an origin."""
        session, asking = self._asking.session, self._asking
        session.note_failure(crawl_log.BLOCKED_BY_RULE)
        if not session.keeps:
            return
        session.began()
        duration_ms = int((self._services.loop.time() - self._began) * 1000)
        line = asking.unasked(self.id, self._started, duration_ms, word)
        self._services.recorder.submit(line, lambda _: session.ended())

    def _over(self) -> None:
        if not self._is_over:
            self._is_over = True
            self._asking.session.ended()
