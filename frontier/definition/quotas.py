"""A quota bounds what a job takes of each host, of each domain, from each seed, or in all. Pure.

A quota is one line of the profile's list `quotas`: an owner, and then bounds, such as `host bytes=5000000 errors=50`.
Several lines may have one owner, and the last bound of a kind counts. The kinds are those of Heritrix's QuotaEnforcer:

| kind | counts |
|---|---|
| `urls` | URLs that were fetched, with those that pages embed, and without failed and excluded ones |
| `bytes` | fetched bytes |
| `new_bytes` | bytes of those answers that no archive had, as crawl.log says |
| `seconds` | duration of all visits together |
| `errors` | URLs that failed, or had an HTTP status from 400 on |
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Final, Literal, get_args

from archive.json_text import compact_json

type QuotaOwner = Literal["job", "domain", "host", "seed"]
type QuotaKind = Literal["urls", "bytes", "new_bytes", "seconds", "errors"]
type Quotas = Mapping[QuotaOwner, Mapping[QuotaKind, int]]

MAX_QUOTAS: Final = 20
OWNERS: Final[tuple[QuotaOwner, ...]] = get_args(QuotaOwner.__value__)
KINDS: Final[tuple[QuotaKind, ...]] = get_args(QuotaKind.__value__)
REACHED: Final = "limit-"
"""The reason for which a queue is set aside at a limit begins so. The owner and the kind of the limit follow."""
_NUMBER: Final = re.compile(r"[1-9][0-9]{0,14}", re.ASCII)
_EXAMPLE: Final = "write for example `host bytes=2000000000 errors=50`"


def check_quota_line(line: str) -> str:
    """Return a line of the profile's list `quotas`. Raises ValueError, whose message has the remedy."""
    _parsed(line)
    return line


def read_quotas(lines: Iterable[str]) -> Quotas:
    """Return the bounds by owner and kind. Raises ValueError."""
    found: dict[QuotaOwner, dict[QuotaKind, int]] = {}
    for line in lines:
        owner, bounds = _parsed(line)
        found.setdefault(owner, {}).update(bounds)
    return found


def packed(quotas: Quotas) -> str:
    """Return the quotas as the scripts in Redis read them; empty when there are none."""
    return compact_json(quotas) if quotas else ""


def reached_text(reason: str) -> str:
    """Return the key of the profile by whose value a queue was set aside, such as `quotas: host bytes`.

    The reason has no limit when the result is empty.
    """
    if not reason.startswith(REACHED):
        return ""
    owner, _, kind = reason.removeprefix(REACHED).partition("-")
    if owner == "host" and kind == "pages":
        return "limits.host_pages"
    return f"quotas: {owner} {kind}" if owner in OWNERS and kind in KINDS else ""


def _parsed(line: str) -> tuple[QuotaOwner, dict[QuotaKind, int]]:
    words = line.split()
    owner = next((each for each in OWNERS if words and words[0] == each), None)
    if owner is None:
        raise ValueError(f"{line[:100]!r} begins with none of {', '.join(OWNERS)}; {_EXAMPLE}")
    bounds: dict[QuotaKind, int] = {}
    for word in words[1:]:
        name, _, value = word.partition("=")
        kind = next((each for each in KINDS if each == name), None)
        if kind is None or not _NUMBER.fullmatch(value):
            raise ValueError(f"{word[:100]!r} is no whole number of {', '.join(KINDS)}; {_EXAMPLE}")
        bounds[kind] = int(value)
    if not bounds:
        raise ValueError(f"{line[:100]!r} has no bound; {_EXAMPLE}")
    return owner, bounds
