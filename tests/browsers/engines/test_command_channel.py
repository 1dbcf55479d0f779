"""Commands to a browser are answered in any order, and fail when what they are about has ended."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

import pytest

from browsers.engines.command_channel import BrowserConnection, CommandChannel
from browsers.engines.interface import EngineError, EngineLost


class Talk(CommandChannel):
    def __init__(self, connection: Wire) -> None:
        super().__init__()
        self._connection = connection

    def _write(self, method: str, params: Mapping[str, Any]) -> int:
        return self._connection.write(self, method, params)

    def _error_of(self, message: Mapping[str, Any]) -> EngineError | None:
        return EngineError(message["error"]) if "error" in message else None


class Wire(BrowserConnection[Talk]):
    def __init__(self) -> None:
        super().__init__()
        self.talks = [Talk(self), Talk(self)]
        self.sent: list[tuple[int, str]] = []

    def _transmit(self, channel: Talk, number: int, method: str, params: Mapping[str, Any]) -> bool:
        self.sent.append((number, method))
        return True

    def _release(self) -> Collection[Talk]:
        return self.talks

    def receive(self, method: str, **message: Any) -> None:
        self._answer(next(number for number, sent in self.sent if sent == method), message)


async def test_answers_reach_the_commands_that_they_are_for_in_any_order() -> None:
    wire = Wire()
    one, other = wire.talks
    first, second, third = one.send("first"), other.send("second"), one.send("third")

    wire.receive("third", result={"is": 3})
    wire.receive("second", error="no such thing")
    wire.receive("first", result={})

    assert (await first, await third) == ({}, {"is": 3})
    with pytest.raises(EngineError, match="no such thing"):
        await second


async def test_the_end_of_one_channel_leaves_the_others() -> None:
    wire = Wire()
    one, other = wire.talks
    before, kept = one.send("before"), other.send("kept")

    one.end("the page has ended")
    wire.receive("before", result={})
    wire.receive("kept", result={"is": 1})

    for answer in (before, one.send("after")):
        with pytest.raises(EngineLost, match="the page has ended"):
            await answer
    assert one.is_over
    assert (await kept, other.is_over) == ({"is": 1}, False)


async def test_a_lost_connection_ends_all_channels_and_takes_no_command() -> None:
    wire = Wire()
    answers = [talk.send("before") for talk in wire.talks]

    wire.connection_lost(None)

    assert wire.closed.is_set()
    for answer in (*answers, wire.talks[0].send("after")):
        with pytest.raises(EngineLost, match="the browser has ended"):
            await answer
    assert [method for _, method in wire.sent] == ["before", "before"]
