"""This module loads all settings. No other module reads the environment or ghostfleet.toml.

A setting has the value of the last of these that names it: its default, `ghostfleet.toml` in the home, the file of
`--settings`, the environment (`GHOSTFLEET_PROXY__PORT=8000`), the flags of the command. An unknown name is an error
that suggests the nearest one. `docs/reference/settings.md` has the table of all settings, and a test compares it.
"""

from __future__ import annotations

import difflib
import json
import os
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final, get_origin

from pydantic import Field, ValidationError, field_validator
from pydantic_core import ErrorDetails

from archive.names.name_rules import LONGEST, NAME_PATTERN, NAME_RULE
from archive.settings.admin import AdminSettings
from archive.settings.archive import ArchiveSettings
from archive.settings.browsers import BrowserSettings
from archive.settings.capture import CaptureSettings
from archive.settings.curation import CurationSettings
from archive.settings.database import DatabaseSettings
from archive.settings.dedup import DedupSettings
from archive.settings.frontier import FrontierSettings
from archive.settings.generation import GenerationSettings
from archive.settings.harvester import HarvesterSettings
from archive.settings.harvests import HarvestSettings
from archive.settings.intake import IntakeSettings
from archive.settings.logs import LogSettings
from archive.settings.notifications import NotificationSettings
from archive.settings.people import PeopleSettings
from archive.settings.proxy import ProxySettings
from archive.settings.qa import QaSettings
from archive.settings.redis import RedisSettings
from archive.settings.storage import StorageSettings
from archive.settings.urlfrontier import UrlFrontierSettings
from archive.settings.values.base import Section
from archive.settings.values.redacted import shown
from archive.settings.view import ViewSettings

ENVIRONMENT_PREFIX: Final = "GHOSTFLEET_"
FILE_NAME: Final = "ghostfleet.toml"
DEFAULT_HOME: Final = "./ghostfleet-data"
_REASONS: Final = {
    "bool_parsing": "write true or false",
    "finite_number": "write a finite number",
    "float_parsing": "write a number",
    "float_type": "write a number",
    "greater_than": "write a number above {gt:g}",
    "greater_than_equal": "the smallest value is {ge:,}",
    "int_from_float": "write a whole number",
    "int_parsing": "write a whole number",
    "int_type": "write a whole number",
    "less_than_equal": "the largest value is {le:,}",
    "literal_error": "choose {expected}",
    "string_type": "write a text",
    "value_error": "{error}",
}
"""Reasons of pydantic's error types, in words for people who write settings."""


class SettingsError(ValueError):
    """A setting can't be used. The message names the setting, its value and the remedy in one line."""


class Settings(Section):
    """The settings consist of all sections and the path of the home."""

    home: Path = Field(Path(DEFAULT_HOME), description="Folder of everything that is kept.")
    archive: ArchiveSettings = ArchiveSettings()
    storage: StorageSettings = StorageSettings()
    redis: RedisSettings = RedisSettings()
    database: DatabaseSettings = DatabaseSettings()
    dedup: DedupSettings = DedupSettings()
    proxy: ProxySettings = ProxySettings()
    frontier: FrontierSettings = FrontierSettings()
    browsers: BrowserSettings = BrowserSettings()
    admin: AdminSettings = AdminSettings()
    view: ViewSettings = ViewSettings()
    people: PeopleSettings = PeopleSettings()
    notifications: NotificationSettings = NotificationSettings()
    harvests: HarvestSettings = HarvestSettings()
    generation: GenerationSettings = GenerationSettings()
    curation: CurationSettings = CurationSettings()
    harvester: HarvesterSettings = HarvesterSettings()
    qa: QaSettings = QaSettings()
    capture: CaptureSettings = CaptureSettings()
    intake: IntakeSettings = IntakeSettings()
    urlfrontier: UrlFrontierSettings = UrlFrontierSettings()
    logs: LogSettings = LogSettings()

    @field_validator("home")
    @classmethod
    def _absolute(cls, home: Path) -> Path:
        return home.expanduser().absolute()

    def collection(self, name: str) -> Path:
        """Return the folder of one collection."""
        return self.home / "collections" / name

    def archive_dir(self, name: str) -> Path:
        """Return the folder of a collection's WARC files."""
        return self.collection(name) / "archive"

    def index_dir(self, name: str) -> Path:
        """Return the folder of a collection's CDXJ sidecars."""
        return self.collection(name) / "indexes"

    @property
    def database_url(self) -> str:
        """Return the URL of the database, in the form of SQLAlchemy."""
        return self.database.url or f"sqlite:///{self.home / 'ghostfleet.db'}"

    def for_child(self) -> dict[str, str]:
        """Return the environment of a child process that runs with exactly these settings."""
        return {f"{ENVIRONMENT_PREFIX}SETTINGS_JSON": self.model_dump_json()}


def load(
    overrides: Mapping[str, Any] | None = None,
    *,
    file: Path | None = None,
    environment: Mapping[str, str] | None = None,
) -> Settings:
    """Return the settings in force. `overrides` has dotted names (`proxy.port`); None values count as not given.

    Raises SettingsError in one line for an unknown name, a value of the wrong kind or a file that can't be read.
    """
    env = os.environ if environment is None else environment
    if whole := env.get(f"{ENVIRONMENT_PREFIX}SETTINGS_JSON"):
        return Settings.model_validate_json(whole)
    home, layers = _layers(overrides, file, env)
    merged: dict[str, Any] = {}
    for values, where in layers:
        _merge(merged, values, where)
    merged["home"] = home
    try:
        settings = Settings.model_validate(merged)
    except ValidationError as error:
        first = error.errors()[0]
        name = ".".join(str(part) for part in first["loc"])
        raise SettingsError(
            f"setting {name} = {shown(name, first['input'])!r} can't be used: {_reason(first)}"
        ) from None
    _check_together(settings)
    return settings


