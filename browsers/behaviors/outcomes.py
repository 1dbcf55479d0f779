"""A behaviour's outcome says how far it came on a page. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class BehaviorEnd(StrEnum):
    """A behaviour ended in one of these ways."""

    DONE = "done"
    """There was nothing more to do."""
    NO_EFFECT = "no-effect"
    """No step changed anything."""
    TIMEOUT = "timeout"
    """The time or the number of steps was used up."""
    ERROR = "error"
    """A script of the behaviour failed, or the page did not answer."""


@dataclass(frozen=True, slots=True)
class BehaviorOutcome:
    """The outcome of one behaviour on one page is kept in the page's `urn:pageinfo:` record."""

    id: str
    steps: int
    ended: BehaviorEnd
    links: int = 0
    """Number of URLs that the behaviour added to the links of the page."""
    requests: int = 0
    """Number of requests that the page sent meanwhile."""
    seconds: float = 0.0
    bytes: int | None = None
    """Number of received bytes, when it is known."""
    detail: str = ""
    """Name of what was found, such as the consent platform, or the beginning of an error message."""

    @property
    def was_cut_short(self) -> bool:
        """Return whether the behaviour might have found more with more time, or without its error."""
        return self.ended in (BehaviorEnd.TIMEOUT, BehaviorEnd.ERROR)
