"""Each change of an operator to the queues of a job is a line of JSON in `operator.log` in the run's folder.

A change that may take long has a line when it begins, with the outcome `begun`, and another one at its end. So the log
tells of a change that was killed. A line that a killed process has left unfinished ends where the next line begins.
"""

from __future__ import annotations

import getpass
import os
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

from archive.dates import iso_date, now_micros
from archive.json_text import compact_json
from archive.rotated_log import RotatedLog

FILE_NAME: Final = "operator.log"
BEGUN: Final = "begun"
_SHOWN: Final = 500


def note_change(folder: Path, command: str, arguments: Mapping[str, Any], outcome: str, *, by: str = "") -> None:
    """Append what was asked, by whom, and what it changed.

    Do nothing when the disk is full or the folder was removed, as the change was made.
    """
    line = {
        "time": iso_date(now_micros()),
        "by": by or login_name(),
        "command": command,
        **{name: _short(value) for name, value in arguments.items() if value not in (None, "", False, ())},
        "outcome": outcome,
    }
    with suppress(OSError):
        if folder.is_dir():
            RotatedLog(folder / FILE_NAME).append([compact_json(line)])


def login_name() -> str:
    """Return the name under which the operator works on this machine, or the number of an account without a name."""
    try:
        return getpass.getuser()
    except (OSError, KeyError, ImportError):
        return str(os.getuid())


def _short(value: Any) -> Any:
    if isinstance(value, str):
        return value if len(value) <= _SHOWN else value[:_SHOWN] + "…"
    if isinstance(value, list | tuple):
        shown = [_short(each) for each in value[:20]]
        return [*shown, f"and {len(value) - 20} more"] if len(value) > 20 else shown
    return value
