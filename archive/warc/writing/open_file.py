"""A WARC file that is being written is locked, append-only, and cut back when a batch fails. Its sidecar belongs to it.

The file is called NAME.open until it is closed. Its writer holds an flock on it, by which `repair` knows that the
writer is alive. `archive.warc.writing.writer` decides on content and size.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import Final

from archive.capture import Capture
from archive.file_lock import lock
from archive.files import make_folder, rename_new, sync_folder, write_all
from archive.names.warc_paths import WarcPaths
from archive.warc import cdxj

_WRITE_SIZE: Final = 1 << 20
_SIDECAR_TRIES: Final = 3


class OpenFile:
    """The file and its sidecar are append-only, and their durable part only grows.

    Every method raises OSError. Then the caller decides between `roll_back` and `abandon`.
    """

    def __init__(self, place: WarcPaths) -> None:
        """Create the file with its folders, and lock it. Raises FileExistsError when the name is taken."""
        self.name = place.name
        self.path = place.growing
        self.final = place.warc
        self.sidecar = place.sidecar
        self.size = 0
        self.durable = 0
        self._lines_durable = 0
        self._waiting: list[bytes] = []
        self._waiting_bytes = 0
        self._is_named = False
        self._is_doubtful = False
        self._is_sorted = self._is_final = False
        make_folder(self.path.parent)
        make_folder(self.sidecar.parent)
        self._fd = create_locked(self.path)
        try:
            self._lines_fd = os.open(self.sidecar, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_APPEND, 0o644)
        except OSError:
            self.path.unlink()
            os.close(self._fd)
            raise
        self._fds: tuple[int, ...] = (self._fd, self._lines_fd)
        status = os.fstat(self._fd)
        self._where, self._identity = str(self.path), (status.st_dev, status.st_ino)

    @property
    def is_removed(self) -> bool:
        """Return whether the WARC file was removed or its folder renamed, so that new records would be lost."""
        try:
            found = os.stat(self._where)
        except OSError:
            return bool(self._fds)
        return bool(self._fds) and (found.st_dev, found.st_ino) != self._identity

    def write(self, data: bytes) -> None:
        """Append the bytes; small pieces wait in memory for `flush`."""
        self.size += len(data)
        self._waiting.append(data)
        self._waiting_bytes += len(data)
        if self._waiting_bytes >= _WRITE_SIZE:
            self.flush()

    def flush(self) -> None:
        """Hand all pieces to the operating system."""
        waiting, self._waiting, self._waiting_bytes = self._waiting, [], 0
        if waiting:
            write_all(self._fd, waiting)

    def sync(self, captures: Iterable[Capture], *, fsync: bool) -> None:
        """Make all written bytes durable, then append their index lines."""
        self.flush()
        if fsync:
            self._is_doubtful = True
            os.fsync(self._fd)
            if not self._is_named:
                sync_folder(self.path.parent)
                self._is_named = True
            self._is_doubtful = False
        if lines := "".join(f"{cdxj.line(capture)}\n" for capture in captures).encode():
            write_all(self._lines_fd, [lines])
        self.durable = self.size
        self._lines_durable += len(lines)

    def roll_back(self) -> None:
        """Cut both files back to their durable parts. Raises OSError after a failed fsync: these parts are unknown."""
        self._waiting, self._waiting_bytes = [], 0
        os.ftruncate(self._fd, self.durable)
        os.ftruncate(self._lines_fd, self._lines_durable)
        self.size = self.durable
        if self._is_doubtful:
            raise OSError("after a failed fsync, the content of the file is unknown")

    def abandon(self) -> None:
        """Close the files without further changes, for `repair`. A second call has no effect."""
        for fd in self._fds:
            with suppress(OSError):  # the durable part was synced before; repair handles the rest
                os.close(fd)
        self._fds = ()

    def discard(self) -> None:
        """Remove the files."""
        self.sidecar.unlink(missing_ok=True)
        self.path.unlink()
        self.abandon()

    def publish(self, *, fsync: bool) -> None:
        """Sort the sidecar, give the WARC its final name and close both. All bytes must be durable before.

        The sidecar comes first, so that a WARC with its final name has a complete sidecar. The lock is held to the end.
        After an OSError, a second call continues at the failed step.
        """
        for left in reversed(range(_SIDECAR_TRIES)):
            try:
                self._put_sidecar(fsync=fsync)
                break
            except FileNotFoundError:  # files are being removed just now
                if not left:
                    raise
        if not self._is_final:
            rename_new(self.path, self.final)
            self._is_final = True
        if fsync:
            sync_folder(self.final.parent)
        self.abandon()

    def _put_sidecar(self, *, fsync: bool) -> None:
        """Sort the sidecar, unless it is sorted.

        The lines are read from the descriptor that wrote them, because the sidecar's name may have been removed.
        """
        if not (self._is_sorted and self.sidecar.exists()):
            make_folder(self.sidecar.parent)
            with open(os.dup(self._lines_fd), encoding="utf-8", newline="\n") as lines:
                lines.seek(0)
                cdxj.write_sorted(self.sidecar, (line.removesuffix("\n") for line in lines))
            self._is_sorted = True
        if fsync:
            sync_folder(self.sidecar.parent)


def create_locked(path: Path) -> int:
    """Return the descriptor of a new file that is open for appending and locked.

    Raises FileExistsError when the name is taken, and when a `repair` has removed the empty file before it was locked.
    """
    fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND, 0o644)
    try:
        lock(fd, waits=False)
    except OSError as error:
        os.close(fd)
        if isinstance(error, BlockingIOError):
            raise FileExistsError(f"{path} is being checked by a repair") from error
        path.unlink()
        raise
    if os.fstat(fd).st_nlink == 0:
        os.close(fd)
        raise FileExistsError(f"{path} was removed by a repair")
    return fd
