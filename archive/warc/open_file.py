"""One WARC file while it is being written, with its sidecar: locked, append-only, cut back when a batch fails.

The file is called NAME.open until it is closed. Its writer holds an flock on it, so that `repair` can tell a
writer that lives from one that died. Nothing here decides what is written or when a file is full.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final

from archive import cdxj
from archive.capture import Capture
from archive.place import Place

_WRITE_SIZE: Final = 1 << 20
_PIECES_MAX: Final = os.sysconf("SC_IOV_MAX")


class OpenFile:
    """An append-only file pair whose durable part only grows.

    Every method raises OSError; what to do then is the caller's: `roll_back`, or `abandon`.
    """

    def __init__(self, place: Place) -> None:
        """Creates the file, and the folders it lies in, and takes its lock. Raises FileExistsError for a name taken."""
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
        make_folder(self.path.parent)
        make_folder(self.sidecar.parent)
        self._fd = create_locked(self.path)
        try:
            self._lines_fd = os.open(self.sidecar, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND, 0o644)
        except OSError:
            self.path.unlink()
            os.close(self._fd)
            raise
        self._fds: tuple[int, ...] = (self._fd, self._lines_fd)

    def write(self, data: bytes) -> None:
        """Appends; small pieces wait in memory for `flush`."""
        self.size += len(data)
        self._waiting.append(data)
        self._waiting_bytes += len(data)
        if self._waiting_bytes >= _WRITE_SIZE:
            self.flush()

    def flush(self) -> None:
        """Hands everything to the operating system."""
        waiting, self._waiting, self._waiting_bytes = self._waiting, [], 0
        if waiting:
            write_all(self._fd, waiting)

    def sync(self, captures: Iterable[Capture], *, fsync: bool) -> None:
        """Makes everything written so far durable, then adds its index lines."""
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
        """Cuts both files back to what was durable. After a failed fsync nobody knows what that is: OSError."""
        self._waiting, self._waiting_bytes = [], 0
        os.ftruncate(self._fd, self.durable)
        os.ftruncate(self._lines_fd, self._lines_durable)
        self.size = self.durable
        if self._is_doubtful:
            raise OSError("after a failed fsync the file can't be trusted")

    def abandon(self) -> None:
        """Lets go of the files as they are: `repair` will see to them. Harmless when done before."""
        for fd in self._fds:
            with suppress(OSError):  # what must last was synced before; the rest is for repair
                os.close(fd)
        self._fds = ()

    def discard(self) -> None:
        """Removes the files."""
        self.sidecar.unlink()
        self.path.unlink()
        self.abandon()

    def publish(self, *, fsync: bool) -> None:
        """Sorts the sidecar, gives the WARC its final name and lets go of both; everything must be durable.

        The sidecar comes first: a WARC with its final name has a whole index. The lock is held to the end.
        """
        with self.sidecar.open(encoding="utf-8", newline="\n") as lines:
            cdxj.write_sorted(self.sidecar, (line.removesuffix("\n") for line in lines))
        if fsync:
            sync_folder(self.sidecar.parent)
        rename_new(self.path, self.final)
        if fsync:
            sync_folder(self.final.parent)
        self.abandon()


def create_locked(path: Path) -> int:
    """A new file, open for appending, its lock taken. Raises FileExistsError when the name is taken.

    Between creation and lock a `repair` may find the file empty and remove it: that too counts as taken.
    """
    fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND, 0o644)
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        os.close(fd)
        if isinstance(error, BlockingIOError):
            raise FileExistsError(f"{path} is being looked at by a repair") from error
        path.unlink()
        raise
    if os.fstat(fd).st_nlink == 0:
        os.close(fd)
        raise FileExistsError(f"{path} was removed by a repair")
    return fd


def write_all(fd: int, pieces: Sequence[bytes]) -> None:
    """Writes every byte: a raw write may take only some of them, near a full disk for instance."""
    written = os.writev(fd, pieces[:_PIECES_MAX])
    if written == sum(map(len, pieces)):
        return
    left = memoryview(b"".join(pieces))[written:]
    while left:
        left = left[os.write(fd, left) :]


def rename_new(old: Path, new: Path) -> None:
    """Renames without overwriting. Raises FileExistsError.

    Looking first is enough: only the holder of the lock on `old` would make `new`.
    """
    if new.exists():
        raise FileExistsError(f"{new} exists already")
    old.rename(new)


def make_folder(folder: Path) -> None:
    """Sees to it that there is this folder, and that its name and those of the folders it is in are durable."""
    if not folder.is_dir():
        make_folder(folder.parent)
        folder.mkdir(exist_ok=True)
        sync_folder(folder.parent)


def sync_folder(folder: Path) -> None:
    """Makes names in a folder durable."""
    fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)
