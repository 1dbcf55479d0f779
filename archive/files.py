"""These functions write files so that a crash leaves the old file or the new one, never a part of one."""

from __future__ import annotations

import os
import stat
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO, Final

from archive.file_lock import lock

_PIECES_MAX: Final = os.sysconf("SC_IOV_MAX")
_STEP: Final = 65_536


@contextmanager
def replacement(path: Path, *, durable: bool = True, mode: int = 0o666) -> Iterator[BinaryIO]:
    """Yield a new file that takes the place of `path` when the block ends; an exception leaves the old file in place.

    With `durable`, content and name are on the disk when the block has ended. Without it, a power cut may leave an
    empty file, which does for reports that are written again. The new file is called NAME.new until then, so a path
    may have one writer at a time; a file of that name that a killed process left is removed. Raises OSError.
    """
    fresh = path.with_name(f"{path.name}.new")
    fresh.unlink(missing_ok=True)
    try:
        with open(os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode), "wb") as file:
            yield file
            file.flush()
            if durable:
                os.fsync(file.fileno())
        fresh.replace(path)
    except BaseException:
        with suppress(OSError):  # the first error is the one to report
            fresh.unlink()
        raise
    if durable:
        sync_folder(path.parent)


@contextmanager
def locked_draft(path: Path) -> Iterator[BinaryIO]:
    """Yield a new file, to be written and searched, that takes the place of `path` when the block ends.

    The file is called `.NAME.part` until then. An exception removes it, and the next call removes the file of a killed
    process. Raises BlockingIOError while another process writes the same file, and OSError.
    """
    draft = path.with_name(f".{path.name}.part")
    while True:
        with open(os.open(draft, os.O_RDWR | os.O_CREAT, 0o666), "r+b") as file:
            lock(file.fileno(), waits=False)
            if not is_at(file, draft):
                continue  # another process gave the draft its name, or removed it, before it was locked here
            file.truncate()
            try:
                yield file
                file.flush()
                os.fsync(file.fileno())
                replace_durably(draft, path)
            except BaseException:
                with suppress(OSError):  # the first error is the one to report
                    draft.unlink()
                raise
            return


def is_at(file: BinaryIO, path: Path) -> bool:
    """Return whether the open file still has this name."""
    try:
        return os.path.samestat(os.fstat(file.fileno()), path.stat())
    except FileNotFoundError:
        return False


def replace_durably(fresh: Path, path: Path) -> None:
    """Rename a durable file to `path`, in place of an older one, and make the new name durable. Raises OSError."""
    fresh.replace(path)
    sync_folder(path.parent)


def write_once(path: Path, data: bytes, *, mode: int = 0o600) -> bool:
    """Create the file, whole and durable, unless it exists; return whether this call created it.

    Of several writers at once, the first one wins. An empty file counts as missing, since a power cut may leave one.
    A symbolic link counts as a file, and nothing is written to its target. Raises OSError.
    """
    with suppress(FileNotFoundError):
        there = path.lstat()
        if there.st_size or not stat.S_ISREG(there.st_mode):
            return False
        path.unlink()
    with tempfile.NamedTemporaryFile(dir=path.parent) as draft:  # only its owner can read it before fchmod
        draft.write(data)
        draft.flush()
        os.fchmod(draft.fileno(), mode)
        os.fsync(draft.fileno())
        try:
            os.link(draft.name, path)
        except FileExistsError:
            return False
    sync_folder(path.parent)
    return True


def write_all(fd: int, pieces: Sequence[bytes]) -> None:
    """Write every byte. One raw write may take only some of them, for instance near a full disk. Raises OSError."""
    written = os.writev(fd, pieces[:_PIECES_MAX])
    if written == sum(map(len, pieces)):
        return
    left = memoryview(b"".join(pieces))[written:]
    while left:
        left = left[os.write(fd, left) :]


def drop_torn_line(path: Path) -> None:
    """Cut off the end of a file behind its last line break: a crash within an append left it. Raises OSError."""
    with path.open("r+b") as file:
        size = end = file.seek(0, os.SEEK_END)
        while end:
            start = max(0, end - _STEP)
            line_break = os.pread(file.fileno(), end - start, start).rfind(b"\n")
            if line_break >= 0:
                end = start + line_break + 1
                break
            end = start
        if end < size:
            file.truncate(end)
            os.fsync(file.fileno())


def rename_new(old: Path, new: Path) -> None:
    """Rename without overwriting. Raises FileExistsError.

    The check before the rename is enough: only the process that holds the lock on `old` would create `new`.
    """
    if new.exists():
        raise FileExistsError(f"{new} exists already")
    old.rename(new)


def make_folder(folder: Path) -> None:
    """Create the folder and its missing parents, with durable names. Raises OSError."""
    if not folder.is_dir():
        make_folder(folder.parent)
        folder.mkdir(exist_ok=True)
        sync_folder(folder.parent)


def sync_folder(folder: Path) -> None:
    """Make the names in a folder durable. Raises OSError."""
    fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


def free_bytes(folder: Path) -> int:
    """Return the bytes of disk that this process may still use in the folder. Raises OSError."""
    found = os.statvfs(folder)
    return found.f_bavail * found.f_frsize


def free_inodes(folder: Path) -> int | None:
    """Return how many files this process may still create in the folder.

    Return None where the file system has no fixed number of inodes, such as btrfs. Raises OSError.
    """
    found = os.statvfs(folder)
    return found.f_favail if found.f_files else None
