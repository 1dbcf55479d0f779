"""Programs that feed a running job from outside look here whether the job still takes URLs."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from admin.jobs.control.steering import FoundJob
from frontier.queue import Frontier
from frontier.store import FrontierLost, FrontierUnavailable

AS_ASKED: Final = "as asked"
"""The reason of a program that ends since a signal asks it to."""


class FeedState(StrEnum):
    """A job takes URLs, or it waits, or it has ended."""

    OPEN = "open"
    WAITING = "waiting"
    """The job is paused or stopping, or its Redis does not answer."""
    ENDED = "ended"


@dataclass(frozen=True, slots=True)
class FeedLook:
    """The state of a job at one moment, and the reason for people."""

    state: FeedState
    reason: str = ""


def look_at(target: FoundJob, frontier: Frontier) -> FeedLook:
    """Return whether the job takes URLs now."""
    try:
        progress = frontier.reports.progress()
    except FrontierLost:
        return FeedLook(FeedState.ENDED, f"job {target.name} has ended")
    except FrontierUnavailable as error:
        if _has_ended(target):
            return FeedLook(FeedState.ENDED, target.ended_line())
        return FeedLook(FeedState.WAITING, str(error))
    if _has_ended(target):
        return FeedLook(FeedState.ENDED, target.ended_line())
    if progress.stopped:
        return FeedLook(FeedState.WAITING, f"job {target.name} is stopping: {progress.stopped}")
    if progress.paused:
        return FeedLook(FeedState.WAITING, f"job {target.name} is paused: {progress.paused}")
    return FeedLook(FeedState.OPEN)


def _has_ended(target: FoundJob) -> bool:
    """Return whether the command that ran the job on this machine is gone. A job of another machine is not known."""
    return target.run is not None and not target.is_running
