"""Where a home's Redis has its socket: in the home, or, when that path is too long for one, in a private folder."""

from __future__ import annotations

import os
import stat
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import Final

_LONGEST: Final = 100
"""Bytes of a unix socket's path; Linux takes 107, other systems 103."""


def socket_path(folder: Path) -> str:
    """The socket of the Redis in `folder`. A temporary folder made for it is recorded there, so that others find it."""
    plain = str(folder / "redis.sock")
    if len(os.fsencode(plain)) <= _LONGEST:
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
    """Whether it is still the folder that we made, and not another user's in its place."""
    try:
        found = folder.lstat()
    except OSError:
        return False
    return stat.S_ISDIR(found.st_mode) and found.st_uid == os.geteuid() and not found.st_mode & 0o077


def drop_socket_path(folder: Path) -> None:
    """Remove the temporary folder, if there is one; nothing may be using it."""
    recorded = folder / "socket"
    if recorded.exists():
        address = Path(recorded.read_text("utf-8"))
        if _is_private(address.parent):
            address.unlink(missing_ok=True)
            with suppress(OSError):  # it holds something that is not ours to remove
                address.parent.rmdir()
        recorded.unlink()
