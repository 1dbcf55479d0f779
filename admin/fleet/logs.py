"""Configure logging: a child logs to standard error, which is its log file; a command logs to a file in the home."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Final

from admin.fleet.log_format import JsonFormatter, TextFormatter
from archive.settings import LogFormat

_NOISY: Final = ("httpx", "httpcore")


def to_stderr(form: LogFormat) -> None:
    """Log to standard error. The parent appends that of a child to `<home>/logs/<role>-<n>.log`."""
    _configure(logging.StreamHandler(), form)


def to_file(path: Path, form: LogFormat) -> None:
    """Log to a file, so that the terminal has only messages for people. The folder of `path` must exist."""
    _configure(logging.FileHandler(path, encoding="utf-8"), form)


def _configure(handler: logging.Handler, form: LogFormat) -> None:
    handler.setFormatter(JsonFormatter() if form == "json" else TextFormatter())
    logging.basicConfig(level=logging.INFO, handlers=[handler], force=True)
    for name in _NOISY:
        logging.getLogger(name).setLevel(logging.WARNING)
