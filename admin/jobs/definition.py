"""From what a person asked for to what is run: seeds, profile and names, checked before anything starts."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from archive.jsontext import compact_json
from archive.sections import NAME_PATTERN
from frontier.job import JobError, Profile, Seed, read_seeds
from frontier.profile import load_profile, make_profile

_TIMESTAMP_LENGTH: Final = len("-20261121081500")
MAX_JOB_LENGTH: Final = 64 - _TIMESTAMP_LENGTH
"""A run is called `<job>-<timestamp14>`, and that too must fit NAME_PATTERN."""
_IDENTITY: Final = ("visitor", "rendered_fraction", "scope", "hops", "include", "exclude")
"""What makes it another job when it changes. Limits and politeness do not: with others a job goes on."""


@dataclass(frozen=True, slots=True)
class Definition:
    """What is to be harvested, and how."""

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
    """The definition these flags describe. `flags` are profile keys (dotted for those in groups); None is not given.

    Raises JobError in one line for whatever can't be used.
    """
    found = _all_seeds(seeds, seeds_file)
    if not found:
        raise JobError("there is nothing to crawl; name at least one seed such as https://example.org/")
    _check_name("collection", collection, 64)
    profile = _with_flags(load_profile(profile_file) if profile_file else Profile(), flags)
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
        raise JobError(f"seeds file {file} can't be read: {error}; it is UTF-8 text, a URL per line") from error
    wrong = [(number, each) for number, each in numbered if isinstance(each, JobError)]
    if wrong:
        number, first = wrong[0]
        more = f" (and {len(wrong) - 1} more lines like it)" if len(wrong) > 1 else ""
        raise JobError(f"{file} line {number}: {first}{more}")
    return [each for _, each in numbered if isinstance(each, Seed)]


def _with_flags(profile: Profile, flags: Mapping[str, Any]) -> Profile:
    values = profile.model_dump()
    for name, value in flags.items():
        if value is not None:
            group, _, key = name.rpartition(".")
            (values[group] if group else values)[key] = value
    return make_profile(values, "the command line")


def _identity(seeds: Iterable[Seed], profile: Profile) -> str:
    """Eight hex digits, the same for the same seeds and the same idea of what belongs to them."""
    chosen = profile.model_dump(mode="json", include=set(_IDENTITY))
    text = compact_json([sorted(seed.url for seed in seeds), dict(sorted(chosen.items()))])
    return hashlib.sha256(text.encode()).hexdigest()[:8]


def _check_name(what: str, name: str, longest: int) -> None:
    if not re.fullmatch(NAME_PATTERN, name) or len(name) > longest:
        raise JobError(
            f"{what} {name!r} can't be used; it becomes part of file names: letters, digits, dot, dash and "
            f"underscore, at most {longest}, and a letter or digit first"
        )
