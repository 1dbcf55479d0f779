"""Claims with the durable index behind them: what Redis has lost is found there, and told to it again.

Only payloads that Redis grants as new are looked up, all those of a batch in one query, and only where Redis is known
to have lost some (`dedup.recall = "lost"`), or always. On SQLite that costs the writer's thread 0.02 ms of CPU for
each new payload, and 0.07 ms for each that is found and told to Redis; a store that is whole costs it one question
every five seconds.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Sequence
from typing import Final

from archive.capture import Capture, Original
from archive.dedup_section import DedupSettings
from dedupdb.captures import Captures, CapturesError
from dedupdb.claims import Claims, Tallies, Verdict, Want
from dedupdb.eligible import Eligible
from dedupdb.originals import Originals
from dedupdb.wholeness import Wholeness

logger = logging.getLogger(__name__)

_REST_SECONDS: Final = 10.0


class Recall:
    """One writer's claims. For one thread; what the index can't say is written whole, as new."""

    def __init__(self, claims: Claims, captures: Captures, settings: DedupSettings) -> None:
        self._claims = claims
        self._originals = Originals(captures, Eligible(settings))
        self._wholeness = Wholeness(claims.link, captures)
        self._mode = settings.recall
        self._rests_until = 0.0
        self.recalled = 0
        """Originals found in the index that Redis did not know."""

    @property
    def in_doubt(self) -> int:
        """How many collections have lost originals in Redis."""
        return self._wholeness.in_doubt()

    def claim(self, wants: Sequence[Want]) -> list[Original | Verdict]:
        """As `Claims.claim`, one round trip, when nothing is in doubt."""
        answers = self._claims.claim(wants)
        if self._mode == "never" or Verdict.GRANTED not in answers or time.monotonic() < self._rests_until:
            return answers
        try:
            new = [place for place, answer in enumerate(answers) if answer is Verdict.GRANTED]
            doubtful = {name for name in {wants[place].collection for place in new} if self._doubts(name)}
            lost = [place for place in new if wants[place].collection in doubtful]
            found = self._originals.find([wants[place] for place in lost]) if lost else {}
        except CapturesError as error:
            logger.warning("lost originals are not looked up for %.0f s: %s", _REST_SECONDS, error)
            self._rests_until = time.monotonic() + _REST_SECONDS
            return answers
        if found:
            # Into the buckets that the original fills, which may be others than those that are claimed.
            self._claims.settle(list(found.values()), list(found), (), {})
            self.recalled += len(found)
            for place in lost:
                if wants[place] in found:
                    answers[place] = found[wants[place]][1]
        return answers

    def settle(
        self,
        kept: Sequence[tuple[Want, Original]],
        released: Sequence[Want],
        captures: Sequence[Capture],
        tallies: Tallies,
    ) -> None:
        """As `Claims.settle`."""
        self._claims.settle(kept, released, captures, tallies)

    def _doubts(self, collection: str) -> bool:
        return self._mode == "always" or not self._wholeness.is_whole(collection)
