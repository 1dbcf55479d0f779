"""A URL of a continuous crawl is visited again when it is due. This module computes the interval. Pure.

With `adaptive`, the interval grows while the URL does not change and shrinks when it changes, between two bounds, as in
Nutch's adaptive schedule. A visit without a payload to compare (a failure, robots.txt) counts as unchanged for the
interval, so that URLs that are gone are asked for less and less often.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum
from typing import Final, Self

from frontier.definition.job import RevisitRules
from frontier.definition.sheets import SheetValues

REVISIT_KEYS: Final = ("revisit_mode", "revisit_interval_seconds", "revisit_min_seconds", "revisit_max_seconds")
"""The keys of sheets that change when URLs are visited again."""
RECENT: Final = 24
"""The results of so many visits are kept."""
_PACKED: Final = re.compile(r"(\d{1,10}) (\d{1,12}) (\d{1,12}) (\d{1,12}) ([0-9a-f]{16}|-) ([a-z]{1,24})", re.ASCII)


class VisitResult(StrEnum):
    """A visit has one of these results, by which the next interval is chosen."""

    NEW = "n"
    """The payload is the first one of the URL."""
    CHANGED = "c"
    UNCHANGED = "u"
    FAILED = "f"
    """There is no payload to compare."""

    @property
    def word(self) -> str:
        """Return the result as people read it."""
        return self.name.lower()


@dataclass(frozen=True, slots=True)
class RevisitHistory:
    """The history of a URL is what its next interval depends on."""

    interval_seconds: int
    visits: int = 1
    changes: int = 0
    unchanged: int = 0
    """Visits in a row that found the URL unchanged."""
    digest: str = ""
    """Eight bytes of the payload's BLAKE2b digest in hexadecimal; empty when no payload is known."""
    recent: str = ""
    """The results of the last visits, oldest first: a letter of `VisitResult` each."""

    def packed(self) -> str:
        """Return the history in one short line."""
        numbers = f"{self.interval_seconds} {self.visits} {self.changes} {self.unchanged}"
        return f"{numbers} {self.digest or '-'} {self.recent}"

    @classmethod
    def unpacked(cls, text: str) -> Self | None:
        """Return the history of a line that `packed` returned; None for another text."""
        found = _PACKED.fullmatch(text)
        if found is None or set(found[6]) - set(VisitResult):
            return None
        digest = "" if found[5] == "-" else found[5]
        return cls(int(found[1]), int(found[2]), int(found[3]), int(found[4]), digest, found[6])

    @property
    def results(self) -> tuple[VisitResult, ...]:
        """Return the results of the last visits, oldest first."""
        return tuple(VisitResult(letter) for letter in self.recent)


def rules_with(rules: RevisitRules, values: SheetValues) -> RevisitRules:
    """Return the rules of a job with the values that sheets give to a URL.

    A bound of a sheet moves the other bound of the job when they contradict each other.
    """
    least = values.revisit_min_seconds if values.revisit_min_seconds is not None else rules.min_seconds
    most = values.revisit_max_seconds if values.revisit_max_seconds is not None else rules.max_seconds
    if values.revisit_max_seconds is None:
        most = max(least, most)
    changes = {
        "mode": values.revisit_mode or rules.mode,
        "interval_seconds": values.revisit_interval_seconds or rules.interval_seconds,
        "min_seconds": min(least, most),
        "max_seconds": most,
    }
    return rules.model_copy(update=changes)


def after_visit(rules: RevisitRules, before: RevisitHistory | None, digest: str) -> RevisitHistory:
    """Return the history after a visit. `digest` is that of the payload; empty when there is none.

    The URL is due again after the interval of the new history.
    """
    if before is None:
        result = VisitResult.NEW if digest else VisitResult.FAILED
        return RevisitHistory(_first_interval(rules), digest=digest, recent=result)
    result = _result(before, digest)
    is_changed = result is VisitResult.CHANGED
    return RevisitHistory(
        _interval(rules, before.interval_seconds, result),
        visits=before.visits + 1,
        changes=before.changes + is_changed,
        unchanged=0 if is_changed else before.unchanged + (result is VisitResult.UNCHANGED),
        digest=digest or before.digest,
        recent=(before.recent + result)[-RECENT:],
    )


def _result(before: RevisitHistory, digest: str) -> VisitResult:
    if not digest:
        return VisitResult.FAILED
    if not before.digest:
        return VisitResult.NEW
    return VisitResult.UNCHANGED if digest == before.digest else VisitResult.CHANGED


def _first_interval(rules: RevisitRules) -> int:
    return _bounded(rules, rules.interval_seconds) if rules.mode == "adaptive" else round(rules.interval_seconds)


def _interval(rules: RevisitRules, before: int, result: VisitResult) -> int:
    if rules.mode != "adaptive":
        return round(rules.interval_seconds)
    factor = {
        VisitResult.NEW: 1.0,
        VisitResult.CHANGED: 1 - rules.changed_factor,
        VisitResult.UNCHANGED: 1 + rules.unchanged_factor,
        VisitResult.FAILED: 1 + rules.unchanged_factor,
    }[result]
    return _bounded(rules, before * factor)


def _bounded(rules: RevisitRules, seconds: float) -> int:
    return round(min(max(seconds, rules.min_seconds), rules.max_seconds))
