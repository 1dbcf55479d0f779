"""One connection's bytes in portions: all of them in order, and others get their turn between them."""

from __future__ import annotations

import asyncio

from proxy.protocol.read_budget import Portions, Ration


class Costly:
    """Takes bytes, each of which costs so many seconds by a clock of its own."""

    def __init__(self, seconds_a_byte: float) -> None:
        self.taken = b""
        self.turns: list[str] = []
        self.now = 0.0
        self._cost = seconds_a_byte

    def take(self, data: bytes) -> None:
        self.taken += data
        self.now += len(data) * self._cost

    def clock(self) -> float:
        return self.now

    def portions(self) -> Portions:
        return Portions(
            self.take,
            lambda: self.turns.append("stop"),
            lambda: self.turns.append("go on"),
            asyncio.get_running_loop(),
            ration=Ration(),
            clock=self.clock,
            cpu=self.clock,
        )


async def taken(portions: Portions) -> None:
    """Wait until nothing is left."""
    while portions.has_more or portions.is_waiting:
        await asyncio.sleep(0)


async def test_cheap_bytes_are_taken_at_once() -> None:
    costly = Costly(1e-9)
    portions = costly.portions()

    portions.put(b"m" * 300_000)

    assert costly.taken == b"m" * 300_000
    assert costly.turns == []


async def test_expensive_bytes_are_taken_in_order_with_turns_of_others_between_them() -> None:
    costly, data = Costly(1e-6), bytes(range(256)) * 200
    portions = costly.portions()

    portions.put(data)
    assert data.startswith(costly.taken)
    assert len(costly.taken) < len(data)
    await taken(portions)

    assert costly.taken == data
    assert costly.turns == ["stop"] * (len(costly.turns) - 1) + ["go on"]


async def test_bytes_that_come_while_others_wait_follow_them() -> None:
    costly = Costly(1e-6)
    portions = costly.portions()

    portions.put(b"a" * 40_000)
    portions.put(b"b" * 40_000)
    await taken(portions)

    assert costly.taken == b"a" * 40_000 + b"b" * 40_000


async def test_bytes_that_nobody_wants_any_more_are_dropped() -> None:
    costly = Costly(1e-6)
    portions = costly.portions()
    portions.put(b"a" * 50_000)
    before = len(costly.taken)

    portions.drop()
    await taken(portions)

    assert len(costly.taken) == before < 50_000


def test_all_expensive_connections_together_rest_four_times_as_long_as_they_took() -> None:
    ration = Ration()

    assert ration.rest(10.0, 0.5) == 2.0
    assert ration.rest(10.0, 0.5) == 4.0
    assert ration.rest(20.0, 0.25) == 1.0
