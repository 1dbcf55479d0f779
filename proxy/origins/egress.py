"""An egress reaches origins from another address: HTTP proxies (RFC 9110 section 9.3.6) and SOCKS5 (RFC 1928, RFC
1929).

Names are resolved at the far end, so `.onion` and split DNS work, and nothing can be said of the address that is
reached in the end: the check for private addresses covers hosts written as an address or as localhost, and what else
the far end may reach is for its own rules. The egress itself is the operator's choice and may be anywhere.

Plain http goes to an HTTP proxy in absolute form, since many allow CONNECT to port 443 only. An error page that such a
proxy makes up can't be told from one of the origin; WARC-Proxy-Host in the record says who may have spoken. The
request is recorded as the origin gets it: in origin form, and without the proxy's credentials.
"""

from __future__ import annotations

import asyncio
import base64
import errno
import ipaddress
import re
import socket
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Final
from urllib.parse import unquote, urlsplit

from archive.settings.load import SettingsError
from archive.settings.values.redacted import shown_url
from proxy.host_table import HostTable

DIRECT: Final = "direct"
_MAX_HEAD: Final = 65_536
_MAX_SOCKS_TEXT: Final = 255
_SOCKS_PORT: Final = 1080
_USER_IN_SHOWN: Final = re.compile(r"//[^@/]*@")

_SOCKS_REPLIES: Final = {
    1: "general failure",
    2: "not allowed by its rules",
    7: "command not supported",
    8: "address type not supported",
}
_SOCKS_ERRNO: Final = {3: errno.ENETUNREACH, 4: errno.EHOSTUNREACH, 5: errno.ECONNREFUSED, 6: errno.ETIMEDOUT}
_TOR_REPLIES: Final = range(0xF0, 0xF8)
"""Tor's own codes for onion services that can't be reached (its socks-extensions, ExtendedErrors)."""
_HTTP_ERRNO: Final = {502: errno.EHOSTUNREACH, 504: errno.ETIMEDOUT}


class EgressFailed(OSError):
    """The egress does not work: it is down, wants other credentials, or refuses the connection."""


@dataclass(frozen=True, slots=True)
class Egress:
    """An egress is a proxy with its credentials. Sessions with different credentials share no connection."""

    scheme: str
    """`http` or `socks5`."""
    host: str
    port: int
    user: str = ""
    password: str = field(default="", repr=False)
    tunnels: bool = False
    """Plain http goes through CONNECT as well: for WebSockets, which no proxy forwards otherwise."""

    @property
    def name(self) -> str:
        """Return its URL without credentials, as records name it."""
        return f"{self.scheme}://{self.host}:{self.port}"

    @property
    def authorization(self) -> bytes:
        """Return the header line with its credentials (RFC 7617); empty without."""
        if not self.user and not self.password:
            return b""
        pair = f"{self.user}:{self.password}".encode()
        return b"Proxy-Authorization: Basic " + base64.b64encode(pair) + b"\r\n"

    def forwards(self, *, tls: bool) -> bool:
        """Return whether requests go to the proxy itself, in absolute form, instead of through a tunnel."""
        return self.scheme == "http" and not tls and not self.tunnels

    def forwarded(self, head: bytes, authority: str) -> bytes:
        """Return a request head in the form that the proxy wants (RFC 9112 section 3.2.2). Never recorded: see
        `Fetch`.
        """
        method, _, rest = head.partition(b" ")
        line, _, fields = rest.partition(b"\r\n")
        return method + b" http://" + authority.encode("ascii") + line + b"\r\n" + self.authorization + fields


@lru_cache(maxsize=1024)
def parse(text: str) -> Egress | None:
    """Return `http://[user:password@]host:port`, `socks5://[user:password@]host[:1080]`, or `direct`, which is None.

    Raises ValueError that shows the text without its password.
    """
    if text == DIRECT:
        return None
    shown = _USER_IN_SHOWN.sub("//…@", shown_url(text, whole_query=True))
    try:
        url = urlsplit(text)
        scheme = "socks5" if url.scheme == "socks5h" else url.scheme
        host, port = url.hostname, url.port or (_SOCKS_PORT if scheme == "socks5" else 0)
    except ValueError:  # its own words may hold a part of the password, which it took for a port
        raise ValueError(f"{shown!r} must be http://host:port or socks5://host:port, with a port up to 65535") from None
    if scheme not in ("http", "socks5") or not host or not port or url.path.strip("/") or url.query or url.fragment:
        raise ValueError(f"{shown!r} must be http://host:port, socks5://host:port or {DIRECT!r}")
    user, password = unquote(url.username or ""), unquote(url.password or "")
    if max(len(user.encode()), len(password.encode())) > _MAX_SOCKS_TEXT or (scheme == "http" and ":" in user):
        raise ValueError(
            f"{shown!r} has a user or password of more than {_MAX_SOCKS_TEXT} bytes, or a user with a colon"
        )
    return Egress(scheme, host, port, user, password)