def _reason(error: ErrorDetails) -> str:
    """Return the reason of one of pydantic's errors, with the remedy."""
    context = error.get("ctx", {})
    if str(context.get("pattern", "")).endswith(NAME_PATTERN):
        return f"{NAME_RULE}, at most {LONGEST} of them"
    form = _REASONS.get(error["type"])
    return form.format_map(context) if form else error["msg"]


def _check_together(settings: Settings) -> None:
    """Raise SettingsError for settings that exclude each other."""
    if settings.browsers.cache == "site" and settings.browsers.engine == "playwright:chromium":
        raise SettingsError(
            "settings browsers.cache = 'site' and browsers.engine = 'playwright:chromium' can't be used together: "
            "Playwright keeps no caches; set browsers.cache to cold, or browsers.engine to chromium"
        )
    if settings.browsers.cache == "site" and settings.browsers.engine == "firefox":
        raise SettingsError(
            "settings browsers.cache = 'site' and browsers.engine = 'firefox' can't be used together: Firefox has one "
            "cache for all pages; set browsers.cache to cold, or browsers.engine to chromium"
        )


def sources(
    overrides: Mapping[str, Any] | None = None,
    *,
    file: Path | None = None,
    environment: Mapping[str, str] | None = None,
) -> dict[str, str]:
    """Return the origin of each value that is no default: the dotted name, and the layer that `load` took it from."""
    _, layers = _layers(overrides, file, os.environ if environment is None else environment)
    return {
        f"{section}.{key}": where
        for values, where in layers
        for section, group in values.items()
        if isinstance(group, Mapping)
        for key in group
    }


def names() -> Iterator[tuple[str, Any, str]]:
    """Yield the dotted name, the default and the meaning of every setting."""
    for section, model in _sections().items():
        for name, info in model.model_fields.items():
            yield f"{section}.{name}", info.get_default(call_default_factory=True), info.description or ""


def _layers(
    overrides: Mapping[str, Any] | None, file: Path | None, env: Mapping[str, str]
) -> tuple[Path, list[tuple[dict[str, Any], str]]]:
    """Return the home, and the layers of settings with their names. The last layer wins."""
    given = {name: value for name, value in (overrides or {}).items() if value is not None}
    home = Path(given.get("home") or env.get(f"{ENVIRONMENT_PREFIX}HOME") or DEFAULT_HOME).expanduser()
    paths = [path for path in (home / FILE_NAME, file) if path is not None and (path == file or path.is_file())]
    layers = [(_from_file(path), str(path)) for path in paths]
    return home, [*layers, (_from_environment(env), "the environment"), (_nested(given), "the command line")]


def _sections() -> dict[str, type[Section]]:
    return {
        name: info.annotation
        for name, info in Settings.model_fields.items()
        if isinstance(info.annotation, type) and issubclass(info.annotation, Section)
    }


def _from_file(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text("utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise SettingsError(f"settings file {path} can't be read: {error}") from error


def _from_environment(env: Mapping[str, str]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, value in env.items():
        if name.startswith(ENVIRONMENT_PREFIX) and "__" in name:
            section, _, key = name[len(ENVIRONMENT_PREFIX) :].lower().partition("__")
            found.setdefault(section, {})[key] = _plain(section, key, value)
    return found


def _plain(section: str, key: str, value: str) -> Any:
    """Return a value from the environment; a table is written NAME=VALUE,NAME=VALUE or as a JSON object."""
    model = _sections().get(section)
    if not (model and key in model.model_fields and get_origin(model.model_fields[key].annotation) is dict):
        return value
    if value.startswith("{"):
        try:
            return json.loads(value)
        except ValueError as error:
            raise SettingsError(f"setting {section}.{key} in the environment is not a JSON object: {error}") from None
    pairs = [pair for pair in value.split(",") if pair]
    if not all("=" in pair for pair in pairs):
        raise SettingsError(
            f"setting {section}.{key} in the environment is not a table: write NAME=VALUE,NAME=VALUE, or a JSON object"
            " where a value has a comma"
        )
    return dict(pair.partition("=")[::2] for pair in pairs)


def _nested(dotted: Mapping[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, value in dotted.items():
        section, _, key = name.partition(".")
        if key:
            found.setdefault(section, {})[key] = value
        elif section != "home":
            found[section] = value
    return found


def _merge(into: dict[str, Any], found: Mapping[str, Any], where: str) -> None:
    sections = _sections()
    for section, values in found.items():
        if section == "home":
            continue
        if section not in sections or not isinstance(values, Mapping):
            raise SettingsError(_unknown(section, where, sections))
        fields = sections[section].model_fields
        for key in values:
            if key not in fields:
                raise SettingsError(_unknown(f"{section}.{key}", where, (name for name, _, _ in names())))
        into[section] = {**into.get(section, {}), **values}


def _unknown(name: str, where: str, known: Iterable[str]) -> str:
    near = difflib.get_close_matches(name, list(known), n=1, cutoff=0.4)
    hint = f"; did you mean {near[0]}?" if near else ""
    return f"unknown setting {name} in {where}{hint}"
