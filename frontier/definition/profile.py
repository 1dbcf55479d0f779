"""A profile is read from its file, TOML, JSON or YAML; each thing wrong with it is said in one line."""

from __future__ import annotations

import difflib
import json
import tomllib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from pydantic import BaseModel, ValidationError

from frontier.definition.job import JobError, Profile, problem_text, wrong_headers
from frontier.definition.yaml_document import MAX_BYTES, YamlPath, YamlRefused, read_document

YAML_SUFFIXES: Final = (".yaml", ".yml")
_REMOVED_KEYS: Final = {"behaviours": "the key behaviors has the names of those to run; leave it out for all"}
"""Keys of earlier releases, which had no effect, with the remedy."""
_HINTS: Final = 20
"""How many unknown keys are compared with the known ones: a file may have thousands."""


type _Unknown = tuple[tuple[str, ...], str]
type LineOf = Callable[[YamlPath], int | None]
"""The function tells the line of the value with this path."""


@dataclass(frozen=True, slots=True)
class ProfileProblem:
    """A problem names one key whose value can't be used."""

    key: str
    """Dotted, such as limits.pages or exclude.3."""
    message: str
    """Key, value, reason and remedy in one line."""
    line: int | None = None


def load_profile(path: Path) -> Profile:
    """Return the profile in a `.toml`, `.json`, `.yaml` or `.yml` file.

    Raises JobError for a file that can't be read, an unknown key (with the nearest known one) or a wrong value.
    """
    values, line_of = _read(path)
    return make_profile(values, f"profile {path}", line_of)


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
    found = [ProfileProblem(".".join(path), message, line_of(path)) for path, message in _unknown(values, Profile, ())]
    unknown = {each.key for each in found}
    try:
        Profile.model_validate(values)
    except ValidationError as error:
        for each in error.errors(include_url=False):
            if ".".join(map(str, each["loc"])) in unknown:
                continue
            if each["loc"] == ("headers",) and each["type"] == "value_error":
                headers = values["headers"]
                found += [
                    ProfileProblem(f"headers.{name}", f"headers can't be used: {why}", line_of(("headers", name)))
                    for name, why in wrong_headers(headers)
                ]
                continue
            found.append(ProfileProblem(".".join(map(str, each["loc"])), problem_text(each), line_of(each["loc"])))
    return tuple(sorted(found, key=lambda each: each.line or 0))


def _read(path: Path) -> tuple[Mapping[str, Any], LineOf]:
    try:
        if path.suffix.lower() in YAML_SUFFIXES:
            return _read_yaml(path)
        text = path.read_text("utf-8")
        values = json.loads(text) if path.suffix == ".json" else tomllib.loads(text)
    except (OSError, UnicodeDecodeError, json.JSONDecodeError, tomllib.TOMLDecodeError) as error:
        raise JobError(f"profile {path} can't be read: {error}; correct the file or its path") from error
    if not isinstance(values, dict):
        raise JobError(f"profile {path} is no table; write an object of keys and values, such as {{'hops': 2}}")
    return values, lambda _: None


def _read_yaml(path: Path) -> tuple[Mapping[str, Any], LineOf]:
    with path.open("rb") as file:
        data = file.read(MAX_BYTES + 1)
    if len(data) > MAX_BYTES:
        raise JobError(f"profile {path} can't be read: it has more than {MAX_BYTES:,} bytes; shorten it")
    try:
        document = read_document(data.decode("utf-8"))
    except YamlRefused as error:
        first = error.problems[0]
        line = f" line {first.line}" if first.line is not None else ""
        raise JobError(f"profile {path}{line}: {first.message}") from error
    return document.values(), document.line_of


def _unknown(values: Mapping[str, Any], model: type[BaseModel], above: tuple[str, ...]) -> Iterator[_Unknown]:
    hints = _HINTS
    for name, value in values.items():
        path = (*above, name)
        if name not in model.model_fields:
            key = ".".join(path)
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
