"""A fingerprint identifies a URL in a job, and the seen test keeps the fingerprints.

The fingerprint is eight bytes of BLAKE2b over the form of a URL that the seen test compares: the scheme and the URL's
key (`archive.url.key`), changed as the profile's table `seen` says. By default, session ids are left out. The URL that
is fetched and archived keeps its own form. With ten million URLs, the chance that two share a fingerprint is three in a
million; the second of them would not be visited.

The seen test has two methods (`seen.method` of the profile):

- `exact` keeps each fingerprint in one of `BUCKETS` sets of integers.
- `bloom` sets some bits for each fingerprint in one line of a Bloom filter. Redis has the filter as strings, blocks of
  `BLOCK_LINES` lines, and reads or writes a line in one command. A URL whose bits were all set by other URLs is taken
  for a seen one: a false positive. Seeds and the targets of their redirects are kept in the exact sets too, so that
  none of them is dropped in error.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from functools import cache
from hashlib import blake2b
from typing import Final, NamedTuple, Self

from archive.url import key
from frontier.definition.job import SeenRules
from frontier.definition.rules.rewrites import rewriter
from frontier.definition.rules.surts import coerced_prefix

BUCKETS: Final = 65_536
"""The fingerprints of a job are spread over so many sets, so that each set stays a small, packed integer set."""

LINE_BYTES: Final = 256
BLOCK_LINES: Final = 63
"""A block and the head of its string fit in 16 KiB, a size of Redis' allocator."""
BLOCK_BYTES: Final = BLOCK_LINES * LINE_BYTES
_LINE_BITS: Final = 8 * LINE_BYTES
_MASKS: Final = bytes(1 << (number & 7) for number in range(256))
"""The bit of a byte that each value of a byte chooses."""
_STEPS: Final = 64
"""The false-positive rate is summed up in so many steps while a filter fills."""
_LOADS: Final = tuple((step / 2, math.exp(-((step / 2) ** 2) / 2)) for step in range(-8, 9))
"""Lines have more or fewer URLs than their mean: by so many standard deviations, with these weights."""

_PATH_SESSION: Final = re.compile(r";jsessionid=[0-9a-z.!_-]+", re.IGNORECASE)
_QUERY_SESSION: Final = re.compile(
    r"(?<=[?&])(?:(?:jsessionid|phpsessid|aspsessionid[a-z]{8}|sid)=[0-9a-z,._-]{16,}|cf(?:id|token)=[^&]+)(?:&|$)",
    re.IGNORECASE,
)
_SLASHES: Final = re.compile(r"//+")
DEFAULT_RULES: Final = SeenRules()
"""The rules of almost all jobs. `fingerprint` is faster with this object than with an equal one."""


class Fingerprint(NamedTuple):
    """The fingerprint has the `id`, a decimal signed 64-bit integer, and its place in the seen test.

    The place is what the scripts in Redis read: the bucket of the exact sets and, with a Bloom filter, the number of a
    block and of a line in the block, each behind a space, and then a byte with the place of each bit in the line, and
    a byte with each bit alone.
    """

    id: str
    place: bytes

    @property
    def certain_place(self) -> bytes:
        """The place for a URL that may not be dropped in error: the exact sets decide, also beside a Bloom filter."""
        return b"!" + self.place if b" " in self.place else self.place


@dataclass(frozen=True, slots=True)
class BloomFilter:
    """A Bloom filter has blocks of lines of bits. A URL has `hashes` bits, all in one line."""

    blocks: int
    hashes: int

    @classmethod
    def of(cls, expected_urls: int, false_positives: float) -> Self:
        """Return the smallest filter with this false-positive rate when it has the expected URLs."""
        hashes = max(round(-math.log2(false_positives)), 1)
        low, high = 0, 1
        while cls(high, hashes).rate(expected_urls) > false_positives:
            low, high = high, 2 * high
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if cls(middle, hashes).rate(expected_urls) > false_positives else (low, middle)
        return cls(high, hashes)

    def place(self, number: int) -> bytes:
        """Return the place of a fingerprint in the filter, behind a space."""
        unsigned = number & 0xFFFF_FFFF_FFFF_FFFF
        block, line = divmod(unsigned * self.blocks * BLOCK_LINES >> 64, BLOCK_LINES)
        digest = blake2b(unsigned.to_bytes(8), digest_size=2 * self.hashes).digest()
        return b" %d %d %b%b" % (block, line, digest[: self.hashes], digest[self.hashes :].translate(_MASKS))

    def urls(self, share: float) -> int:
        """Return the estimated number of URLs of a filter in which this share of the bits is set."""
        bits = self.blocks * BLOCK_LINES * _LINE_BITS
        return round(-bits / self.hashes * math.log1p(-min(share, 1 - 1 / bits)))

    def rate(self, urls: float) -> float:
        """Return the share of new URLs that a filter with so many URLs takes for seen ones."""
        mean = urls / (self.blocks * BLOCK_LINES)
        total = weights = 0.0
        for deviations, weight in _LOADS:
            load = max(mean + deviations * math.sqrt(mean), 0.0)
            total += weight * (-math.expm1(-self.hashes * load / _LINE_BITS)) ** self.hashes
            weights += weight
        return total / weights

    def dropped(self, urls: int) -> float:
        """Return how many new URLs were taken for seen ones, by expectation, while the filter got so many URLs."""
        width = urls / _STEPS
        rates = (self.rate((step + 0.5) * width) for step in range(_STEPS))
        return sum(width * rate / (1 - rate) for rate in rates if rate < 1)


@cache
def _bloom_filter(expected_urls: int, false_positives: float) -> BloomFilter:
    return BloomFilter.of(expected_urls, false_positives)


def bloom_filter(rules: SeenRules) -> BloomFilter | None:
    """Return the Bloom filter of a job with these rules; None for a job whose seen test is exact."""
    return _bloom_filter(rules.expected_urls, rules.false_positives) if rules.method == "bloom" else None


def fingerprint(url: str, rules: SeenRules = DEFAULT_RULES) -> Fingerprint:
    """Return the fingerprint of a canonical URL."""
    if rules is DEFAULT_RULES or rules == DEFAULT_RULES:
        seen_as = f"{url.partition(':')[0]} {without_session(key(url))}"
    else:
        seen_as = compared_form(url, rules)
    digest = blake2b(seen_as.encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return fingerprint_of(int.from_bytes(digest, signed=True), rules)


def fingerprint_of(number: int, rules: SeenRules = DEFAULT_RULES) -> Fingerprint:
    """Return the fingerprint with this number as its id."""
    bucket = b"%d" % (number & (BUCKETS - 1))
    found = bloom_filter(rules)
    return Fingerprint(str(number), bucket + found.place(number) if found else bucket)


def compared_form(url: str, rules: SeenRules) -> str:
    """Return the form of a canonical URL that the seen test compares: scheme and SURT, changed as the rules say."""
    if rules.rewrites:
        url = rewriter(rules.rewrites).rewritten(url)
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
