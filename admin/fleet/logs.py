"""Where log lines go: of a child to its standard error, which is its log file; of a command to a file in the home."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Final

from admin.logformat import JsonFormatter, TextFormatter
from archive.sections import LogFormat

_NOISY: Final = ("httpx", "httpcore", "waitress.queue")


def to_stderr(form: LogFormat) -> None:
    """For children: their standard error is appended to `<home>/logs/<role>-<n>.log`."""
    _configure(logging.StreamHandler(), form)


def to_file(path: Path, form: LogFormat) -> None:
    """For commands whose terminal is for people. `path`'s folder exists."""
    _configure(logging.FileHandler(path, encoding="utf-8"), form)


def _configure(handler: logging.Handler, form: LogFormat) -> None:
    handler.setFormatter(JsonFormatter() if form == "json" else TextFormatter())
    logging.basicConfig(level=logging.INFO, handlers=[handler], force=True)
    for name in _NOISY:
        logging.getLogger(name).setLevel(logging.WARNING)
