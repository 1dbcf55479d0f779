"""The socket of a home's Redis is in the home, or in a private folder when the path is too long for a socket."""

from __future__ import annotations

import os
import stat
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import Final

_LONGEST: Final = 100
"""The longest path of a unix socket. Linux allows 107 bytes, other systems 103."""


def plain_path(folder: Path) -> str | None:
    """Return the path of the socket in `folder`; None when it is too long."""
    plain = str(folder / "redis.sock")
    return plain if len(os.fsencode(plain)) <= _LONGEST else None


def socket_path(folder: Path) -> str:
    """Return the path of the socket for the Redis in `folder`.

    When it is in a temporary folder, the path is recorded in `folder` for other processes.
    """
    if plain := plain_path(folder):
        return plain
    recorded = folder / "socket"
    if recorded.exists():
        address = recorded.read_text("utf-8")
        if _is_private(Path(address).parent):
            return address
    address = str(Path(tempfile.mkdtemp(prefix="ghostfleet-"), "redis.sock"))
    recorded.write_text(address, "utf-8")
    return address


def _is_private(folder: Path) -> bool:
    """Return whether the folder is still ours, and not one that another user put in its place."""
    try:
        found = folder.lstat()
    except OSError:
        return False
    return stat.S_ISDIR(found.st_mode) and found.st_uid == os.geteuid() and not found.st_mode & 0o077


def drop_socket_path(folder: Path) -> None:
    """Remove the temporary folder, if there is one. No process may use it."""
    recorded = folder / "socket"
    if recorded.exists():
        address = Path(recorded.read_text("utf-8"))
        if _is_private(address.parent):
            address.unlink(missing_ok=True)
            with suppress(OSError):  # the folder has files that are not ours
                address.parent.rmdir()
        recorded.unlink()
