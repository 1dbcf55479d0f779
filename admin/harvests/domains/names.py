"""The name of a domain is the registered name, such as example.org, or an IP address. Pure.

The public suffix list says where a registered name ends; `harvests.tlds` adds top-level domains, such as those of a
test network.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Collection
from dataclasses import dataclass
from functools import cache
from typing import Final

import idna
from publicsuffixlist import PublicSuffixList

from archive.names.characters import in_words
from archive.settings.harvests import DefaultSeeds
from archive.url import UrlError, ascii_host

IP: Final = "IP"
"""The stand-in for the top-level domain of an address."""
LONGEST_INPUT: Final = 70_000
"""Characters; a URL has at most 65,536."""
_LONGEST_HOST: Final = 1_000
"""Characters, before their conversion to ASCII, which may shorten a name."""
_SHOWN: Final = 100
_SCHEME: Final = re.compile(r"([a-zA-Z][a-zA-Z0-9+.-]*):(?=//|[^0-9])")
_END_OF_HOST: Final = re.compile(r"[/\\?#]")
_FORBIDDEN: Final = re.compile(r"[\x00-\x20\x7f-\xa0\u1680\u2000-\u200f\u2028-\u202f\u205f-\u206f\u3000\ufeff]")
"""Control characters, spaces, and marks that change the direction of writing."""


class DomainNameError(ValueError):
    """The text names no domain; the message is a sentence that names the text and the remedy."""


@dataclass(frozen=True, slots=True)
class DomainName:
    """A registered name or an address, with its public suffix."""

    name: str
    """In ASCII and lower case; an IPv6 address has no brackets."""
    tld: str
    """The public suffix, such as org or co.uk; `IP` for an address."""

    @property
    def unicode_name(self) -> str:
        """The name as people write it."""
        return unicode_name(self.name)

    @property
    def is_address(self) -> bool:
        """The domain is an IP address."""
        return self.tld == IP


def shortened(text: str) -> str:
    """Return the text as a message shows it: quoted, without control characters, and not long."""
    return repr(text if len(text) <= _SHOWN else text[:_SHOWN] + "…")


def registered_domain(text: str, tlds: Collection[str] = ()) -> DomainName:
    """Return the registered domain in a URL, a host name or an address. Raises DomainNameError.

    `tlds` are further top-level domains (`harvests.tlds`).
    """
    host = _host(text)
    try:
        name = ascii_host(host)
    except UrlError as error:
        raise DomainNameError(f"{shortened(text)} is no domain name: {_reason(error)}") from None
    bare = name.removeprefix("[").removesuffix("]")
    if bare != name or _is_ipv4(name):
        _check_address(host, bare, text)
        return DomainName(bare, IP)
    return _registered(name, tlds, text)


def stored_name(text: str) -> str:
    """Return the spelling under which a domain of exactly this name is kept. Raises DomainNameError.

    Nothing is taken off the name: www.example.org stays what it is.
    """
    try:
        name = ascii_host(text.strip()[:_LONGEST_HOST]).removeprefix("[").removesuffix("]")
        _check_address(text.strip(), name, text)
        return name
    except UrlError as error:
        raise DomainNameError(f"{shortened(text)} is no domain name: {_reason(error)}") from None


def unicode_name(name: str) -> str:
    """Return a name in ASCII as people write it; a label that can't be decoded stays in ASCII."""
    return ".".join(map(_unicode_label, name.split("."))) if "xn--" in name else name


def first_seeds(name: DomainName, form: DefaultSeeds) -> list[str]:
    """Return the seeds of a new domain.

    Addresses, and names that begin with www., get no www. in front.
    """
    host = f"[{name.name}]" if ":" in name.name else name.name
    bare_only = name.is_address or host.startswith("www.")
    if form == "one":
        return [f"http://{host}" if bare_only else f"http://www.{host}"]
    hosts = [host] if bare_only else [f"www.{host}", host]
    return [f"{scheme}://{each}" for scheme in ("http", "https") for each in hosts]


def _host(text: str) -> str:
    """Return the host as it stands in the text. Raises DomainNameError."""
    if len(text) > LONGEST_INPUT:
        raise DomainNameError(f"{shortened(text)} has {len(text)} characters; a domain name has at most 253")
    bare = text.strip().lstrip("\ufeff")
    if not bare:
        raise DomainNameError("the text is empty; write a domain name such as example.org")
    if _is_ipv6(bare):
        return bare
    if scheme := _SCHEME.match(bare):
        if scheme[1].lower() not in ("http", "https"):
            raise DomainNameError(
                f"{shortened(text)} has the scheme {scheme[1][:20]}; write a domain name or a web URL"
            )
        bare = bare[scheme.end() :].lstrip("/\\")
        authority = _END_OF_HOST.split(bare, maxsplit=1)[0].rpartition("@")[2]
    else:
        authority = _END_OF_HOST.split(bare.lstrip("/\\"), maxsplit=1)[0]
        if "@" in authority:
            raise DomainNameError(f"{shortened(text)} is an e-mail address; write the domain name alone")
    if len(authority) > _LONGEST_HOST:
        raise DomainNameError(f"{shortened(text)} has a name of {len(authority)} characters; a name has at most 253")
    if found := _FORBIDDEN.search(authority):
        raise DomainNameError(f"{shortened(text)} has {in_words(found[0])} in its name; write one name without spaces")
    if authority.startswith("["):
        return authority.partition("]")[0] + "]"
    return authority.partition(":")[0]


def _registered(name: str, tlds: Collection[str], text: str) -> DomainName:
    top = name.rpartition(".")[2]
    suffix: str | None = top if top in tlds else _suffixes().publicsuffix(name)
    if suffix is None:
        remedy = "correct the name, or add the top-level domain to the setting harvests.tlds"
        raise DomainNameError(f"{shortened(text)} ends in {top[:63]!r}, which is no known top-level domain; {remedy}")
    if suffix == name:
        raise DomainNameError(
            f"{shortened(text)} is a public suffix, below which names are registered; name one of them"
        )
    label = name.removesuffix(f".{suffix}").rpartition(".")[2]
    if label.startswith("-") or label.endswith("-"):
        raise DomainNameError(f"{shortened(text)} is no domain name: {label[:63]!r} begins or ends with a hyphen")
    return DomainName(f"{label}.{suffix}", suffix)


@cache
def _suffixes() -> PublicSuffixList:
    return PublicSuffixList(accept_unknown=False)


def _reason(error: UrlError) -> str:
    return "write letters, digits, hyphens and dots" if "no host name" in str(error) else str(error)[:200]


def _unicode_label(label: str) -> str:
    try:
        return idna.ulabel(label) if label.startswith("xn--") else label
    except (idna.IDNAError, UnicodeError):
        return label


def _is_ipv4(name: str) -> bool:
    return name.rpartition(".")[2].isdigit()


def _check_address(host: str, name: str, text: str) -> None:
    """Refuse a short or hexadecimal spelling of an IPv4 address, such as 1.2.3, which nobody means as an address."""
    if _is_ipv4(name) and host.removesuffix(".") != name:
        raise DomainNameError(
            f"{shortened(text)} is no domain name; an IPv4 address has four numbers from 0 to 255, such as 192.0.2.1"
        )


def _is_ipv6(text: str) -> bool:
    try:
        ipaddress.IPv6Address(text)
    except ValueError:
        return False
    return True
