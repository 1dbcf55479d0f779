"""A TLS proxy in front of the site forwards requests; the site sees them as the people's browsers sent them.

The address of a client is taken from X-Forwarded-For when the connection comes from a trusted proxy. A request for the
host of `admin.public_url` has the scheme of that address, so that cookies are Secure and links lead back to it.
"""

from __future__ import annotations

import ipaddress
from typing import Any, Final, cast
from urllib.parse import urlsplit

from uvicorn.middleware.proxy_headers import ProxyHeadersMiddleware

from admin.site.live import Receive, Scope, Send
from archive.settings.admin import AdminSettings

_PEER: Final = "ghostfleet.peer"
_PORTS: Final = {"http": ":80", "https": ":443"}


class Forwarding:
    """This ASGI application serves another one behind the proxies of the settings."""

    def __init__(self, application: Any, admin: AdminSettings) -> None:
        self._application = application
        parts = urlsplit(admin.public_url)
        self._scheme, self._host = parts.scheme, parts.netloc
        self._entry = self._corrected
        if admin.trusted_proxies:
            trusting = ProxyHeadersMiddleware(cast(Any, self._corrected), trusted_hosts=list(admin.trusted_proxies))
            self._entry = cast(Any, trusting)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        scope[_PEER] = scope.get("client")
        await self._entry(scope, receive, send)

    async def _corrected(self, scope: Scope, receive: Receive, send: Send) -> None:
        client = scope.get("client")
        if client is not None and not _is_address(str(client[0])):
            scope["client"] = scope[_PEER]
        if self._scheme and self._is_public(scope):
            scope["scheme"] = self._scheme
        await self._application(scope, receive, send)

    def _is_public(self, scope: Scope) -> bool:
        hosts = [value.decode("latin-1").strip().lower() for name, value in scope["headers"] if name == b"host"]
        return len(hosts) == 1 and hosts[0].removesuffix(_PORTS[self._scheme]) == self._host


def _is_address(text: str) -> bool:
    try:
        ipaddress.ip_address(text)
    except ValueError:
        return False
    return True
