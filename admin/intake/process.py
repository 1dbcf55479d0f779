"""The intake takes URLs from the messages of a broker into the frontier of a running job.

A message is acknowledged when its URL stands in Redis. When the intake dies in between, the broker hands out the
message again, and the frontier knows the URL. While the job is paused, the intake is not connected, so that the
messages stay in the queue.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import asdict, dataclass
from threading import Event
from time import monotonic
from typing import Final

from admin.intake.broker import BrokerMessage, BrokerTrouble, connected
from admin.intake.messages import IntakeUrl, MessageRefused, read_message
from admin.jobs.control.feeding import AS_ASKED, FeedLook, FeedState, look_at
from admin.jobs.control.steering import FoundJob
from archive.settings.intake import IntakeSettings
from archive.settings.values.redacted import without_secrets
from frontier.definition.job import Seed
from frontier.definition.scope import Accepted, Rejected, ScopeDecision
from frontier.queue import Frontier
from frontier.store import FrontierLost, FrontierUnavailable

logger = logging.getLogger(__name__)

_LOOK_SECONDS: Final = 1.0
_WAIT_SECONDS: Final = 0.2
"""Longest wait for a message. An intake that waits sees after this time that it is asked to end."""
_FIRST_PAUSE: Final = 0.5
_SHOWN: Final = 200
_UNUSABLE: Final = frozenset({"no-url", "scheme", "too-long"})
"""For these reasons of the scope, a message is rejected: its URL can't be fetched in any job of this profile."""


@dataclass(frozen=True, slots=True)
class IntakeCounts:
    """The counts of messages that an intake has taken."""

    added: int = 0
    known: int = 0
    """The URL was queued or visited before."""
    out_of_scope: int = 0
    """The rules of the job refuse the URL; the report of the job has them."""
    rejected: int = 0
    """The message can't be used, and is in the queue of rejected messages."""

    def as_json(self) -> dict[str, int]:
        """Return the counts by their names."""
        return asdict(self)


class MessageIntake:
    """The intake of one queue into one job. It runs in one thread."""

    def __init__(
        self,
        target: FoundJob,
        frontier: Frontier,
        settings: IntakeSettings,
        stop: Event,
        tell: Callable[[FeedLook], None] = lambda _: None,
    ) -> None:
        """Prepare an intake that runs until `stop` is set or the job ends. `tell` hears of each new state."""
        self._target = target
        self._frontier = frontier
        self._settings = settings
        self._stop = stop
        self._tell = tell
        self._told: FeedLook | None = None
        self.counts = IntakeCounts()
        self._was_connected = False

    def run(self) -> FeedLook:
        """Take messages until `stop` is set or the job ends. Return why it ended."""
        failures = 0
        while not self._stop.is_set():
            look = look_at(self._target, self._frontier)
            if look.state is FeedState.ENDED:
                return look
            if look.state is FeedState.WAITING:
                self._say(look)
                self._stop.wait(_LOOK_SECONDS)
                continue
            try:
                self._consume()
                failures = 0
            except FrontierLost as error:
                return FeedLook(FeedState.ENDED, str(error))
            except FrontierUnavailable as error:
                logger.warning("messages wait, since the frontier does not answer: %s", error)
                self._stop.wait(_LOOK_SECONDS)
            except BrokerTrouble as error:
                failures = 0 if self._was_connected else failures + 1
                pause = min(_FIRST_PAUSE * 2 ** min(failures, 20), self._settings.longest_pause_seconds)
                logger.warning("%s; the next try is in %.1f s", error, pause)
                self._say(FeedLook(FeedState.WAITING, str(error)))
                self._stop.wait(pause)
        return FeedLook(FeedState.ENDED, AS_ASKED)

    def _consume(self) -> None:
        """Take messages until the job takes no more. Raises BrokerTrouble and FrontierUnavailable."""
        self._was_connected = False
        with connected(self._settings, self.take) as broker:
            self._was_connected = True
            logger.info("messages of %s at %s go to job %s", self._settings.queue, self._shown_url(), self._target.name)
            self._say(FeedLook(FeedState.OPEN))
            looked = monotonic()
            while not self._stop.is_set():
                broker.wait(_WAIT_SECONDS)
                if monotonic() - looked >= _LOOK_SECONDS:
                    if look_at(self._target, self._frontier).state is not FeedState.OPEN:
                        return
                    looked = monotonic()

    def take(self, message: BrokerMessage) -> None:
        """Take one message. Raises FrontierUnavailable; the message then comes again."""
        try:
            if message.problem:
                raise MessageRefused(message.problem)
            found = read_message(message.body, self._settings.longest_message)
        except MessageRefused as error:
            self._reject(message, str(error))
            return
        decisions = self._add(found)
        match decisions[0] if decisions else None:
            case None:
                message.give_back()
                raise FrontierLost(f"job {self._target.name} has ended its work")
            case Accepted():
                self._count(added=1)
            case Rejected(reason="seen" | "perhaps-seen"):
                self._count(known=1)
            case Rejected(reason=reason, rule=rule) if reason in _UNUSABLE:
                self._reject(message, f"{reason}: {rule}"[:_SHOWN])
                return
            case Rejected():
                self._count(out_of_scope=1)
        message.acknowledge()

    def _add(self, found: IntakeUrl) -> list[ScopeDecision]:
        candidate = found.candidate
        if found.is_new_seed:
            return self._frontier.add_seeds([Seed(url=candidate.url)], again=candidate.force)
        return self._frontier.add([candidate], from_outside=True)

    def _reject(self, message: BrokerMessage, reason: str) -> None:
        logger.warning("a message is rejected: %s: %r", reason, message.body[:_SHOWN])
        message.reject(reason)
        self._count(rejected=1)

    def _count(self, *, added: int = 0, known: int = 0, out_of_scope: int = 0, rejected: int = 0) -> None:
        old = self.counts
        self.counts = IntakeCounts(
            old.added + added, old.known + known, old.out_of_scope + out_of_scope, old.rejected + rejected
        )

    def _say(self, look: FeedLook) -> None:
        if look != self._told:
            self._told = look
            logger.info("the intake is %s%s", look.state, f": {look.reason}" if look.reason else "")
            self._tell(look)

    def _shown_url(self) -> str:
        return without_secrets(self._settings.url)
