"""Ends a private Redis once all its users are gone, however they ended. Run as a process of its own by `embedded.py`.

    python -I guard.py FOLDER SOCKET

Users hold a shared lock on FOLDER/users.lock; the kernel lets go of it even when they are killed. The guard waits
until it can have the lock for itself, and shuts the server down. It knows the standard library only.
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
    """Return at once; what is left behind waits for the last user. One guard is enough: a second one leaves."""
    if os.fork():
        os._exit(0)
    os.setsid()
    os.chdir("/")
    with (folder / "guard.lock").open("a") as guarding:
        try:
            fcntl.flock(guarding, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return
        while is_up(address):
            wait_until_unused(folder)
            end_if_unused(folder, address)


def wait_until_unused(folder: Path) -> None:
    """Return at a moment when nobody uses the server."""
    with (folder / "users.lock").open("a") as users:
        fcntl.flock(users, fcntl.LOCK_EX)


def end_if_unused(folder: Path, address: str) -> bool:
    """Shut the server down unless somebody uses it; `start.lock` keeps others from starting or ending it meanwhile."""
    with (folder / "start.lock").open("a") as starting, (folder / "users.lock").open("a") as users:
        fcntl.flock(starting, fcntl.LOCK_EX)
        if not is_alone(users):
            return False
        answer(address, _SHUTDOWN)
        return True


def is_alone(users: IO[str]) -> bool:
    """Whether nobody else holds the lock; then it is ours.

    A guard that was waiting for the last user takes the lock for a moment, once: that is waited out, and does not
    count as a user.
    """
    for _ in range(3):
        try:
            fcntl.flock(users, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return True
        except BlockingIOError:
            fcntl.flock(users, fcntl.LOCK_SH)
    return False


def is_up(address: str) -> bool:
    """Whether a Redis answers at this socket, whatever it says: on a full disk even PING gets an error (MISCONF)."""
    return answer(address, PING).startswith((b"+", b"-"))


def answer(address: str, command: bytes) -> bytes:
    """What the server says to one command; empty when it is not there, or went."""
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
