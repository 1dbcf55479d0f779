"""Consent platforms are known by the rules of autoconsent, which DuckDuckGo maintains (`autoconsent/`, MPL-2.0).

The library runs in a world of its own in each frame. It asks for code to be run in the world of the page, and says
which platform it has found.
"""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import Any, Final

from browsers.behaviors.page_access import Clock, PageAccess
from browsers.behaviors.page_tools import FRAME_SECONDS, ToolFailed, evaluated, in_all
from browsers.engines.interface import Frame, World

_FOLDER: Final = Path(__file__).with_name("autoconsent")
_POLL_SECONDS: Final = 0.05
_SEARCH_SECONDS: Final = 3.0
"""Time for the first look at a document."""
_WINDOW_SECONDS: Final = 1.0
"""A platform that was found gets this time to show its window: on most pages of a site it has its answer already."""
_AGREE_SECONDS: Final = 10.0
_MOST_MESSAGES: Final = 500
"""Number of messages of one document: a page that changes without end doesn't keep the visit."""
_CONFIGURATION: Final = {
    "enabled": True,
    "autoAction": "optIn",
    "enablePrehide": False,
    "detectRetries": 0,
    "logs": {"errors": False},
}
_BEGIN: Final = """
([rules, config]) => {
  if (globalThis.autoconsentMessages) return false;
  const messages = globalThis.autoconsentMessages = [];
  globalThis.autoconsentSendMessage = async ({type, cmp, result, id, code, state}) => {
    messages.push([type, cmp ?? '', result ?? null, id ?? '', code ?? '', state?.lifecycle ?? '']);
  };
  %s
  ;autoconsentReceiveMessage({type: 'initResp', rules: {autoconsent: [...%s, ...rules]}, config});
  return true;
}
"""
_READ: Final = "() => globalThis.autoconsentMessages?.splice(0) ?? null"
_ANSWER: Final = "([id, result]) => { autoconsentReceiveMessage({type: 'evalResp', id, result}) }"


@dataclass(frozen=True, slots=True)
class PlatformAnswer:
    """A platform was found, and the rules tried to agree."""

    platform: str
    is_done: bool = False
    """The rules have told that they agreed."""

    @property
    def windows(self) -> Sequence[str]:
        """Return the CSS selectors of the platform's windows, as far as the rules know them."""
        return _windows().get(self.platform, ())


async def agree_by_rules(page: PageAccess) -> PlatformAnswer | None:
    """Let the rules agree in all frames. Return the first answer; None when no platform is known. Raises EngineLost."""
    frames = page.frames()
    for _, answer in await in_all(frames, partial(_agree, clock=page.clock), page.patience.drop):
        if isinstance(answer, PlatformAnswer):
            return answer
    return None


async def _agree(frame: Frame, clock: Clock) -> PlatformAnswer | None:
    """Return the answer to the platform of one frame. Raises ToolFailed and EngineLost."""
    if not await _evaluate(frame, _begin(), [_rules_of_site(frame.url), _CONFIGURATION]):
        return None
    found, window, end, count = "", "", Clock(min(_SEARCH_SECONDS, clock.left)), 0
    while not (end.is_up or clock.is_up) and count < _MOST_MESSAGES:
        try:
            messages = await _evaluate(frame, _READ, [])
        except ToolFailed:
            if window:  # the page loads itself again after the answer
                return PlatformAnswer(window)
            raise
        if messages is None:
            break
        count += len(messages)
        for kind, platform, result, number, code, state in messages:
            if not clock.left:
                break  # a page may answer each piece of code late
            if kind == "eval":
                await _answer(frame, number, code)
            elif kind == "cmpDetected" and not found:
                found, end = platform, Clock(_WINDOW_SECONDS)
            elif kind == "popupFound" and not window:
                window, end = platform, Clock(_AGREE_SECONDS)
            elif kind in ("optInResult", "autoconsentDone"):
                return PlatformAnswer(window or platform, is_done=kind == "autoconsentDone" or result is True)
            elif state == "nothingDetected":
                return None
        await asyncio.sleep(_POLL_SECONDS)
    return PlatformAnswer(window) if window else None


async def _answer(frame: Frame, number: str, code: str) -> None:
    """Run code of the rules in the world of the page, and tell the library the result."""
    try:
        result = await _evaluate(frame, f"async () => {{ return !!(await ({code})); }}", [], World.PAGE)
    except ToolFailed:
        result = False
    await _evaluate(frame, _ANSWER, [number, result])


async def _evaluate(frame: Frame, function: str, values: list[Any], world: World = World.ISOLATED) -> Any:
    return await evaluated(frame, function, values, world, FRAME_SECONDS)


@cache
def _all_rules() -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads((_FOLDER / "rules.json").read_text("utf-8"))["autoconsent"]
    return found


@cache
def _windows() -> dict[str, Sequence[str]]:
    return {rule["name"]: rule.get("prehideSelectors", ()) for rule in _all_rules()}


@cache
def _rules() -> tuple[list[dict[str, Any]], list[tuple[re.Pattern[str], dict[str, Any]]]]:
    """Return the rules that agree: those for any site, and those for sites whose URL matches."""
    general, special = [], []
    for rule in _all_rules():
        if not rule.get("optIn"):
            continue
        kept = {key: rule[key] for key in rule if key not in ("optOut", "test", "prehideSelectors", "_metadata")}
        kept["optOut"] = []
        pattern = rule.get("runContext", {}).get("urlPattern")
        if pattern is None:
            general.append(kept)
        else:
            special.append((re.compile(pattern), kept))
    return general, special


@cache
def _begin() -> str:
    library = (_FOLDER / "autoconsent.playwright.js").read_text("utf-8")
    return _BEGIN % (library, json.dumps(_rules()[0]))


def _rules_of_site(url: str) -> list[dict[str, Any]]:
    return [rule for pattern, rule in _rules()[1] if pattern.search(url)]
