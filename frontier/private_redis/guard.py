"""The guard ends a private Redis after all its users are gone. `server.py` runs it as a process of its own.

    python -I guard.py FOLDER SOCKET

Users hold a shared lock on FOLDER/users.lock, which the kernel releases even when they are killed. The guard waits for
an exclusive lock, and then shuts the server down. It imports the standard library only.
"""

from __future__ import annotations

import fcntl
import os
import socket
import sys
from pathlib import Path
from typing import IO, Final

_SHUTDOWN: Final = b"*2\r\n$8\r\nSHUTDOWN\r\n$6\r\nNOSAVE\r\n"
PING: Final = b"*1\r\n$4\r\nPING\r\n"
_SECONDS: Final = 10.0


def main(folder: Path, address: str) -> None:
    """Start the guard in the background, and return at once. A second guard ends itself."""
    if os.fork():
        os._exit(0)
    os.setsid()
    os.chdir("/")
    with (folder / "guard.lock").open("a") as guarding:
        try:
            fcntl.flock(guarding, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return
        while True:  # a new server may not answer yet
            wait_until_unused(folder)
            end_if_unused(folder, address)
            if not is_up(address):
                return


def wait_until_unused(folder: Path) -> None:
    """Wait until no process uses the server."""
    with (folder / "users.lock").open("a") as users:
        fcntl.flock(users, fcntl.LOCK_EX)


def end_if_unused(folder: Path, address: str) -> bool:
    """Shut the server down unless it is used. `start.lock` keeps others from starting or ending it at the same time."""
    with (folder / "start.lock").open("a") as starting, (folder / "users.lock").open("a") as users:
        fcntl.flock(starting, fcntl.LOCK_EX)
        if not is_alone(users):
            return False
        answer(address, _SHUTDOWN)
        return True


def is_alone(users: IO[str]) -> bool:
    """Return whether no other process holds the lock; then this process holds it.

    A guard that waited for the last user holds the lock for a moment. It does not count as a user.
    """
    for _ in range(3):
        try:
            fcntl.flock(users, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return True
        except BlockingIOError:
            fcntl.flock(users, fcntl.LOCK_SH)
    return False


def is_up(address: str) -> bool:
    """Return whether a Redis answers at this socket. On a full disk, even PING gets an error (MISCONF)."""
    return answer(address, PING).startswith((b"+", b"-"))


def answer(address: str, command: bytes) -> bytes:
    """Return the answer of the server to one command; empty when there is none."""
    try:
        with socket.socket(socket.AF_UNIX) as link:
            link.settimeout(_SECONDS)
            link.connect(address)
            link.sendall(command)
            return link.recv(1000)
    except OSError:
        return b""


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2])
