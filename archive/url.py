"""Every package uses the canonical form and the one sort key (SURT) of a URL that this module makes.

Canonical is what a browser makes of the text (WHATWG URL Standard, sections 3.5 and 4.4): the archive must find under
one key what a ghost and a plain crawler fetched. Left out are user, fragment, default port and a dot at the host's end.

`key` is the Sort-friendly URI Reordering Transform as CDX indexes print it: the host's labels turned round and
joined by commas, a parenthesis, then path and query; the scheme is left out. It is conservative: case of the path,
order of the query and "www." stay, since replay by proxy must tell such URLs apart.
"""

from __future__ import annotations

import ipaddress
import re
from functools import lru_cache
from typing import Final
from urllib.parse import quote_from_bytes, unquote, unquote_to_bytes

DEFAULT_PORTS: Final = {"http": 80, "https": 443, "ws": 80, "wss": 443, "ftp": 21}
MAX_LENGTH: Final = 65_536
METHOD_MARK: Final = "__wb_method="
"""How the parameter begins that names a request's method in an index (see `archive.warc.request_query`)."""
_UNESCAPED_TIMES: Final = 8
"""How often escapes of escapes are taken off."""
_IN_METHOD_QUERY: Final = "!\"$&'()*+,-./:;<=>?@[\\]^_`{|}~"
"""What is not escaped there; letters and digits come to it."""
_TRIMMED: Final = "".join(map(chr, range(0x21)))
_REMOVED: Final = {ord(char): None for char in "\t\r\n"}
_PARTS: Final = re.compile(r"([a-zA-Z][a-zA-Z0-9+.-]*):[/\\]*([^/\\?#]*)([^?#]*)(\?[^#]*)?", re.DOTALL)
_IN_PATH: Final = re.compile('[\x00-\x20"#<>?^`{}\x7f-\U0010ffff]')
_IN_QUERY: Final = re.compile("[\x00-\x20\"#<>'\x7f-\U0010ffff]")
_ESCAPE: Final = re.compile(r"%([0-9a-fA-F]{2})")
_UNRESERVED: Final = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~")
_DOTS: Final = {".": 1, "%2e": 1, "..": 2, ".%2e": 2, "%2e.": 2, "%2e%2e": 2}
_LABEL: Final = re.compile(r"[a-z0-9_-]{1,63}")
_NUMBER: Final = re.compile(r"[0-9]+|0x[0-9a-f]*")
_IPV4_PARTS: Final = 4
_SURROGATE: Final = "%EF%BF%BD"


class UrlError(ValueError):
    """The text is no URL that can be fetched; the message says why."""


def canonical(url: str) -> str:
    """Return the URL as it is fetched and archived: absolute and in ASCII. Taken again, it gives the same.

    Raises UrlError when there is no http or https URL in it.
    """
    text = url.strip(_TRIMMED).translate(_REMOVED)
    if len(text) > MAX_LENGTH:
        raise UrlError(f"the URL has {len(text)} characters, more than {MAX_LENGTH}")
    found = _PARTS.match(text)
    if found is None:
        raise UrlError(f"{text[:200]!r} is not an absolute URL; did you mean http://{text[:200].lstrip('/')}?")
    scheme = found[1].lower()
    if scheme not in ("http", "https"):
        raise UrlError(f"{text[:200]!r} has no http or https scheme")
    path = _IN_PATH.sub(_escaped, found[3].replace("\\", "/"))
    query = _IN_QUERY.sub(_escaped, found[4][1:]) if found[4] else ""
    mark = "?" if found[4] else ""
    return f"{scheme}://{_authority(scheme, found[2])}{_without_dots(path) or '/'}{mark}{query}"


def key(url: str) -> str:
    """Return the SURT of a canonical URL, such as `org,example)/a?b=c`; with a port, `org,example:8080)/`.

    Anything that is no http(s) URL (`urn:view:…`, `dns:…`) is its own key. A key never holds a space or a control
    character.
    """
    scheme, _, rest = url.partition("://")
    if scheme.lower() not in ("http", "https"):
        return _IN_QUERY.sub(_escaped, url)
    rest = rest.partition("#")[0]
    cut = _end_of_authority(rest)
    return f"{_authority_key(scheme.lower(), rest[:cut])}){_path_key(rest[cut:])}"


def host_of(url: str) -> str:
    """Return the host in lower case, with a port other than the scheme's default: the unit of politeness."""
    scheme, _, rest = url.partition("://")
    authority = rest[: _end_of_authority(rest)].rpartition("@")[2].lower()
    return authority.removesuffix(f":{DEFAULT_PORTS.get(scheme, 0)}")


@lru_cache(maxsize=8192)
def ascii_host(host: str) -> str:
    """Return a host name in the form DNS and URLs use: lower case, IDNA (UTS 46), IP addresses in their one form.

    Every notation of an IPv4 address that browsers know (`0x7f.1`, `2130706433`) comes out with four decimals.
    Raises UrlError for text that can't be a host.
    """
    if ":" in host:
        return f"[{_ipv6(host.removeprefix('[').removesuffix(']'))}]"
    name = unquote(host, errors="replace") if "%" in host else host
    name = (name.lower() if name.isascii() else _idna(name)).removesuffix(".")
    if not name:
        raise UrlError("the URL has no host")
    labels = name.split(".")
    if _NUMBER.fullmatch(labels[-1]):
        return _ipv4(host, labels)
    if len(name) > 253 or not all(map(_LABEL.fullmatch, labels)):
        raise UrlError(f"{host[:260]!r} is not a host name")
    return name


