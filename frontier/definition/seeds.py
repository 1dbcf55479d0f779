"""The seeds of a job may be millions, so that they stay in a text file and are read as a stream."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Protocol

from frontier.definition.job import Seed


class Seeds(Protocol):
    """The seeds of a job can be counted, and read any number of times. A tuple of seeds is such a list."""

    def __len__(self) -> int:
        """Return the number of seeds."""

    def __iter__(self) -> Iterator[Seed]:
        """Yield the seeds in their order."""


@dataclass(frozen=True, slots=True)
class SeedFile:
    """The seeds are the lines of a file: canonical URLs, each once. A missing file has no seeds.

    Further seeds are only appended, so that the number of a line always means the same seed.
    """

    path: Path

    def __len__(self) -> int:
        return sum(1 for _ in self.urls())

    def __iter__(self) -> Iterator[Seed]:
        return map(Seed, self.urls())

    def urls(self, since: int = 0) -> Iterator[str]:
        """Yield the URLs of the seeds without the first `since`. Raises OSError."""
        try:
            file = self.path.open(encoding="utf-8", newline="\n")
        except FileNotFoundError:
            return
        with file:
            for line in islice(file, since, None):
                yield line.removesuffix("\n")
