"""browsers/behaviors/consent_platforms: a page can't keep the rules busy behind the end of their time."""

from __future__ import annotations

import asyncio
from typing import Any, cast

from browsers.behaviors.consent_platforms import _agree
from browsers.behaviors.page_access import Clock
from browsers.engines.interface import Frame, World


class _SlowFrame:
    """A frame whose document answers each piece of code late, and whose rules ask for a thousand pieces at once."""

    url = "http://a.example/"
    is_main = True

    def __init__(self, clock: Clock) -> None:
        self.asked = 0
        self._clock = clock

    async def evaluate(self, function: str, values: list[Any], world: World = World.ISOLATED) -> Any:
        if world is World.PAGE:
            self.asked += 1
            while not self._clock.is_up:
                await asyncio.sleep(0.01)
            return True
        if "splice" in function:
            return [["eval", "", None, str(number), "true", ""] for number in range(1_000)]
        return True


async def test_no_code_of_the_rules_runs_when_the_time_is_over() -> None:
    clock = Clock(0.5)
    frame = _SlowFrame(clock)
    assert await _agree(cast(Frame, frame), clock) is None
    assert frame.asked == 1
