"""Which faults strike which home, all drawn from one seed; and the campaign from start to end."""

from __future__ import annotations

import random
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import cycle, groupby, islice
from pathlib import Path
from typing import Any, Final

from admin.bench.faults.disks import isolate, unavailable
from admin.bench.faults.kinds import KINDS, Kind
from admin.bench.faults.playing import Episode, play

_TOGETHER: Final = 5
"""Most faults that one home goes through."""
_TWICE: Final = ("disk-full", "fsync-error", "power-loss")
"""Kinds that need a home of their own; two in a row cost little more than one."""


@dataclass(frozen=True, slots=True)
class Campaign:
    """What is to be played. `only`: these kinds, in turns and in this order; none means all, in the seed's order."""

    rounds: int
    seed: int
    only: Sequence[str] = ()
    settings: Mapping[str, Any] = field(default_factory=dict)
    keep: Path | None = None

    def homes(self, without: Iterable[str] = ()) -> Iterator[tuple[int, list[Kind]]]:
        """The seed of each home and the faults that it goes through; kinds named in `without` are left out.

        The first home of a campaign whose `only` and `rounds` are another's home, and whose seed is its, is the same.
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
        """Plays everything; `tell` hears what is going on, and which kinds can't be had here."""
        without = self._unavailable(tell)
        for seed, kinds in self.homes(without):
            tell(f"seed {seed}: {', '.join(kind.name for kind in kinds)}")
            yield play(kinds, seed, settings=self.settings, keep=self.keep)

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
                    missing |= set(names)
                    tell(f"{', '.join(names)}: left out, their disk can't be had here: {why}")
        return missing


def _shuffled(names: Sequence[str], seed: int) -> Iterator[str]:
    """All kinds again and again, each time in another order, those of one place together."""
    draw = random.Random(seed)
    while True:
        groups = [
            list(group) for _, group in groupby(names, key=lambda name: (KINDS[name].where, KINDS[name].loses_dedup))
        ]
        draw.shuffle(groups)
        for group in groups:
            draw.shuffle(group)
            yield from (name for name in group for _ in range(2 if name in _TWICE else 1))


def _pieces(kinds: list[Kind]) -> Iterator[list[Kind]]:
    for at in range(0, len(kinds), _TOGETHER):
        yield kinds[at : at + _TOGETHER]
