"""A running admin site tells other commands of its home where it listens.

`run/site.address` has the address as long as the site keeps the file locked.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from admin.fleet.installation_file import read_installation
from archive.file_lock import try_lock
from archive.files import make_folder
from archive.settings.load import Settings

_MOST_BYTES: Final = 1_000


@contextmanager
def published(home: Path, address: str) -> Iterator[None]:
    """Tell the address, HOST:PORT, until the end of the block. A second site of the home tells nothing."""
    make_folder(home / "run")
    fd = os.open(_path(home), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        if try_lock(fd):
            os.truncate(fd, 0)
            os.pwrite(fd, address.encode(), 0)
        yield
    finally:
        os.close(fd)


def site_url(settings: Settings) -> str:
    """Return the address of the site for people: the public one, that of the running site, or that of the settings."""
    if settings.admin.public_url:
        return settings.admin.public_url
    installation = read_installation(settings.home)
    running = (installation.addresses.get("admin") if installation else None) or _running(settings.home)
    host = f"[{settings.admin.host}]" if ":" in settings.admin.host else settings.admin.host
    return f"http://{running or f'{host}:{settings.admin.port}'}"


def _running(home: Path) -> str:
    """Return the address of a site that runs by itself in the home; nothing without one."""
    try:
        fd = os.open(_path(home), os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return ""
    try:
        return "" if try_lock(fd, shared=True) else os.pread(fd, _MOST_BYTES, 0).decode("ascii", "replace")
    finally:
        os.close(fd)


def _path(home: Path) -> Path:
    return home / "run" / "site.address"
