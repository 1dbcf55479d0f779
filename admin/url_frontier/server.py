"""The gRPC server of the service: a table of its calls, and a listener on one address."""

from __future__ import annotations

import ipaddress
import logging
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from threading import Event
from typing import Any, Final
from urllib.parse import unquote

import grpc

from admin.jobs.control.feeding import AS_ASKED, FeedLook, FeedState, look_at
from admin.jobs.control.steering import FoundJob
from admin.url_frontier import urlfrontier_pb2 as messages
from admin.url_frontier.service import CallRefused, FrontierService, refusal_of
from archive.listener_access import Clients, is_loopback
from archive.settings.urlfrontier import UrlFrontierSettings
from frontier.queue import Frontier
from frontier.store import FrontierLost, FrontierUnavailable

logger = logging.getLogger(__name__)

_LOOK_SECONDS: Final = 1.0
_GRACE_SECONDS: Final = 5
_LONGEST_MESSAGE: Final = 1_048_576
_MOST_STREAMS: Final = 256
_NAME: Final = "URLFrontier"


class ListenRefused(Exception):
    """The service can't listen. The message names the setting and the remedy."""


class FrontierServer:
    """The server of one job. Leases stay when it ends: clients may send their items to the next server."""

    def __init__(self, job: str, frontier: Frontier, settings: UrlFrontierSettings) -> None:
        """Prepare the server. Raises ListenRefused."""
        if not (settings.allow_clients or is_loopback(settings.host)):
            raise ListenRefused(
                f"setting urlfrontier.host = {settings.host!r} would open the queues of the job to a network, without a"
                " password and encryption; set urlfrontier.allow_clients to the networks of your crawlers (such as"
                " 10.20.0.0/16), or urlfrontier.host to 127.0.0.1 for a tunnel"
            )
        self._clients = Clients(settings.allow_clients) if settings.allow_clients else Clients(("127.0.0.0/8", "::1"))
        self._service = FrontierService(job, frontier, settings)
        self._threads = ThreadPoolExecutor(settings.most_calls, thread_name_prefix="urlfrontier")
        self._server = grpc.server(
            self._threads,
            maximum_concurrent_rpcs=settings.most_calls,
            options=[
                ("grpc.so_reuseport", 0),
                ("grpc.max_receive_message_length", _LONGEST_MESSAGE),
                ("grpc.max_concurrent_streams", _MOST_STREAMS),
            ],
        )
        self._server.add_generic_rpc_handlers((self._handlers(),))
        host = f"[{settings.host}]" if ":" in settings.host else settings.host
        try:
            port = self._server.add_insecure_port(f"{host}:{settings.port}")
        except RuntimeError as error:
            raise ListenRefused(
                f"{host}:{settings.port} can't be used for the service; another program may use the port: "
                "set urlfrontier.port, or give --listen HOST:0 for a free one"
            ) from error
        self.address = self._service.address = f"{host}:{port}"

    def start(self) -> None:
        """Answer calls from now on."""
        self._server.start()

    def stop(self) -> None:
        """Refuse further calls, and give those in progress some seconds."""
        self._server.stop(_GRACE_SECONDS).wait()
        self._threads.shutdown()

    def _handlers(self) -> Any:
        service = messages.DESCRIPTOR.services_by_name[_NAME]
        handlers = {call.name: self._handler(call) for call in service.methods}
        return grpc.method_handlers_generic_handler(service.full_name, handlers)

    def _handler(self, call: Any) -> Any:
        function = getattr(self._service, call.name)
        kinds = (call.client_streaming, call.server_streaming)
        make = {
            (False, False): grpc.unary_unary_rpc_method_handler,
            (False, True): grpc.unary_stream_rpc_method_handler,
            (True, True): grpc.stream_stream_rpc_method_handler,
        }[kinds]
        return make(
            self._streamed(function) if call.server_streaming else self._answered(function),
            request_deserializer=getattr(messages, call.input_type.name).FromString,
            response_serializer=getattr(messages, call.output_type.name).SerializeToString,
        )

    def _answered(self, function: Callable[[Any, Any], Any]) -> Callable[[Any, grpc.ServicerContext], Any]:
        def answer(request: Any, context: grpc.ServicerContext) -> Any:
            self._admit(context)
            try:
                return function(request, context)
            except (CallRefused, FrontierLost, FrontierUnavailable) as error:
                _abort(context, refusal_of(error))

        return answer

    def _streamed(self, function: Callable[[Any, Any], Any]) -> Callable[[Any, grpc.ServicerContext], Iterator[Any]]:
        def stream(request: Any, context: grpc.ServicerContext) -> Iterator[Any]:
            self._admit(context)
            try:
                yield from function(request, context)
            except (CallRefused, FrontierLost, FrontierUnavailable) as error:
                _abort(context, refusal_of(error))

        return stream

    def _admit(self, context: grpc.ServicerContext) -> None:
        """End the call of a client that is in no network of the setting."""
        address = address_of(context.peer())
        if not self._clients.admits(address, ""):
            logger.info("refused a call from %s: the address is in no network of urlfrontier.allow_clients", address)
            context.abort(grpc.StatusCode.PERMISSION_DENIED, "the client is not in urlfrontier.allow_clients")


def serve_until(
    target: FoundJob,
    frontier: Frontier,
    settings: UrlFrontierSettings,
    stop: Event,
    announce: Callable[[str], None],
) -> FeedLook:
    """Serve the job until `stop` is set or the job ends, and return why it ended. Raises ListenRefused."""
    server = FrontierServer(target.name, frontier, settings)
    server.start()
    announce(server.address)
    logger.info("the queues of job %s are served at %s", target.name, server.address)
    try:
        while True:
            look = look_at(target, frontier)
            if look.state is FeedState.ENDED:
                return look
            if stop.wait(_LOOK_SECONDS):
                return FeedLook(FeedState.ENDED, AS_ASKED)
    finally:
        server.stop()


def _abort(context: grpc.ServicerContext, refusal: CallRefused) -> None:
    context.abort(grpc.StatusCode[refusal.code], str(refusal))


def address_of(peer: str) -> str:
    """Return the IP address in gRPC's name of a client, such as `ipv4:127.0.0.1:4711` or `ipv6:%5B::1%5D:4711`."""
    host = unquote(peer).partition(":")[2].rpartition(":")[0].removeprefix("[").removesuffix("]")
    try:
        found = ipaddress.ip_address(host)
    except ValueError:
        return ""
    mapped = found.ipv4_mapped if isinstance(found, ipaddress.IPv6Address) else None
    return str(mapped or found)
