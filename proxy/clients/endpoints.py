"""The proxy answers requests to itself on its own port (/status, /metrics, /ca.pem …) and to the check host."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, Final

from prometheus_client import CollectorRegistry, generate_latest

from archive.listener_access import HostNames
from proxy.clients.check_page import check_answer
from proxy.delivery.delivery import Client
from proxy.fetch.contracts import NeverUpgraded
from proxy.protocol import heads
from proxy.protocol.http1 import RequestHead
from proxy.refusal import Refused
from proxy.sessions.gate import Gate
from proxy.sessions.session import Session

_PAGES: Final = "/status, /metrics, /ca.pem, /leaf.spki, /proxy.pac"
PAC_TYPE: Final = "application/x-ns-proxy-autoconfig"
_PAC: Final = b"""function FindProxyForURL(url, host) {
  if (isPlainHostName(host) || host === "127.0.0.1" || host === "[::1]" || host === %s) return "DIRECT";
  return %s;
}
"""
METRICS_TYPE: Final = "text/plain; version=0.0.4; charset=utf-8"


class Answered(NeverUpgraded):
    """A request that was answered as it was read; nothing of it is left to do."""

    id = ""
    request_is_whole = True
    wants_no_more = False

    def request_data(self, data: bytes) -> int:
        """Take and ignore the bytes: requests to the proxy itself have no body that counts."""
        return len(data)

    def client_writable(self) -> None:
        """Do nothing; the answer was small."""

    def client_left(self) -> None:
        """Do nothing; nothing was in progress."""


class Endpoints:
    """Answers GET and HEAD on the proxy's own paths."""

    def __init__(
        self,
        gate: Gate,
        status: Callable[[], dict[str, Any]],
        registry: CollectorRegistry,
        ca_pem: bytes,
        leaf_spki: bytes,
        names: HostNames,
    ) -> None:
        self._gate = gate
        self._status = status
        self._registry = registry
        self._ca_pem = ca_pem
        self._leaf_spki = leaf_spki
        self._names = names

    def begin(self, head: RequestHead, client: Client) -> Answered:
        """Answer at once. Raises Refused for anything but what is here."""
        hosts = [value.decode("latin-1") for name, value, _ in head.fields if name == b"host"]
        if refusal := self._names.refusal(hosts):
            raise Refused(421, refusal, "host")
        if head.method not in ("GET", "HEAD"):
            raise Refused(405, f"{head.method} is not for the proxy itself", "method")
        path = head.target.partition("?")[0]
        if path == "/status":
            kind, body = "application/json", json.dumps(self._status()).encode() + b"\n"
        elif path == "/metrics":
            kind, body = METRICS_TYPE, generate_latest(self._registry)
        elif path == "/ca.pem":
            kind, body = "application/x-pem-file", self._ca_pem
        elif path == "/proxy.pac":
            kind, body = PAC_TYPE, _pac(hosts[0] if hosts else "")
        elif path == "/leaf.spki":
            kind, body = "text/plain; charset=utf-8", self._leaf_spki
        elif path == "/":
            kind, body = "text/plain; charset=utf-8", _WELCOME
        else:
            raise Refused(404, f"{path} is not here; this is a proxy, see {_PAGES}", "not-here")
        return self._answer(head, client, heads.own_answer(kind, body, with_body=head.method == "GET"))

    def begin_check(self, head: RequestHead, client: Client, session: Session, path: str) -> Answered:
        """Answer a request to the check host, which only this proxy knows. Raises Refused for other methods."""
        if head.method not in ("GET", "HEAD"):
            raise Refused(405, f"{head.method} is not for the proxy itself", "method")
        kind, lines, body = check_answer(path, session.spec.collection, session.spec.mode, self._ca_pem)
        answer = heads.own_answer(kind, body, with_body=head.method == "GET")
        at = answer.index(b"\r\n") + 2
        return self._answer(head, client, answer[:at] + lines + answer[at:])

    def _answer(self, head: RequestHead, client: Client, answer: bytes) -> Answered:
        stays = not self._gate.is_draining
        client.send(heads.with_connection(answer, head, stays=stays))
        client.finish(keep_alive=head.keep_alive and stays)
        return Answered()


def _pac(address: str) -> bytes:
    """Return the file for automatic proxy configuration that names this proxy by the address that was asked for.

    This machine, names without a dot and the proxy's own host are reached without the proxy, so that the admin site is.
    """
    host = address.rpartition(":")[0] or address
    return _PAC % (json.dumps(host.strip("[]")).encode(), json.dumps(f"PROXY {address}").encode())


_WELCOME: Final = b"""ghostfleet recording proxy

Use this address as HTTP proxy. Trust the certificate at /ca.pem to record https.
/proxy.pac configures a browser to use it. http://recording.ghostfleet.invalid/ then says whether it records.
/status and /metrics tell how it is doing.
"""
