"""An unfinished job may be started again with a changed definition. This module checks the change. Pure.

Limits may be raised, and seeds added. Politeness and the visitor may change. The keys that decide the scope must stay
the same: URLs that were rejected before are not looked at again. Most of these keys can be edited while the job runs
(`edits`).
"""

from __future__ import annotations

from typing import Final

from frontier.definition.job import Job, JobError, Limits
from frontier.definition.scope import SCOPE_KEYS

_FIXED: Final = ("scope", *SCOPE_KEYS, "seen", "robots")
_LONGEST: Final = 500


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
            can_be_edited = " (`ghostfleet job edit` changes this key of a job)" if name in SCOPE_KEYS else ""
            return f"has profile {name} = {_shown(old)}, not {_shown(new)}{can_be_edited}"
    for name in Limits.model_fields:
        old, new = getattr(stored.profile.limits, name), getattr(asked.profile.limits, name)
        if new is not None and (old is None or new < old):
            return f"has limits.{name} = {old}, which can be raised but not lowered to {new}"
    return None


def _shown(value: object) -> str:
    """Return a value in few characters: a profile may have 100,000 rules."""
    text = repr(value)
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"