def _authority(scheme: str, text: str) -> str:
    host, port = _split_port(text.rpartition("@")[2])
    name = ascii_host(host)
    if not port:
        return name
    if not (port.isascii() and port.isdigit() and 0 < int(port.lstrip("0")[:6] or 0) <= 65535):
        raise UrlError(f"port {port[:20]!r} of {host!r} is not a number from 1 to 65535")
    number = int(port.lstrip("0"))
    return name if number == DEFAULT_PORTS[scheme] else f"{name}:{number}"


def _split_port(host: str) -> tuple[str, str]:
    if host.startswith("["):
        name, bracket, port = host.partition("]")
        if not bracket or (port and not port.startswith(":")):
            raise UrlError(f"{host!r} is not a host")
        return name + bracket, port[1:]
    name, _, port = host.partition(":")
    return name, port


def _idna(name: str) -> str:
    """Return the name by UTS 46, as browsers do: they look up names that IDNA 2008 refuses, such as emoji."""
    import idna  # slow to load and seldom needed

    try:
        mapped = idna.uts46_remap(name, std3_rules=False, transitional=False)
        return ".".join(
            label if label.isascii() else "xn--" + label.encode("punycode").decode() for label in mapped.split(".")
        )
    except (idna.IDNAError, UnicodeError) as error:
        raise UrlError(f"{name!r} is not a host name: {error}") from error


def _ipv4(host: str, labels: list[str]) -> str:
    """Return the host parsed as IPv4 in WHATWG URL section 3.5: decimal, octal or hexadecimal numbers.

    The last number fills all bytes that are left.
    """
    try:
        numbers = [_number(label) for label in labels]
    except ValueError as error:
        raise UrlError(f"{host!r} ends in a number but is not an IPv4 address: {error}") from error
    room = 256 ** (_IPV4_PARTS + 1 - len(numbers)) if len(numbers) <= _IPV4_PARTS else 0
    if numbers[-1] >= room or any(number > 255 for number in numbers[:-1]):
        raise UrlError(f"{host!r} ends in a number but is not an IPv4 address")
    value = numbers[-1] + sum(number << 8 * (3 - place) for place, number in enumerate(numbers[:-1]))
    return str(ipaddress.IPv4Address(value))


def _number(text: str) -> int:
    if not _NUMBER.fullmatch(text):
        raise ValueError(f"{text!r} is not a number")
    if text.startswith("0x"):
        return int(text[2:] or "0", 16)
    return int(text, 8) if len(text) > 1 and text.startswith("0") else int(text)


def _ipv6(text: str) -> str:
    try:
        address = ipaddress.IPv6Address(text)
    except ValueError as error:
        raise UrlError(f"{text!r} is not an IPv6 address") from error
    if address.scope_id is not None:
        raise UrlError(f"{text!r} has a zone; remove it, since URLs have none")
    if address.ipv4_mapped is not None:  # Python 3.13 prints these with dots, browsers don't
        return f"::ffff:{int(address) >> 16 & 0xFFFF:x}:{int(address) & 0xFFFF:x}"
    return str(address)


def _without_dots(path: str) -> str:
    """Return the path with `.` and `..` resolved in all their spellings (WHATWG URL section 4.4, path state)."""
    if "/." not in path and "/%2" not in path:
        return path
    kept: list[str] = []
    *segments, last = path.split("/")[1:]
    for segment in segments:
        dots = _DOTS.get(segment.lower(), 0)
        if dots == 2:
            del kept[-1:]
        elif not dots:
            kept.append(segment)
    dots = _DOTS.get(last.lower(), 0)
    if dots == 2:
        del kept[-1:]
    kept.append("" if dots else last)
    return "/" + "/".join(kept)


def _escaped(match: re.Match[str]) -> str:
    try:
        return "".join(f"%{byte:02X}" for byte in match[0].encode())
    except UnicodeEncodeError:
        return _SURROGATE


@lru_cache(maxsize=8192)
def _authority_key(scheme: str, authority: str) -> str:
    host = authority.rpartition("@")[2].lower()
    name, _, port = host.rpartition(":") if host.rpartition(":")[2].isdecimal() else (host, "", "")
    name = name.removesuffix(".")
    if not name.startswith("[") and not name.replace(".", "").isdecimal():
        name = ",".join(reversed(name.split(".")))
    name = _IN_PATH.sub(_escaped, name)
    return name if not port or int(port) == DEFAULT_PORTS.get(scheme) else f"{name}:{int(port)}"


def _path_key(path: str) -> str:
    """Return the path with normalized escapes: none for unreserved characters, others upper-case (RFC 3986, 6.2.2)."""
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
    ends = [position for position in map(rest.find, "/?#") if position >= 0]
    return min(ends) if ends else len(rest)
