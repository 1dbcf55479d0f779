"""An unfinished job may be started again with a changed definition. This module checks the change. Pure.

Limits may be raised, and seeds added. Politeness and the visitor may change. The keys that decide the scope must stay
the same: URLs that were rejected before are not looked at again.
"""

from __future__ import annotations

from typing import Final

from frontier.definition.job import Job, JobError, Limits

_FIXED: Final = (
    "scope",
    "hops",
    "include",
    "exclude",
    "rules",
    "seen",
    "embed_hops",
    "speculative_hops",
    "redirect_hops",
    "max_url_length",
    "max_path_segments",
    "max_path_repeats",
    "robots",
)


def resumed(stored: Job, asked: Job) -> Job:
    """Return the job that goes on: `asked`, with the creation time of `stored`.

    Raises JobError, which names the difference that is not allowed.
    """
    problem = _difference(stored, asked)
    if problem:
        raise JobError(
            f"job {asked.name} is unfinished and {problem}; start it with the old value, or choose another job name"
        )
    return asked.model_copy(update={"created": stored.created})


def _difference(stored: Job, asked: Job) -> str | None:
    if stored.collection != asked.collection:
        return f"has collection = {stored.collection!r}, not {asked.collection!r}"
    for name in _FIXED:
        old, new = getattr(stored.profile, name), getattr(asked.profile, name)
        if old != new and name == "seen":
            name, old, new = next(
                (f"seen.{key}", value, getattr(new, key)) for key, value in old if value != getattr(new, key)
            )
        if old != new:
            return f"has profile {name} = {old!r}, not {new!r}"
    for name in Limits.model_fields:
        old, new = getattr(stored.profile.limits, name), getattr(asked.profile.limits, name)
        if new is not None and (old is None or new < old):
            return f"has limits.{name} = {old}, which can be raised but not lowered to {new}"
    return None
