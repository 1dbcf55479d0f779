"""Curators write places of the web as SURT prefixes, host names or URLs; a set of them is looked up by URL. Pure.

All these forms mean the same as in Heritrix, with two differences: http, https and a leading `www.` are equal, and a
prefix that ends within the name of a host matches whole labels only.

| written | matches | key |
|---|---|---|
| `http://(org,example,)/a`, `org,example)/a` | paths of the host that begin with `/a` | `org,example)/a` |
| `http://(org,example,`, `org,example`, `example.org`, `http://example.org` | the host and all hosts below it | \
`org,example` |
| `http://example.org/`, `example.org/`, `org,example)` | the host on its port | `org,example)/` |
| `http://example.org/a/b.html` | the folder `/a/` | `org,example)/a/` |
| `www.example.org` | the host alone, as all hosts below `example.org` would be more than is written | `org,example)` |

A leading `+` means nothing. A leading `-` makes an exception: of several prefixes of a set that match a URL, the
longest one decides.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

from archive.url import UrlError, canonical, key

LONGEST_SURT: Final = 4_000
_WWW: Final = re.compile(r"^([^,:)]+(?:,[^,:)]+)+),www\d*(?=[:)])")
_SCHEME: Final = re.compile(r"[a-zA-Z][a-zA-Z0-9+.-]*://")
_LABEL: Final = r"[a-z0-9_-]{1,63}"
_NAME: Final = re.compile(rf"(?:{_LABEL}(?:,{_LABEL})*|[0-9]+(?:\.[0-9]+){{3}}|\[[0-9a-f:.]+\])(?::[0-9]{{1,5}})?")
_DEFAULT_PORT: Final = re.compile(r":(?:80|443)$")


def coerced(url: str) -> str:
    """Return the key of a canonical URL without a leading `www.`."""
    return _WWW.sub(r"\1", key(url))


def authority_of(surt: str) -> str:
    """Return the authority of a SURT, such as `org,example:8080)`, or the SURT of a domain unchanged."""
    end = surt.find(")")
    return surt[: end + 1] if end >= 0 else surt


def coerced_prefix(prefix: str) -> str:
    """Return a SURT prefix without `www.`."""
    return _WWW.sub(r"\1", prefix)


def without_port(authority: str) -> str:
    """Return the reversed labels of an authority, without its port and parenthesis."""
    bare = authority.removesuffix(")")
    name, _, port = bare.rpartition(":")
    return name if port.isdigit() and not bare.endswith("]") else bare


def parents(authority: str) -> list[str]:
    """Return `org,example,a` and everything above it: `org,example`, `org`."""
    labels = without_port(authority).split(",")
    return [",".join(labels[:count]) for count in range(len(labels), 0, -1)]


def read_surt(text: str) -> tuple[bool, str]:
    """Return whether a text is an exception, and the SURT prefix that it means. Raises ValueError with the remedy."""
    bare = text.strip()
    is_exception = bare.startswith("-")
    bare = bare.removeprefix("-").removeprefix("+").strip()
    if len(bare) > LONGEST_SURT:
        raise ValueError(f"a SURT prefix has {len(bare):,} characters; use at most {LONGEST_SURT:,}")
    if not bare or any(char.isspace() for char in bare):
        raise ValueError(f"{text[:100]!r} is no SURT prefix, host name or URL; write for example org,example)/a")
    return is_exception, _from_surt(bare) if _is_surt(bare) else _from_plain(bare)


def read_domain(text: str) -> str:
    """Return the domain that a person wrote, as a SURT prefix that matches all its hosts. Raises ValueError."""
    return without_port(authority_of(_from_plain(f"http://{_bare_name(text)}/")))


def read_host(text: str) -> str:
    """Return the host that a person wrote, as a SURT prefix that matches this host alone. Raises ValueError."""
    return authority_of(_from_plain(f"http://{_bare_name(text)}/"))


class SurtPrefixes:
    """A set of SURT prefixes tells which of them has a URL. The time of a look-up does not depend on their number."""

    def __init__(self, prefixes: Iterable[tuple[bool, str]] = ()) -> None:
        """`prefixes` are as `read_surt` returns them."""
        self._domains: dict[str, bool] = {}
        """Prefixes of names, such as `org,example`, and whether each is an exception."""
        self._paths: dict[str, dict[str, bool]] = {}
        """Prefixes with a parenthesis, by authority."""
        self._lengths: dict[str, list[int]] = {}
        for is_exception, prefix in prefixes:
            if ")" in prefix:
                self._paths.setdefault(authority_of(prefix), {})[prefix] = is_exception
            else:
                self._domains[prefix] = is_exception
        for authority, below in self._paths.items():
            self._lengths[authority] = sorted({len(prefix) for prefix in below}, reverse=True)

    def __len__(self) -> int:
        return len(self._domains) + sum(map(len, self._paths.values()))

    def prefix_of(self, surt: str) -> str | None:
        """Return the longest prefix of a coerced SURT; None when there is none, or it is an exception."""
        authority = authority_of(surt)
        if (below := self._paths.get(authority)) is not None:
            for length in self._lengths[authority]:
                prefix = surt[:length]
                if length <= len(surt) and (is_exception := below.get(prefix)) is not None:
                    return None if is_exception else prefix
        if self._domains:
            for name in parents(authority):
                if (is_exception := self._domains.get(name)) is not None:
                    return None if is_exception else name
        return None


def _is_surt(text: str) -> bool:
    """Return whether a text is a SURT: it has a parenthesis or a comma before its first path."""
    rest = text[found.end() :] if (found := _SCHEME.match(text)) else text
    authority = re.split(r"[/?]", rest, maxsplit=1)[0]
    return "," in authority or "(" in authority or ")" in authority


def _from_surt(text: str) -> str:
    rest = text[found.end() :] if (found := _SCHEME.match(text)) else text
    rest = rest.removeprefix("(")
    end = rest.find(")")
    authority = (rest if end < 0 else rest[:end]).lower()
    path = "" if end < 0 else rest[end + 1 :]
    name = re.sub(r",(?=:|$)", "", authority)
    name = re.sub(r",?:", ":", name)
    if name.endswith(":"):
        name = name[:-1]
    name = _DEFAULT_PORT.sub("", name)
    if not _NAME.fullmatch(name) or (path and not path.startswith(("/", "?"))):
        raise ValueError(
            f"{text[:100]!r} is no SURT prefix; write for example org,example)/a or http://(org,example,)/a"
        )
    if end < 0:
        alone = _WWW.sub(r"\1", f"{name})")
        return alone if alone != f"{name})" or re.search(r":[0-9]+$", name) else name
    return _WWW.sub(r"\1", f"{name}){path}")


def _from_plain(text: str) -> str:
    """Return the prefix of a URL or a host name."""
    with_scheme = text if _SCHEME.match(text) else f"http://{text}"
    try:
        url = canonical(with_scheme)
    except UrlError as error:
        raise ValueError(f"{text[:100]!r} is no SURT prefix, host name or URL: {error}") from error
    surt = coerced(url)
    if "/" not in _SCHEME.sub("", with_scheme, count=1):
        authority = authority_of(surt)
        is_alone = key(url) != surt or re.search(r":[0-9]+\)$", authority) is not None
        return authority if is_alone else without_port(authority)
    path = surt.partition("?")[0]
    return path[: path.rindex("/") + 1]


def _bare_name(text: str) -> str:
    bare = text.strip().rstrip(".")
    if not bare or any(char.isspace() or char in "/?#@" for char in bare):
        raise ValueError(f"{text[:100]!r} is no host name; write for example example.org")
    return bare
