"""Why a job is over, as a status and a reason (pure)."""

from __future__ import annotations

from dataclasses import dataclass

from admin.codes import word
from admin.runs import Status
from admin.tally import Tally
from frontier.job import Limits
from frontier.lease import Progress


@dataclass(frozen=True, slots=True)
class Ending:
    """How a sitting ended; `reason` is empty when the status says it all."""

    status: Status
    reason: str = ""


def ending(progress: Progress, limits: Limits, tally: Tally, *, interrupted: bool) -> Ending:
    """What it was that ended the work, now that no worker is at it any more.

    A job none of whose seeds ever answered has failed, whatever else is true of it: its reason is the commonest one.
    """
    if progress.queued + progress.leased > 0:
        if interrupted:
            return Ending("stopped")
        return Ending("stopped", progress.stopped) if progress.stopped else Ending("limit", _limit(progress, limits))
    if not any(seed.was_crawled for seed in tally.seeds.values()):
        return Ending("failed", _why_no_seed(tally))
    return Ending("finished")


def _limit(progress: Progress, limits: Limits) -> str:
    if limits.pages is not None and progress.done >= limits.pages:
        return f"{limits.pages} pages"
    if limits.bytes is not None and progress.bytes >= limits.bytes:
        return f"{limits.bytes} bytes"
    return f"{limits.seconds:.0f} seconds" if limits.seconds is not None else "a limit"


def _why_no_seed(tally: Tally) -> str:
    codes = sorted({seed.code for seed in tally.seeds.values()})
    return "no seed could be captured: " + ", ".join(word(code) for code in codes)
