"""A client counts its exchanges in stats buckets, and limits them, with warcprox's names. Pure.

A bucket may tally domains besides: `{"bucket": "b", "tally-domains": ["example.org"]}` counts in `b`, and URLs of
that domain and below in `b:example.org` too. A limit is `"<bucket>[:<domain>]/<total|new|revisit>/<urls|wire_bytes>":
number`, and holds for the requests that count in its bucket, as in warcprox. Every exchange counts in `__all__`, those
that name no bucket in `__unspecified__`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Final

from dedupdb.fleet.quotas import Limit
from proxy.refusal import Refused, check_list, check_object, check_text
from proxy.sessions.rules import in_domain, normal_domain

_COUNTER: Final = re.compile(r"(total|new|revisit)/(urls|wire_bytes)")
_MAX_NAME: Final = 256
_MAX_NUMBER: Final = 1 << 53


@dataclass(frozen=True, slots=True)
class Bucket:
    """A bucket to count in, and the domains it tallies besides."""

    name: str
    domains: tuple[str, ...] = ()


def parse_stats(value: object) -> tuple[Bucket, ...]:
    """Return the buckets of `stats`. Raises Refused (400) naming what can't be used."""
    found = []
    for item in check_list("stats buckets", check_object("stats", value).get("buckets")):
        if isinstance(item, str):
            found.append(Bucket(_name(item)))
            continue
        bucket = check_object("a bucket of stats", item)
        domains = check_list("tally-domains", bucket.get("tally-domains"))
        found.append(
            Bucket(_name(bucket.get("bucket")), tuple(normal_domain("tally-domains", domain) for domain in domains))
        )
    return tuple(found)


def parse_limits(value: object, *, is_soft: bool) -> tuple[Limit, ...]:
    """Return the limits of `limits` or `soft-limits`. Raises Refused (400) naming what can't be used."""
    what = "soft-limits" if is_soft else "limits"
    return tuple(_limit(what, key, most, is_soft) for key, most in check_object(what, value).items())


def names_of(buckets: Iterable[Bucket], host: str) -> tuple[str, ...]:
    """Return each bucket that an exchange with that host counts in, buckets of domains included."""
    names = dict.fromkeys(bucket.name for bucket in buckets)
    for bucket in buckets:
        for domain in bucket.domains:
            if in_domain(host, domain):
                names[f"{bucket.name}:{domain}"] = None
    return tuple(names)


def _name(value: Any) -> str:
    check_text("a bucket of stats", value)
    if not 0 < len(value) <= _MAX_NAME:
        raise Refused(400, f"a bucket of stats = {value[:100]!r} must have 1 to {_MAX_NAME} characters")
    return str(value)


def _limit(what: str, key: str, most: object, is_soft: bool) -> Limit:
    name, _, counter = key.partition("/") if key.count("/") < 2 else _parted(key)
    if not _COUNTER.fullmatch(counter):
        raise Refused(400, f"{what} {key[:100]!r} must be <bucket>[:<domain>]/<total|new|revisit>/<urls|wire_bytes>")
    if isinstance(most, bool) or not isinstance(most, int) or not 0 <= most <= _MAX_NUMBER:
        raise Refused(400, f"{what} {key[:100]!r} = {str(most)[:100]!r} must be a whole number from 0 to {_MAX_NUMBER}")
    bucket, colon, domain = _parts(_name(name))
    if colon:
        name = f"{bucket}:{normal_domain(f'{what} {key[:100]!r}', domain)}"
    return Limit(f"{name}/{counter}", name, counter, most, is_soft)


def _parted(key: str) -> tuple[str, str, str]:
    name, kind, unit = key.rsplit("/", 2)
    return name, "/", f"{kind}/{unit}"


def _parts(name: str) -> tuple[str, str, str]:
    """Return bucket, colon and domain of a limit's name; the domain of an IPv6 address has colons of its own."""
    if name.endswith("]"):
        return name.partition(":")
    bucket, colon, domain = name.rpartition(":")
    return (bucket, colon, domain) if colon else (name, "", "")
