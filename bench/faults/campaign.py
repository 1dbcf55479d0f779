"""A seed decides which faults happen in which home. This module runs the campaign."""

from __future__ import annotations

import random
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import cycle, groupby, islice
from pathlib import Path
from typing import Any, Final

from bench.faults.disks import isolate, unavailable
from bench.faults.episode import Episode, run_episode
from bench.faults.kinds import KINDS, FaultKind

_TOGETHER: Final = 5
"""The largest number of faults in one home."""
_TWICE: Final = ("disk-full", "fsync-error", "power-loss")
"""Kinds that need a disk of their own. They come twice in a row, since making the disk costs the most time."""


class FaultUnavailable(Exception):
    """A kind of fault that was asked for by its name can't be made here. The message gives the reason."""


@dataclass(frozen=True, slots=True)
class Campaign:
    """A campaign has a number of rounds and a seed. `only` are the kinds of faults in their order; empty is all kinds
    in the order of the seed.
    """

    rounds: int
    seed: int
    only: Sequence[str] = ()
    settings: Mapping[str, Any] = field(default_factory=dict)
    keep: Path | None = None

    def homes(self, without: Iterable[str] = ()) -> Iterator[tuple[int, list[FaultKind]]]:
        """Yield the seed and the faults of each home, without the kinds in `without`.

        A campaign with the seed of a home, and with the home's faults as `only`, has the same first home.
        """
        left_out = set(without)
        wanted = [name for name in (self.only or KINDS) if name not in left_out]
        if not wanted:
            return
        names = cycle(wanted) if self.only else _shuffled(wanted, self.seed)
        chosen = [KINDS[name] for name in islice(names, self.rounds)]
        seed = self.seed
        for _, group in groupby(chosen, key=lambda kind: (kind.where, kind.loses_dedup)):
            for some in _pieces(list(group)):
                yield seed, some
                seed += 1

    def run(self, tell: Callable[[str], None]) -> Iterator[Episode]:
        """Yield the result of each episode. `tell` receives messages about the progress and about faults that are left
        out. Raises FaultUnavailable when one of `only` had to be left out.
        """
        without = self._unavailable(tell)
        for seed, kinds in self.homes(without):
            tell(f"seed {seed}: {', '.join(kind.name for kind in kinds)}")
            yield run_episode(kinds, seed, settings=self.settings, keep=self.keep)

    def _unavailable(self, tell: Callable[[str], None]) -> set[str]:
        places = {KINDS[name].where for name in (self.only or KINDS)} - {"folder"}
        if not places:
            return set()
        problem = isolate()
        missing: set[str] = set()
        with tempfile.TemporaryDirectory(prefix="gf-faults-") as folder:
            for place in sorted(places):
                if why := problem or unavailable(place, Path(folder)):
                    names = [name for name, kind in KINDS.items() if kind.where == place]
                    if named := [name for name in names if name in self.only]:
                        raise FaultUnavailable(f"{', '.join(named)}: the disk can't be made here: {why}")
                    missing |= set(names)
                    tell(f"{', '.join(names)}: left out, since their disk can't be made here: {why}")
        return missing


def _shuffled(names: Sequence[str], seed: int) -> Iterator[str]:
    """Yield all kinds again and again, each time in another order. Kinds that need the same disk come together."""
    draw = random.Random(seed)
    while True:
        groups = [
            list(group) for _, group in groupby(names, key=lambda name: (KINDS[name].where, KINDS[name].loses_dedup))
        ]
        draw.shuffle(groups)
        for group in groups:
            draw.shuffle(group)
            yield from (name for name in group for _ in range(2 if name in _TWICE else 1))


def _pieces(kinds: list[FaultKind]) -> Iterator[list[FaultKind]]:
    for at in range(0, len(kinds), _TOGETHER):
        yield kinds[at : at + _TOGETHER]
