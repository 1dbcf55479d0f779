"""The settings of `[dedup]` decide which payloads are deduplicated, and with which others they are compared. No I/O.

The proxy applies the rules to every response. A rebuild of the dedup store applies them to every row of the index. So
both have the same originals.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import Final

from archive import url as urls
from archive.capture import OWN_BUCKET, Capture, Original
from archive.dates import Micros
from archive.digest import DEFAULT_ALGORITHM, algorithm_of
from archive.settings import DedupSettings
from archive.settings.dedup import read_statuses
from archive.warc.records.record import UNKNOWN_MIME
from dedupdb.claims.claims import PayloadKey

_NEVER: Final = 1 << 63
"""A length that no payload has."""
_RECORD_ID: Final = re.compile("[!-~]{1,254}")
"""Record ids that the dedup store can pack and a revisit can name. A record of another program may have any id."""
_TEXTS: Final = frozenset(
    {
        "application/ecmascript",
        "application/javascript",
        "application/json",
        "application/x-javascript",
        "application/xml",
        "image/svg+xml",
    }
)


class DedupRules:
    """The rules decide for one archive. They are safe to share between threads."""

    def __init__(self, settings: DedupSettings) -> None:
        self.enabled = settings.enabled
        self._settings = settings
        self._statuses = read_statuses(settings.statuses)
        self._filter = re.compile(settings.mime_filter) if settings.mime_filter else None
        self._keeps_matching = settings.mime_filter_mode == "blacklist"
        is_plain = not (settings.min_text_bytes or settings.min_binary_bytes or settings.mime_filter)
        self._least = settings.min_bytes if is_plain else None
        self._least_of = lru_cache(maxsize=1024)(self._least_for)
        self._blackout = round(settings.blackout_seconds * 1_000_000)
        self._by_url = settings.match != "digest"
        self._by_key = settings.match == "equivalent"
        self._own = () if settings.only_with_bucket else OWN_BUCKET

    def takes(self, status: int | None, mime: str | None, length: int) -> bool:
        """Return whether a complete payload of that media type (without parameters, None for none) is deduplicated."""
        least = self._least if self._least is not None else self._least_of(mime or "")
        return length >= least and status in self._statuses

    def payload_key(
        self,
        collection: str,
        url: str,
        sha256: bytes,
        length: int,
        buckets: Sequence[tuple[str, str]] = (),
        *,
        algorithm: str = DEFAULT_ALGORITHM,
        digest: bytes = b"",
    ) -> PayloadKey | None:
        """Return the key of such a payload; None when its buckets (name, and `rw` or `ro`) leave nothing to search.

        Without buckets, the collection's own bucket counts. `digest` is raw, by `algorithm`.
        """
        border = "" if not self._by_url else urls.key(url) if self._by_key else url
        if not buckets:
            own = self._own
            return PayloadKey(collection, sha256, length, own, (), border, algorithm, url, digest) if own else None
        filled = tuple(name for name, mode in buckets if mode == "rw")
        searched = tuple(name for name, mode in buckets if mode != "rw")
        return PayloadKey(collection, sha256, length, filled, searched, border, algorithm, url, digest)

    def original(self, capture: Capture) -> tuple[PayloadKey, Original] | None:
        """Return the original in a row of the index, with the key of its payload; None when the row is no original."""
        if capture.kind != "response" or capture.truncated is not None or capture.sha256 is None:
            return None
        if not (_RECORD_ID.fullmatch(capture.record_id) and capture.url.isprintable()):
            return None
        mime = None if capture.mime == UNKNOWN_MIME else capture.mime
        if not self.takes(capture.status, mime, capture.payload_length):
            return None
        buckets = [(name, "rw") for name in capture.buckets if name or self._own]
        if not buckets:
            return None
        payload = self.payload_key(
            capture.collection,
            capture.url,
            bytes.fromhex(capture.sha256),
            capture.payload_length,
            buckets,
            algorithm=algorithm_of(capture.digest),
        )
        return (payload, Original.of(capture)) if payload else None

    def in_blackout(self, url: str, date: Micros, original: Original) -> bool:
        """Return whether this copy follows its original of the same URL too soon for a revisit record."""
        return self._blackout > 0 and url == original.url and date - original.date <= self._blackout

    def _least_for(self, mime: str) -> int:
        if self._filter is not None and (self._filter.fullmatch(mime) is not None) is self._keeps_matching:
            return _NEVER
        settings = self._settings
        return max(settings.min_bytes, settings.min_text_bytes if is_text(mime) else settings.min_binary_bytes)


def is_text(mime: str) -> bool:
    """Return whether `dedup.min_text_bytes` applies to a media type in lower case and without parameters."""
    return mime.startswith("text/") or mime.endswith(("+xml", "+json")) or mime in _TEXTS
