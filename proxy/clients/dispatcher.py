"""Takes requests in: whose they are, where they go, and who answers them."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from proxy import heads
from proxy.asking import Asking
from proxy.conditional import Conditions
from proxy.delivery import Client
from proxy.exchanging import Exchanging, Tunnel
from proxy.extensions import Extensions
from proxy.fetch import Fetch
from proxy.gate import Gate, Session
from proxy.http1 import BadMessage, Framing, RequestHead, request_framing
from proxy.meta import Endpoints
from proxy.order import Order
from proxy.patch import Patch, asks_archive
from proxy.policy import Policy, policy_of
from proxy.refusal import Refused
from proxy.replayer import Replayer
from proxy.scripted import Scripted
from proxy.services import Services
from proxy.slices import range_from_start, without_range
from proxy.target import ABSOLUTE, Target, host_and_port, target_of
from proxy.upstream import Destination
from proxy.vouched import is_by_browser
from proxy.wishes import Meta
from proxy.writerecord import WriteRecord

_CONTROL_METHODS: Final = frozenset(("WARCPROX_WRITE_RECORD", "PUTMETA"))


def _is_upgrade(head: RequestHead) -> bool:
    """Whether a WebSocket is asked for."""
    return head.method == "GET" and (head.get(b"upgrade") or b"").lower() == b"websocket"


class Desk:
    """Starts what answers a request: a fetch, a replay, or one of the proxy's own endpoints."""

    def __init__(
        self,
        gate: Gate,
        services: Services,
        replayer: Replayer,
        endpoints: Endpoints,
        conditions: Conditions,
        extensions: Extensions | None = None,
    ) -> None:
        self._gate = gate
        self._services = services
        self._replayer = replayer
        self._endpoints = endpoints
        self._conditions = conditions
        self._extensions = extensions
        self._methods = frozenset(services.settings.methods.replace(" ", "").upper().split(",")) - {""}

    def connect(self, head: RequestHead, listener: Session | None, *, is_local: bool) -> Tunnel:
        """Judge a CONNECT. It is answered before the origin is known to be there; later failures go inside."""
        if request_framing(head)[0] is not Framing.NONE:
            raise BadMessage(
                "CONNECT takes no body"
            )  # others may have read these bytes as one (RFC 9110 section 9.3.6)
        session, trusted = self._gate.who(head, listener, is_local=is_local)
        host, port = host_and_port(head.target, None)  # RFC 9110 section 9.3.6: there is no default
        return Tunnel(f"{host}:{port}", session, trusted, tls=True)

    def begin(
        self, head: RequestHead, tunnel: Tunnel | None, listener: Session | None, client: Client, *, is_local: bool
    ) -> Exchanging:
        """Start the exchange. Raises Refused or BadMessage."""
        framing, length = request_framing(head)
        if head.method in _CONTROL_METHODS:
            session, trusted = (
                (tunnel.session, tunnel.trusted) if tunnel else self._gate.who(head, listener, is_local=is_local)
            )
            self._check_may_write(head, trusted=trusted)
            return self._write_record(head, (framing, length), tunnel, session, client)
        target = target_of(head, tunnel)
        if target is None:
            if framing is not Framing.NONE:
                raise BadMessage(f"{head.method} {head.target[:100]} is for the proxy itself, and takes no body")
            return self._endpoints.begin(head, client)
        session, trusted = (
            (tunnel.session, tunnel.trusted) if tunnel else self._gate.who(head, listener, is_local=is_local)
        )
        meta = self._gate.meta(head, trusted=trusted)
        if session.spec.mode == "replay":
            return self._replayer.begin(head, framing, length, target.url, session, client)
        if session.scripts is not None and not _is_upgrade(head):
            return self._scripted(head, (framing, length), target, session, meta, client)
        return self._live(head, (framing, length), target, session, meta, client)

    def _live(
        self,
        head: RequestHead,
        body: tuple[Framing, int],
        target: Target,
        session: Session,
        meta: Meta,
        client: Client,
    ) -> Exchanging:
        """Fetch it, or look into the archive first."""
        framing, length = body
        asking, refusal = (session, None) if self._extensions is None else self._judge(session, head, target.url)
        policy = self._policy(head, asking, meta, target.url)
        if refusal is not None:
            policy = replace(policy, refusal=refusal)
        # Of other protocols nothing could be recorded; without the header, origins go on with HTTP.
        is_upgrade = _is_upgrade(head)
        whole = self._services.settings.whole_ranges and session.keeps and not policy.wishes.accept
        part = range_from_start(head) if whole else None
        asked = head if part is None else without_range(head)
        order = Order(
            session=session,
            head=head,
            url=target.url,
            destination=self._destination(target.destination, asking, upgrade=is_upgrade),
            origin_head=heads.origin_head(asked, target.path, target.host, upgrade=is_upgrade, via=self._services.via),
            framing=framing,
            length=length,
            policy=policy,
            part=part,
        )
        if session.spec.mode == "patch" and asks_archive(head, framing, is_upgrade=is_upgrade):
            return Patch(
                client,
                lambda missed: self._replayer.begin(head, framing, length, target.url, session, client, missed),
                lambda: self._fetch(order, client),
            )
        if self._conditions.wanted(order) and framing is Framing.NONE and not is_upgrade:
            return self._conditions.begin(order, client, self._fetch)
        return self._fetch(order, client)

    def _fetch(self, order: Order, client: Client) -> Fetch:
        if order.session.keeps:
            self._gate.check_open()
        fetch = Fetch(order, client, self._services)
        fetch.start()
        return fetch

    def _scripted(
        self,
        head: RequestHead,
        body: tuple[Framing, int],
        target: Target,
        session: Session,
        meta: Meta,
        client: Client,
    ) -> Scripted:
        """Let the session's scripts see it; what they send on is judged by where it goes then."""
        assert session.scripts is not None

        def fetch(sent: RequestHead, to: Client) -> Exchanging:
            found = target_of(sent, None)
            if found is None:
                raise BadMessage(f"a script asks for {sent.target[:100]!r}")
            return self._live(sent, request_framing(sent), found, session, meta, to)

        asking = Asking(head, *body, target, session, self._policy(head, session, meta, target.url))
        scripted = Scripted(asking, session.scripts, client, fetch, self._services)
        scripted.start()
        return scripted

    def _judge(self, session: Session, head: RequestHead, url: str) -> tuple[Session, Refused | None]:
        """The session as users' addons want it for this request, or their refusal of it."""
        assert self._extensions is not None
        found = self._extensions.judge(session.id, session.spec, head, url)
        if isinstance(found, Refused):
            return session, found
        return (session if found is session.spec else replace(session, spec=found)), None

    def _destination(self, destination: Destination, session: Session, *, upgrade: bool) -> Destination:
        """Where to connect to, and by which egress."""
        if upgrade and self._services.settings.http2_origins:
            destination = destination._replace(http1=True)
        egress = self._services.routes.choose(destination.host, destination.port, session.spec.egress)
        return destination if egress is None else destination._replace(egress=replace(egress, tunnels=upgrade))

    def _write_record(
        self,
        head: RequestHead,
        framing: tuple[Framing, int],
        tunnel: Tunnel | None,
        session: Session,
        client: Client,
    ) -> Exchanging:
        """A record may be about anything that has a URI, such as `urn:view:…`."""
        session.check_keeps()
        self._gate.check_open()
        target = target_of(head, tunnel) if tunnel or ABSOLUTE.fullmatch(head.target) else None
        uri = target.url if target else head.target
        policy = policy_of(session, self._gate.meta(head, trusted=True), uri, None)
        return WriteRecord(head, *framing, uri, policy, session, client, self._services)

    def _check_may_write(self, head: RequestHead, *, trusted: bool) -> None:
        """Raises Refused (403). What crawlers hand in never comes from a browser; a page's script would."""
        if not trusted or is_by_browser(head):
            self._gate.counts["control_refused"] += 1
            why = "is not for pages" if trusted else "needs a session's password or a trusted listener"
            raise Refused(403, f"{head.method} {why}", "control")

    def _policy(self, head: RequestHead, session: Session, meta: Meta, url: str) -> Policy:
        referrer = head.get(b"referer")
        archived = not self._methods or head.method in self._methods
        return policy_of(session, meta, url, referrer.decode("latin-1") if referrer else None, archived=archived)
