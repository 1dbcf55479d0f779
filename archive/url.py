"""Every package uses the canonical form and the one sort key (SURT) of a URL that this module makes.

Canonical is what a browser makes of the text (WHATWG URL Standard, sections 3.5 and 4.4): the archive must find under
one key what a ghost and a plain crawler fetched. Left out are user, fragment, default port and a dot at the host's end.

`key` is the Sort-friendly URI Reordering Transform as CDX indexes print it: the host's labels turned round and
joined by commas, a parenthesis, then path and query; the scheme is left out. It is conservative: case of the path,
order of the query and "www." stay, since replay by proxy must tell such URLs apart.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final
from urllib.parse import quote_from_bytes, unquote_to_bytes

from ada_url import URL

DEFAULT_PORTS: Final = {"http": 80, "https": 443, "ws": 80, "wss": 443, "ftp": 21}
MAX_LENGTH: Final = 65_536
METHOD_MARK: Final = "__wb_method="
"""How the parameter begins that names a request's method in an index (see `archive.warc.records.request_query`)."""
OF_A_PAGE: Final = re.compile(r"^(?:urn:)?[A-Za-z-]+:(?=https?://)")
"""How the URL of a record about a page begins, such as `urn:view:https://example.org/` or brozzler's
`screenshot:https://example.org/`; the page's URL follows."""
_UNESCAPED_TIMES: Final = 8
"""How often escapes of escapes are taken off."""
_IN_METHOD_QUERY: Final = "!\"$&'()*+,-./:;<=>?@[\\]^_`{|}~"
"""These characters are not escaped there, besides letters and digits."""
_TRIMMED: Final = "".join(map(chr, range(0x21)))
_REMOVED: Final = {ord(char): None for char in "\t\r\n"}
_PARTS: Final = re.compile(r"([a-zA-Z][a-zA-Z0-9+.-]*):[/\\]*([^/\\?#]*)")
"""Scheme and authority of a text that can't be fetched."""
_IN_PATH: Final = re.compile('[\x00-\x20"#<>?^`{}\x7f-\U0010ffff]')
_IN_QUERY: Final = re.compile("[\x00-\x20\"#<>'\x7f-\U0010ffff]")
_ESCAPE: Final = re.compile(r"%([0-9a-fA-F]{2})")
_UNRESERVED: Final = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~")
_NAME: Final = r"(?=[a-z0-9_.-]{1,253}(?![a-z0-9_.-]))[a-z0-9_-]{1,63}(?:\.[a-z0-9_-]{1,63})*"
"""A name that DNS can answer, or an IPv4 address."""
_PLAIN_NAME: Final = re.compile(r"[a-z0-9_-]+(?:\.[a-z0-9_-]+)*\.[a-z][a-z0-9-]*")
"""A name of several labels without a port. Its last label shows that it is no address."""
_CANONICAL: Final = re.compile(rf"https?://{_NAME}(?::[1-9][0-9]*)?/[^#]*")
_PARSED: Final = re.compile(r"(https?)://(?:[^/@]*@)?(\[[^\]]*\]|[^/:]*)(?::([0-9]+))?(/[^#]*)")
"""Scheme, host, port, and path with query, of what the parser gives."""
_HOST: Final = re.compile(rf"{_NAME}|\[[0-9a-f:]+\]")
_PORT: Final = re.compile(r"\d{1,1000}")
"""Python reads no number of more than 4,300 digits."""
_NUMBER: Final = re.compile(r"[0-9]+|0[xX][0-9a-fA-F]*")
_END_OF_AUTHORITY: Final = re.compile("[/?#]")
_NOT_IN_HOST: Final = re.compile(r"[\x00-\x20/\\?#@]")
_SURROGATE: Final = "%EF%BF%BD"


class UrlError(ValueError):
    """The text is no URL that can be fetched; the message says why."""


def canonical(url: str) -> str:
    """Return the URL as it is fetched and archived: absolute and in ASCII. Taken again, it gives the same.

    Raises UrlError when there is no http or https URL in it.
    """
    if len(url) > MAX_LENGTH and len(url := _bare(url)) > MAX_LENGTH:
        raise UrlError(f"the URL has {len(url)} characters, more than {MAX_LENGTH}")
    try:
        parsed = URL(url).href
    except UnicodeEncodeError:  # half of a surrogate pair, for which browsers put U+FFFD
        return canonical(url.encode("utf-16", "surrogatepass").decode("utf-16", "replace"))
    except ValueError as error:
        raise UrlError(_reason(url)) from error
    return parsed if _CANONICAL.fullmatch(parsed) else _corrected(url, parsed)


def canonical_or_same(text: str) -> str:
    """Return the canonical URL; the text itself when there is no http or https URL in it."""
    try:
        return canonical(text)
    except UrlError:
        return text


def key(url: str) -> str:
    """Return the SURT of a canonical URL, such as `org,example)/a?b=c`; with a port, `org,example:8080)/`.

    Anything that is no http(s) URL (`urn:view:…`, `dns:…`) is its own key. A key never holds a space or a control
    character.
    """
    scheme, _, rest = url.partition("://")
    if scheme not in ("http", "https") and scheme.lower() not in ("http", "https"):
        return _IN_QUERY.sub(_escaped, url)
    rest = rest.partition("#")[0]
    cut = _end_of_authority(rest)
    return f"{_authority_key(scheme.lower(), rest[:cut])}){_path_key(rest[cut:])}"


def host_of(url: str) -> str:
    """Return the host in lower case, with a port other than the scheme's default: the unit of politeness."""
    scheme, _, rest = url.partition("://")
    authority = rest[: _end_of_authority(rest)].rpartition("@")[2].lower()
    return authority.removesuffix(f":{DEFAULT_PORTS.get(scheme, 0)}")


