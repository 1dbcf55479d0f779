"""The state of an intake says how far a log was read, and which files have its columns.

The state is replaced atomically after each block, and names the only files that count. An intake that was interrupted
therefore goes on where the state is.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Final

from admin.log_analysis.columns.line_columns import EDITION
from admin.log_analysis.columns.log_blocks import LogHead, LogTrouble
from archive.dates import Micros
from archive.files import replacement

STATE_FILE: Final = "state.json"
MOST_BROKEN_SHOWN: Final = 20


@dataclass(frozen=True, slots=True)
class LogPart:
    """A part is a file with the columns of some lines; `hosts` is the file of the hosts that are new in it."""

    name: str
    hosts: str
    first_line: int
    """The number of its first line in the log, counted from 1."""
    lines: int
    text_bytes: int
    """Bytes of the log that it was made from."""


@dataclass(frozen=True, slots=True)
class BrokenLine:
    """A broken line of a log has a number and its first characters."""

    number: int
    text: str


@dataclass(frozen=True, slots=True)
class IntakeState:
    """The state has the place up to which a log was read, the parts, and counts."""

    source: str
    """The path of the log."""
    head: LogHead
    place: int = 0
    """Bytes of the log, without compression, that were read."""
    lines: int = 0
    broken: int = 0
    parts: tuple[LogPart, ...] = ()
    broken_lines: tuple[BrokenLine, ...] = ()
    """The first broken lines."""
    rotations: int = 0
    """How often another log took the place of the one that had been read; the lines of all are kept."""
    tail: int = 0
    """Bytes after the last line end, which belong to a line that is being written or was cut off."""
    trouble: str = ""
    """Why the last intake could not read all; empty when it could."""
    at: Micros = 0
    """When the last intake read something."""
    is_complete: bool = False
    """The last intake came to the end that the log had then."""

    def with_part(self, part: LogPart, replaced: LogPart | None, place: int) -> IntakeState:
        """Return the state after a block was taken in; `replaced` is the part that was put into the new one."""
        kept = tuple(each for each in self.parts if each != replaced)
        return replace(self, parts=(*kept, part), place=place, lines=part.first_line + part.lines - 1)


def has_state(folder: Path) -> bool:
    """Return whether the folder has a state, perhaps one of another edition."""
    return (folder / STATE_FILE).exists()


def read_state(folder: Path) -> IntakeState | None:
    """Return the state in a folder; None when there is none, or one of another edition. Raises LogTrouble."""
    path = folder / STATE_FILE
    try:
        found = json.loads(path.read_text("utf-8"))
        if found.pop("edition") != EDITION:
            return None
        return IntakeState(
            **{
                **found,
                "head": LogHead(**found["head"]),
                "parts": _all(LogPart, found["parts"]),
                "broken_lines": _all(BrokenLine, found["broken_lines"]),
            }
        )
    except FileNotFoundError:
        return None
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise LogTrouble(f"{path} is damaged ({error}); remove its folder, then analyse the log again") from error


def write_state(folder: Path, state: IntakeState) -> None:
    """Replace the state atomically. Raises OSError."""
    with replacement(folder / STATE_FILE) as file:
        file.write(json.dumps({"edition": EDITION, **asdict(state)}, indent=1).encode())


def _all[T](kind: type[T], values: Sequence[dict[str, object]]) -> tuple[T, ...]:
    return tuple(kind(**each) for each in values)
