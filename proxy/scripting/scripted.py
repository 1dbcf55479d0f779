"""An exchange with mitmproxy scripts has mitmproxy's own HTTP stream above and the proxy's fetch below.

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

from archive import crawl_log
from archive.dates import now_micros
from proxy.delivery.delivery import Client
from proxy.fetch.contracts import ClientExchange, NeverUpgraded
from proxy.fetch.services import Services
from proxy.log_lines import about
from proxy.protocol.body_reader import BodyReader
from proxy.protocol.http1 import BadMessage, Framing, RequestHead, ResponseHead
from proxy.protocol.mitmproxy_adapter import (
    HttpEvent,
    HttpResponseHeadersHook,
    LayerContext,
    commands,
    events,
    http,
    http_events,
    http_layer,
)
from proxy.protocol.mitmproxy_adapter import connection as mitm
from proxy.refusal import Refused
from proxy.scripting.flow_translation import ClientSide, OriginSide, is_endless, request_flow, response_flow, sent_head
from proxy.scripting.scripted_request import ScriptedRequest
from proxy.scripting.scripts import Scripts

log = logging.getLogger(__name__)

_STREAM: Final = 1
_CLIENT_GONE: Final = http_events.ErrorCode.CLIENT_DISCONNECTED
_BROKEN: Final = http_events.ErrorCode.GENERIC_SERVER_ERROR


class _Stream(http_layer.HttpStream):
    """mitmproxy's stream has no layer above it here that would set the mode."""

    mode = http_layer.HTTPMode.regular


