"""A fingerprint identifies a URL in a job.

The fingerprint is eight bytes of BLAKE2b over the scheme and the URL's key (`archive.url.key`) without session ids. The
URL that is fetched and archived keeps its session ids. With ten million URLs, the chance that two share a fingerprint
is three in a million; the second of them would not be visited.
"""

from __future__ import annotations

import re
from hashlib import blake2b
from typing import Final, NamedTuple

from archive.url import key

BUCKETS: Final = 65_536
"""The fingerprints of a job are spread over so many sets, so that each set stays a small, packed integer set."""

_PATH_SESSION: Final = re.compile(r";jsessionid=[0-9a-z.!_-]+", re.IGNORECASE)
_QUERY_SESSION: Final = re.compile(
    r"(?<=[?&])(?:(?:jsessionid|phpsessid|aspsessionid[a-z]{8}|sid)=[0-9a-z,._-]{16,}|cf(?:id|token)=[^&]+)(?:&|$)",
    re.IGNORECASE,
)


class Fingerprint(NamedTuple):
    """The fingerprint has the `id`, a decimal signed 64-bit integer, and the bucket of the seen set."""

    id: str
    bucket: int


def fingerprint(url: str) -> Fingerprint:
    """Return the fingerprint of a canonical URL."""
    seen_as = f"{url.partition(':')[0]} {without_session(key(url))}"
    number = int.from_bytes(blake2b(seen_as.encode("utf-8", "surrogatepass"), digest_size=8).digest(), signed=True)
    return Fingerprint(str(number), number & (BUCKETS - 1))


def without_session(surt: str) -> str:
    """Return the key without the session ids of Java, PHP, ASP and ColdFusion in path or query."""
    if "?" not in surt and ";" not in surt:
        return surt
    path, mark, query = _PATH_SESSION.sub("", surt).partition("?")
    kept, dropped = _QUERY_SESSION.subn("", mark + query)
    if dropped:
        kept = kept.rstrip("&")
    return path if dropped and kept == "?" else path + kept
