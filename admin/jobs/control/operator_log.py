"""Each change of an operator to the queues of a job is a line of JSON in `operator.log` in the run's folder."""

from __future__ import annotations

import getpass
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from archive.dates import iso_date, now_micros
from archive.files import write_all
from archive.json_text import compact_json

FILE_NAME: Final = "operator.log"
_SHOWN: Final = 500


def note_change(folder: Path, command: str, arguments: Mapping[str, Any], outcome: str, *, by: str = "") -> None:
    """Append what was asked, by whom, and what it changed. Raises OSError."""
    line = {
        "time": iso_date(now_micros()),
        "by": by or login_name(),
        "command": command,
        **{name: _short(value) for name, value in arguments.items() if value not in (None, "", False, ())},
        "outcome": outcome,
    }
    fd = os.open(folder / FILE_NAME, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o666)
    try:
        write_all(fd, [compact_json(line).encode("utf-8", "replace") + b"\n"])
    finally:
        os.close(fd)


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
