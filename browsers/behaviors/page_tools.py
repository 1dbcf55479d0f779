"""The scripts of `scripts/` run in the page's own world, where the observer has seen timers and listeners.

The observer is an init script of every frame. The other scripts are put into a frame when they are first used there,
with the words by which they know controls.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Sequence
from functools import cache
from pathlib import Path
from typing import Any, Final

from browsers.behaviors.word_lists import word_patterns
from browsers.engines.interface import EngineError, Frame, FrameGone, InitScript, ScriptFailed, World

_FOLDER: Final = Path(__file__).with_name("scripts")
_TOOLS: Final = (
    *("elements", "style_rules", "controls", "candidates", "clicking", "hovering", "dragging", "gestures"),
    *("scrolling", "autofetch", "consent", "age", "leftovers", "forms", "classes", "finding", "umbra"),
)
_ANSWER_SECONDS: Final = 6.0
"""A script of a page that hangs is not waited for longer."""
FRAME_SECONDS: Final = 3.0
"""The same for a frame in the page."""
_SCHEMES: Final = ("http:", "https:", "about:", "data:", "blob:", "file:")
"""Frames with other addresses have no document that answers."""
_CALL: Final = """
async ([name, values]) => {
  const tools = window[Symbol.for('ghostfleet.tools')];
  return tools ? [await tools[name](...values)] : null;
}
"""


class ToolFailed(EngineError):
    """A script of a behaviour failed in a frame, or the frame went away. Other frames may be unharmed."""


class FrameSilent(ToolFailed):
    """A frame does not answer, so that it is of no further use."""


@cache
def observer() -> InitScript:
    """Return the script that observes every document from its beginning."""
    return InitScript((_FOLDER / "observer.js").read_text("utf-8"), World.PAGE)


@cache
def _install() -> str:
    parts = "\n,".join((_FOLDER / f"{name}.js").read_text("utf-8") for name in _TOOLS)
    return (
        "() => { const key = Symbol.for('ghostfleet.tools'); if (window[key]) return;"
        f" const tools = {{words: {json.dumps(dict(word_patterns()))}}};"
        f" for (const add of [\n{parts}\n]) add(tools);"
        " Object.defineProperty(window, key, {value: tools, configurable: true}); }"
    )


_ASK: Final = """
async ([name, values]) => {
  const observer = window[Symbol.for('ghostfleet')];
  return observer ? [await observer[name](...values)] : null;
}
"""


async def ask(frame: Frame, name: str, *values: Any) -> Any:
    """Return the observer's answer in a frame. Raises ToolFailed, EngineLost and TimeoutError.

    A TimeoutError means that the page does not answer; of a frame in it, FrameSilent says so.
    """
    answer = await _in_page(frame, _ASK, name, values)
    if answer is None:
        raise ToolFailed("the document has no observer")
    return answer[0]


async def call(frame: Frame, name: str, *values: Any) -> Any:
    """Return the result of a tool in a frame. Raises ToolFailed, EngineLost and TimeoutError, as `ask` does."""
    answer = await _in_page(frame, _CALL, name, values)
    if answer is None:
        await _in_page(frame, _install(), name, ())
        answer = await _in_page(frame, _CALL, name, values)
    if answer is None:
        raise ToolFailed("the document changed meanwhile")
    return answer[0]


async def in_all(
    frames: Sequence[Frame], use: Callable[[Frame], Awaitable[Any]], silent: Callable[[Frame], None]
) -> list[tuple[Frame, Any]]:
    """Use all frames at the same time. Return the results of those that have one, in the order of the frames.

    `silent` gets each frame that does not answer. Raises EngineLost and TimeoutError.
    """
    results = await asyncio.gather(*map(use, frames), return_exceptions=True)
    found: list[tuple[Frame, Any]] = []
    for frame, result in zip(frames, results, strict=True):
        if isinstance(result, FrameSilent):
            silent(frame)
        elif isinstance(result, ToolFailed):
            continue  # the frame went away, or its document runs no scripts
        elif isinstance(result, BaseException):
            raise result
        else:
            found.append((frame, result))
    return found


def may_answer(frame: Frame) -> bool:
    """Return whether the frame has a document that runs scripts."""
    return frame.is_main or frame.url == "" or frame.url.startswith(_SCHEMES)


async def evaluated(frame: Frame, function: str, values: list[Any], world: World, seconds: float) -> Any:
    """Return the result of a function in a frame. Raises ToolFailed, EngineLost and TimeoutError, as `ask` does."""
    try:
        async with asyncio.timeout(seconds):
            return await frame.evaluate(function, values, world=world)
    except (ScriptFailed, FrameGone) as error:
        raise ToolFailed(str(error)) from error
    except TimeoutError as error:
        if frame.is_main:
            raise
        raise FrameSilent("the frame does not answer") from error


async def _in_page(frame: Frame, function: str, name: str, values: Sequence[Any]) -> Any:
    seconds = _ANSWER_SECONDS if frame.is_main else FRAME_SECONDS
    return await evaluated(frame, function, [name, list(values)], World.PAGE, seconds)
