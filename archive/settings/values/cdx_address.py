"""A CDX server of another archive has an address, of which a part may be shown."""

from __future__ import annotations

import base64
from dataclasses import dataclass, field
from typing import Final
from urllib.parse import quote, unquote, urlsplit

_PORTS: Final = {"http": 80, "https": 443}
_PATH: Final = "/-._~!$&'()*+,;=:@%"


@dataclass(frozen=True, slots=True)
class CdxAddress:
    """A CDX server as it is set: what it takes to ask it, and a name without secrets."""

    scheme: str
    """`http` or `https`."""
    host: str
    port: int
    path: str
    """Percent-encoded, from the first slash on."""
    parameters: str = field(default="", repr=False)
    """Sent with every question; may hold a key."""
    authorization: str = field(default="", repr=False)
    """Value of the Authorization header (RFC 7617); empty without."""

    @property
    def name(self) -> str:
        """Return its URL without user, password and parameters, as logs and records name it."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        port = "" if self.port == _PORTS[self.scheme] else f":{self.port}"
        return f"{self.scheme}://{host}{port}{self.path}"


def parse(text: str) -> CdxAddress:
    """Return the address in `http[s]://[user:password@]host[:port]/path[?parameters]`.

    Raises ValueError, which does not show the text: there may be a password in it.
    """
    try:
        url = urlsplit(text)
        host, port = url.hostname, url.port
    except ValueError:
        url, host, port = urlsplit(""), None, None
    if (
        url.scheme not in _PORTS
        or not host
        or not (host + url.query).isascii()
        or not text.isprintable()
        or " " in text
    ):
        raise ValueError("a CDX server is named http://HOST/PATH or https://HOST/PATH")
    pair = f"{unquote(url.username or '')}:{unquote(url.password or '')}"
    return CdxAddress(
        url.scheme,
        host,
        port or _PORTS[url.scheme],
        quote(url.path, safe=_PATH) or "/",
        url.query,
        f"Basic {base64.b64encode(pair.encode()).decode()}" if pair != ":" else "",
    )
