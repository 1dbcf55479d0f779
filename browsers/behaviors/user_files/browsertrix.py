"""An unmodified `browsertrix-behaviors` of the user runs in all frames, by its public interface.

The program is a separate work under the AGPL. Its file is named by the setting `browsers.browsertrix_behaviors`, and
loaded when a page is visited.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Collection, Sequence
from typing import Any, Final

from browsers.behaviors.outcomes import BehaviorEnd
from browsers.behaviors.page_access import PageAccess
from browsers.behaviors.page_tools import ToolFailed
from browsers.engines.interface import Binding, Frame, FrameGone, InitScript, ScriptFailed, World

_COUNTERPARTS: Final = {"autofetch": "autofetch", "autoplay": "play", "autoscroll": "scroll", "autoclick": "click"}
"""Browsertrix's general behaviours with ours. One runs only where ours is off."""
_MOST_CALLS: Final = 20_000
_MAX_URL: Final = 4096
_RUN: Final = """
async () => {
  const behaviors = self.__bx_behaviors;
  if (!behaviors) return false;
  await behaviors.awaitPageLoad?.();
  await behaviors.run();
  return true;
}
"""


class BrowsertrixBehaviors:
    """A runner of the program on one page."""

    id = "browsertrix"

    def __init__(self, source: str, own: Collection[str], seconds: float) -> None:
        """`own` are the names of our behaviours that run on the page; `seconds` is the program's time."""
        self.steps = 0
        self._calls = 0
        self._links: dict[str, None] = {}
        self._seen: set[str] = set()
        self._page: PageAccess | None = None
        options: dict[str, object] = {name: ours not in own for name, ours in _COUNTERPARTS.items()}
        options |= {"siteSpecific": True, "log": "__bx_log", "timeout": round(seconds * 1000)}
        start = (
            f"if (self.__bx_behaviors) {{ self.__bx_behaviors.init({json.dumps(options)});"
            " self.__bx_behaviors.selectMainBehavior?.(); }"
        )
        self.init_scripts: Sequence[InitScript] = (InitScript(source), InitScript(start))
        self.bindings: Sequence[Binding] = (
            Binding("__bx_log", self._log),
            Binding("__bx_addLink", self._add_link),
            Binding("__bx_fetch", self._fetch),
            Binding("__bx_addSet", self._add_to_set),
            Binding("__bx_netIdle", self._idle),
            Binding("__bx_contentCheckFailed", self._log),
            Binding("__bx_initFlow", self._no_flow),
            Binding("__bx_nextFlowStep", self._end_flow),
        )

    async def run(self, page: PageAccess) -> BehaviorEnd:
        """Run the program in each frame at the same time."""
        self._page = page
        runs = [asyncio.ensure_future(_run_in(frame)) for frame in page.frames()]
        try:
            done, left = await asyncio.wait(runs, timeout=page.clock.left)
            for run in done:
                run.result()
        finally:
            for run in runs:
                run.cancel()
            await asyncio.gather(*runs, return_exceptions=True)
        page.add_links(self._links, "behavior/browsertrix")
        if left:
            return BehaviorEnd.TIMEOUT
        if not any(run.result() for run in done):
            raise ToolFailed("the program has no __bx_behaviors")
        return BehaviorEnd.DONE

    def _is_allowed(self) -> bool:
        self._calls += 1
        return self._calls <= _MOST_CALLS

    async def _log(self, frame: Frame, value: Any) -> None:
        self.steps += self._is_allowed()

    async def _add_link(self, frame: Frame, value: Any) -> None:
        if isinstance(value, str) and len(value) <= _MAX_URL and self._is_allowed():
            self._links[value] = None

    async def _fetch(self, frame: Frame, value: Any) -> bool:
        return False  # the program then fetches in the page, through the proxy

    async def _add_to_set(self, frame: Frame, value: Any) -> bool:
        text = str(value)[:_MAX_URL]
        is_new = text not in self._seen and self._is_allowed()
        if is_new:
            self._seen.add(text)
        return is_new

    async def _idle(self, frame: Frame, value: Any) -> None:
        if self._page is not None and self._is_allowed():
            await self._page.patience.settle(0.5, self._page.clock.left, 1.0)

    async def _no_flow(self, frame: Frame, value: Any) -> int:
        return -1

    async def _end_flow(self, frame: Frame, value: Any) -> dict[str, Any]:
        return {"done": True, "msg": "flows run outside of the page"}


async def _run_in(frame: Frame) -> bool:
    try:
        return bool(await frame.evaluate(_RUN, world=World.PAGE))
    except FrameGone:
        return False
    except ScriptFailed as error:
        if frame.is_main:
            raise ToolFailed(str(error)) from error
        return False
