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
    BUDGET = "budget"
    """Controls were given up, since the time, the steps or the repetitions for them were used up."""
    TIMEOUT = "timeout"
    """The time or the number of steps was used up."""
    ERROR = "error"
    """A script of the behaviour failed, or the page did not answer."""


class GivenUpFor(StrEnum):
    """Controls were given up for one of these reasons."""

    UNTOUCHED = "untouched"
    """The time or the steps of the page were used up before their turn."""
    ENDLESS = "endless"
    """They still brought something new after the largest number of repetitions."""
    MANY_ALIKE = "many-alike"
    """Very many others that look alike were touched."""
    ALIKE_DRY = "alike-dry"
    """Many others that look alike fetched nothing new."""
    ALIKE_IDLE = "alike-idle"
    """Some others that look alike had no effect at all."""

    @property
    def is_for_budget(self) -> bool:
        """Return whether the controls might have brought something with a larger budget."""
        return self is not GivenUpFor.ALIKE_IDLE


@dataclass(frozen=True, slots=True)
class GivenUp:
    """So many controls of a page were given up for one reason."""

    reason: GivenUpFor
    count: int
    names: tuple[str, ...]
    """Labels of the first ones."""

    @property
    def text(self) -> str:
        """Return the count, the reason and the names in one line."""
        return f"{self.count} {self.reason}: " + ", ".join(self.names)


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
    given_up: tuple[GivenUp, ...] = ()
    """Controls that were not touched, or not as often as they brought something new."""

    @property
    def was_cut_short(self) -> bool:
        """Return whether the behaviour might have found more with more time, or without its error."""
        return self.ended in (BehaviorEnd.BUDGET, BehaviorEnd.TIMEOUT, BehaviorEnd.ERROR)
