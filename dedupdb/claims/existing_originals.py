"""These claims answer with an original only when the file of its record exists.

People remove files and whole collections without telling Redis or the index. So, before a revisit may refer to an
original, its file is looked for: once for each file of a batch. An original whose file is missing is forgotten, and
its payload is granted as new. When the file may or may not exist (the storage does not answer, or another home may
have the file), the payload is kept whole and Redis keeps the original.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from archive.capture import Original
from archive.storage.presence import Presence, WarcFiles
from dedupdb.captures.capture_index import Captures
from dedupdb.captures.schema import CapturesError
from dedupdb.claims.claims import Claims, ClaimVerdict, PayloadKey, Settlement
from dedupdb.claims.forgetting import forget
from dedupdb.claims.homes import Homes

logger = logging.getLogger(__name__)

_TRIES: Final = 3
_NAMED_FILES: Final = 1000


class ExistingOriginals:
    """One writer claims payloads by this object. It is for one thread."""

    def __init__(self, claims: Claims, captures: Captures, files: WarcFiles, home: str = "") -> None:
        """`home` is the name of this home; empty when no other home shares the dedup store."""
        self.link = claims.link
        self._claims = claims
        self._captures = captures
        self._files = files
        self._homes = Homes(claims.link, home) if home else None
        self._named: set[tuple[str, str]] = set()
        self.forgotten = 0
        """Originals that were forgotten because their file is missing."""

    def claim(self, payloads: Sequence[PayloadKey]) -> list[Original | ClaimVerdict]:
        """Answer as `Claims.claim` does; forget originals whose files are missing, and ask for their payloads again."""
        answers = self._claims.claim(payloads)
        unsure = [place for place, answer in enumerate(answers) if isinstance(answer, Original)]
        for _ in range(_TRIES):
            if not unsure:
                return answers
            unsure = self._ask_again(payloads, answers, self._sort_out(payloads, answers, unsure))
        for place in unsure:
            answers[place] = ClaimVerdict.GRANTED
        return answers

    def settle(self, settlement: Settlement) -> None:
        """Settle as `Claims.settle` does. Where homes share the store, first note that the captures' files are in this
        home: another home that gets an original whose file has no known home keeps the payload whole.
        """
        try:
            if self._homes is not None:
                self._homes.add(settlement.captures)
        finally:
            self._claims.settle(settlement)  # also after a failure, so that the next call sends these tallies

    def is_there(self, collection: str, original: Original) -> bool:
        """Return whether the file of this original is known to exist. Raises DedupUnavailable."""
        place = (collection, original.filename, original.offset)
        return self._judged(place, self._files.presence([place])[place]) is Presence.THERE

    def close(self) -> None:
        """Close the connection to the storage, but not the claims: their owner closes them."""
        self._files.close()

    def _sort_out(
        self, payloads: Sequence[PayloadKey], answers: list[Original | ClaimVerdict], unsure: Sequence[int]
    ) -> dict[int, Original]:
        """Return the originals whose files are missing, and answer doubtful ones with GRANTED."""
        places = {place: self._place(payloads[place], answers[place]) for place in unsure}
        found = self._files.presence([at for at in places.values() if at is not None])
        gone: dict[int, Original] = {}
        for place, at in places.items():
            presence = Presence.UNKNOWN if at is None else found[at]
            if presence is Presence.THERE:
                continue
            original = answers[place]
            if at is not None:
                presence = self._judged(at, presence)
            if presence is Presence.MISSING and isinstance(original, Original):
                gone[place] = original
                self._say_once(payloads[place].collection, at[1] if at is not None else "")
            elif presence is Presence.UNKNOWN:
                answers[place] = ClaimVerdict.GRANTED
        return gone

    def _ask_again(
        self, payloads: Sequence[PayloadKey], answers: list[Original | ClaimVerdict], gone: dict[int, Original]
    ) -> list[int]:
        """Forget missing originals and claim their payloads again. Return the places that now have another original."""
        if not gone:
            return []
        self.forgotten += forget(self.link, [(payloads[place], original) for place, original in gone.items()])
        again = self._claims.claim([payloads[place] for place in gone])
        for place, answer in zip(gone, again, strict=True):
            answers[place] = answer
        return [place for place in gone if isinstance(answers[place], Original)]

    def _place(self, payload: PayloadKey, original: Original | ClaimVerdict) -> tuple[str, str, int] | None:
        """Return collection, file and offset of the original; None when neither Redis nor the index has them."""
        if not isinstance(original, Original):
            return None
        if original.filename:
            return payload.collection, original.filename, original.offset
        try:
            row = self._captures.by_record(payload.collection, original.record_id)
        except CapturesError as error:
            logger.warning("can't look up the file of original %s: %s", original.record_id, error)
            return None
        if row is None:
            return None
        self._claims.announce(payload.collection, replace(original, filename=row.filename, offset=row.offset))
        return payload.collection, row.filename, row.offset

    def _judged(self, at: tuple[str, str, int], presence: Presence) -> Presence:
        """Return whether the file of an original exists.

        A file that is not in this home is missing only if it was in this home. Otherwise another home may have it.
        """
        if presence is not Presence.MISSING or self._homes is None:
            return presence
        home = self._homes.of(at[0], at[1])
        if home == self._homes.own:
            return Presence.MISSING
        return Presence.THERE if home else Presence.UNKNOWN

    def _say_once(self, collection: str, filename: str) -> None:
        if (collection, filename) in self._named:
            return
        if len(self._named) >= _NAMED_FILES:
            self._named.clear()
        self._named.add((collection, filename))
        logger.warning(
            "collection %s: %s is missing; its originals are forgotten, and their payloads are kept again",
            collection,
            filename,
        )
