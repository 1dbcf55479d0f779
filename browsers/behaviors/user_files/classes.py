"""A file with a behaviour class after Browsertrix's contract runs in the page.

The class has `static id`, `static isMatch()`, `static init()`, optionally `static runInIframe` and
`async awaitPageLoad(context)`, and `async* run(context)`, which yields a state after each step. `context.Lib` has our
own functions under Browsertrix's names.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from browsers.behaviors.outcomes import BehaviorEnd
from browsers.behaviors.page_access import PageAccess
from browsers.behaviors.page_tools import call
from browsers.behaviors.user_files.hosted import ScriptError
from browsers.engines.interface import Binding, Frame, InitScript

_CLASS: Final = re.compile(r"\bclass\s+([A-Za-z_$][\w$]*)")
_EXPORT: Final = re.compile(r"^\s*export\s+(default\s+)?(?=class\b)", re.MULTILINE)
_TURN_MS: Final = 2000
"""A class runs in turns of this length, so that a page that hangs is noticed."""


class BehaviorClass:
    """A behaviour class from a user's file, which runs on one page."""

    def __init__(self, name: str, source: str, class_name: str) -> None:
        self.id = f"class:{name}"
        self.steps = 0
        self.init_scripts: Sequence[InitScript] = ()
        self.bindings: Sequence[Binding] = ()
        self._expression = f"(() => {{ {source}\n; return {class_name}; }})()"

    async def run(self, page: PageAccess) -> BehaviorEnd:
        """Run in the main frame, and in frames when the class wants that."""
        is_whole = True
        for frame in page.frames():
            is_whole = await self._run_in(frame, page) and is_whole
        return BehaviorEnd.DONE if is_whole else BehaviorEnd.TIMEOUT

    async def _run_in(self, frame: Frame, page: PageAccess) -> bool:
        if not await call(frame, "startClass", self._expression, frame.is_main):
            return True
        steps = 0
        while not page.clock.is_up:
            turn: dict[str, Any] = await call(frame, "runClass", _TURN_MS)
            page.add_links(turn["links"], f"behavior/{self.id}")
            self.steps += int(turn["steps"]) - steps
            steps = int(turn["steps"])
            await page.patience.settle(0.1, page.clock.left, 1.0)
            if turn["isDone"]:
                return True
        await call(frame, "stopClass")
        return False


def read_class(path: Path, source: str) -> BehaviorClass:
    """Return the behaviour of a file. Raises ScriptError when no class is in it."""
    match = _CLASS.search(source)
    if match is None:
        raise ScriptError(f"{path} has no class; write `class Name {{ static id = …; async* run(context) … }}`")
    return BehaviorClass(path.stem, _EXPORT.sub("", source), match[1])
