"""Takes requests in: whose they are, where they go, and who answers them."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from proxy.clients.check_page import CHECK_HOST
from proxy.clients.endpoints import Endpoints
from proxy.clients.write_record import WriteRecord
from proxy.delivery.delivery import Client
from proxy.delivery.not_modified import without_conditions
from proxy.delivery.slices import range_from_start, without_range
from proxy.fetch.contracts import ClientExchange, Tunnel
from proxy.fetch.fetch import Fetch
from proxy.fetch.incoming_request import IncomingRequest
from proxy.fetch.order import Order
from proxy.fetch.services import Services
from proxy.fetch.target import ABSOLUTE, host_and_port, target_of
from proxy.origins.upstream import Destination
from proxy.protocol import heads
from proxy.protocol.http1 import BadMessage, Framing, RequestHead, request_framing
from proxy.refusal import Refused
from proxy.replay.conditional import Conditions
from proxy.replay.patch import Patch, asks_archive
from proxy.replay.replayer import Replayer
from proxy.scripting.scripted import ScriptedExchange
from proxy.scripting.scripted_request import ScriptedRequest
from proxy.scripting.scripts import Scripts
from proxy.scripting.user_addons import UserAddons
from proxy.sessions.gate import Gate
from proxy.sessions.policy import Policy
from proxy.sessions.policy_builder import policy_of
from proxy.sessions.request_options import Meta
from proxy.sessions.session import Session

_CONTROL_METHODS: Final = frozenset(("WARCPROX_WRITE_RECORD", "PUTMETA"))


def _is_upgrade(head: RequestHead) -> bool:
    """Return whether a WebSocket is asked for."""
    return head.method == "GET" and (head.get(b"upgrade") or b"").lower() == b"websocket"


class Dispatcher:
    """Starts what answers a request: a fetch, a replay, or one of the proxy's own endpoints."""

    def __init__(
        self,
        gate: Gate,
        services: Services,
        replayer: Replayer,
        endpoints: Endpoints,
        conditions: Conditions,
        user_addons: UserAddons | None = None,
    ) -> None:
        self._gate = gate
        self._services = services
        self._replayer = replayer
        self._endpoints = endpoints
        self._conditions = conditions
        self._user_addons = user_addons
        self._methods = frozenset(services.settings.methods.replace(" ", "").upper().split(",")) - {""}

    def connect(self, head: RequestHead, listener: Session | None, *, is_local: bool, address: str) -> Tunnel:
        """Judge a CONNECT. It is answered before the origin is known to be there; later failures go inside."""
        if request_framing(head)[0] is not Framing.NONE:
            raise BadMessage(
                "CONNECT takes no body"
            )  # others may have read these bytes as one (RFC 9110 section 9.3.6)
        session, trusted = self._gate.identify(head, listener, is_local=is_local)
        if trusted:
            self._gate.remember_connect(head, session, address=address)
        host, port = host_and_port(head.target, None)  # RFC 9110 section 9.3.6: there is no default
        return Tunnel(f"{host}:{port}", session, trusted, tls=True)

    def begin(
        self,
        head: RequestHead,
        tunnel: Tunnel | None,
        listener: Session | None,
        client: Client,
        *,
        is_local: bool,
        address: str,
    ) -> ClientExchange:
        """Start the exchange. Raises Refused or BadMessage."""
        framing, length = request_framing(head)
        is_command = head.method in _CONTROL_METHODS
        target = None if is_command else target_of(head, tunnel)
        if target is None and not is_command:
            if framing is not Framing.NONE:
                raise BadMessage(f"{head.method} {head.target[:100]} is for the proxy itself, and takes no body")
            return self._endpoints.begin(head, client)
        session, trusted = (
            (tunnel.session, tunnel.trusted) if tunnel else self._gate.identify(head, listener, is_local=is_local)
        )
        if target is not None and target.host == CHECK_HOST:
            return self._endpoints.begin_check(head, client, session, target.path)
        if is_command:
            self._gate.check_may_write(head, session, trusted=trusted)
        meta = self._gate.meta(head, session, trusted=trusted, address=address)
        if target is None:
            named = target_of(head, tunnel) if tunnel or ABSOLUTE.fullmatch(head.target) else None
            return WriteRecord(head, framing, length, named, session, meta, client, self._services)
        request = IncomingRequest(head, framing, length, target, session, meta, client, address)
        if session.spec.mode == "replay":
            return self._replayer.begin_socket(request) if _is_upgrade(head) else self._replayer.begin(request)
        if session.scripts is not None and not _is_upgrade(head):
            return self._scripted(request)
        return self._live(request)

    def _live(self, request: IncomingRequest) -> ClientExchange:
        """Fetch it, or look into the archive first."""
        head, target, session, client = request.head, request.target, request.session, request.client
        if session.spec.unconditional:
            head = without_conditions(head)
        asking, refusal = (session, None) if self._user_addons is None else self._judge(session, head, target.url)
        policy = self._policy(head, asking, request.meta, target.url)
        if refusal is not None:
            policy = replace(policy, refusal=refusal)
        # Of other protocols nothing could be recorded; without the header, origins go on with HTTP.
        is_upgrade = _is_upgrade(head)
        whole = self._services.settings.whole_ranges and session.keeps and not policy.options.accept
        part = range_from_start(head) if whole else None
        asked = head if part is None else without_range(head)
        order = Order(
            session=session,
            head=head,
            url=target.url,
            destination=self._destination(target.destination, asking, upgrade=is_upgrade),
            origin_head=heads.origin_head(asked, target.path, target.host, upgrade=is_upgrade, via=self._services.via),
            framing=request.framing,
            length=request.length,
            policy=policy,
            part=part,
        )
        if session.spec.mode == "patch" and asks_archive(head, request.framing, is_upgrade=is_upgrade):
            return Patch(
                client,
                lambda missed: self._replayer.begin(request, missed),
                lambda: self._fetch(order, client),
            )
        if self._conditions.wanted(order) and request.framing is Framing.NONE and not is_upgrade:
            return self._conditions.begin(order, client, self._fetch)
        return self._fetch(order, client)

    def _fetch(self, order: Order, client: Client) -> Fetch:
        if order.session.keeps:
            self._gate.check_open()
        fetch = Fetch(order, client, self._services)
        fetch.start()
        return fetch

    def _scripted(self, request: IncomingRequest) -> ScriptedExchange:
        """Show the request to the session's scripts. The request that they send on is judged by its own target."""
        scripts = request.session.scripts
        assert isinstance(scripts, Scripts)

        def fetch(sent: RequestHead, to: Client) -> ClientExchange:
            found = target_of(sent, None)
            if found is None:
                raise BadMessage(f"a script asks for {sent.target[:100]!r}")
            framing, length = request_framing(sent)
            return self._live(replace(request, head=sent, framing=framing, length=length, target=found, client=to))

        policy = self._policy(request.head, request.session, request.meta, request.target.url)
        scripted = ScriptedExchange(ScriptedRequest(request, policy), scripts, fetch, self._services)
        scripted.start()
        return scripted

    def _judge(self, session: Session, head: RequestHead, url: str) -> tuple[Session, Refused | None]:
        """Return the session as users' addons want it for this request, or their refusal of it."""
        assert self._user_addons is not None
        found = self._user_addons.judge(session.id, session.spec, head, url)
        if isinstance(found, Refused):
            return session, found
        return (session if found is session.spec else replace(session, spec=found)), None

    def _destination(self, destination: Destination, session: Session, *, upgrade: bool) -> Destination:
        """Return where to connect to, and by which egress."""
        egress = self._services.routes.choose(destination.host, destination.port, session.spec.egress)
        return destination if egress is None else destination._replace(egress=replace(egress, tunnels=upgrade))

    def _policy(self, head: RequestHead, session: Session, meta: Meta, url: str) -> Policy:
        referrer = head.get(b"referer")
        archived = not self._methods or head.method in self._methods
        return policy_of(session, meta, url, referrer.decode("latin-1") if referrer else None, archived=archived)