class ScriptedExchange(NeverUpgraded):
    """Towards the client an exchange, towards the fetch a client."""

    remarks: tuple[str, ...] = ()

    def __init__(
        self,
        scripted_request: ScriptedRequest,
        scripts: Scripts,
        fetch: Callable[[RequestHead, Client], ClientExchange],
        services: Services,
    ) -> None:
        """`fetch` starts what gets a request in absolute form; it may raise Refused or BadMessage."""
        self.id = uuid.uuid4().hex
        self._scripted_request = scripted_request
        self._scripts = scripts
        self._services = services
        self._fetch = fetch
        self._started, self._began = now_micros(), services.loop.time()
        self._client: ClientSide | None = ClientSide(scripted_request.request.client, scripted_request.request.head)
        self._reader = BodyReader(
            scripted_request.request.framing, scripted_request.request.length, self._payload, strict=True
        )
        self._origin: OriginSide | None = None
        self._was_fetched = False
        self._refused: Refused | None = None
        self._hooks = 0
        """Hooks in progress. While there are any, nothing is taken from either side."""
        self._events: deque[events.Event] = deque()
        self._is_running = False
        self._is_over = False
        peer = mitm.Client(peername=("", 0), sockname=("", 0), state=mitm.ConnectionState.OPEN)
        self._context = LayerContext(peer, scripts.options)
        self._stream = _Stream(self._context, _STREAM)

    def start(self) -> None:
        """Show the request's head to the scripts."""
        self._scripted_request.request.session.began()
        self._events.append(events.Start())
        self._push(
            http_events.RequestHeaders(
                _STREAM,
                request_flow(self._scripted_request.request.head, self._scripted_request.request.target),
                self._reader.done,
            )
        )
        if self._reader.done:
            self._push(http_events.RequestEndOfMessage(_STREAM))

    # -- from the client: proxy.fetch.contracts.ClientExchange ---------------------------------------------------------

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
        """Take the next bytes of the request's body, and return how many belong to it. Raises BadMessage."""
        taken = self._reader.feed(data)
        if self._reader.broken:
            raise BadMessage(self._reader.broken)
        if self._reader.done:
            if trailers := self._reader.trailers:
                self._push(http_events.RequestTrailers(_STREAM, http.Headers(trailers)))
            self._push(http_events.RequestEndOfMessage(_STREAM))
        return taken

    def client_writable(self) -> None:
        if self._origin is not None and not self._hooks:
            self._origin.exchange.client_writable()

    def client_left(self) -> None:
        """Let the fetch go on by itself, as any does; scripts see an error."""
        self._client = None
        self._leave_origin()
        self._push(http_events.RequestProtocolError(_STREAM, "Client disconnected.", _CLIENT_GONE))
        self._over()

    # -- from the fetch: proxy.delivery.delivery.Client ----------------------------------------------------------------

    @property
    def is_full(self) -> bool:
        return self._hooks > 0 or (self._client is not None and self._client.client.is_full)

    def send(self, data: bytes) -> None:
        if self._origin is None:
            return
        for part in self._origin.answer.feed(data):
            if isinstance(part, bytes):
                self._push(http_events.ResponseData(_STREAM, part))
            elif not isinstance(part, ResponseHead):
                self._push(http_events.ResponseTrailers(_STREAM, http.Headers(part)))
            elif part.status >= 200:
                without_body = self._origin.answer.framing is Framing.NONE
                self._push(http_events.ResponseHeaders(_STREAM, response_flow(part), without_body))

    def finish(self, *, keep_alive: bool, last: bytes = b"") -> None:
        self.send(last)
        self._origin = None
        self._push(http_events.ResponseEndOfMessage(_STREAM))

    def abort(self) -> None:
        self._origin = None
        self._push(http_events.ResponseProtocolError(_STREAM, "the response broke off", _BROKEN))

    def upgraded(self) -> None:
        """Refuse; upgrades pass scripts by."""

    def take_more(self) -> None:
        if self._client is not None and not self._hooks:
            self._client.client.take_more()

    # -- mitmproxy's stream ---------------------------------------------------------------------------------------

    def _payload(self, piece: bytes | memoryview) -> None:
        self._push(http_events.RequestData(_STREAM, bytes(piece)))

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
            url = self._scripted_request.request.target.url
            log.error("%s: a script failed while a body passed: %r", url, error, exc_info=error, extra=about(self.id))
            self._events.clear()
            self._give_up(f"a script failed: {error}")
        finally:
            self._is_running = False

    def _execute(self, command: commands.Command) -> None:
        if isinstance(command, http_layer.SendHttp):
            if command.connection is self._context.client:
                self._to_client(command.event)
            else:
                self._to_origin(command.event)
        elif isinstance(command, commands.StartHook):
            self._run_hook(command)
        elif isinstance(command, http_layer.GetHttpConnection):
            server = mitm.Server(address=command.address)
            server.state = mitm.ConnectionState.OPEN
            self._events.append(http_layer.GetHttpConnectionCompleted(command, (server, None)))

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
        if isinstance(event, http_events.RequestHeaders):
            self._was_fetched = True
            try:
                self._ask(event)
            except (Refused, BadMessage) as error:
                self._refused = (
                    error
                    if isinstance(error, Refused)
                    else Refused(502, f"the request that a script made can't be sent: {error}")
                )
                self._push(http_events.ResponseProtocolError(_STREAM, str(error), _BROKEN))
        elif isinstance(event, http_events.RequestProtocolError):
            self._leave_origin()
        elif self._origin is not None:
            try:
                self._origin.send(event)
            except (BadMessage, OSError) as error:
                self._leave_origin()
                self._push(http_events.ResponseProtocolError(_STREAM, str(error), _BROKEN))

    def _leave_origin(self) -> None:
        """Leave the fetch, for which no client waits any more: it goes on by itself, within the limits of orphans."""
        origin, self._origin = self._origin, None
        if origin is not None:
            origin.exchange.client_left()

    def _ask(self, event: http_events.RequestHeaders) -> None:
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
        if isinstance(event, http_events.ResponseProtocolError):
            if not self._was_fetched and event.code is http_events.ErrorCode.KILL:
                self._log_without_fetch("killed-by-script")
            self._give_up(event.message)
        elif isinstance(event, http_events.ResponseHeaders) and event.response.status_code < 200:
            self._client.client.send(b"HTTP/1.1 100 Continue\r\n\r\n")
        elif isinstance(event, http_events.ResponseHeaders):
            if not self._was_fetched:
                self._log_without_fetch("answered-by-script")
            if not self._client.begin(event.response, keep_alive=self._client_may_stay):
                self._give_up("a script made a response whose head can't be sent")
        elif isinstance(event, http_events.ResponseEndOfMessage):
            client, self._client = self._client, None
            client.end(keep_alive=self._client_may_stay and self._reader.done)
            self._over()
        else:
            self._client.send(event)

    @property
    def _client_may_stay(self) -> bool:
        return self._scripted_request.request.head.keep_alive and not self._services.gate.is_draining

    def _give_up(self, why: str) -> None:
        """Report that no whole response will come, or break the connection. A fetch that is under way is recorded to
        its end.
        """
        client, self._client = self._client, None
        self._leave_origin()
        if client is not None:
            client.refuse(self._refused or Refused(502, f"ghostfleet: {why}", "script"))
        self._over()

    def _log_without_fetch(self, word: str) -> None:
        """Write a line to crawl.log for a request that was not sent to an origin."""
        session, scripted_request = self._scripted_request.request.session, self._scripted_request
        request = scripted_request.request
        session.note_failure(request.head.method, request.target.url, crawl_log.BLOCKED_BY_RULE, word)
        if not session.keeps:
            return
        session.began()
        duration_ms = int((self._services.loop.time() - self._began) * 1000)
        line = scripted_request.exchange_without_fetch(self.id, self._started, duration_ms, word)
        self._services.recorder.submit(line, lambda _: session.ended())

    def _over(self) -> None:
        if not self._is_over:
            self._is_over = True
            self._scripted_request.request.session.ended()
