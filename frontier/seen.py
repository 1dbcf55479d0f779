"""A fingerprint identifies a URL in a job.

The fingerprint is eight bytes of BLAKE2b over the form of a URL that the seen test compares: the scheme and the URL's
key (`archive.url.key`), changed as the profile's table `seen` says. By default, session ids are left out. The URL that
is fetched and archived keeps its own form. With ten million URLs, the chance that two share a fingerprint is three in a
million; the second of them would not be visited.
"""

from __future__ import annotations

import re
from hashlib import blake2b
from typing import Final, NamedTuple

from archive.url import key
from frontier.definition.job import SeenRules
from frontier.definition.rules.surts import coerced_prefix

BUCKETS: Final = 65_536
"""The fingerprints of a job are spread over so many sets, so that each set stays a small, packed integer set."""

_PATH_SESSION: Final = re.compile(r";jsessionid=[0-9a-z.!_-]+", re.IGNORECASE)
_QUERY_SESSION: Final = re.compile(
    r"(?<=[?&])(?:(?:jsessionid|phpsessid|aspsessionid[a-z]{8}|sid)=[0-9a-z,._-]{16,}|cf(?:id|token)=[^&]+)(?:&|$)",
    re.IGNORECASE,
)
_SLASHES: Final = re.compile(r"//+")
_DEFAULT: Final = SeenRules()


class Fingerprint(NamedTuple):
    """The fingerprint has the `id`, a decimal signed 64-bit integer, and the bucket of the seen set."""

    id: str
    bucket: int


def fingerprint(url: str, rules: SeenRules = _DEFAULT) -> Fingerprint:
    """Return the fingerprint of a canonical URL."""
    if rules is _DEFAULT or rules == _DEFAULT:
        seen_as = f"{url.partition(':')[0]} {without_session(key(url))}"
    else:
        seen_as = compared_form(url, rules)
    number = int.from_bytes(blake2b(seen_as.encode("utf-8", "surrogatepass"), digest_size=8).digest(), signed=True)
    return Fingerprint(str(number), number & (BUCKETS - 1))


def compared_form(url: str, rules: SeenRules) -> str:
    """Return the form of a canonical URL that the seen test compares: scheme and SURT, changed as the rules say."""
    scheme, surt = url.partition(":")[0], key(url)
    if rules.session_ids == "on":
        surt = without_session(surt)
    if rules.www == "on":
        surt = coerced_prefix(surt)
    if rules.extra_slashes == "on":
        surt = _without_extra_slashes(surt)
    if rules.fix_query == "on":
        surt = _with_mended_query(surt)
    if rules.lowercase == "on":
        surt = surt.lower()
    return f"{'http' if rules.scheme == 'on' else scheme} {surt}"


def without_session(surt: str) -> str:
    """Return the key without the session ids of Java, PHP, ASP and ColdFusion in path or query."""
    if "?" not in surt and ";" not in surt:
        return surt
    path, mark, query = _PATH_SESSION.sub("", surt).partition("?")
    kept, dropped = _QUERY_SESSION.subn("", mark + query)
    if dropped:
        kept = kept.rstrip("&")
    return path if dropped and kept == "?" else path + kept


def _without_extra_slashes(surt: str) -> str:
    authority, parenthesis, rest = surt.partition(")")
    path, mark, query = rest.partition("?")
    path = _SLASHES.sub("/", path)
    return f"{authority}{parenthesis}{path.rstrip('/') or '/'}{mark}{query}"


def _with_mended_query(surt: str) -> str:
    path, _, query = surt.partition("?")
    parts = [part for part in query.split("&") if part and part != "="]
    return f"{path}?{'&'.join(parts)}" if parts else path
