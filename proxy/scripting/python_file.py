"""Runs a Python file that an operator has put in place, as a module of its own."""

from __future__ import annotations

import itertools
import sys
from pathlib import Path
from types import ModuleType
from typing import Final

_numbers: Final = itertools.count(1)


def run_file(path: Path) -> ModuleType:
    """Return a new module at each call, without a byte code cache: two runs of one file share nothing.

    Raises OSError when the file can't be read, and the exceptions of the file's own code.
    """
    module = ModuleType(f"ghostfleet_file_{next(_numbers)}_{path.stem}")
    module.__file__ = str(path)
    code = compile(path.read_bytes(), str(path), "exec")
    sys.modules[module.__name__] = module  # dataclasses look their module up by name
    try:
        exec(code, module.__dict__)
    except BaseException:
        forget(module)
        raise
    return module


def forget(module: ModuleType) -> None:
    """Remove a module that is no longer needed from `sys.modules`."""
    sys.modules.pop(module.__name__, None)
