"""Consent platforms are known by the rules of autoconsent, which DuckDuckGo maintains (`autoconsent/`, MPL-2.0).

A cheap look comes first: most documents have no sign of any platform, and the library takes more CPU time than a small
page. In a frame with a sign, the library runs in a world of its own. It asks for code to be run in the world of the
page, and says which platform it has found.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import Any, Final

from browsers.behaviors.page_access import Clock, PageAccess
from browsers.behaviors.page_tools import FRAME_SECONDS, ToolFailed, call, evaluated, in_all
from browsers.engines.interface import Frame, World

_FOLDER: Final = Path(__file__).with_name("autoconsent")
_READ_MS: Final = 250
"""A document without a new message answers after this time, so that the clock is looked at."""
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
    messages.hasCome?.();
  };
  %s
  ;autoconsentReceiveMessage({type: 'initResp', rules: {autoconsent: [...%s, ...rules]}, config});
  return true;
}
"""
_READ: Final = """
async ([milliseconds]) => {
  const messages = globalThis.autoconsentMessages;
  if (messages && !messages.length) {
    await new Promise(resolve => { messages.hasCome = resolve; setTimeout(resolve, milliseconds); });
  }
  return messages?.splice(0) ?? null;
}
"""
_BUILT_IN: Final = {
    "TrustArc-top": "#truste-show-consent, #truste-consent-track",
    "consentmanager.net": "#cmpbox",
    "Evidon": "#_evidon_banner",
    "Onetrust": "#onetrust-banner-sdk, #onetrust-pc-sdk",
    "Klaro": ".klaro > .cookie-modal, .klaro > .cookie-notice",
    "Uniconsent": ".unic .unic-box, .unic .unic-bar, .unic .unic-modal",
    "Conversant": ".cmp-root .cmp-receptacle",
    "tiktok.com": "tiktok-cookie-banner",
    "tumblr-com": "#cmp-app-container",
    "Admiral": "div > div[class*=Card] > div[class*=Frame] > div[class*=Pills] > button[class*=Pills__StyledPill]",
}
"""CSS selectors of the platforms that the library knows without rules."""
_GLOBALS: Final = ("Cookiebot", "__cmp", "GDPR_LC")
"""Variables of platforms that are known by no selector alone: Cookiebot, consentmanager.net, gdpr-legal-cookie."""
_TEXTS: Final = ("Your Privacy", "VRM", "Admiral")
"""A notice of Admiral has all of these."""
_FRAME_URL: Final = re.compile(r"[?&](message_id|requestUUID|consentUUID)=|//ccpa-pm\.sp-prod\.net/")
"""Sourcepoint is known by the URL of its frame."""
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
    looks = await in_all(page.frames(), _may_have_platform, page.patience.drop)
    frames = [frame for frame, has_sign in looks if has_sign]
    for _, answer in await in_all(frames, partial(_agree, clock=page.clock), page.patience.drop):
        if isinstance(answer, PlatformAnswer):
            return answer
    return None


async def _may_have_platform(frame: Frame) -> bool:
    """Return whether a frame shows a sign of a platform. Raises ToolFailed and EngineLost."""
    if _FRAME_URL.search(frame.url) or any(_runs_in(rule, is_main=frame.is_main) for rule in _rules_of_site(frame.url)):
        return True
    if frame.is_main:
        return bool(await call(frame, "hasSign", _signs(is_main=True), _GLOBALS, _TEXTS))
    return bool(await call(frame, "hasSign", _signs(is_main=False), (), ()))


async def _agree(frame: Frame, clock: Clock) -> PlatformAnswer | None:
    """Return the answer to the platform of one frame. Raises ToolFailed and EngineLost."""
    if not await _evaluate(frame, _begin(), [_rules_of_site(frame.url), _CONFIGURATION]):
        return None
    found, window, end, count = "", "", Clock(min(_SEARCH_SECONDS, clock.left)), 0
    while not (end.is_up or clock.is_up) and count < _MOST_MESSAGES:
        try:
            messages = await _evaluate(frame, _READ, [_READ_MS])
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
def _signs(*, is_main: bool) -> Sequence[str]:
    """Return selectors, one of which a document has when a platform is known in it that has no rule for its site.

    The main frame has other platforms than the frames in it.
    """
    found = list(_BUILT_IN.values()) if is_main else []
    for rule in _rules()[0]:
        if _runs_in(rule, is_main=is_main):
            found += next(filter(None, map(_selectors, rule["detectCmp"])), ())
    return tuple(dict.fromkeys(found))


def _selectors(step: Mapping[str, Any]) -> list[str]:
    """Return the selectors of a step of a rule, one of which a document has when the step succeeds."""
    if "any" in step:
        return [selector for each in step["any"] for selector in _selectors(each)]
    chosen = step.get("exists") or step.get("visible") or []
    return [chosen] if isinstance(chosen, str) else list(chosen[:1])


def _runs_in(rule: Mapping[str, Any], *, is_main: bool) -> bool:
    """Return whether a rule holds for the main frame of a page, or for the frames in it."""
    context = rule.get("runContext", {})
    return bool(context.get("main", True) if is_main else context.get("frame", False))


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
