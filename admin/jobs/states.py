"""The states of a job, of its hosts and of its seeds, and the exit code of each state of a job.

`docs/reference/endings.md` has the same as a table for users.

A job moves from `running` to one of the other states when an attempt at it ends. The same command resumes an
`interrupted`, `stopped` or `failed` job (`running`), and a `limit` job only with a higher limit. `finished` and `gaps`
are final: the same command begins a new run.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Final


class JobState(StrEnum):
    """Each run of a job has exactly one of these states."""

    RUNNING = "running"
    FINISHED = "finished"
    """All URLs in scope were visited, and every seed answered."""
    GAPS = "gaps"
    """No URL is queued, but something is missing: seeds, hosts that were set aside, or single URLs."""
    LIMIT = "limit"
    """A limit of the job ended the run, and URLs are left, or would be visited again."""
    STOPPED = "stopped"
    """An operator stopped the run, and URLs are left, or would be visited again."""
    INTERRUPTED = "interrupted"
    """A signal such as Ctrl-C ended the run, and URLs are left, or would be visited again."""
    FAILED = "failed"
    """No seed answered, or a process of the fleet died again and again."""


EXIT_CODES: Final[Mapping[JobState, int]] = {
    JobState.RUNNING: 1,
    JobState.FINISHED: 0,
    JobState.FAILED: 1,
    JobState.GAPS: 3,
    JobState.LIMIT: 4,
    JobState.STOPPED: 5,
    JobState.INTERRUPTED: 130,
}
"""Exit codes of `ghostfleet crawl`. Code 2 means bad input: then no job began. No job ends in the state `running`."""

MEANINGS: Final[Mapping[JobState, str]] = {
    JobState.RUNNING: "the job is running",
    JobState.FINISHED: "all URLs in scope were visited",
    JobState.GAPS: "all other URLs in scope were visited; run the same command again to crawl anew",
    JobState.LIMIT: "run the same command with a higher limit to resume",
    JobState.STOPPED: "run the same command again to resume",
    JobState.INTERRUPTED: "run the same command again to resume",
    JobState.FAILED: "run the same command again to retry",
}
"""The text that follows the name of a state in messages."""


class HostState(StrEnum):
    """Each host of a job has one of these states when the job has ended."""

    VISITED = "visited"
    """No URL of the host is left."""
    LEFT = "left"
    """The job ended before all URLs of the host were visited."""
    LIMIT = "limit"
    """The host was set aside at `limits.host_pages`, or at a quota."""
    FAILING = "failing"
    """The host was set aside after too many failures in a row."""
    ASIDE = "aside"
    """An operator set the host aside."""


class SeedState(StrEnum):
    """Each seed of a job has one of these states when the job has ended."""

    ANSWERED = "answered"
    """The seed, or the page to which it redirects, was fetched."""
    HTTP_ERROR = "http-error"
    """The seed, or the page to which it redirects, answered with a status of 400 or above."""
    UNREACHABLE = "unreachable"
    """No answer came."""
    FORBIDDEN = "forbidden"
    """The site's robots.txt forbids the seed."""
    QUOTA = "quota"
    """A quota was reached before the seed was fetched."""
    REFUSED = "refused"
    """A rule of the proxy refuses the seed, such as the rule on private addresses."""
    REJECTED = "rejected"
    """The job's scope rejects the seed."""
    REDIRECTED_OUT = "redirected-out"
    """The seed redirects to a URL that is out of scope."""
    ASIDE = "aside"
    """The seed was not fetched, because its host was set aside."""
    WAITING = "waiting"
    """The job ended before the seed was fetched."""
