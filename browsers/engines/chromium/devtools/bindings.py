"""Scripts in a page can call functions of ours, by bindings of the protocol.

The protocol's bindings take one text and return nothing. A script in each document makes functions of them that take a
JSON value and return a promise.
"""

from __future__ import annotations

import json
from collections.abc import Coroutine, Mapping, Sequence
from typing import Any, Final

from browsers.engines.binding_calls import ANSWER, BindingCalls
from browsers.engines.chromium.devtools.connection import DevToolsSession
from browsers.engines.chromium.devtools.frames import WORLD_NAME, ChromiumFrame, FrameTree
from browsers.engines.interface import Binding, InitScript, World

_PREFIX: Final = "__ghostfleet_binding_"

_SCRIPT: Final = """
(names => {
  const waiting = new Map();
  let last = 0;
  for (const name of names) {
    const raw = globalThis['%(prefix)s' + name];
    if (!raw) continue;
    delete globalThis['%(prefix)s' + name];
    globalThis[name] = value => new Promise((resolve, reject) => {
      waiting.set(++last, [resolve, reject]);
      raw(JSON.stringify({id: last, value: value === undefined ? null : value}));
    });
  }
  Object.defineProperty(globalThis, '%(answer)s', {value: (id, error, value) => {
    const [resolve, reject] = waiting.get(id) || [];
    waiting.delete(id);
    if (error !== null && reject) reject(new Error(error));
    else if (resolve) resolve(value);
  }});
})(%(names)s);
"""


class Bindings:
    """The bindings of one window."""

    def __init__(self, bindings: Sequence[Binding]) -> None:
        self._bindings = {_PREFIX + binding.name: binding for binding in bindings}
        self._calls = BindingCalls()
        self._contexts: dict[tuple[str, int], str] = {}
        """Frame of each execution context, by session. It is only known for windows with bindings."""

    @property
    def scripts(self) -> list[InitScript]:
        """Return the scripts that make the functions, one for each world."""
        found = []
        for world in World:
            names = [binding.name for binding in self._bindings.values() if binding.world is world]
            if names:
                source = _SCRIPT % {"prefix": _PREFIX, "answer": ANSWER, "names": json.dumps(names)}
                found.append(InitScript(source, world))
        return found

    def named(self, world: World) -> list[str]:
        """Return the protocol's names of the bindings of a world."""
        return [name for name, binding in self._bindings.items() if binding.world is world]

    def enable(self, session: DevToolsSession) -> None:
        """Let the documents of a session call the functions; do nothing without bindings."""
        if self._bindings:
            session.send("Runtime.enable")
            for name in self.named(World.PAGE):
                session.send("Runtime.addBinding", name=name)
            for name in self.named(World.ISOLATED):
                session.send("Runtime.addBinding", name=name, executionContextName=WORLD_NAME)

    def handle(
        self, session: DevToolsSession, method: str, params: Mapping[str, Any], frames: FrameTree
    ) -> Coroutine[Any, Any, None] | None:
        """Follow the events about execution contexts, and ignore all others. Return the answer to a call."""
        match method:
            case "Runtime.executionContextCreated":
                context = params["context"]
                self._contexts[session.id, context["id"]] = context.get("auxData", {}).get("frameId", "")
            case "Runtime.executionContextDestroyed":
                self._contexts.pop((session.id, params["executionContextId"]), None)
            case "Runtime.bindingCalled":
                caller = frames.get(self._contexts.get((session.id, params["executionContextId"]), ""))
                if caller is not None:
                    return self._call(session, caller, dict(params))
        return None

    async def _call(self, session: DevToolsSession, frame: ChromiumFrame, told: dict[str, Any]) -> None:
        answer = await self._calls.answer(frame, told["payload"], lambda _: self._bindings[told["name"]])
        if answer is not None:
            session.send(
                "Runtime.callFunctionOn",
                functionDeclaration=f"(...told) => globalThis.{ANSWER}(...told)",
                executionContextId=told["executionContextId"],
                arguments=[{"value": answer.number}, {"value": answer.error}, {"value": answer.value}],
            )
