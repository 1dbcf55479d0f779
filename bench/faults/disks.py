"""Where a round's home lies: a folder, or a disk of its own that can be filled, made to fail, or cut off.

The disks are tmpfs and ext4 in loop-mounted images, and need root. They are mounted in a mount namespace that this
process and its children have for themselves (`isolate`), so that nothing stays behind however the campaign ends.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import subprocess
import threading
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Final, Literal

type Where = Literal["folder", "small", "failing", "dying", "cut"]

_SMALL_BYTES: Final = 64 << 20
_IMAGE_BYTES: Final = 128 << 20
_FREEZE: Final = 0xC0045877
_THAW: Final = 0xC0045878
_SHUTDOWN: Final = 0x8004587D
"""EXT4_IOC_SHUTDOWN, and how: once what is under way has ended, so that no fsync is half true."""
_AT_REST: Final = b"\0\0\0\0"
_PIECE: Final = 1 << 20
_RELEASE_SECONDS: Final = 60.0


class DiskProblem(Exception):
    """A disk can't be made or mounted here; the message says why."""


class Folder:
    """Just a folder."""

    def __init__(self, base: Path) -> None:
        self.base = base
        self.home = base / "home"

    def close(self) -> None:
        """Nothing is mounted."""


class Small(Folder):
    """A file system with little room, which can be filled to the last bytes."""

    def __init__(self, base: Path) -> None:
        super().__init__(base / "disk")
        self._filler = self.base / "filler"
        self.base.mkdir()
        mount("-t", "tmpfs", "-o", f"size={_SMALL_BYTES}", "tmpfs", str(self.base))

    def fill(self, leave: int) -> None:
        """Takes all room but `leave` bytes."""
        fill(self._filler, leave)

    def free(self) -> None:
        """Gives the room back."""
        self._filler.unlink(missing_ok=True)

    def close(self) -> None:
        """Unmounts it."""
        unmount(self.base)


class Failing(Folder):
    """A disk that begins to fail: ext4 in an image that can't grow any more, so that writing back fails, and fsync.

    What was written to the image before stays readable. The journal has its place already and goes on, so that the
    file system lives and can be used again.
    """

    def __init__(self, base: Path) -> None:
        super().__init__(base / "disk")
        self._lower = base / "lower"
        self._image, self._filler = self._lower / "image", self._lower / "filler"
        for folder in (self.base, self._lower):
            folder.mkdir()
        mount("-t", "tmpfs", "-o", f"size={2 * _IMAGE_BYTES}", "tmpfs", str(self._lower))
        make_ext4(self._image, "-J", "size=8", "-E", "lazy_itable_init=0", solid=True)
        mount("-o", "loop,errors=continue", str(self._image), str(self.base))
        self._give_back = page_by_page(self._image)
        run(["fstrim", str(self.base)])  # what holds no file becomes a hole again: blocks of files fail, no others

    def fail(self) -> None:
        """From now on new blocks can't be written."""
        fill(self._filler, 0)

    def heal(self) -> None:
        """They can again."""
        self._filler.unlink(missing_ok=True)

    def close(self) -> None:
        """Unmounts it."""
        self._give_back()
        for folder in (self.base, self._lower):
            unmount(folder)


class Dying(Folder):
    """A disk that fails for good: ext4 that is given up, between one write and the next.

    An image that can't grow is no such disk: there a plain program, too, finds zeros where its fsync had succeeded.
    """

    def __init__(self, base: Path) -> None:
        super().__init__(base / "disk")
        self._image = base / "image"
        self.base.mkdir()
        make_ext4(self._image, "-J", "size=8")
        self._mount()

    def fail(self) -> None:
        """From now on every call but unmounting fails."""
        folder = os.open(self.base, os.O_RDONLY)
        try:
            fcntl.ioctl(folder, _SHUTDOWN, _AT_REST)
        finally:
            os.close(folder)

    def replace(self) -> None:
        """Unmounts, repairs and mounts it again, as after a failure of hardware; nobody may use it."""
        unmount(self.base)
        wait_for_release(self._image)
        check_ext4(self._image)
        self._mount()

    def close(self) -> None:
        """Unmounts it."""
        unmount(self.base)

    def _mount(self) -> None:
        mount("-o", "loop", str(self._image), str(self.base))


class Cut(Folder):
    """A disk whose power can be cut: ext4 in an image of which a copy can be taken within one moment.

    The image lies on a file system that is frozen for the copy. Freezing stops the writes to the image where they
    are, within an fsync perhaps, and brings nothing of the upper file system's cache into it.
    """

    def __init__(self, base: Path) -> None:
        super().__init__(base / "disk")
        self._memory, self._lower = base / "memory", base / "lower"
        for folder in (self.base, self._memory, self._lower):
            folder.mkdir()
        mount("-t", "tmpfs", "-o", f"size={5 * _IMAGE_BYTES}", "tmpfs", str(self._memory))
        make_ext4(self._memory / "lower", "-O", "^has_journal", size=3 * _IMAGE_BYTES)
        mount("-o", "loop", str(self._memory / "lower"), str(self._lower))
        make_ext4(self._lower / "image", "-J", "size=8")
        mount("-o", "loop", str(self._lower / "image"), str(self.base))

    def cut(self) -> float:
        """Takes the copy; the moment before it (time.monotonic())."""
        at = time.monotonic()
        folder = os.open(self._lower, os.O_RDONLY)
        try:
            fcntl.ioctl(folder, _FREEZE, 0)
            try:
                copy_sparse(self._lower / "image", self._memory / "copy")
            finally:
                fcntl.ioctl(folder, _THAW, 0)
        finally:
            os.close(folder)
        return at

    def swap(self) -> None:
        """Puts the copy in the disk's place, its journal replayed; nobody may use the disk."""
        unmount(self.base)
        image = self._lower / "image"
        image.unlink()  # the old disk's loop device may hold on to it for a moment
        copy_sparse(self._memory / "copy", image)
        mount("-o", "loop", str(image), str(self.base))

    def close(self) -> None:
        """Unmounts everything."""
        for folder in (self.base, self._lower, self._memory):
            unmount(folder)


