"""Hints name this program as the user typed it.

`./run` says its own name in GHOSTFLEET_TYPED, and `admin.cli` sets that variable when nobody did, so that child
processes give the same hints.
"""

from __future__ import annotations

import os
import shlex
import shutil
from pathlib import Path
from typing import Final

VARIABLE: Final = "GHOSTFLEET_TYPED"
_NAME: Final = "ghostfleet"


def program() -> str:
    """Return the first word of a command line that starts this program again: `ghostfleet`, `./run`."""
    return shlex.quote(os.environ.get(VARIABLE) or _NAME)


def command(rest: str) -> str:
    """Return a command line for a hint: `command("job list")` is `./run job list` where `./run` was typed."""
    return f"{program()} {rest}"


def remember(first_argument: str) -> None:
    """Keep what was typed, for this process and its children; `first_argument` is that of the process."""
    if not os.environ.get(VARIABLE):
        os.environ[VARIABLE] = _typed(first_argument)


def _typed(first_argument: str) -> str:
    """Return the name alone when the PATH leads to this very program, else the path that was typed."""
    if Path(first_argument).name != _NAME:
        return _NAME
    found = shutil.which(_NAME)
    is_on_path = found is not None and os.path.realpath(found) == os.path.realpath(first_argument)
    return _NAME if is_on_path else first_argument
