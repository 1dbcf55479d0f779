"""Make the definition of a job from options and files: seeds, profile and names, checked before anything starts."""

from __future__ import annotations

import hashlib
import tempfile
import weakref
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, TextIO

from admin.units import counted
from archive.json_text import compact_json
from archive.line_sort import sorted_lines
from archive.names.name_rules import checked_name
from frontier.definition.job import JobError, Profile, Seed, read_seeds
from frontier.definition.meaning import contact_problem
from frontier.definition.profile import load_profile, make_profile
from frontier.definition.seeds import Seeds
from frontier.definition.sheets import FORMER_VISITORS

_TOLD_LINES: Final = 100_000
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
    seeds: Seeds
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
    told: Callable[[int], None] = lambda _: None,
) -> Definition:
    """Return the definition that these options describe.

    `flags` has profile keys, dotted for those in groups; a flag that is None was not given. Flags win over the
    profile; `include`, `exclude` and `headers` are added to it. `told` is called now and then with the number of seeds
    that were read. Raises JobError.
    """
    found = SeedSpool(_all_seeds(seeds, seeds_file, told))
    if not len(found):
        raise JobError("there are no seeds; name at least one URL such as https://example.org/")
    _check_name("collection", collection, 64)
    profile = _with_flags(load_profile(profile_file) if profile_file else Profile(), flags)
    if (message := contact_problem(profile)) is not None:
        raise JobError(message)
    name = job or f"{collection[: MAX_JOB_LENGTH - 9]}-{_identity(found, profile)}"
    _check_name("job", name, MAX_JOB_LENGTH)
    return Definition(collection, name, found, profile)


class SeedSpool:
    """Distinct seeds are kept in a temporary file without a name, in the order in which they were given.

    The memory for a million seeds is the same as for a few thousand. The spool has one reader at a time.
    """

    def __init__(self, urls: Iterable[str]) -> None:
        """Read canonical URLs. Raises JobError when there is no space for them."""
        self._file = self._temporary()
        self._count, self.identity = 0, hashlib.sha256()
        folder = Path(tempfile.gettempdir())
        try:
            with (
                sorted_lines(self._spooled(urls), folder) as lines,
                sorted_lines(self._repeated(lines), folder) as twice,
            ):
                self._leave_out(int(number) for number in twice)
        except OSError as error:
            raise JobError(
                f"the seeds can't be kept in {folder}: {error.strerror}; make space, or set TMPDIR"
            ) from error

    def __len__(self) -> int:
        return self._count

    def __iter__(self) -> Iterator[Seed]:
        self._file.seek(0)
        return (Seed(line.removesuffix("\n")) for line in self._file)

    def _spooled(self, urls: Iterable[str]) -> Iterator[str]:
        """Write each URL to the file, and yield the URL with its number."""
        for url in urls:
            self._file.write(f"{url}\n")
            yield f"{url}\t{self._count:012}\n"
            self._count += 1

    def _repeated(self, lines: Iterable[str]) -> Iterator[str]:
        """Yield the numbers of the URLs that come again, and compute the identity of the distinct ones."""
        last = None
        for line in lines:
            url, _, number = line.partition("\t")
            if url == last:
                yield number
                continue
            self.identity.update(f"{'[[' if last is None else ','}{compact_json(url)}".encode())
            last = url

    def _leave_out(self, numbers: Iterator[int]) -> None:
        """Write the file again without the URLs of these numbers, if there are any."""
        if (next_one := next(numbers, None)) is None:
            return
        before, self._file = self._file, self._temporary()
        self._count = 0
        before.seek(0)
        for number, line in enumerate(before):
            if number == next_one:
                next_one = next(numbers, None)
            else:
                self._file.write(line)
                self._count += 1
        before.close()

    def _temporary(self) -> TextIO:
        file = tempfile.TemporaryFile("w+", encoding="utf-8", newline="\n")  # noqa: SIM115 - closed with the spool
        weakref.finalize(self, file.close)
        return file


def _all_seeds(texts: Sequence[str], file: Path | None, told: Callable[[int], None]) -> Iterator[str]:
    yield from (Seed.parse(text).url for text in texts)
    if file is not None:
        yield from _seeds_of(file, told)


def _seeds_of(file: Path, told: Callable[[int], None]) -> Iterator[str]:
    """Yield the seeds of a file. Raises JobError at its end, when a line can't be used."""
    first, wrong = "", 0
    try:
        with file.open(encoding="utf-8-sig") as lines:
            for number, found in read_seeds(lines):
                if isinstance(found, Seed):
                    yield found.url
                else:
                    first, wrong = first or f"{file} line {number}: {found}", wrong + 1
                if not number % _TOLD_LINES:
                    told(number)
    except (OSError, UnicodeDecodeError) as error:
        raise JobError(
            f"--seeds-file {file} can't be read: {error}; it must be UTF-8 text with a URL per line"
        ) from error
    if wrong:
        raise JobError(f"{first}{f' (and {counted(wrong - 1, "more line")})' if wrong > 1 else ''}")


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


def _identity(seeds: SeedSpool, profile: Profile) -> str:
    """Return eight hex digits that are the same for the same seeds and the same scope."""
    chosen = profile.model_dump(mode="json", include=set(_IDENTITY))
    further = profile.model_dump(mode="json", include=set(_FURTHER_IDENTITY), exclude_defaults=True)
    chosen.update(further)
    chosen["visitor"] = _FIRST_NAMES.get(chosen["visitor"], chosen["visitor"])
    digest = seeds.identity.copy()
    digest.update(f"],{compact_json(dict(sorted(chosen.items())))}]".encode())
    return digest.hexdigest()[:8]


def _check_name(what: str, name: str, longest: int) -> None:
    try:
        checked_name(what, name, longest)
    except ValueError as error:
        raise JobError(str(error)) from error
