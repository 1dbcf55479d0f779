"""A profile is assembled from its file and the files that it extends; each value remembers its file and line.

`extends` names profiles whose values come first: files beside the profile, or stock profiles. Tables are merged key by
key. The lists `include`, `exclude`, `rules` and `sheets` are joined in order, so that rules of the file itself come
last and win. Any other value replaces the earlier one.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Callable, Mapping
from copy import deepcopy
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from frontier.definition.rules.chain import list_file_of, may_name_file, with_list_file
from frontier.definition.rules.list_files import is_plain_name
from frontier.definition.toml_lines import toml_lines
from frontier.definition.yaml_document import MAX_BYTES, YamlPath, YamlRefused, read_document

type LineOf = Callable[[YamlPath], int | None]
"""The function tells the line of the value with this path."""

EXTENDS: Final = "extends"
YAML_SUFFIXES: Final = (".yaml", ".yml")
STOCK_FOLDER: Final = Path(__file__).parent / "stock"
MAX_PROFILE_BYTES: Final = 50_000_000
"""A profile may hold 100,000 rules; a YAML file has the narrower limits of `yaml_document`."""
_MAX_DEPTH: Final = 5
_MAX_FILES: Final = 50
JOINED: Final = ("include", "exclude", "rules", "sheets")
"""A profile adds its lines of these lists to those of the profile that it extends."""
_TOML_LINE: Final = re.compile(r"\(at line (\d+), column \d+\)")


@dataclass(frozen=True, slots=True)
class UnreadableProfile:
    """A problem keeps a file from being read as a profile."""

    file: Path
    line: int | None
    message: str


class ProfileUnreadable(ValueError):
    """The file, or one that it extends, can't be read. All problems found are named."""

    def __init__(self, *problems: UnreadableProfile) -> None:
        super().__init__("; ".join(each.message for each in problems))
        self.problems = problems


@dataclass(frozen=True, slots=True)
class _Source:
    """A file has been read."""

    path: Path
    values: Mapping[str, Any]
    line_of: LineOf


@dataclass(slots=True)
class AssembledProfile:
    """The values of a profile file and of all files that it extends are put together."""

    values: dict[str, Any] = field(default_factory=dict)
    files: list[Path] = field(default_factory=list)
    _origins: dict[YamlPath, tuple[_Source, YamlPath]] = field(default_factory=dict)

    def origin(self, path: YamlPath) -> tuple[Path | None, int | None]:
        """Return the file and the line of what has this path, or of the nearest thing around it."""
        for length in range(len(path), 0, -1):
            if (found := self._origins.get(path[:length])) is not None:
                source, own = found
                return source.path, source.line_of((*own, *path[length:]))
        return (self.files[-1] if self.files else None), None

    def take(self, source: _Source) -> None:
        """Put the values of a file over those that are there."""
        self.files.append(source.path)
        self._merge(self.values, source.values, source, ())

    def _merge(self, into: dict[str, Any], values: Mapping[str, Any], source: _Source, above: YamlPath) -> None:
        for key, value in values.items():
            path = (*above, key)
            if path == (EXTENDS,):
                continue
            if isinstance(value, Mapping) and isinstance(into.get(key), dict):
                self._merge(into[key], value, source, path)
            elif not above and key in JOINED and isinstance(value, list) and isinstance(into.get(key), list):
                first = len(into[key])
                into[key] = [*into[key], *value]
                self._origins.update(((key, first + at), (source, (key, at))) for at in range(len(value)))
            else:
                into[key] = deepcopy(value)
                self._origins[path] = (source, path)


def assembled(path: Path) -> AssembledProfile:
    """Return the values of a profile file, or of the stock profile of this name. Raises ProfileUnreadable."""
    profile = AssembledProfile()
    _assemble(profile, profile_path(path), ())
    return profile


def profile_path(path: Path) -> Path:
    """Return the path of a profile that a person named: a file, or the stock profile of this name."""
    name = str(path)
    return stock_file(name) if is_stock(name) and not path.exists() else path


def stock_names() -> list[str]:
    """Return the names of the stock profiles."""
    return sorted(each.stem for each in STOCK_FOLDER.glob("*.yaml"))


def is_stock(name: str) -> bool:
    """Return whether a stock profile has this name."""
    return is_plain_name(name) and "." not in name and stock_file(name).is_file()


def stock_file(name: str) -> Path:
    """Return the file of a stock profile."""
    return STOCK_FOLDER / f"{name}.yaml"


def stock_title(name: str) -> str:
    """Return the first line of a stock profile, which says what it is for."""
    return stock_file(name).read_text("utf-8").partition("\n")[0].removeprefix("#").strip()


