"""Make the definition of a job from options and files: seeds, profile and names, checked before anything starts."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from admin.units import counted
from archive.json_text import compact_json
from archive.names.name_rules import checked_name
from frontier.definition.job import JobError, Profile, Seed, read_seeds
from frontier.definition.meaning import contact_problem
from frontier.definition.profile import load_profile, make_profile
from frontier.definition.sheets import FORMER_VISITORS

_TIMESTAMP_LENGTH: Final = len("-20261121081500")
MAX_JOB_LENGTH: Final = 64 - _TIMESTAMP_LENGTH
"""The name of a run is `<job>-<timestamp14>` and must match NAME_PATTERN, which allows 64 characters."""
_IDENTITY: Final = ("visitor", "rendered_fraction", "scope", "hops", "include", "exclude")
"""A change of these keys makes another job. With other limits or politeness the same job is resumed."""
_FURTHER_IDENTITY: Final = ("rules", "seen")
"""A change of these keys makes another job, too. Their defaults do not count: earlier releases had no such keys."""
_FIRST_NAMES: Final = {present: former for former, present in FORMER_VISITORS.items()}
"""The names of jobs are made from these, so that a later release resumes the jobs of an earlier one."""
_ADDED: Final = ("include", "exclude")
"""These options add to the profile's values; all others replace them."""


@dataclass(frozen=True, slots=True)
class Definition:
    """The definition of a job names its collection, seeds and profile."""

    collection: str
    job: str
    seeds: tuple[Seed, ...]
    profile: Profile

    @property
    def limits(self) -> dict[str, float]:
        """The limits that are set, by name."""
        return self.profile.limits.model_dump(exclude_none=True)


def define(
    *,
    seeds: Sequence[str],
    seeds_file: Path | None,
    profile_file: Path | None,
    flags: Mapping[str, Any],
    collection: str,
    job: str | None,
) -> Definition:
    """Return the definition that these options describe.

    `flags` has profile keys, dotted for those in groups; a flag that is None was not given. Flags win over the
    profile; `include`, `exclude` and `headers` are added to it. Raises JobError.
    """
    found = _all_seeds(seeds, seeds_file)
    if not found:
        raise JobError("there are no seeds; name at least one URL such as https://example.org/")
    _check_name("collection", collection, 64)
    profile = _with_flags(load_profile(profile_file) if profile_file else Profile(), flags)
    if (message := contact_problem(profile)) is not None:
        raise JobError(message)
    name = job or f"{collection[: MAX_JOB_LENGTH - 9]}-{_identity(found, profile)}"
    _check_name("job", name, MAX_JOB_LENGTH)
    return Definition(collection, name, found, profile)


def _all_seeds(texts: Sequence[str], file: Path | None) -> tuple[Seed, ...]:
    found = [Seed.parse(text) for text in texts]
    if file is not None:
        found += _seeds_of(file)
    return tuple(dict.fromkeys(found))


def _seeds_of(file: Path) -> list[Seed]:
    try:
        with file.open(encoding="utf-8-sig") as lines:
            numbered = list(read_seeds(lines))
    except (OSError, UnicodeDecodeError) as error:
        raise JobError(
            f"--seeds-file {file} can't be read: {error}; it must be UTF-8 text with a URL per line"
        ) from error
    wrong = [(number, each) for number, each in numbered if isinstance(each, JobError)]
    if wrong:
        number, first = wrong[0]
        more = f" (and {counted(len(wrong) - 1, 'more line')})" if len(wrong) > 1 else ""
        raise JobError(f"{file} line {number}: {first}{more}")
    return [each for _, each in numbered if isinstance(each, Seed)]


def _with_flags(profile: Profile, flags: Mapping[str, Any]) -> Profile:
    values = profile.model_dump()
    for name, value in flags.items():
        if value is None:
            continue
        if name in _ADDED:
            values[name] = (*values[name], *value)
        elif name == "headers":
            replaced = {other.lower() for other in value}
            values[name] = {key: old for key, old in values[name].items() if key.lower() not in replaced} | value
        else:
            group, _, key = name.rpartition(".")
            (values[group] if group else values)[key] = value
    return make_profile(values, "the command line")


def headers_of(texts: Sequence[str]) -> dict[str, str] | None:
    """Return `--header` flags as the profile key `headers`; None when there are none. Raises JobError."""
    found: dict[str, str] = {}
    for text in texts:
        name, colon, value = text.partition(":")
        if not colon or not name.strip():
            raise JobError("--header: write NAME: VALUE, for instance --header 'Accept-Language: de'")
        if name.strip().lower() in (other.lower() for other in found):
            raise JobError(f"--header {name.strip()} is given twice; give it once, with its values joined by a comma")
        found[name.strip()] = value.strip()
    return found or None


def _identity(seeds: Iterable[Seed], profile: Profile) -> str:
    """Return eight hex digits that are the same for the same seeds and the same scope."""
    chosen = profile.model_dump(mode="json", include=set(_IDENTITY))
    further = profile.model_dump(mode="json", include=set(_FURTHER_IDENTITY), exclude_defaults=True)
    chosen.update(further)
    chosen["visitor"] = _FIRST_NAMES.get(chosen["visitor"], chosen["visitor"])
    text = compact_json([sorted(seed.url for seed in seeds), dict(sorted(chosen.items()))])
    return hashlib.sha256(text.encode()).hexdigest()[:8]


def _check_name(what: str, name: str, longest: int) -> None:
    try:
        checked_name(what, name, longest)
    except ValueError as error:
        raise JobError(str(error)) from error
