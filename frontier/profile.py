"""A profile read from its file, TOML or JSON; whatever is wrong with it is said in one line."""

from __future__ import annotations

import difflib
import json
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ValidationError

from frontier.job import JobError, Profile, first_problem


def load_profile(path: Path) -> Profile:
    """The profile in a `.toml` or `.json` file.

    Raises JobError for a file that can't be read, an unknown key (with the nearest known one) or a wrong value.
    """
    return make_profile(_read(path), f"profile {path}")


def make_profile(values: Mapping[str, Any], where: str) -> Profile:
    """The profile with these values; `where` names their source in errors."""
    _check_names(values, Profile, "", where)
    try:
        return Profile.model_validate(values)
    except ValidationError as error:
        raise JobError(f"{where}: {first_problem(error)}") from error


def _read(path: Path) -> dict[str, Any]:
    try:
        text = path.read_text("utf-8")
        values = json.loads(text) if path.suffix == ".json" else tomllib.loads(text)
    except (OSError, UnicodeDecodeError, json.JSONDecodeError, tomllib.TOMLDecodeError) as error:
        raise JobError(f"profile {path} can't be read: {error}") from error
    if not isinstance(values, dict):
        raise JobError(f"profile {path} holds no table of keys and values")
    return values


def _check_names(values: Mapping[str, Any], model: type[BaseModel], prefix: str, where: str) -> None:
    for name, value in values.items():
        if name not in model.model_fields:
            near = difflib.get_close_matches(prefix + name, list(_names(Profile)), n=1, cutoff=0.4)
            hint = f"; did you mean {near[0]}?" if near else ""
            raise JobError(f"{where}: unknown key {prefix}{name}{hint}")
        inner = model.model_fields[name].annotation
        if isinstance(inner, type) and issubclass(inner, BaseModel) and isinstance(value, Mapping):
            _check_names(value, inner, f"{prefix}{name}.", where)


def _names(model: type[BaseModel], prefix: str = "") -> list[str]:
    found: list[str] = []
    for name, info in model.model_fields.items():
        inner = info.annotation
        if isinstance(inner, type) and issubclass(inner, BaseModel):
            found += _names(inner, f"{prefix}{name}.")
        else:
            found.append(prefix + name)
    return found
