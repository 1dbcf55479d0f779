"""A job gets its own copy of a template's values, with what harvest, configurations and traps set. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from admin.harvests.templates.verification import checked_profile
from admin.models.base import NO_LIMIT
from frontier.definition.job import Profile
from frontier.definition.profile import make_profile


@dataclass(frozen=True, slots=True)
class JobLimits:
    """The limits of a whole job. -1 is no limit, so that the template's own limit stays; so is 0 for the time."""

    objects: int = NO_LIMIT
    bytes: int = NO_LIMIT
    seconds: int = 0


def profile_of(
    text: str,
    *,
    attributes: Mapping[str, Any] | None = None,
    limits: JobLimits = JobLimits(),
    traps: Iterable[str] = (),
) -> dict[str, Any]:
    """Return the profile's values as a job keeps them, made from the text of a template's version.

    `attributes` are keys of the configuration (dotted for those in groups) and win over the template; `traps` are
    added to `exclude`. Raises InvalidInput for a text that is no template, and JobError for attributes or traps that
    make no profile.
    """
    values = _template_values(text).model_dump(mode="json")
    for key, value in (attributes or {}).items():
        group, dot, name = key.partition(".")
        if dot and isinstance(values.get(group), dict):
            values[group][name] = value
        elif isinstance(value, Mapping) and isinstance(values.get(key), dict):
            values[key] = {**values[key], **value}
        else:
            values[key] = value
    given = {"urls": limits.objects, "bytes": limits.bytes, "seconds": limits.seconds or NO_LIMIT}
    values["limits"].update({name: value for name, value in given.items() if value != NO_LIMIT})
    values["exclude"] = list(dict.fromkeys([*values["exclude"], *traps]))
    return make_profile(values, "the job's profile").model_dump(mode="json")


@lru_cache(maxsize=64)
def _template_values(text: str) -> Profile:
    """Return the profile of a text; a generation of jobs asks for the same few texts a million times."""
    return checked_profile(text)
