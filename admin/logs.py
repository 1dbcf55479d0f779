"""Where log lines go: of a child to its standard error, which is its log file; of a command to a file in the home."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any, Final

_FORMAT: Final = "%(asctime)s %(levelname)s %(name)s %(message)s"
_NOISY: Final = ("httpx", "httpcore", "waitress.queue")


def to_stderr() -> None:
    """For children: their standard error is appended to `<home>/logs/<role>-<n>.log`."""
    _configure()


def to_file(path: Path) -> None:
    """For commands whose terminal is for people. `path`'s folder exists."""
    _configure(filename=path, encoding="utf-8")


def _configure(**destination: Any) -> None:
    logging.basicConfig(level=logging.INFO, format=_FORMAT, force=True, **destination)
    for name in _NOISY:
        logging.getLogger(name).setLevel(logging.WARNING)
