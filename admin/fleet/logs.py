"""Configure logging: a child logs to standard error, which is its log file; a command logs to a file in the home.

Both files are rotated by size, while the processes run.
"""

from __future__ import annotations

import logging
import os
from contextlib import suppress
from pathlib import Path
from typing import Final

from admin.fleet.log_format import JsonFormatter, TextFormatter
from archive.rotated_log import RotatedLog, RotatedOutput
from archive.settings import LogSettings

LOG_FILE: Final = "GHOSTFLEET_LOG_FILE"
"""A parent tells its child by this variable which file is the child's standard error, so that the child rotates it."""
_NOISY: Final = ("httpx", "httpcore")


def to_stderr(settings: LogSettings) -> None:
    """Log to standard error. The parent appends that of a child to `<home>/logs/<role>-<n>.log`."""
    handler: logging.Handler = logging.StreamHandler()
    if file := os.environ.get(LOG_FILE):
        output = RotatedOutput(Path(file), rotate_bytes=settings.process_bytes, most_parts=settings.process_files)
        handler = _OutputHandler(output)
    _configure(handler, settings)


def to_file(path: Path, settings: LogSettings) -> None:
    """Log to a file, so that the terminal has only messages for people. The folder of `path` must exist."""
    log = RotatedLog(path, rotate_bytes=settings.process_bytes, most_parts=settings.process_files)
    _configure(_LogHandler(log), settings)


class _OutputHandler(logging.StreamHandler):  # type: ignore[type-arg]
    """The handler writes to standard error, and lets the file be rotated."""

    def __init__(self, output: RotatedOutput) -> None:
        super().__init__()
        self._output = output

    def emit(self, record: logging.LogRecord) -> None:
        """Write a record."""
        with suppress(OSError):  # a log that can't be rotated grows on
            self._output.rotate_if_full()
        super().emit(record)


class _LogHandler(logging.Handler):
    """The handler writes to a log that is rotated."""

    def __init__(self, log: RotatedLog) -> None:
        super().__init__()
        self._log = log

    def emit(self, record: logging.LogRecord) -> None:
        """Write a record."""
        try:
            self._log.append([self.format(record)])
        except Exception:  # logging's own handlers do the same
            self.handleError(record)


def _configure(handler: logging.Handler, settings: LogSettings) -> None:
    handler.setFormatter(JsonFormatter() if settings.format == "json" else TextFormatter())
    logging.basicConfig(level=logging.INFO, handlers=[handler], force=True)
    for name in _NOISY:
        logging.getLogger(name).setLevel(logging.WARNING)