DISKS: Final = {"folder": Folder, "small": Small, "failing": Failing, "dying": Dying, "cut": Cut}


def isolate() -> str:
    """Gives this process a mount namespace of its own; call it before any thread starts. Why not, or ""."""
    try:
        os.unshare(os.CLONE_NEWNS)
        mount("--make-rprivate", "/")
    except (OSError, DiskProblem, AttributeError) as error:
        return f"no mount namespace of its own: {error}"
    return ""


def unavailable(where: Where, base: Path) -> str:
    """Why such a disk can't be had here, or ""; tried out in `base`."""
    folder = base / f"try-{where}"
    folder.mkdir()
    try:
        DISKS[where](folder).close()
    except (OSError, DiskProblem) as error:
        return str(error)
    return ""


def fill(file: Path, leave: int) -> None:
    """Makes a file of all the room there is but `leave` bytes."""
    with file.open("wb", buffering=0) as filler:
        try:
            while True:
                filler.write(bytes(_PIECE))
        except OSError:
            pass
        try:
            while True:
                filler.write(bytes(4096))
        except OSError:
            pass
        filler.truncate(max(0, filler.tell() - leave))


def mount(*arguments: str) -> None:
    """mount(8). Raises DiskProblem."""
    run(["mount", *arguments])


def unmount(folder: Path) -> None:
    """Unmounts a folder, whether it is in use or not; harmless when nothing is mounted there."""
    if os.path.ismount(folder):
        run(["umount", "-l", str(folder)])


def wait_for_release(image: Path) -> None:
    """Waits until nothing has the image open any more; mounted before, it would be the old, dead file system again.

    That of a killed process goes when the kernel has cleared it away. Raises DiskProblem.
    """
    over, pause = time.monotonic() + _RELEASE_SECONDS, threading.Event()
    while listed := run(["losetup", "--associated", str(image)]).strip():
        if time.monotonic() > over:
            raise DiskProblem(f"{image} is still in use after {_RELEASE_SECONDS:.0f} s: {listed}")
        pause.wait(0.02)


def page_by_page(image: Path) -> Callable[[], object]:
    """Has the image's loop device write one page at a time; what is returned has it write as before.

    Of a longer piece it calls all written when a part was (Linux 6.18), so that an fsync confirms what is not there.
    """
    (device,) = run(["losetup", "--noheadings", "--output", "NAME", "--associated", str(image)]).split()
    limit = Path("/sys/block") / Path(device).name / "queue/max_sectors_kb"
    usual = limit.read_text("ascii")
    limit.write_text("4", "ascii")
    return partial(limit.write_text, usual, "ascii")


def make_ext4(image: Path, *options: str, size: int = _IMAGE_BYTES, solid: bool = False) -> None:
    """An empty file system in a file, sparse unless `solid`. Raises DiskProblem."""
    with image.open("wb") as file:
        file.truncate(size)
    run(["mkfs.ext4", "-q", "-F", "-m", "0", *options, str(image)])
    if solid:
        with image.open("r+b") as file:
            os.posix_fallocate(file.fileno(), 0, size)


def check_ext4(image: Path) -> None:
    """Repairs a file system. Raises DiskProblem when that can't be done."""
    run(["e2fsck", "-f", "-y", str(image)], well=(0, 1))


def copy_sparse(source: Path, target: Path) -> None:
    """Copies a file's data and leaves its holes out."""
    with source.open("rb") as old, target.open("wb") as new:
        size = os.fstat(old.fileno()).st_size
        new.truncate(size)
        at = 0
        while at < size:
            try:
                at = os.lseek(old.fileno(), at, os.SEEK_DATA)
            except OSError:
                break
            end = os.lseek(old.fileno(), at, os.SEEK_HOLE)
            while at < end:
                at += os.pwrite(new.fileno(), os.pread(old.fileno(), min(_PIECE, end - at), at), at)


def run(command: Sequence[str], well: Sequence[int] = (0,)) -> str:
    """Runs a program of the system's; what it printed. Raises DiskProblem unless it ends `well`."""
    program = shutil.which(command[0], path=f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin")
    if program is None:
        raise DiskProblem(f"no {command[0]} here")
    done = subprocess.run([program, *command[1:]], capture_output=True, text=True, check=False)
    if done.returncode not in well:
        raise DiskProblem(f"{' '.join(command)}: {' '.join((done.stderr or done.stdout).split())}")
    return done.stdout
