"""A visit is a sequence of stages, and this module measures how long each of them takes."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager


class StageTimes:
    """The seconds of the stages of one visit. Stages keep the order in which they first ended."""

    def __init__(self) -> None:
        self._seconds: dict[str, float] = {}

    @contextmanager
    def measure(self, stage: str) -> Iterator[None]:
        """Add the time of the block to a stage, also when the block raises an error."""
        began = time.monotonic()
        try:
            yield
        finally:
            self.add(stage, time.monotonic() - began)

    def add(self, stage: str, seconds: float) -> None:
        """Add seconds to a stage."""
        self._seconds[stage] = self._seconds.get(stage, 0.0) + seconds

    def seconds(self) -> Mapping[str, float]:
        """Return the seconds of each stage so far, with three decimals."""
        return {stage: round(spent, 3) for stage, spent in self._seconds.items()}
