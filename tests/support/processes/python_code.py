"""Python code in a process of its own, which the fork server starts within milliseconds."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from typing import Any, Final

from support.places import ROOT, TESTS

PLACES: Final[Mapping[str, str]] = {"PYTHONPATH": f"{ROOT}{os.pathsep}{TESTS}"}
"""The variable that the process needs in its environment."""


def code_command(code: str, *arguments: str) -> list[str]:
    """Return the command that runs this code, as `python -c` does. The code finds the arguments in `sys.argv[1:]`."""
    return [sys.executable, "-m", "support.processes.python_code", code, *arguments]


if __name__ == "__main__":
    names: dict[str, Any] = {"__name__": "__main__"}
    exec(compile(sys.argv.pop(1), "code", "exec"), names)
