"""The home of an episode lies in a folder, or on a disk that can be filled, can fail, or can lose power.

The disks are tmpfs and ext4 in loop-mounted images, and need root. They are mounted in a mount namespace of this
process and its children (`isolate`), so that the kernel unmounts them however the campaign ends.
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
"""The flag of EXT4_IOC_SHUTDOWN that lets current operations end first, so that each fsync is either done or not."""
_AT_REST: Final = b"\0\0\0\0"
_PIECE: Final = 1 << 20
_RELEASE_SECONDS: Final = 60.0


class DiskProblem(Exception):
    """A disk can't be made or mounted here. The message gives the reason."""


class Folder:
    """The home lies in a plain folder."""

    def __init__(self, base: Path) -> None:
        self.base = base
        self.home = base / "home"

    def close(self) -> None:
        """Do nothing, since nothing is mounted."""


class Small(Folder):
    """The file system is small, and can be filled to its last bytes."""

    def __init__(self, base: Path) -> None:
        super().__init__(base / "disk")
        self._filler = self.base / "filler"
        self.base.mkdir()
        mount("-t", "tmpfs", "-o", f"size={_SMALL_BYTES}", "tmpfs", str(self.base))

    def fill(self, leave: int) -> None:
        """Fill the disk except for `leave` bytes."""
        fill(self._filler, leave)

    def free(self) -> None:
        """Free the space again."""
        self._filler.unlink(missing_ok=True)

    def close(self) -> None:
        """Unmount it."""
        unmount(self.base)


class Failing(Folder):
    """The disk fails: the ext4 image can't grow any more, so that writing back and fsync fail.

    Data that was written before stays readable. The journal has its space already, so that the file system can be used
    again.
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
        run(["fstrim", str(self.base)])  # unused blocks become holes, so that only new blocks of files fail

    def fail(self) -> None:
        """Let each write of a new block fail from now on."""
        fill(self._filler, 0)

    def heal(self) -> None:
        """Let writes succeed again."""
        self._filler.unlink(missing_ok=True)

    def close(self) -> None:
        """Unmount it."""
        self._give_back()
        for folder in (self.base, self._lower):
            unmount(folder)


class Dying(Folder):
    """The disk fails for good: ext4 is shut down between two writes.

    The class `Failing` can't do this: there, any program would find zeros where its fsync had succeeded.
    """

    def __init__(self, base: Path) -> None:
        super().__init__(base / "disk")
        self._image = base / "image"
        self.base.mkdir()
        make_ext4(self._image, "-J", "size=8")
        self._mount()

    def fail(self) -> None:
        """Let each call except unmount fail from now on."""
        folder = os.open(self.base, os.O_RDONLY)
        try:
            fcntl.ioctl(folder, _SHUTDOWN, _AT_REST)
        finally:
            os.close(folder)

    def replace(self) -> None:
        """Unmount the disk, repair and mount it, as after a hardware failure. No process may use the disk."""
        unmount(self.base)
        wait_for_release(self._image)
        check_ext4(self._image)
        self._mount()

    def close(self) -> None:
        """Unmount it."""
        unmount(self.base)

    def _mount(self) -> None:
        mount("-o", "loop", str(self._image), str(self.base))


class Cut(Folder):
    """The disk can lose power: a copy of its ext4 image is taken at one moment.

    The image lies on a file system that is frozen during the copy. Freezing stops the writes to the image at once, even
    within an fsync, and writes nothing from the cache of the upper file system.
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
        """Take the copy and return the time just before it (time.monotonic())."""
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
        """Replace the disk by the copy and replay its journal. No process may use the disk."""
        unmount(self.base)
        image = self._lower / "image"
        image.unlink()  # the loop device of the old disk may keep it open for a moment
        copy_sparse(self._memory / "copy", image)
        mount("-o", "loop", str(image), str(self.base))

    def close(self) -> None:
        """Unmount everything."""
        for folder in (self.base, self._lower, self._memory):
            unmount(folder)


DISKS: Final = {"folder": Folder, "small": Small, "failing": Failing, "dying": Dying, "cut": Cut}


def isolate() -> str:
    """Give this process a mount namespace of its own; return the reason when that fails, else "".

    The caller must not have started a thread.
    """
    try:
        os.unshare(os.CLONE_NEWNS)
        mount("--make-rprivate", "/")
    except (OSError, DiskProblem, AttributeError) as error:
        return f"a mount namespace can't be made: {error}"
    return ""


def unavailable(where: Where, base: Path) -> str:
    """Return why such a disk can't be made here, or "". The disk is tried in `base`."""
    folder = base / f"try-{where}"
    folder.mkdir()
    try:
        DISKS[where](folder).close()
    except (OSError, DiskProblem) as error:
        return str(error)
    return ""


def fill(file: Path, leave: int) -> None:
    """Make a file that takes all free space except for `leave` bytes."""
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
    """Call mount(8). Raises DiskProblem."""
    run(["mount", *arguments])


def unmount(folder: Path) -> None:
    """Unmount a folder, even one in use. Do nothing when nothing is mounted there."""
    if os.path.ismount(folder):
        run(["umount", "-l", str(folder)])


def wait_for_release(image: Path) -> None:
    """Wait until no process has the image open. Raises DiskProblem.

    An earlier mount would show the old, failed file system again. The kernel needs a moment to release the mount of a
    killed process.
    """
    over, pause = time.monotonic() + _RELEASE_SECONDS, threading.Event()
    while listed := run(["losetup", "--associated", str(image)]).strip():
        if time.monotonic() > over:
            raise DiskProblem(f"{image} is still in use after {_RELEASE_SECONDS:.0f} s: {listed}")
        pause.wait(0.02)


def page_by_page(image: Path) -> Callable[[], object]:
    """Let the loop device of the image write one page at a time; return a function that undoes this.

    Linux 6.18 reports a longer write as complete when only a part of it was written. An fsync would then confirm
    missing data.
    """
    (device,) = run(["losetup", "--noheadings", "--output", "NAME", "--associated", str(image)]).split()
    limit = Path("/sys/block") / Path(device).name / "queue/max_sectors_kb"
    usual = limit.read_text("ascii")
    limit.write_text("4", "ascii")
    return partial(limit.write_text, usual, "ascii")


def make_ext4(image: Path, *options: str, size: int = _IMAGE_BYTES, solid: bool = False) -> None:
    """Make an empty file system in a file, sparse unless `solid`. Raises DiskProblem."""
    with image.open("wb") as file:
        file.truncate(size)
    run(["mkfs.ext4", "-q", "-F", "-m", "0", *options, str(image)])
    if solid:
        with image.open("r+b") as file:
            os.posix_fallocate(file.fileno(), 0, size)


def check_ext4(image: Path) -> None:
    """Repair a file system. Raises DiskProblem when that can't be done."""
    run(["e2fsck", "-f", "-y", str(image)], well=(0, 1))


def copy_sparse(source: Path, target: Path) -> None:
    """Copy a file's data and leave its holes out."""
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
    """Run a system program and return its output. Raises DiskProblem when its exit code is not in `well`."""
    program = shutil.which(command[0], path=f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin")
    if program is None:
        raise DiskProblem(f"{command[0]} is not installed")
    done = subprocess.run([program, *command[1:]], capture_output=True, text=True, check=False)
    if done.returncode not in well:
        raise DiskProblem(f"{' '.join(command)}: {' '.join((done.stderr or done.stdout).split())}")
    return done.stdout
