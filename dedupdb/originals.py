"""What a revisit may refer to, told from the durable index: the truth that the dedup store can be made from again."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from archive.capture import Original
from dedupdb.captures import Captures
from dedupdb.claims import Want
from dedupdb.eligible import Eligible


class Originals:
    """The originals in an index, by the rules of one archive."""

    def __init__(self, captures: Captures, eligible: Eligible) -> None:
        self._captures = captures
        self._eligible = eligible

    def of(self, collection: str) -> Iterator[tuple[Want, Original]]:
        """The earliest original of each payload in each bucket (and digest algorithm; and URL, where it is set so)."""
        payload: tuple[str | None, int] | None = None
        seen: set[tuple[str, str, str]] = set()
        for capture in self._captures.complete(collection):
            if payload != (capture.sha256, capture.payload_length):
                payload = (capture.sha256, capture.payload_length)
                seen.clear()
            found = self._eligible.original(capture)
            if found is None:
                continue
            want, original = found
            fresh = tuple(name for name in want.filled if (name, want.border, want.algorithm) not in seen)
            if fresh:
                seen |= {(name, want.border, want.algorithm) for name in fresh}
                yield replace(want, filled=fresh), original

    def find(self, wants: Sequence[Want]) -> dict[Want, tuple[Want, Original]]:
        """For each want that the index can answer, its earliest original and the buckets which that one fills.

        One query for a hundred wants. Raises CapturesError.
        """
        answers: dict[Want, tuple[Want, Original]] = {}
        for collection in {want.collection for want in wants}:
            asked: dict[tuple[bytes, int], list[Want]] = {}
            for want in wants:
                if want.collection == collection:
                    asked.setdefault((want.sha256, want.length), []).append(want)
            for known, original in self._stored(collection, {sha256 for sha256, _ in asked}):
                for want in asked.get((known.sha256, known.length), ()):
                    if want not in answers and _answers(known, want):
                        answers[want] = known, original
        return answers

    def _stored(self, collection: str, payloads: Iterable[bytes]) -> Iterator[tuple[Want, Original]]:
        for capture in self._captures.with_payloads(collection, payloads):
            found = self._eligible.original(capture)
            if found is not None:
                yield found


def _answers(known: Want, want: Want) -> bool:
    """Whether an original in those buckets is one for this want."""
    border = (want.border, want.algorithm)
    return (known.border, known.algorithm) == border and not {*want.filled, *want.searched}.isdisjoint(known.filled)
