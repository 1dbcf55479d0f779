"""A reading opens the columns of one or two analyses for queries, while an intake may go on.

`lines` has one row for each URL that was tried or decided, `every_line` also the lines that only annotate another one.
`hosts` has the registered domain of each host. Those of a reference run are `reference_lines` and `reference_hosts`.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from admin.log_analysis.columns.engine import AnalysisEngine, open_engine, quoted
from admin.log_analysis.columns.intake_state import IntakeState, read_state
from admin.log_analysis.columns.log_blocks import LogTrouble

_NO_LINES: Final = "has no lines yet; analyse its log first"


@dataclass(frozen=True, slots=True)
class Reading:
    """A reading has an open engine, and the states of the log and of the reference run."""

    engine: AnalysisEngine
    state: IntakeState
    reference: IntakeState | None = None

    def line_number(self, part: int, row: int) -> int:
        """Return the number in the log of a row of the part with this number."""
        return self.state.parts[part].first_line + row


@contextmanager
def open_reading(folder: Path, reference: Path | None = None) -> Iterator[Reading]:
    """Open the columns in a folder, and those of a reference run. Raises LogTrouble when there are none."""
    states = [_state(each) for each in (folder, reference) if each is not None]
    with open_engine([folder] if reference is None else [folder, reference]) as engine:
        _make_views(engine, folder, states[0], "")
        if reference is not None:
            _make_views(engine, reference, states[1], "reference_")
        yield Reading(engine, *states)


def _state(folder: Path) -> IntakeState:
    state = read_state(folder)
    if state is None or not state.parts:
        raise LogTrouble(f"the analysis in {folder} {_NO_LINES}")
    return state


def _make_views(engine: AnalysisEngine, folder: Path, state: IntakeState, prefix: str) -> None:
    """Name the columns; a row has the number of its part, and its own number in the part."""
    lines = ", ".join(quoted(str(folder / each.name)) for each in state.parts)
    hosts = ", ".join(quoted(str(folder / each.hosts)) for each in state.parts)
    engine.run(
        f"CREATE TEMP VIEW {prefix}every_line AS SELECT *, file_index AS part, file_row_number AS row_number"
        f" FROM read_parquet([{lines}], file_row_number = true) WHERE time IS NOT NULL"
    )
    engine.run(f"CREATE TEMP VIEW {prefix}lines AS SELECT * FROM {prefix}every_line WHERE NOT is_note")
    engine.run(f"CREATE TEMP VIEW {prefix}hosts AS SELECT DISTINCT host, domain FROM read_parquet([{hosts}])")
