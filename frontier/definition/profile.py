"""A profile is read from its file, TOML, JSON or YAML; each thing wrong with it is said in one line.

Three levels follow each other, and all problems of a level are named at once: the files can be read (`profile_files`);
the keys are known and their values can be used; and the values fit each other and a crawl (`meaning`).
"""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

from pydantic import BaseModel, ValidationError

from frontier.definition.job import JobError, Profile, problem_text, wrong_headers
from frontier.definition.meaning import meaning_problems
from frontier.definition.profile_files import EXTENDS, LineOf, ProfileUnreadable, assembled
from frontier.definition.rules.chain import list_file_of, with_list_file
from frontier.definition.rules.list_files import is_plain_name
from frontier.definition.yaml_document import YamlPath

_REMOVED_KEYS: Final = {"behaviours": "the key behaviors has the names of those to run; leave it out for all"}
"""Keys of earlier releases, which had no effect, with the remedy."""
_HINTS: Final = 20
"""How many unknown keys are compared with the known ones: a file may have thousands."""


type _Unknown = tuple[tuple[str, ...], str]


@dataclass(frozen=True, slots=True)
class ProfileProblem:
    """A problem names one key whose value can't be used."""

    key: str
    """Dotted, such as limits.pages or exclude.3."""
    message: str
    """Key, value, reason and remedy in one line."""
    line: int | None = None
    file: Path | None = None
    is_warning: bool = False
    """The profile can be used, though it may not do what its author means."""

    @property
    def text(self) -> str:
        """Return file, line and message in one line."""
        if self.file is None or self.message.startswith(f"profile {self.file} "):
            return self.message
        line = f" line {self.line}" if self.line is not None else ""
        return f"profile {self.file}{line}: {'warning: ' if self.is_warning else ''}{self.message}"


@dataclass(frozen=True, slots=True)
class ProfileCheck:
    """A profile was checked. It is None when there are problems besides warnings."""

    profile: Profile | None
    problems: tuple[ProfileProblem, ...]
    files: tuple[Path, ...] = ()
    """The files that were read, those that are extended first."""

    @property
    def errors(self) -> tuple[ProfileProblem, ...]:
        """Return the problems for which the profile can't be used."""
        return tuple(each for each in self.problems if not each.is_warning)


def load_profile(path: Path) -> Profile:
    """Return the profile in a `.toml`, `.json`, `.yaml` or `.yml` file, or the stock profile of this name.

    Raises JobError for a file that can't be read, an unknown key (with the nearest known one) or a wrong value.
    """
    found = check_profile(path)
    if found.profile is None:
        first, more = found.errors[0], len(found.errors) - 1
        message = first.message.removeprefix(f"profile {first.file} ")
        line = f" line {first.line}" if first.line is not None and not message.startswith("can't be read") else ""
        colon = "" if message.startswith(("can't be read", "is no table")) else ":"
        rest = f" (and {more} more problems)" if more else ""
        raise JobError(f"profile {first.file or path}{line}{colon} {message}{rest}")
    return found.profile


def check_profile(path: Path) -> ProfileCheck:
    """Return the profile in a file, or the stock profile of this name, with everything that is wrong with it."""
    try:
        source = assembled(path)
    except ProfileUnreadable as error:
        return ProfileCheck(
            None, tuple(ProfileProblem("", each.message, each.line, each.file) for each in error.problems)
        )
    values = source.values

    def placed(problem: ProfileProblem, key: YamlPath) -> ProfileProblem:
        file, line = source.origin(key)
        return replace(problem, file=file, line=line)

    found = [placed(problem, key) for problem, key in wrong_values(values)]
    profile = None if found else Profile.model_validate(values)
    if profile is not None:
        found += [
            placed(ProfileProblem(".".join(map(str, each.path)), each.message, is_warning=each.is_warning), each.path)
            for each in meaning_problems(profile, set(values))
        ]
    order = {file: number for number, file in enumerate(source.files)}
    found.sort(key=lambda each: (order.get(each.file, -1) if each.file else -1, each.line or 0))
    is_refused = any(not each.is_warning for each in found)
    return ProfileCheck(None if is_refused else profile, tuple(found), tuple(source.files))


