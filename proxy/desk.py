"""Takes requests in: whose they are, where they go, and who answers them."""

from __future__ import annotations

import re
from dataclasses import replace
from functools import lru_cache
from typing import Final
from urllib.parse import quote

from archive.url import DEFAULT_PORTS, UrlError, ascii_host
from proxy import heads
from proxy.delivery import Client
from proxy.fetch import Fetch
from proxy.gate import Gate, Session
from proxy.http1 import BadMessage, Framing, RequestHead, request_framing
from proxy.meta import Endpoints
from proxy.order import Order
from proxy.patch import Patch, asks_archive
from proxy.policy import Policy, policy_of
from proxy.refusal import Refused
from proxy.relay import Exchanging, Tunnel
from proxy.replayer import Replayer
from proxy.services import Services
from proxy.slices import range_from_start, without_range
from proxy.upstream import Destination
from proxy.wishes import Meta
from proxy.writerecord import WriteRecord

_ABSOLUTE: Final = re.compile(r"(https?)://([^/?#]+)([^#]*)", re.IGNORECASE)
_PORT: Final = re.compile(r"[0-9]{1,5}")
_CONTROL_METHODS: Final = frozenset(("WARCPROX_WRITE_RECORD", "PUTMETA"))
_SAFE: Final = "!$&'()*+,;=:@/?%-._~[]|^`{}\"\\<>"


class Target:
    """What a request asks for: its URL, and where and how to ask the origin for it."""

    __slots__ = ("destination", "host", "path", "url")

    def __init__(self, scheme: str, authority: str, path: str) -> None:
        destination, self.host, prefix = _origin(scheme, authority)
        self.destination = destination
        self.path = path if path.startswith("/") else "/" + path
        self.url = prefix + (self.path if self.path.isascii() else quote(self.path, safe=_SAFE, encoding="latin-1"))


@lru_cache(maxsize=8192)
def _origin(scheme: str, authority: str) -> tuple[Destination, str, str]:
    name = authority.rpartition("@")[2]
    host, port = _host_and_port(name, DEFAULT_PORTS[scheme])
    shown = host if port == DEFAULT_PORTS[scheme] else f"{host}:{port}"
    return Destination(host, port, scheme == "https"), shown, f"{scheme}://{shown}"


def _host_and_port(authority: str, default: int | None) -> tuple[str, int]:
    head, colon, tail = authority.rpartition(":")
    host, digits = (head, tail) if colon and not tail.endswith("]") else (authority, "")
    if digits and not (_PORT.fullmatch(digits) and 0 < int(digits) < 65536):
        raise BadMessage(f"bad port in {authority[:100]!r}")
    port = int(digits) if digits else default
    if port is None:
        raise BadMessage(f"no port in {authority[:100]!r}")
    try:
        return ascii_host(host.strip("[]")), port
    except UrlError as error:
        raise BadMessage(str(error)) from error


def target_of(head: RequestHead, tunnel: Tunnel | None) -> Target | None:
    """The request's target, or None when it is for the proxy itself. Raises BadMessage."""
    asked = head.target.partition("#")[0]
    absolute = _ABSOLUTE.fullmatch(asked)
    if tunnel is not None:
        return Target("https" if tunnel.tls else "http", tunnel.authority, absolute[3] if absolute else asked)
    if absolute:
        return Target(absolute[1].lower(), absolute[2], absolute[3])
    if asked.startswith("/"):
        return None
    raise BadMessage(f"the proxy takes http:// and https:// URLs, not {head.target[:100]!r}")


class Desk:
    """Starts what answers a request: a fetch, a replay, or one of the proxy's own endpoints."""

    def __init__(
        self,
        gate: Gate,
        services: Services,
        replayer: Replayer,
        endpoints: Endpoints,
    ) -> None:
        self._gate = gate
        self._services = services
        self._replayer = replayer
        self._endpoints = endpoints
        self._methods = frozenset(services.settings.methods.replace(" ", "").upper().split(",")) - {""}

    def connect(self, head: RequestHead, listener: Session | None) -> Tunnel:
        """Judge a CONNECT. It is answered before the origin is known to be there; later failures go inside."""
        session, trusted = self._gate.who(head, listener)
        host, port = _host_and_port(head.target, None)  # RFC 9110 section 9.3.6: there is no default
        return Tunnel(f"{host}:{port}", session, trusted, tls=True)

    def begin(self, head: RequestHead, tunnel: Tunnel | None, listener: Session | None, client: Client) -> Exchanging:
        """Start the exchange. Raises Refused or BadMessage."""
        framing, length = request_framing(head)
        if head.method in _CONTROL_METHODS:
            return self._write_record(head, (framing, length), tunnel, listener, client)
        target = target_of(head, tunnel)
        if target is None:
            if framing is not Framing.NONE:
                raise BadMessage(f"{head.method} {head.target[:100]} is for the proxy itself, and takes no body")
            return self._endpoints.begin(head, client)
        session, trusted = (tunnel.session, tunnel.trusted) if tunnel else self._gate.who(head, listener)
        meta = self._gate.meta(head, trusted=trusted)
        if session.spec.mode == "replay":
            return self._replayer.begin(head, framing, length, target.url, session, client)
        policy = self._policy(head, session, meta, target.url)
        # Of other protocols nothing could be recorded; without the header, origins go on with HTTP.
        is_upgrade = head.method == "GET" and (head.get(b"upgrade") or b"").lower() == b"websocket"
        whole = self._services.settings.whole_ranges and session.keeps and not policy.wishes.accept
        part = range_from_start(head) if whole else None
        asked = head if part is None else without_range(head)
        order = Order(
            session=session,
            head=head,
            url=target.url,
            destination=self._destination(target.destination, session, upgrade=is_upgrade),
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
        return self._fetch(order, client)

    def _fetch(self, order: Order, client: Client) -> Fetch:
        if order.session.keeps:
            self._gate.check_open()
        fetch = Fetch(order, client, self._services)
        fetch.start()
        return fetch

    def _destination(self, destination: Destination, session: Session, *, upgrade: bool) -> Destination:
        """Where to connect to, and by which egress."""
        egress = self._services.routes.choose(destination.host, destination.port, session.spec.egress)
        return destination if egress is None else replace(destination, egress=replace(egress, tunnels=upgrade))

    def _write_record(
        self,
        head: RequestHead,
        framing: tuple[Framing, int],
        tunnel: Tunnel | None,
        listener: Session | None,
        client: Client,
    ) -> Exchanging:
        """A record may be about anything that has a URI, such as `urn:view:…`."""
        session, trusted = (tunnel.session, tunnel.trusted) if tunnel else self._gate.who(head, listener)
        if not trusted:
            self._gate.counts["control_refused"] += 1
            raise Refused(403, f"{head.method} needs a session's password or a trusted listener", "control")
        session.check_keeps()
        self._gate.check_open()
        target = target_of(head, tunnel) if tunnel or _ABSOLUTE.fullmatch(head.target) else None
        uri = target.url if target else head.target
        policy = policy_of(session, self._gate.meta(head, trusted=True), uri, None)
        return WriteRecord(head, *framing, uri, policy, session, client, self._services)

    def _policy(self, head: RequestHead, session: Session, meta: Meta, url: str) -> Policy:
        referrer = head.get(b"referer")
        archived = not self._methods or head.method in self._methods
        return policy_of(session, meta, url, referrer.decode("latin-1") if referrer else None, archived=archived)
