"""Scripts in a page call functions of ours. A call is a JSON text with a number, by which its promise is fulfilled."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final, Protocol

from browsers.engines.interface import Binding, EngineError, Frame

ANSWER: Final = "__ghostfleet_answer"
"""Name of the function of a document that fulfils the promises."""
MAX_CALLS: Final = 200
"""Calls of one frame at one time. Further ones get an error."""
MAX_ERROR: Final = 500
_MAX_PAYLOAD: Final = 4 * 1024 * 1024
"""A call with more characters gets no answer."""


class KnownFrame(Frame, Protocol):
    """A frame has the id that the browser gave it."""

    id: str


@dataclass(frozen=True, slots=True)
class BindingAnswer:
    """An answer fulfils the promise of a call with the value, or breaks it with the error."""

    number: int
    error: str | None
    value: Any


class BindingCalls:
    """A dispatcher that answers the calls of one window."""

    def __init__(self) -> None:
        self._present: Counter[str] = Counter()
        """Number of present calls by frame."""

    async def answer(
        self, frame: KnownFrame, text: str, find: Callable[[Mapping[str, Any]], Binding]
    ) -> BindingAnswer | None:
        """Call the function that `find` returns for the call, and return its answer.

        Return None when the text is no call, when `find` raises LookupError, and when the frame has gone.
        """
        if len(text) > _MAX_PAYLOAD:
            return None
        try:
            call = json.loads(text)
            binding, number, argument = find(call), int(call["id"]), call["value"]
        except (ValueError, TypeError, LookupError):
            return None  # the page's own script called the protocol's function
        self._present[frame.id] += 1
        try:
            if self._present[frame.id] > MAX_CALLS:
                raise ValueError("too many calls at one time")
            return BindingAnswer(number, None, await binding.function(frame, argument))
        except EngineError:
            return None  # the frame has gone
        except Exception as failed:
            # The script gets any error of the function.
            return BindingAnswer(number, str(failed)[:MAX_ERROR] or type(failed).__name__, None)
        finally:
            self._present[frame.id] -= 1
