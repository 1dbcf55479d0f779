"""Advisory locks on files (flock(2)): a lock ends with the last descriptor of the process that holds the lock."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


def lock(fd: int, *, waits: bool = True, shared: bool = False) -> None:
    """Lock an open file. Raises OSError, and BlockingIOError when another process has a lock that is not waited for."""
    fcntl.flock(fd, (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | (0 if waits else fcntl.LOCK_NB))


def unlock(fd: int) -> None:
    """End the lock of an open file, whose descriptors stay open. Raises OSError."""
    fcntl.flock(fd, fcntl.LOCK_UN)


def try_lock(fd: int, *, shared: bool = False) -> bool:
    """Lock an open file without waiting. Return False when another process holds the lock."""
    try:
        lock(fd, waits=False, shared=shared)
    except BlockingIOError:
        return False
    return True


@contextmanager
def lock_or_not(path: Path) -> Iterator[bool]:
    """Yield whether this process holds the lock of a file until the end of the block. The file is made if needed.

    Raises OSError when the file can't be opened.
    """
    fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        yield try_lock(fd)
    finally:
        os.close(fd)


@contextmanager
def locked_folder(folder: Path) -> Iterator[None]:
    """Wait for the lock of a folder, and hold the lock until the end of the block. Raises OSError."""
    fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        lock(fd)
        yield
    finally:
        os.close(fd)


def is_locked(path: Path) -> bool:
    """Return whether a running process holds the lock of a file; False for a file that is missing or unreadable."""
    try:
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        return not try_lock(fd, shared=True)
    finally:
        os.close(fd)
