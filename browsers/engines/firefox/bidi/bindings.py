"""Scripts in a page can call functions of ours, by channels of the protocol.

A channel takes one value and returns nothing. A script in each document makes functions of a channel that take a JSON
value and return a promise.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, Final

from browsers.engines.binding_calls import ANSWER, BindingCalls
from browsers.engines.firefox.bidi.connection import BidiChannel
from browsers.engines.firefox.bidi.frames import SANDBOX, FirefoxFrame
from browsers.engines.interface import Binding, World
from browsers.engines.page_json import TO_JSON

_SCRIPT: Final = """
send => {
  const waiting = new Map(), {parse} = JSON, stringify = %(to_json)s;
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
    """The bindings of one window."""

    def __init__(self, bindings: Sequence[Binding], name: str) -> None:
        self._bindings = {(binding.world, binding.name): binding for binding in bindings}
        self._channels = {f"{name}-{world.value}": world for world in World}
        self._calls = BindingCalls()

    def scripts(self) -> list[dict[str, Any]]:
        """Return the parameters of `script.addPreloadScript` that make the functions, besides the contexts."""
        found = []
        for channel, world in self._channels.items():
            names = [name for each, name in self._bindings if each is world]
            if names:
                sandbox = {"sandbox": SANDBOX} if world is World.ISOLATED else {}
                argument = {"type": "channel", "value": {"channel": channel, "ownership": "none"}}
                source = _SCRIPT % {"answer": ANSWER, "names": json.dumps(names), "to_json": TO_JSON}
                found.append({"functionDeclaration": source, "arguments": [argument], **sandbox})
        return found

    async def call(self, channel: BidiChannel, frame: FirefoxFrame, told: Mapping[str, Any]) -> None:
        """Answer the event `script.message`."""
        world = self._channels.get(told["channel"])
        text = told["data"].get("value")
        if world is None or not isinstance(text, str):
            return
        answer = await self._calls.answer(frame, text, lambda call: self._bindings[world, call["name"]])
        if answer is not None:
            channel.send(
                "script.callFunction",
                functionDeclaration=f"told => globalThis.{ANSWER}(told)",
                target={"realm": told["source"]["realm"]},
                arguments=[{"type": "string", "value": json.dumps([answer.number, answer.error, answer.value])}],
                awaitPromise=False,
            )
