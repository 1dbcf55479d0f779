"""The target of a request is its URL, and where and how to ask the origin for it. Pure."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final
from urllib.parse import quote

from archive.url import DEFAULT_PORTS, UrlError, ascii_host
from proxy.fetch.contracts import Tunnel
from proxy.origins.upstream import Destination
from proxy.protocol.http1 import BadMessage, RequestHead

ABSOLUTE: Final = re.compile(r"(https?)://([^/?#]+)([^#]*)", re.IGNORECASE)
_PORT: Final = re.compile(r"[0-9]{1,5}")
_SAFE: Final = "!$&'()*+,;=:@/?%-._~[]|^`{}\"\\<>"


class Target:
    """The target of a request is its URL, and where and how to ask the origin for it."""

    __slots__ = ("destination", "host", "path", "url")

    def __init__(self, scheme: str, authority: str, path: str) -> None:
        destination, self.host, prefix = _origin(scheme, authority)
        self.destination = destination
        self.path = path if path.startswith("/") else "/" + path
        self.url = prefix + (self.path if self.path.isascii() else quote(self.path, safe=_SAFE, encoding="latin-1"))


@lru_cache(maxsize=8192)
def _origin(scheme: str, authority: str) -> tuple[Destination, str, str]:
    name = authority.rpartition("@")[2]
    host, port = host_and_port(name, DEFAULT_PORTS[scheme])
    shown = host if port == DEFAULT_PORTS[scheme] else f"{host}:{port}"
    return Destination(host, port, scheme == "https"), shown, f"{scheme}://{shown}"


def host_and_port(authority: str, default: int | None) -> tuple[str, int]:
    """Return host, as URLs have it, and port of an authority. Raises BadMessage, also when there is no port to be
    had.
    """
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
    """Return the request's target, or None when it is for the proxy itself. Raises BadMessage."""
    asked = head.target.partition("#")[0]
    absolute = ABSOLUTE.fullmatch(asked)
    if tunnel is not None:
        return Target("https" if tunnel.tls else "http", tunnel.authority, absolute[3] if absolute else asked)
    if absolute:
        return Target(absolute[1].lower(), absolute[2], absolute[3])
    if asked.startswith("/"):
        return None
    raise BadMessage(f"the proxy takes http:// and https:// URLs, not {head.target[:100]!r}")