def make_profile(values: Mapping[str, Any], where: str, line_of: LineOf = lambda _: None) -> Profile:
    """Return the profile with these values; `where` names their source in errors."""
    found = profile_problems(values, line_of)
    if found:
        line = f" line {found[0].line}" if found[0].line is not None else ""
        more = f" (and {len(found) - 1} more problems)" if len(found) > 1 else ""
        raise JobError(f"{where}{line}: {found[0].message}{more}")
    return Profile.model_validate(values)


def profile_problems(values: Mapping[str, Any], line_of: LineOf = lambda _: None) -> tuple[ProfileProblem, ...]:
    """Return everything that keeps these values from being a profile, in the order of their lines."""
    found = [replace(problem, line=line_of(path)) for problem, path in wrong_values(values)]
    return tuple(sorted(found, key=lambda each: each.line or 0))


def with_lists_of(profile: Profile, folder: Path) -> Profile:
    """Return a profile of the admin site with the paths of its list files, which are in this folder of the home.

    Raises JobError for a rule that names another file.
    """
    return profile.model_copy(update={"rules": tuple(with_list_in(line, folder) for line in profile.rules)})


def with_list_in(line: str, folder: Path) -> str:
    """Return the line of a rule of the admin site with the path of its list file, which is in this folder of the home.

    Raises JobError for a rule that names another file.
    """
    name = list_file_of(line)
    if name is not None and not is_plain_name(name):
        raise JobError(f"rules: {line[:200]!r} names a file outside of {folder}; write the name of a file in it")
    return line if name is None else with_list_file(line, folder / name)


def with_list_name(line: str) -> str:
    """Return the line of a rule with the name of its list file alone, as the admin site has the line."""
    name = list_file_of(line)
    return line if name is None else with_list_file(line, Path(Path(name).name))


def wrong_values(values: Mapping[str, Any]) -> Iterator[tuple[ProfileProblem, YamlPath]]:
    """Yield everything that keeps these values from being a profile, with the path of its value."""
    unknown: set[str] = set()
    for path, message in _unknown(values, Profile, ()):
        unknown.add(".".join(path))
        yield ProfileProblem(".".join(path), message), path
    try:
        Profile.model_validate(values)
    except ValidationError as error:
        for each in error.errors(include_url=False):
            if ".".join(map(str, each["loc"])) in unknown:
                continue
            if each["loc"] == ("headers",) and each["type"] == "value_error":
                for name, why in wrong_headers(values["headers"]):
                    yield ProfileProblem(f"headers.{name}", f"headers can't be used: {why}"), ("headers", name)
                continue
            yield ProfileProblem(".".join(map(str, each["loc"])), problem_text(each)), each["loc"]


def _unknown(values: Mapping[str, Any], model: type[BaseModel], above: tuple[str, ...]) -> Iterator[_Unknown]:
    hints = _HINTS
    for name, value in values.items():
        path = (*above, str(name))
        if name not in model.model_fields:
            key = ".".join(path)
            if key == EXTENDS:
                yield path, "extends can't be used here, since only profile files have files beside them; remove it"
                continue
            if remedy := _REMOVED_KEYS.get(key):
                yield path, f"the key {key} was removed: {remedy}"
                continue
            hints -= 1
            near = difflib.get_close_matches(key[:100], _names(Profile), n=1, cutoff=0.4) if hints >= 0 else ()
            hint = f"did you mean {near[0]}?" if near else "leave it out"
            yield path, f"unknown key {key[:200]}; {hint}"
            continue
        inner = model.model_fields[name].annotation
        if isinstance(inner, type) and issubclass(inner, BaseModel) and isinstance(value, Mapping):
            yield from _unknown(value, inner, path)


def _names(model: type[BaseModel], prefix: str = "") -> list[str]:
    found: list[str] = []
    for name, info in model.model_fields.items():
        inner = info.annotation
        if isinstance(inner, type) and issubclass(inner, BaseModel):
            found += _names(inner, f"{prefix}{name}.")
        else:
            found.append(prefix + name)
    return found
