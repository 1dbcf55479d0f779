"""This module sorts any number of lines with bounded memory: in runs, on the disk, which are merged."""

from __future__ import annotations

import heapq
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from itertools import count, islice
from pathlib import Path
from typing import Final

_RUN: Final = 5_000
_RUNS_OF_A_SIZE: Final = 16


@contextmanager
def sorted_lines(lines: Iterable[str], folder: Path) -> Iterator[Iterator[str]]:
    """Yield the lines in the order of their characters. Each line ends with a line feed and has no other.

    The runs are files without a name in `folder`, which are gone when the block ends. Raises OSError.
    """
    with ExitStack() as runs:
        found = _runs(iter(lines))
        first = next(found, [])
        yield iter(heapq.merge(first, *[_on_disk(run, folder, runs) for run in found]))


def _runs(lines: Iterator[str]) -> Iterator[list[str]]:
    """Yield the lines in sorted runs. Later runs are larger, so that millions of lines need few open files."""
    for number in count():
        run = sorted(islice(lines, _RUN << number // _RUNS_OF_A_SIZE))
        if not run:
            return
        yield run


def _on_disk(run: Iterable[str], folder: Path, until: ExitStack) -> Iterable[str]:
    """Return the same lines from a temporary file without a name. The stack closes the file."""
    file = tempfile.TemporaryFile("w+", dir=folder, encoding="utf-8", newline="\n")  # noqa: SIM115 - `until` closes it
    until.callback(file.close)
    file.writelines(run)
    file.seek(0)
    return file
