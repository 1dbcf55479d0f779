"""The fingerprint by which a job knows a URL again.

Eight bytes of BLAKE2b over the scheme and the URL's key (`archive.url.key`), with session ids left out: only here,
the URL that is fetched and archived keeps them. Two URLs of ten million share one with a chance of three in a million;
the second would be taken for seen.
"""

from __future__ import annotations

import re
from hashlib import blake2b
from typing import Final, NamedTuple

from archive.url import key

BUCKETS: Final = 65_536
"""Sets over which a job's fingerprints are spread, so that each stays a small, packed integer set."""

_PATH_SESSION: Final = re.compile(r";jsessionid=[0-9a-z.!_-]+", re.IGNORECASE)
_QUERY_SESSION: Final = re.compile(
    r"(?<=[?&])(?:(?:jsessionid|phpsessid|aspsessionid[a-z]{8}|sid)=[0-9a-z,._-]{16,}|cf(?:id|token)=[^&]+)(?:&|$)",
    re.IGNORECASE,
)


class Fingerprint(NamedTuple):
    """A URL's identity in a job: `id` as a decimal signed 64-bit integer, and the seen set it belongs to."""

    id: str
    bucket: int


def fingerprint(url: str) -> Fingerprint:
    """The fingerprint of a canonical URL."""
    seen_as = f"{url.partition(':')[0]} {without_session(key(url))}"
    number = int.from_bytes(blake2b(seen_as.encode("utf-8", "surrogatepass"), digest_size=8).digest(), signed=True)
    return Fingerprint(str(number), number & (BUCKETS - 1))


def without_session(surt: str) -> str:
    """The key without the session ids of Java, PHP, ASP and ColdFusion in path or query."""
    if "?" not in surt and ";" not in surt:
        return surt
    path, mark, query = _PATH_SESSION.sub("", surt).partition("?")
    kept, dropped = _QUERY_SESSION.subn("", mark + query)
    if dropped:
        kept = kept.rstrip("&")
    return path if dropped and kept == "?" else path + kept
