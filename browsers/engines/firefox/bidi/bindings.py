"""Scripts in a page can call functions of ours, by channels of the protocol.

A channel takes one value and returns nothing. A script in each document makes functions of a channel that take a JSON
value and return a promise.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, Final

from browsers.engines.firefox.bidi.connection import BidiChannel
from browsers.engines.firefox.bidi.frames import SANDBOX, FirefoxFrame
from browsers.engines.interface import Binding, EngineError, World

_ANSWER: Final = "__ghostfleet_answer"
_MAX_PAYLOAD: Final = 4 * 1024 * 1024
"""A call with more characters gets no answer."""
_MAX_CALLS: Final = 200
"""Calls of one frame at one time. Further ones get an error."""
_MAX_ERROR: Final = 500

_SCRIPT: Final = """
send => {
  const waiting = new Map(), {parse, stringify} = JSON;
  let last = 0;
  for (const name of %(names)s) {
    globalThis[name] = value => new Promise((resolve, reject) => {
      waiting.set(++last, [resolve, reject]);
      send(stringify({name, id: last, value: value === undefined ? null : value}));
    });
  }
  Object.defineProperty(globalThis, '%(answer)s', {value: told => {
    const [id, error, value] = parse(told);
    const [resolve, reject] = waiting.get(id) || [];
    waiting.delete(id);
    if (error !== null && reject) reject(new Error(error));
    else if (resolve) resolve(value);
  }});
}
"""


class ChannelBindings:
    """The object has the bindings of one window."""

    def __init__(self, bindings: Sequence[Binding], name: str) -> None:
        self._bindings = {(binding.world, binding.name): binding for binding in bindings}
        self._channels = {f"{name}-{world.value}": world for world in World}
        self._calls: Counter[str] = Counter()
        """Present calls by frame."""

    def scripts(self) -> list[dict[str, Any]]:
        """Return the parameters of `script.addPreloadScript` that make the functions, besides the contexts."""
        found = []
        for channel, world in self._channels.items():
            names = [name for each, name in self._bindings if each is world]
            if names:
                sandbox = {"sandbox": SANDBOX} if world is World.ISOLATED else {}
                argument = {"type": "channel", "value": {"channel": channel, "ownership": "none"}}
                source = _SCRIPT % {"answer": _ANSWER, "names": json.dumps(names)}
                found.append({"functionDeclaration": source, "arguments": [argument], **sandbox})
        return found

    async def call(self, channel: BidiChannel, frame: FirefoxFrame, told: Mapping[str, Any]) -> None:
        """Answer the event `script.message`."""
        world = self._channels.get(told["channel"])
        text = told["data"].get("value")
        if world is None or not isinstance(text, str) or len(text) > _MAX_PAYLOAD:
            return
        try:
            call = json.loads(text)
            binding, number, argument = self._bindings[world, call["name"]], int(call["id"]), call["value"]
        except (ValueError, TypeError, LookupError):
            return  # the page's own script called the protocol's function
        error, value = None, None
        self._calls[frame.id] += 1
        try:
            if self._calls[frame.id] > _MAX_CALLS:
                raise ValueError("too many calls at one time")
            value = await binding.function(frame, argument)
        except EngineError:
            return  # the frame has gone
        except Exception as failed:
            # The script gets any error of the function.
            error = str(failed)[:_MAX_ERROR] or type(failed).__name__
        finally:
            self._calls[frame.id] -= 1
        channel.send(
            "script.callFunction",
            functionDeclaration=f"told => globalThis.{_ANSWER}(told)",
            target={"realm": told["source"]["realm"]},
            arguments=[{"type": "string", "value": json.dumps([number, error, value])}],
            awaitPromise=False,
        )
