"""These claims also ask the capture index for originals that Redis has lost, and restore them in Redis.

Payloads that Redis grants as new are looked up, all of a batch in one query: always, or only where Redis is known to
have lost originals (`dedup.recall`). On SQLite a look-up costs the writer's thread 0.02 ms of CPU for each new payload,
and 0.07 ms for each restored original. While Redis has lost nothing, it costs one command every five seconds.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Sequence
from typing import Final

from archive.capture import Original
from archive.settings import DedupSettings
from dedupdb.captures.capture_index import Captures
from dedupdb.captures.schema import CapturesError
from dedupdb.claims.claims import Claims, ClaimVerdict, PayloadKey, Settlement
from dedupdb.claims.completeness import Completeness
from dedupdb.claims.dedup_rules import DedupRules
from dedupdb.claims.existing_originals import ExistingOriginals
from dedupdb.claims.originals import Originals

logger = logging.getLogger(__name__)

_REST_SECONDS: Final = 10.0


class IndexFallback:
    """One writer claims payloads by this object. It is for one thread.

    When the index does not answer, payloads count as new.
    """

    def __init__(self, claims: Claims | ExistingOriginals, captures: Captures, settings: DedupSettings) -> None:
        self._claims = claims
        is_there = claims.is_there if isinstance(claims, ExistingOriginals) else None
        self._originals = Originals(captures, DedupRules(settings), is_there)
        self._completeness = Completeness(claims.link, captures)
        self._mode = settings.recall
        self._rests_until = 0.0
        self.recalled = 0
        """Originals that the index had and Redis did not."""

    @property
    def in_doubt(self) -> int:
        """Return how many collections have lost originals in Redis."""
        return self._completeness.in_doubt()

    def claim(self, payloads: Sequence[PayloadKey]) -> list[Original | ClaimVerdict]:
        """Answer as `Claims.claim` does, in one round trip, when nothing is in doubt."""
        answers = self._claims.claim(payloads)
        if self._mode == "never" or ClaimVerdict.GRANTED not in answers or time.monotonic() < self._rests_until:
            return answers
        try:
            new = [place for place, answer in enumerate(answers) if answer is ClaimVerdict.GRANTED]
            doubtful = {name for name in {payloads[place].collection for place in new} if self._doubts(name)}
            lost = [place for place in new if payloads[place].collection in doubtful]
            found = self._originals.find([payloads[place] for place in lost]) if lost else {}
        except CapturesError as error:
            logger.warning("the index is not asked for lost originals for %.0f s: %s", _REST_SECONDS, error)
            self._rests_until = time.monotonic() + _REST_SECONDS
            return answers
        if found:
            # Into the buckets that the original fills, which may be others than those that are claimed.
            self._claims.settle(Settlement(kept=list(found.values()), released=list(found)))
            self.recalled += len(found)
            for place in lost:
                if payloads[place] in found:
                    answers[place] = found[payloads[place]][1]
        return answers

    def settle(self, settlement: Settlement) -> None:
        """Settle as `Claims.settle` does."""
        self._claims.settle(settlement)

    def _doubts(self, collection: str) -> bool:
        return self._mode == "always" or not self._completeness.is_whole(collection)
