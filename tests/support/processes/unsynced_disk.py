"""Files of a test need not survive a power cut, so nothing waits for the disk.

A commit of SQLite waits some ten milliseconds for a busy disk, and tests of the admin commit some hundred thousand
times. A process that is killed loses nothing by this: the kernel has all that the process wrote.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import Any, Final

VARIABLES: Final[Mapping[str, str]] = {"TESTS_DO_NOT_SYNC": "1"}
"""Variables with which a process of the program that the fork server starts does not wait for the disk either."""

_FSYNC: Final = os.fsync
_CONNECT: Final = sqlite3.dbapi2.connect


class _Connection(sqlite3.Connection):
    """A connection to SQLite that never waits for the disk, whatever the program asks for."""

    def __init__(self, *given: Any, **options: Any) -> None:
        super().__init__(*given, **options)
        with suppress(sqlite3.Error):  # the file is no database; the program is to find that out
            super().execute("PRAGMA synchronous=OFF")

    def execute(self, sql: str, *given: Any) -> sqlite3.Cursor:
        """Run a statement; one that sets how SQLite syncs has no effect."""
        return super().execute("PRAGMA synchronous=OFF" if sql.startswith("PRAGMA synchronous=") else sql, *given)


def _connect(*given: Any, **options: Any) -> sqlite3.Connection:
    return _CONNECT(*given, **{"factory": _Connection, **options})


def _fsync(fd: Any) -> None:
    """Refuse what is no open file, as the real function does."""
    os.fstat(fd if isinstance(fd, int) else fd.fileno())


def install() -> None:
    """Let this process never wait for the disk."""
    os.fsync = _fsync
    sqlite3.connect = sqlite3.dbapi2.connect = _connect  # type: ignore[assignment]


@contextmanager
def unsynced() -> Iterator[None]:
    """Let this process not wait for the disk until the end of the block."""
    install()
    try:
        yield
    finally:
        os.fsync = _FSYNC
        sqlite3.connect = sqlite3.dbapi2.connect = _CONNECT
