"""What a job asked for again may change while it is unfinished. Pure.

Limits may be raised, seeds added, politeness and the visitor changed; what decides which URLs are in scope must stay,
since what was rejected so far would not come back.
"""

from __future__ import annotations

from typing import Final

from frontier.job import Job, JobError, Limits

_FIXED: Final = (
    "scope",
    "hops",
    "include",
    "exclude",
    "embed_hops",
    "speculative_hops",
    "redirect_hops",
    "max_url_length",
    "max_path_segments",
    "max_path_repeats",
    "robots",
)


def resumed(stored: Job, asked: Job) -> Job:
    """The job to go on with: `asked`, as old as `stored`, with all seeds. Raises JobError naming the difference."""
    problem = _difference(stored, asked)
    if problem:
        raise JobError(f"job {asked.name} is unfinished and {problem}; resume it as it was, or take another job name")
    seeds = tuple(dict.fromkeys((*stored.seeds, *asked.seeds)))
    return asked.model_copy(update={"seeds": seeds, "created": stored.created})


def _difference(stored: Job, asked: Job) -> str | None:
    if stored.collection != asked.collection:
        return f"goes into collection {stored.collection}, not {asked.collection}"
    for name in _FIXED:
        old, new = getattr(stored.profile, name), getattr(asked.profile, name)
        if old != new:
            return f"has profile {name} = {old!r}, not {new!r}"
    for name in Limits.model_fields:
        old, new = getattr(stored.profile.limits, name), getattr(asked.profile.limits, name)
        if new is not None and (old is None or new < old):
            return f"has limits.{name} = {old}, which can be raised but not lowered to {new}"
    return None
