"""This module finds the payload of a revisit, however the program that wrote the revisit names its original.

A revisit names its original by record id, by URL and date, by the payload's digest alone, or not at all. The record
that it names may be a revisit, too, or be missing. A revisit resolves when the collection has its payload anywhere.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final, Protocol

from archive import digest as digests
from archive.capture import Capture, RecordKind
from archive.dates import Micros, timestamp14

MOST_STEPS: Final = 20
"""A chain of revisits is followed so far."""
_CANDIDATES: Final = 40
_MOST_COLLECTIONS: Final = 1_000
"""Collections in which the original of a revisit is looked for."""
_KINDS: Final[tuple[RecordKind, ...]] = ("response", "revisit", "resource", "conversion")
_NOT_MODIFIED: Final = 304


class NearestCaptures(Protocol):
    """An index finds the captures of a URL that are nearest to a date, as `dedupdb.captures.capture_index` does."""

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
        """Return at most `limit` captures of these kinds of that URL by one of the methods, best first."""


class OriginalIndex(NearestCaptures, Protocol):
    """The finder needs this part of `dedupdb.captures.capture_index.Captures`."""

    def by_record(self, collection: str, record_id: str) -> Capture | None:
        """Return one capture by its record's id."""

    def with_digest(self, collection: str, digest: str, limit: int) -> list[Capture]:
        """Return complete captures whose records have the payload with that digest."""

    def collections(self) -> list[str]:
        """Return the names of the collections that have captures."""


class RevisitOriginals:
    """This reader follows revisits through the index. Threads may share it; every call blocks."""

    def __init__(self, index: OriginalIndex) -> None:
        self._index = index

    def original(self, revisit: Capture) -> Capture | None:
        """Return the capture whose record has the payload of a revisit; None when the index does not know it."""
        *_, last = self._named(revisit)
        if last.kind != "revisit":
            return last
        found = self._with_payload(revisit)
        if found is None and last is not revisit and last.digest != revisit.digest:
            found = self._with_payload(last)
        if found is None and revisit.status == _NOT_MODIFIED and revisit.refers_to is None:
            return self._before(revisit)
        return found

    def unchanged(self, revisit: Capture) -> Capture | None:
        """Return the capture that a 304 confirmed: a response, or a revisit with another status."""
        named = self._named(revisit)
        return next((each for each in named if each.status != _NOT_MODIFIED), None) or self.original(revisit)

    def _named(self, revisit: Capture) -> Iterator[Capture]:
        """Yield the revisit, and what it and the revisits behind it name, up to a record that is no revisit.

        A loop and a missing record end the chain.
        """
        at, passed = revisit, {_place(revisit)}
        yield at
        for _ in range(MOST_STEPS):
            if at.kind != "revisit":
                return
            found = next((each for each in self._referred(at) if _place(each) not in passed), None)
            if found is None:
                return
            passed.add(_place(found))
            at = found
            yield at

    def _referred(self, revisit: Capture) -> Iterator[Capture]:
        """Yield the records that a revisit may mean: by its id, then by URL and date, responses first."""
        named = revisit.refers_to
        if named is None:
            return
        if named.record_id and (found := self._by_record(revisit.collection, named.record_id)) is not None:
            yield found
        # Without an id, or with one that is not here: in another archive, unless that one's files were added to ours.
        asked = [((revisit.method,), revisit.request_body), (("GET",), None)]
        for methods, body in asked if revisit.method != "GET" else asked[1:]:
            near = self._index.nearest(
                revisit.collection, named.url, named.date, kinds=_KINDS, methods=methods, body=body, limit=_CANDIDATES
            )
            same = [each for each in near if each.url == named.url and _is_named(each, revisit, named.date)]
            yield from sorted(same, key=lambda each: each.kind == "revisit")

    def _by_record(self, collection: str, record_id: str) -> Capture | None:
        """Return the capture with that record, in this collection or in any other."""
        found = self._index.by_record(collection, record_id)
        if found is not None:
            return found
        others = (name for name in self._index.collections()[:_MOST_COLLECTIONS] if name != collection)
        return next((found for name in others if (found := self._index.by_record(name, record_id))), None)

    def _with_payload(self, revisit: Capture) -> Capture | None:
        """Return the best capture with the payload's digest: of the same URL if there is one, then the nearest."""
        if not revisit.digest or (revisit.status == _NOT_MODIFIED and _is_of_nothing(revisit.digest)):
            return None
        urls = {revisit.url} | ({revisit.refers_to.url} if revisit.refers_to else set())
        found = self._index.with_digest(revisit.collection, revisit.digest, _CANDIDATES)
        return min(found, key=lambda each: (each.url not in urls, abs(each.date - revisit.date)), default=None)

    def _before(self, capture: Capture) -> Capture | None:
        """Return the last whole response of the URL before a 304 that names none, as Heritrix before 3.3 writes it."""
        near = self._index.nearest(capture.collection, capture.url, capture.date, methods=("GET",), limit=_CANDIDATES)
        whole = (found for found in near if (found.kind, found.status, found.url) == ("response", 200, capture.url))
        earlier = [found for found in whole if found.date <= capture.date and found.truncated is None]
        return max(earlier, key=lambda found: found.date, default=None)


def _place(capture: Capture) -> tuple[str, str, int]:
    return capture.collection, capture.filename, capture.offset


def _is_named(found: Capture, revisit: Capture, date: Micros) -> bool:
    """Return whether a capture is of that second, and has the revisit's payload as far as the digests can tell.

    A 304 may have the digest of its own empty body. Digests of two algorithms tell nothing.
    """
    if found.timestamp != timestamp14(date):
        return False
    if revisit.status == _NOT_MODIFIED or not revisit.digest or not found.digest or found.digest == revisit.digest:
        return True
    return digests.algorithm_of(found.digest) != digests.algorithm_of(revisit.digest)


def _is_of_nothing(digest: str) -> bool:
    algorithm, value = digests.parse(digest if ":" in digest else f"{digests.DEFAULT_ALGORITHM}:{digest}")
    return value is not None and value == digests.hasher(algorithm).digest()