class Routes:
    """The routes say by which egress a host is reached."""

    def __init__(self, table: Mapping[str, str]) -> None:
        """Raise SettingsError for a value that is no egress."""
        try:
            self._table = HostTable({host: (parse(text),) for host, text in table.items()})
        except ValueError as error:
            raise SettingsError(f"setting proxy.egress: {error}") from error

    def choose(self, host: str, port: int, own: str | None) -> Egress | None:
        """Return the session's `own` egress, or else the table's egress for that host; None is our own address."""
        if own:
            return parse(own)
        found = self._table.find(host, port)
        return found[0] if found else None


async def pass_through(egress: Egress, stream: socket.socket, host: str, port: int, *, tls: bool) -> None:
    """Make a connection to the egress lead to the origin. Raises EgressFailed, or the OSError met at the far end."""
    if egress.forwards(tls=tls):
        return
    line = _EgressStream(stream, egress.name)
    if egress.scheme == "socks5":
        await _socks(egress, line, host.strip("[]"), port)
    else:
        await _tunnel(egress, line, f"{host}:{port}")


async def _tunnel(egress: Egress, line: _EgressStream, authority: str) -> None:
    asked = f"CONNECT {authority} HTTP/1.1\r\nHost: {authority}\r\n".encode() + egress.authorization + b"\r\n"
    await line.send(asked)
    head = await line.head()
    status = head.partition(b"\r")[0].decode("latin-1")
    code = int(status[9:12]) if re.match(r"HTTP/1\.\d \d{3}", status) else 0
    if 200 <= code < 300:
        return
    said = f"{egress.name} answered {status[:100]!r} for {authority}"
    raise OSError(_HTTP_ERRNO[code], said) if code in _HTTP_ERRNO else EgressFailed(said)


async def _socks(egress: Egress, line: _EgressStream, host: str, port: int) -> None:
    wants_user = bool(egress.user or egress.password)
    await line.send(b"\x05\x02\x00\x02" if wants_user else b"\x05\x01\x00")
    version, method = await line.exactly(2)
    if version != 5 or method not in ((0, 2) if wants_user else (0,)):
        raise EgressFailed(
            f"{egress.name} accepts none of our methods to authenticate (it answered {version}, {method})"
        )
    if method == 2:
        user, password = egress.user.encode(), egress.password.encode()
        await line.send(b"\x01" + bytes((len(user),)) + user + bytes((len(password),)) + password)
        if (await line.exactly(2))[1] != 0:
            raise EgressFailed(f"{egress.name} refused our user name or password")
    await line.send(b"\x05\x01\x00" + _socks_address(host) + port.to_bytes(2))
    version, reply, _, kind = await line.exactly(4)
    if version != 5 or reply != 0:
        raise _socks_error(reply, f"{egress.name}, for {host} port {port}")
    lengths = {1: 4, 4: 16}
    await line.exactly((lengths[kind] if kind in lengths else (await line.exactly(1))[0]) + 2)


def _socks_address(host: str) -> bytes:
    """Return address type and address (RFC 1928 section 5): names go as they are, to be resolved at the far end."""
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return b"\x03" + bytes((len(host),)) + host.encode("ascii")
    return (b"\x01" if address.version == 4 else b"\x04") + address.packed


def _socks_error(reply: int, where: str) -> OSError:
    if reply in _SOCKS_ERRNO:
        return OSError(_SOCKS_ERRNO[reply], f"reported by {where}")
    if reply in _TOR_REPLIES:
        return OSError(errno.EHOSTUNREACH, f"the onion service can't be reached: code {reply:#x}, reported by {where}")
    return EgressFailed(f"{_SOCKS_REPLIES.get(reply, f'reply {reply}')}: reported by {where}")


class _EgressStream:
    """Reads from a connected socket no more bytes than were asked for."""

    def __init__(self, stream: socket.socket, name: str) -> None:
        self._stream = stream
        self._name = name
        self._loop = asyncio.get_running_loop()

    async def send(self, data: bytes) -> None:
        await self._loop.sock_sendall(self._stream, data)

    async def exactly(self, length: int) -> bytes:
        data = b""
        while len(data) < length:
            piece = await self._loop.sock_recv(self._stream, length - len(data))
            if not piece:
                raise EgressFailed(f"{self._name} closed the connection")
            data += piece
        return data

    async def head(self) -> bytes:
        """Return a response's head. Byte by byte: what follows belongs to the origin."""
        data = bytearray()
        while not data.endswith(b"\r\n\r\n"):
            if len(data) >= _MAX_HEAD:
                raise EgressFailed(f"{self._name} answered with a head of more than {_MAX_HEAD} bytes")
            data += await self.exactly(1)
        return bytes(data)
