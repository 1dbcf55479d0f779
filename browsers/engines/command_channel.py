"""A connection to a browser has channels, each about a part of the browser, which may end before the others."""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Mapping
from contextlib import suppress
from typing import Any, Final

from browsers.engines.interface import EngineError, EngineLost

MAX_MESSAGE: Final = 512 * 1024 * 1024
"""A message of the browser with more bytes or characters ends the connection."""

type Answer = asyncio.Future[dict[str, Any]]
type EventHandler = Callable[[str, Mapping[str, Any]], None]
"""A function that gets the name and the parameters of each event."""


class CommandChannel(ABC):
    """A channel sends commands, which are answered in any order."""

    def __init__(self) -> None:
        self._pending: dict[int, Answer] = {}
        self._reason = ""
        """The reason of the end; empty before it."""

    @property
    def is_over(self) -> bool:
        """Return whether the channel has ended."""
        return bool(self._reason)

    def send(self, method: str, **params: Any) -> Answer:
        """Send a command, and return its answer to come. The answer raises EngineError, FrameGone and EngineLost.

        Commands of one channel are answered in any order, but the browser receives them in the order of the calls.
        """
        answer: Answer = asyncio.get_running_loop().create_future()
        answer.add_done_callback(_seen)
        if self.is_over:
            answer.set_exception(EngineLost(self._reason))
        else:
            self._pending[self._write(method, params)] = answer
        return answer

    def answered(self, number: int, message: Mapping[str, Any]) -> None:
        """Give the answer of a command to the one that waits for it."""
        answer = self._pending.pop(number, None)
        if answer is None or answer.done():
            return
        if (error := self._error_of(message)) is not None:
            answer.set_exception(error)
        else:
            answer.set_result(message.get("result", {}))

    def end(self, reason: str) -> None:
        """End the channel: its commands that have no answer raise EngineLost, as will all later ones."""
        self._reason = self._reason or reason
        pending, self._pending = self._pending, {}
        for answer in pending.values():
            if not answer.done():
                answer.set_exception(EngineLost(reason))

    @abstractmethod
    def _write(self, method: str, params: Mapping[str, Any]) -> int:
        """Write a command to the browser, and return its number."""

    @abstractmethod
    def _error_of(self, message: Mapping[str, Any]) -> EngineError | None:
        """Return the error that an answer tells; None for any other answer."""


class BrowserConnection[C: CommandChannel](ABC, asyncio.Protocol):
    """A connection numbers the commands of all its channels, and gives the answers to those that asked."""

    def __init__(self) -> None:
        self.closed = asyncio.Event()
        """Set when the browser has closed the connection."""
        self._numbers: dict[int, C] = {}
        self._last = 0

    def write(self, channel: C, method: str, params: Mapping[str, Any]) -> int:
        """Write a command, and return its number."""
        self._last += 1
        if not self.closed.is_set() and self._transmit(channel, self._last, method, params):
            self._numbers[self._last] = channel
        return self._last

    def connection_lost(self, exc: Exception | None) -> None:
        """End all channels, since the browser has ended. The event loop calls this method."""
        self._lose()

    @abstractmethod
    def _transmit(self, channel: C, number: int, method: str, params: Mapping[str, Any]) -> bool:
        """Give a command to the transport. Return whether there is one."""

    @abstractmethod
    def _release(self) -> Collection[C]:
        """Return all channels, which the connection no longer has."""

    def _answer(self, number: int, message: Mapping[str, Any]) -> None:
        channel = self._numbers.pop(number, None)
        if channel is not None:
            channel.answered(number, message)

    def _lose(self) -> None:
        self.closed.set()
        self._numbers.clear()
        for channel in self._release():
            channel.end("the browser has ended")


def ignore_event(method: str, params: Mapping[str, Any]) -> None:
    """Ignore an event."""


def _seen(answer: Answer) -> None:
    """Mark an error as seen, since nobody waits for the answers of some commands."""
    with suppress(asyncio.CancelledError):
        answer.exception()
