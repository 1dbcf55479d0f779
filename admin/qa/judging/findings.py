"""A finding is one reason why a page is damaged: its kind, a sentence, and the points that it costs. Pure.

A page without findings has 100 points. The points of each finding stand beside it, so that a score can be checked.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import Any, Final

VERSION: Final = 2
"""The version of the measures and their points. Scores of two versions can't be compared."""


class FindingKind(StrEnum):
    """The kinds of findings; filters and reports use these words."""

    PAGE_MISSING = "page-missing"
    BLANK = "blank"
    ERROR_PAGE = "error-page"
    """The replay shows a login, an error or a question for consent, and the capture did not."""
    HANGS = "hangs"
    MISSING_STYLESHEET = "missing-stylesheet"
    MISSING_SCRIPT = "missing-script"
    MISSING_IMAGE = "missing-image"
    MISSING_FONT = "missing-font"
    MISSING_MEDIA = "missing-media"
    MISSING_FRAME = "missing-frame"
    MISSING_OTHER = "missing-other"
    CHANGED = "changed-resource"
    """The archive has another content of a resource than the crawl kept."""
    BROKEN_IMAGE = "broken-image"
    """The browser can't decode an image that it could decode at the capture."""
    UNPLAYABLE = "unplayable"
    """A film or a sound that could be played at its capture can't be played in replay."""
    PICTURE = "picture"
    """The picture of the window differs."""
    FULL_PAGE = "full-page"
    """The picture of the whole page differs."""
    TEXT = "text"
    LINKS = "links"
    """The replay lacks links that the page had at its capture."""
    SCRIPT_ERROR = "script-error"
    """The replay has an error of a script that the capture did not have."""
    REDIRECT = "redirect"
    TIME_SKEW = "time-skew"
    FLAW_AT_CAPTURE = "flaw-at-capture"
    """The ghost itself noted at the capture that the page is not what its URL promises."""


class DamageSeverity(StrEnum):
    """A judged page is good, noticeably damaged or severely damaged."""

    GOOD = "good"
    NOTICEABLE = "noticeable"
    SEVERE = "severe"


KIND_OF_RESOURCE: Final = {
    "stylesheet": FindingKind.MISSING_STYLESHEET,
    "script": FindingKind.MISSING_SCRIPT,
    "image": FindingKind.MISSING_IMAGE,
    "font": FindingKind.MISSING_FONT,
    "media": FindingKind.MISSING_MEDIA,
    "document": FindingKind.MISSING_FRAME,
    "other": FindingKind.MISSING_OTHER,
}
REPAIRABLE: Final = frozenset((*KIND_OF_RESOURCE.values(), FindingKind.CHANGED, FindingKind.BROKEN_IMAGE))
"""Kinds of findings about a resource that can be captured again."""
LEAST_POINTS: Final = {
    FindingKind.MISSING_STYLESHEET: 20,
    FindingKind.MISSING_SCRIPT: 12,
    FindingKind.MISSING_IMAGE: 11,
    FindingKind.MISSING_FONT: 11,
    FindingKind.MISSING_MEDIA: 15,
    FindingKind.MISSING_FRAME: 15,
    FindingKind.MISSING_OTHER: 3,
}
"""The points that the first missing resource of a kind costs at least. Each further one costs a tenth of these, and its
share of the page by Memento Damage (Brunelle et al. 2015) when that is more."""
MOST_FINDINGS: Final = 200
"""Findings that are kept of one page; the others are counted in the last one."""


@dataclass(frozen=True, slots=True)
class Finding:
    """A reason why a page is damaged. `url` is the resource that is meant; `points` are taken off the score."""

    kind: FindingKind
    words: str
    points: float
    url: str = ""
    initiator: str = ""
    """The kind and the place of what asks for the resource, such as `script http://a.example/app.js:12`."""
    size: str = ""
    """Width and height of the resource on the page in CSS pixels, such as `300 × 200`; empty when nobody knows."""
    weight: float = 0.0
    """The share of the page that is lost with the resource, by Memento Damage; 0 when it does not count."""
    examples: tuple[str, ...] = ()
    """URLs of what is meant, when there are several."""

    def to_json(self) -> dict[str, Any]:
        """Return the finding as pages, records and the API have it."""
        always = ("kind", "words", "points")
        return {name: value for name, value in asdict(self).items() if value or name in always}


def score_of(findings: Sequence[Finding]) -> int:
    """Return the score of a page, from 0 to 100."""
    return max(0, 100 - round(sum(finding.points for finding in findings)))


def severity_of(findings: Sequence[Finding], score: int, *, severe: int, noticeable: int) -> DamageSeverity:
    """Return the severity of a page with this score. `severe` and `noticeable` are the thresholds of the settings."""
    if score < severe:
        return DamageSeverity.SEVERE
    return DamageSeverity.NOTICEABLE if score < noticeable else DamageSeverity.GOOD
