"""This module finds originals in the capture index, from which the dedup store can be rebuilt."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace

from archive.capture import Original
from dedupdb.captures.capture_index import Captures
from dedupdb.claims.claims import PayloadKey
from dedupdb.claims.dedup_rules import DedupRules

type IsThere = Callable[[str, Original], bool]
"""Answers whether the file of an original in that collection exists."""


class Originals:
    """Finds the originals in an index by the rules of one archive."""

    def __init__(self, captures: Captures, eligible: DedupRules, is_there: IsThere | None = None) -> None:
        """`is_there` leaves out originals whose files are missing; without it, every file counts as existing."""
        self._captures = captures
        self._eligible = eligible
        self._is_there = is_there or _believed

    def of(self, collection: str) -> Iterator[tuple[PayloadKey, Original]]:
        """Yield the earliest original of each payload in each bucket, for each digest algorithm.

        Where `dedup.match` asks for it, yield one for each URL.
        """
        current: tuple[str | None, int] | None = None
        seen: set[tuple[str, str, str]] = set()
        for capture in self._captures.complete(collection):
            if current != (capture.sha256, capture.payload_length):
                current = (capture.sha256, capture.payload_length)
                seen.clear()
            found = self._eligible.original(capture)
            if found is None:
                continue
            payload, original = found
            fresh = tuple(name for name in payload.filled if (name, payload.border, payload.algorithm) not in seen)
            if fresh and self._is_there(collection, original):
                seen |= {(name, payload.border, payload.algorithm) for name in fresh}
                yield replace(payload, filled=fresh), original

    def find(self, payloads: Sequence[PayloadKey]) -> dict[PayloadKey, tuple[PayloadKey, Original]]:
        """Return the earliest original of each payload, with the key that has the original's buckets.

        The index gets one query for a hundred payloads. Raises CapturesError.
        """
        answers: dict[PayloadKey, tuple[PayloadKey, Original]] = {}
        for collection in {payload.collection for payload in payloads}:
            asked: dict[tuple[bytes, int], list[PayloadKey]] = {}
            for payload in payloads:
                if payload.collection == collection:
                    asked.setdefault((payload.sha256, payload.length), []).append(payload)
            for known, original in self._stored(collection, {sha256 for sha256, _ in asked}):
                for payload in asked.get((known.sha256, known.length), ()):
                    if payload not in answers and _answers(known, payload) and self._is_there(collection, original):
                        answers[payload] = known, original
        return answers

    def _stored(self, collection: str, sha256s: Iterable[bytes]) -> Iterator[tuple[PayloadKey, Original]]:
        for capture in self._captures.with_payloads(collection, sha256s):
            found = self._eligible.original(capture)
            if found is not None:
                yield found


def _answers(known: PayloadKey, payload: PayloadKey) -> bool:
    """Return whether an original with that key is one for this payload."""
    border = (payload.border, payload.algorithm)
    return (known.border, known.algorithm) == border and not {*payload.filled, *payload.searched}.isdisjoint(
        known.filled
    )


def _believed(collection: str, original: Original) -> bool:
    return True
