"""People edit the profile of a running job. Each edit says who changed which key, when, from what and to what. Pure."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final, Self

from pydantic import ValidationError

from archive.dates import Micros
from archive.json_text import compact_json
from frontier.definition.job import JobError, Profile, first_problem

EDITABLE: Final = ("limits", "politeness", "robots", "sheets", "quotas", "groups", "least_delays", "max_links")
"""The keys of a profile that people may change while the job runs."""
_TABLES: Final = ("limits", "politeness")
"""The keys of these tables are edited each on its own."""
_JOINED: Final = ("sheets",)
"""A profile adds its lines of these lists to those of the profile that it extends."""


@dataclass(frozen=True, slots=True)
class ProfileEdit:
    """An edit has changed one key of a job's profile."""

    time: Micros
    by: str
    key: str
    """A key such as robots, or politeness.min_delay_seconds."""
    before: Any
    after: Any

    def packed(self) -> str:
        """Return the edit as JSON."""
        return compact_json([self.time, self.by, self.key, self.before, self.after])

    @classmethod
    def unpacked(cls, text: str | bytes) -> Self:
        """Return the edit of the JSON that `packed` returned."""
        return cls(*json.loads(text))


def edited(profile: Profile, values: Mapping[str, Any]) -> Profile:
    """Return a profile with other values of some keys, nested as in a profile file. Raises JobError."""
    for key in values:
        if key not in EDITABLE:
            raise JobError(f"{str(key)[:100]!r} can't be edited while a job runs; the keys are {', '.join(EDITABLE)}")
    changed = profile.model_dump()
    for key, value in values.items():
        if key in _TABLES and isinstance(value, Mapping):
            changed[key] = {**changed[key], **value}
        else:
            changed[key] = value
    try:
        return Profile.model_validate(changed)
    except ValidationError as error:
        raise JobError(first_problem(error)) from error


def edits_between(before: Profile, after: Profile, *, by: str, time: Micros) -> list[ProfileEdit]:
    """Return an edit for each key that has another value."""
    old, new = dict(_flat(before)), dict(_flat(after))
    return [ProfileEdit(time, by, key, old[key], new[key]) for key in old if old[key] != new[key]]


def with_edits(profile: Profile, edits: Iterable[ProfileEdit]) -> Profile:
    """Return the profile of a job that is started again, with the edits that were made before.

    An edit holds as long as the profile has the value that the key had before its first edit. Raises JobError.
    """
    first: dict[str, Any] = {}
    last: dict[str, Any] = {}
    for edit in edits:
        first.setdefault(edit.key, edit.before)
        last[edit.key] = edit.after
    now = dict(_flat(profile))
    kept = {key: value for key, value in last.items() if key in now and now[key] == first[key]}
    return edited(profile, _nested(kept)) if kept else profile


@dataclass(frozen=True, slots=True)
class ProfilePatch:
    """A patch has the values that edits gave to keys, as a profile that is named after another one in `extends`."""

    values: Mapping[str, Any]
    removed: tuple[str, ...]
    """Lines of lists that edits removed. A profile can't take lines away from the profile that it extends."""


def patch_of(edits: Iterable[ProfileEdit]) -> ProfilePatch:
    """Return the patch that makes the values in force of those before the edits."""
    first: dict[str, Any] = {}
    last: dict[str, Any] = {}
    for edit in edits:
        first.setdefault(edit.key, edit.before)
        last[edit.key] = edit.after
    removed: list[str] = []
    values: dict[str, Any] = {}
    for key, value in last.items():
        if key in _JOINED:
            removed += [f"{key}: {line}" for line in first[key] if line not in value]
            value = [line for line in value if line not in first[key]]
            if not value:
                continue
        elif value == first[key]:
            continue
        values[key] = value
    return ProfilePatch(_nested(values), tuple(removed))


def _flat(profile: Profile) -> Iterator[tuple[str, Any]]:
    values = profile.model_dump(mode="json", include=set(EDITABLE))
    for key in EDITABLE:
        if key in _TABLES:
            yield from ((f"{key}.{name}", value) for name, value in values[key].items())
        else:
            yield key, values[key]


def _nested(values: Mapping[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, value in values.items():
        table, _, name = key.partition(".")
        if name:
            found.setdefault(table, {})[name] = value
        else:
            found[key] = value
    return found
