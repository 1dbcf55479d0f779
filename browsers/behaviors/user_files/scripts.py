"""The files with users' behaviours are read once. Those for a page are chosen by its URL.

| file | holds | is for |
|---|---|---|
| `browsers.browsertrix_behaviors` | an unmodified browsertrix-behaviors | every page |
| `NAME.js` | a class after Browsertrix's contract | pages of which its `isMatch()` says yes |
| `NAME.json` | a flow recorded in Chrome's DevTools | the page of its first step |
| `NAME.yaml` | brozzler's `behaviors.yaml` | pages that match a `url_regex` |
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Final

from archive.settings import BrowserSettings
from browsers.behaviors.user_files.browsertrix import BrowsertrixBehaviors
from browsers.behaviors.user_files.classes import read_class
from browsers.behaviors.user_files.flows import Flow, FlowPlayer, read_flow
from browsers.behaviors.user_files.hosted import HostedBehavior, ScriptError
from browsers.behaviors.user_files.umbra import UmbraBehavior, UmbraRule, read_rules

MAX_BYTES: Final = 4_000_000
"""Largest file with behaviours."""
type _Choice = Callable[[str], HostedBehavior | None]


class BehaviorScripts:
    """The behaviours of a user's files."""

    def __init__(self, settings: BrowserSettings) -> None:
        """Read the files. Raises ScriptError."""
        self._choices: list[_Choice] = []
        if settings.browsertrix_behaviors:
            source = _read(Path(settings.browsertrix_behaviors).expanduser())
            self._choices.append(
                lambda url: BrowsertrixBehaviors(source, settings.behaviors, settings.behavior_seconds)
            )
        self._choices += [_choice(Path(name).expanduser()) for name in settings.behavior_scripts]

    def for_page(self, url: str) -> tuple[HostedBehavior, ...]:
        """Return the behaviours for one visit of a page."""
        return tuple(found for choice in self._choices if (found := choice(url)) is not None)


def _choice(path: Path) -> _Choice:
    text = _read(path)
    match path.suffix:
        case ".js":
            read_class(path, text)
            return lambda url: read_class(path, text)
        case ".json":
            return _flow_choice(read_flow(path, text))
        case ".yaml" | ".yml":
            return _rule_choice(read_rules(path, text))
    raise ScriptError(f"{path} is no file with behaviours; its name must end in .js, .json, .yaml or .yml")


def _flow_choice(flow: Flow) -> _Choice:
    return lambda url: FlowPlayer(flow) if flow.matches(url) else None


def _rule_choice(rules: tuple[UmbraRule, ...]) -> _Choice:
    def choose(url: str) -> UmbraBehavior | None:
        rule = next((rule for rule in rules if rule.pattern.search(url)), None)
        return UmbraBehavior(rule) if rule is not None else None

    return choose


def _read(path: Path) -> str:
    try:
        with path.open("rb") as file:
            data = file.read(MAX_BYTES + 1)
        if len(data) > MAX_BYTES:
            raise ScriptError(f"{path} has more than {MAX_BYTES:,} bytes; shorten it")
        return data.decode("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ScriptError(f"{path} can't be read: {error}; correct the path or the file") from error
