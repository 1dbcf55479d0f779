"""A `behaviors.yaml` after brozzler's contract has templates in the folder `js-templates` beside it.

The first entry whose `url_regex` matches the page is used. Its template is rendered with its parameters and evaluated
once. Then `umbraBehaviorFinished()` is asked until it says yes and the page has been quiet for a time.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from jinja2 import FileSystemLoader, TemplateError
from jinja2.sandbox import SandboxedEnvironment

from browsers.behaviors.outcomes import BehaviorEnd
from browsers.behaviors.page_access import PageAccess
from browsers.behaviors.page_tools import call
from browsers.behaviors.user_files.hosted import ScriptError
from browsers.engines.interface import Binding, InitScript
from frontier.definition.yaml_document import YamlRefused, read_document

_POLL_SECONDS: Final = 0.5
_FOLDER: Final = "js-templates"


@dataclass(frozen=True, slots=True)
class UmbraRule:
    """A rule is an entry of a `behaviors.yaml`."""

    pattern: re.Pattern[str]
    name: str
    script: str
    idle_seconds: float


def read_rules(path: Path, text: str) -> tuple[UmbraRule, ...]:
    """Return the entries of a file with their scripts. Raises ScriptError."""
    try:
        # The reader takes a table at the top, and the file of the contract is a list.
        values = read_document("behaviors:\n" + "".join(f"  {line}\n" for line in text.splitlines())).values()
    except YamlRefused as error:
        raise ScriptError(f"{path} can't be read: {error.problems[0].message}") from error
    entries = values.get("behaviors")
    if not isinstance(entries, Sequence) or isinstance(entries, str):
        raise ScriptError(
            f"{path} is no list; write `- url_regex: …` and `  behavior_js_template: …` for each behaviour"
        )
    templates = SandboxedEnvironment(loader=FileSystemLoader(path.parent / _FOLDER))  # for scripts, not for HTML
    return tuple(_rule(path, templates, entry) for entry in entries)


class UmbraBehavior:
    """The script of a rule runs on one page."""

    def __init__(self, rule: UmbraRule) -> None:
        self.id = f"umbra:{rule.name}"
        self.steps = 0
        self.init_scripts: Sequence[InitScript] = ()
        self.bindings: Sequence[Binding] = ()
        self._rule = rule

    async def run(self, page: PageAccess) -> BehaviorEnd:
        """Evaluate the script, and wait until it is finished and the page is quiet."""
        frame = page.window.main_frame
        await call(frame, "evaluateScript", self._rule.script)
        while not page.clock.is_up:
            self.steps += 1
            answer: dict[str, Any] = await call(frame, "isUmbraFinished")
            page.add_links(answer["outlinks"], f"behavior/{self.id}")
            if answer["isFinished"]:
                quiet = min(self._rule.idle_seconds, page.clock.left)
                is_quiet = await page.window.traffic.settled(quiet, page.clock.left)
                return BehaviorEnd.DONE if is_quiet else BehaviorEnd.TIMEOUT
            await asyncio.sleep(min(_POLL_SECONDS, page.clock.left))
        return BehaviorEnd.TIMEOUT


def _rule(path: Path, templates: SandboxedEnvironment, entry: object) -> UmbraRule:
    if not isinstance(entry, Mapping) or not entry.get("behavior_js_template"):
        raise ScriptError(f"{path} has an entry without behavior_js_template; name a file of {_FOLDER}")
    name = str(entry["behavior_js_template"])
    parameters = entry.get("default_parameters") or {}
    try:
        pattern = re.compile(str(entry.get("url_regex") or "^.*$"))
        script = templates.get_template(name).render(dict(parameters))
        idle = float(entry.get("request_idle_timeout_sec") or 1)
    except (re.error, TemplateError, ValueError, TypeError) as error:
        raise ScriptError(f"{path} has an entry with {name!r} that can't be used: {error!r}; correct it") from error
    return UmbraRule(pattern, name, script, min(60.0, max(0.0, idle)))