def _assemble(profile: AssembledProfile, path: Path, within: tuple[Path, ...]) -> None:
    source = _read(path)
    for place, name in enumerate(_extended(source)):
        line = source.line_of((EXTENDS, place))
        base = stock_file(name) if is_stock(name) else path.parent / name
        if base.resolve() in (each.resolve() for each in (*within, path)):
            raise ProfileUnreadable(
                UnreadableProfile(path, line, f"extends {name[:200]!r} leads back to itself; remove it")
            )
        if len(within) + 1 >= _MAX_DEPTH or len(profile.files) >= _MAX_FILES:
            message = f"extends {name[:200]!r} goes too deep; use at most {_MAX_DEPTH} levels and {_MAX_FILES} files"
            raise ProfileUnreadable(UnreadableProfile(path, line, message))
        if not base.is_file():
            message = (
                f"extends {name[:200]!r} is neither a file beside the profile nor one of {', '.join(stock_names())}"
            )
            raise ProfileUnreadable(UnreadableProfile(path, line, message))
        _assemble(profile, base, (*within, path))
    profile.take(source)


def _extended(source: _Source) -> list[str]:
    found = source.values.get(EXTENDS, [])
    names = [found] if isinstance(found, str) else found
    if not isinstance(names, list) or not all(isinstance(name, str) and name for name in names):
        line = source.line_of((EXTENDS,))
        message = f"extends = {str(found)[:200]!r} is no list of profiles; write for example extends: [polite]"
        raise ProfileUnreadable(UnreadableProfile(source.path, line, message))
    return names


def _read(path: Path) -> _Source:
    """Return what a file holds. List files of its rules get paths of their own. Raises ProfileUnreadable."""
    text = _text(path)
    try:
        if path.suffix.lower() in YAML_SUFFIXES:
            if len(text.encode()) > MAX_BYTES:
                raise ProfileUnreadable(_unread(path, f"it has more than {MAX_BYTES:,} bytes; shorten it"))
            document = read_document(text)
            values: Any = document.values()
            line_of: LineOf = document.line_of
        elif path.suffix.lower() == ".json":
            values, line_of = json.loads(text), _LinesOfJson(text)
        else:
            values, line_of = tomllib.loads(text), _LinesOfToml(text)
    except YamlRefused as error:
        raise ProfileUnreadable(
            *(UnreadableProfile(path, each.line, each.message) for each in error.problems)
        ) from error
    except json.JSONDecodeError as error:
        raise ProfileUnreadable(_unread(path, f"{error}; correct the file", error.lineno)) from error
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        found = _TOML_LINE.search(str(error))
        line = int(found[1]) if found else text.count("\n") + 1  # "at end of document"
        raise ProfileUnreadable(_unread(path, f"{error}; correct the file", line)) from error
    if not isinstance(values, dict):
        message = f"profile {path} is no table; write an object of keys and values, such as {{'hops': 2}}"
        raise ProfileUnreadable(UnreadableProfile(path, 1, message))
    return _Source(path, _with_list_paths(values, path.absolute().parent), line_of)


def _text(path: Path) -> str:
    try:
        with path.open("rb") as file:
            data = file.read(MAX_PROFILE_BYTES + 1)
        if len(data) > MAX_PROFILE_BYTES:
            raise ProfileUnreadable(_unread(path, f"it has more than {MAX_PROFILE_BYTES:,} bytes; shorten it"))
        return data.decode("utf-8-sig" if path.suffix.lower() == ".json" else "utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ProfileUnreadable(_unread(path, f"{error}; correct the file or its path")) from error


def _unread(path: Path, why: str, line: int | None = None) -> UnreadableProfile:
    return UnreadableProfile(path, line, f"profile {path} can't be read: {why}")


def _with_list_paths(values: Mapping[str, Any], folder: Path) -> Mapping[str, Any]:
    """Return the values with absolute paths of the list files that rules name beside the profile."""
    rules = values.get("rules")
    if not isinstance(rules, list):
        return values
    return {**values, "rules": [with_list_path(line, folder) for line in rules]}


def with_list_path(line: Any, folder: Path) -> Any:
    """Return the line of a rule with the absolute path of the list file that it names in a folder."""
    if not isinstance(line, str) or not may_name_file(line) or (name := list_file_of(line)) is None:
        return line
    return with_list_file(line, folder / name)


class _LinesOfToml:
    """Tells the lines of a TOML text, which is taken apart when the first line is asked for."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._lines: dict[YamlPath, int] | None = None

    def __call__(self, path: YamlPath) -> int | None:
        """Return the line of what has this path, or of the nearest thing around it."""
        if self._lines is None:
            self._lines = toml_lines(self._text)
        lengths = range(len(path), 0, -1)
        return next((self._lines[path[:length]] for length in lengths if path[:length] in self._lines), None)


class _LinesOfJson:
    """Tells the lines of a JSON text, which is YAML, too. A text beyond the limits of YAML has no lines."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._line_of: LineOf | None = None

    def __call__(self, path: YamlPath) -> int | None:
        """Return the line of what has this path, or of the nearest thing around it."""
        if self._line_of is None:
            try:
                self._line_of = read_document(self._text).line_of
            except YamlRefused:
                self._line_of = lambda _: None
        return self._line_of(path)
