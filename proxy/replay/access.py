"""The readable captures are those that the access rules of their collection do not exclude."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Final, Protocol

from archive.access_rules import Access, AccessControl, AccessPolicy, AccessRuleError
from archive.capture import Capture, RecordKind
from archive.dates import Micros
from dedupdb.captures.schema import CapturesError
from proxy.replay.matching.originals import NearestCaptures
from proxy.replay.matching.similar import PrefixIndex

_CANDIDATES: Final = 1_000
"""Captures of one URL among which a readable one is looked for, when the collection has rules."""


class NearestIndex(PrefixIndex, NearestCaptures, Protocol):
    """The readable captures need this part of `dedupdb.captures.capture_index.Captures`."""


class ReadableCaptures:
    """Readable captures answer as the index does, without captures that readers may not know of.

    Every call raises CapturesError while the rules of the collection can't be read.
    """

    def __init__(self, index: NearestIndex, collections: Path, policy: AccessPolicy) -> None:
        """Take the folder in which each collection has its folder with its rules."""
        self._index = index
        self._access = AccessControl(collections, policy)

    def nearest(
        self,
        collection: str,
        url: str,
        date: Micros | None,
        *,
        kinds: Sequence[RecordKind] = ("response", "revisit"),
        methods: Sequence[str],
        body: str | None = None,
        limit: int,
    ) -> list[Capture]:
        """Return at most `limit` readable captures of these kinds of that URL by one of the methods, best first."""
        most = limit if self._is_open(collection) else max(limit, _CANDIDATES)
        found = self._index.nearest(collection, url, date, kinds=kinds, methods=methods, body=body, limit=most)
        return [each for each in found if self._decide(each) is not Access.EXCLUDE][:limit]

    def with_prefix(
        self, collection: str, prefix: str, *, methods: Sequence[str], limit: int, is_whole: bool = False
    ) -> list[Capture]:
        """Return the readable ones of at most `limit` captures whose keys begin with the prefix, in their order."""
        found = self._index.with_prefix(collection, prefix, methods=methods, limit=limit, is_whole=is_whole)
        return [each for each in found if self._decide(each) is not Access.EXCLUDE]

    def is_blocked(self, capture: Capture) -> bool:
        """Return whether readers may know of the capture and not see its content."""
        return self._decide(capture) is Access.BLOCK

    def _is_open(self, collection: str) -> bool:
        try:
            return self._access.rules(collection).is_open
        except AccessRuleError as error:
            raise CapturesError(str(error)) from error

    def _decide(self, capture: Capture) -> Access:
        try:
            return self._access.decide(capture)
        except AccessRuleError as error:
            raise CapturesError(str(error)) from error
