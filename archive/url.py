"""The canonical form and the one sort key (SURT) of a URL; frontier, dedup and index all use these.

`key` is the Sort-friendly URI Reordering Transform as CDX indexes print it: the host's labels turned round and
joined by commas, a parenthesis, then path and query; scheme, user and fragment are left out. It is conservative:
case of the path, order of the query and "www." stay, since replay by proxy must tell such URLs apart.
"""

from __future__ import annotations

import ipaddress
import re
from functools import lru_cache
from typing import Final
from urllib.parse import SplitResult, quote, urlsplit

DEFAULT_PORTS: Final = {"http": 80, "https": 443, "ws": 80, "wss": 443, "ftp": 21}
MAX_LENGTH: Final = 65_536
_SAFE: Final = "!$&'()*+,;=:@/?%-._~[]|^`{}\"\\<>"
_HEX_ESCAPE: Final = re.compile(r"%([0-9a-fA-F]{2})")
_UNRESERVED: Final = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~")
_SCHEME: Final = re.compile(r"[a-zA-Z][a-zA-Z0-9+.-]*:")
_LABEL: Final = re.compile(r"[a-z0-9_]([a-z0-9_-]*[a-z0-9_])?")


class UrlError(ValueError):
    """The text is no URL that can be fetched; the message says why."""


def canonical(url: str) -> str:
    """The URL as it is fetched and archived: absolute, host in lower-case ASCII, default port and fragment gone.

    Nothing else is rewritten but escapes: raw spaces and non-ASCII become percent-escapes (UTF-8), dot segments
    are resolved as browsers do. Raises UrlError when there is no http or https URL in it.
    """
    text = url.strip(" \t\r\n\f").replace("\t", "").replace("\r", "").replace("\n", "")
    if len(text) > MAX_LENGTH:
        raise UrlError(f"the URL has {len(text)} characters, more than {MAX_LENGTH}")
    parts = _split(text)
    if parts.scheme not in ("http", "https"):
        raise UrlError(f"{text[:200]!r} has no http or https scheme")
    host = ascii_host(parts.hostname or "")
    port = _port(parts)
    if port is not None and port != DEFAULT_PORTS[parts.scheme]:
        host = f"{host}:{port}"
    path = _remove_dot_segments(_escape(parts.path) or "/")
    query = "?" + _escape(parts.query) if parts.query or "?" in text.partition("#")[0] else ""
    return f"{parts.scheme}://{host}{path}{query}"


def key(url: str) -> str:
    """The SURT of a URL, such as `org,example)/a?b=c`; with a port, `org,example:8080)/`.

    Anything that is no http(s) URL (`urn:view:…`, `dns:…`) is its own key, with spaces escaped.
    """
    if not url.startswith(("http://", "https://")):
        return url.replace(" ", "%20")
    scheme, _, rest = url.partition("://")
    rest = rest.partition("#")[0]
    cut = _end_of_authority(rest)
    return _authority_key(scheme, rest[:cut]) + ")" + _path_key(rest[cut:])


def host_of(url: str) -> str:
    """Host in lower case, with its port when that is not the scheme's default: the unit of politeness."""
    scheme, _, rest = url.partition("://")
    authority = rest[: _end_of_authority(rest)].rpartition("@")[2].lower()
    return authority.removesuffix(f":{DEFAULT_PORTS.get(scheme, 0)}")


@lru_cache(maxsize=8192)
def ascii_host(host: str) -> str:
    """A host name in the form DNS and URLs use: lower case, IDNA (UTS 46), IP addresses in their shortest form.

    Raises UrlError for what can be no host.
    """
    name = host.strip(".").lower()
    if not name:
        raise UrlError("the URL names no host")
    if ":" in name:
        return f"[{_ip(name.partition('%')[0])}]"
    if not name.isascii():
        import idna

        try:
            name = idna.encode(name, uts46=True, transitional=False).decode()
        except idna.IDNAError as error:
            raise UrlError(f"{host!r} is no host name: {error}") from error
    if len(name) > 253 or not all(len(label) <= 63 and _LABEL.fullmatch(label) for label in name.split(".")):
        raise UrlError(f"{host!r} is no host name")
    return name


@lru_cache(maxsize=8192)
def _authority_key(scheme: str, authority: str) -> str:
    host = authority.rpartition("@")[2].lower()
    name, port = _split_port(host)
    if name.startswith("["):
        reversed_name = name
    elif name.replace(".", "").isdigit():
        reversed_name = name
    else:
        reversed_name = ",".join(reversed(name.strip(".").split(".")))
    return reversed_name if not port or int(port) == DEFAULT_PORTS.get(scheme) else f"{reversed_name}:{int(port)}"


def _path_key(path: str) -> str:
    if not path or path[0] == "?":
        path = "/" + path
    if "%" in path:
        path = _HEX_ESCAPE.sub(_normal_escape, path)
    if not path.isascii() or " " in path:
        path = quote(path, safe=_SAFE)
    return path


def _normal_escape(match: re.Match[str]) -> str:
    char = chr(int(match[1], 16))
    return char if char in _UNRESERVED else "%" + match[1].upper()


def _split(text: str) -> SplitResult:
    if text.startswith("//") or not _SCHEME.match(text):
        raise UrlError(f"{text[:200]!r} is no absolute URL; did you mean http://{text[:200].lstrip('/')}?")
    try:
        return urlsplit(text.replace("\\", "/") if "?" not in text else text)
    except ValueError as error:
        raise UrlError(f"{text[:200]!r} is no URL: {error}") from error


def _port(parts: SplitResult) -> int | None:
    try:
        port = parts.port
    except ValueError as error:
        raise UrlError(f"{parts.netloc!r} has no valid port: {error}") from error
    if port == 0:
        raise UrlError(f"{parts.netloc!r} names port 0")
    return port


def _escape(text: str) -> str:
    return quote(text, safe=_SAFE) if not text.isascii() or " " in text or "<" in text or '"' in text else text


def _remove_dot_segments(path: str) -> str:
    if "/." not in path and "/%2" not in path:
        return path
    kept: list[str] = []
    segments = path.split("/")[1:]
    for position, segment in enumerate(segments):
        plain = segment.lower().replace("%2e", ".")
        last = position == len(segments) - 1
        if plain == "..":
            if kept:
                kept.pop()
            if last:
                kept.append("")
        elif plain == ".":
            if last:
                kept.append("")
        else:
            kept.append(segment)
    return "/" + "/".join(kept)


def _split_port(host: str) -> tuple[str, str]:
    if host.startswith("["):
        name, _, port = host.partition("]")
        return name + "]", port.removeprefix(":")
    name, _, port = host.partition(":")
    return name, port if port.isdigit() else ""


def _end_of_authority(rest: str) -> int:
    ends = [position for position in map(rest.find, "/?#") if position >= 0]
    return min(ends) if ends else len(rest)


def _ip(text: str) -> str:
    try:
        return str(ipaddress.ip_address(text))
    except ValueError as error:
        raise UrlError(f"{text!r} is no IP address") from error