def named_host(text: str) -> str:
    """Return the host that a person named, also by a URL, as `host_of` returns the host of a URL. Raises UrlError."""
    bare = text.strip()
    if "://" in bare:
        return host_of(canonical(bare))
    scheme = "https" if bare.endswith(f":{DEFAULT_PORTS['https']}") else "http"
    return host_of(canonical(f"{scheme}://{bare}/"))


@lru_cache(maxsize=8192)
def ascii_host(host: str) -> str:
    """Return a host name in the form DNS and URLs use: lower case, IDNA (UTS 46), IP addresses in their one form.

    Every notation of an IPv4 address that browsers know (`0x7f.1`, `2130706433`) comes out with four decimals.
    Raises UrlError for text that can't be a host.
    """
    text = f"[{host.removeprefix('[').removesuffix(']')}]" if ":" in host else host
    if _NOT_IN_HOST.search(text):
        raise UrlError(f"{host[:260]!r} is not a host name")
    return canonical(f"http://{text}/").removeprefix("http://").removesuffix("/")


def _bare(url: str) -> str:
    """Return the text without the characters that browsers ignore."""
    return url.strip(_TRIMMED).translate(_REMOVED)


def _corrected(url: str, parsed: str) -> str:
    """Return what the parser gives without user, fragment and a dot at the host's end. Raises UrlError.

    Browsers accept hosts that DNS can't answer, and port 0. An archive has no use for these.
    """
    found = _PARSED.match(parsed)
    if found is None:
        raise UrlError(_reason(url))
    scheme, host, port, rest = found.groups()
    host = host.removesuffix(".")
    if not _HOST.fullmatch(host) or port == "0":
        raise UrlError(_reason(url))
    return f"{scheme}://{host}{f':{port}' if port else ''}{rest}"


def _reason(url: str) -> str:
    """Return why the text is no URL that can be fetched."""
    text = _bare(url)
    found = _PARTS.match(text)
    if found is None:
        return f"{text[:200]!r} is not an absolute URL; did you mean http://{text[:200].lstrip('/')}?"
    if found[1].lower() not in ("http", "https"):
        return f"{text[:200]!r} has no http or https scheme"
    authority = found[2].rpartition("@")[2]
    if authority.startswith("["):
        host, bracket, port = authority.partition("]")
        if not bracket or (port and not port.startswith(":")):
            return f"{authority[:260]!r} is not a host"
        host, port = host + bracket, port[1:]
    else:
        host, _, port = authority.partition(":")
    if host in ("", "."):
        return "the URL has no host"
    if port and not (port.isascii() and port.isdigit() and 0 < int(port.lstrip("0")[:6] or 0) <= 65535):
        return f"port {port[:20]!r} of {host[:260]!r} is not a number from 1 to 65535"
    if host.startswith("["):
        address = host[1:260].removesuffix("]")
        if "%" in address:
            return f"{address!r} has a zone; remove it, since URLs have none"
        return f"{address!r} is not an IPv6 address"
    if _NUMBER.fullmatch(host.removesuffix(".").rpartition(".")[2]):
        return f"{host[:260]!r} ends in a number but is not an IPv4 address"
    return f"{host[:260]!r} is not a host name"


def _escaped(match: re.Match[str]) -> str:
    try:
        return "".join(f"%{byte:02X}" for byte in match[0].encode())
    except UnicodeEncodeError:
        return _SURROGATE


@lru_cache(maxsize=8192)
def _authority_key(scheme: str, authority: str) -> str:
    if _PLAIN_NAME.fullmatch(authority):  # the names of almost all hosts
        return ",".join(authority.split(".")[::-1])
    host = authority.rpartition("@")[2].lower()
    name, _, port = host.rpartition(":") if _PORT.fullmatch(host.rpartition(":")[2]) else (host, "", "")
    name = name.removesuffix(".")
    if not name.startswith("[") and not name.replace(".", "").isdecimal():
        name = ",".join(reversed(name.split(".")))
    name = _IN_PATH.sub(_escaped, name)
    return name if not port or int(port) == DEFAULT_PORTS.get(scheme) else f"{name}:{int(port)}"


def _path_key(path: str) -> str:
    """Return the path with normalized escapes: none for unreserved characters, others upper-case (RFC 3986, 6.2.2)."""
    if path == "/":
        return path
    if not path.startswith("/"):
        path = "/" + path
    if "%" in path:
        path = _ESCAPE.sub(_one_spelling, path)
    before, mark, query = path.partition("?")
    if METHOD_MARK in query:
        return f"{_IN_PATH.sub(_escaped, before)}?{_method_query(query)}"
    return _IN_PATH.sub(_escaped, before) + mark + _IN_QUERY.sub(_escaped, query)


def _method_query(query: str) -> str:
    """Return the query of a URL that stands for a method and a body: lower-case, sorted, with the fewest escapes.

    pywb and other players look such requests up under this form (the query part of the IA's URL canonicalization).
    """
    data = query.translate(_REMOVED).encode("utf-8", "replace")
    for _ in range(_UNESCAPED_TIMES):
        plain = unquote_to_bytes(data)
        if plain == data:
            break
        data = plain
    text = quote_from_bytes(data, safe=_IN_METHOD_QUERY).lower()
    return "&".join("=".join(pair) for pair in sorted(part.split("=", 1) for part in text.split("&")))


def _one_spelling(match: re.Match[str]) -> str:
    char = chr(int(match[1], 16))
    return char if char in _UNRESERVED else "%" + match[1].upper()


def _end_of_authority(rest: str) -> int:
    found = _END_OF_AUTHORITY.search(rest)
    return found.start() if found else len(rest)
