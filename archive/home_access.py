"""Only the owner of a home can read its files. By `archive.readable_by`, the owner's group can read collections too.

New files get their permissions from the mask of the process (`use_mask`). A database gets them before SQLite makes its
file, and SQLite gives the same to the files beside it. `mend` changes the files of a home that an earlier release made.

| place | `owner` | `group` |
|---|---|---|
| the home itself | 0700 | 0710 |
| folders and files below `collections/` | 0700, 0600 | 0750, 0640; profiles of jobs 0600 |
| all other folders and files directly in the home | 0700, 0600 | 0700, 0600 |
| what is in these folders | 0700, 0600 | out of reach, since the folders are the owner's |
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from archive.settings.archive import Readers

COLLECTIONS: Final = "collections"
_OTHERS: Final = stat.S_IRWXG | stat.S_IRWXO
_MASKS: Final = {"owner": 0o077, "group": 0o027}
_HOME: Final = {"owner": 0o700, "group": 0o710}
_JOBS: Final = "jobs"
_BESIDE: Final = ("", "-wal", "-shm", "-journal")
"""Ends of the names of a SQLite database and of the files beside it."""


_masks_before: Final = list[int]()
"""The masks that this process had; the first one is that of the person who started the process."""


@dataclass(frozen=True, slots=True)
class Mended:
    """The result says how many files and folders of a home got other permissions, and how many could not."""

    changed: int = 0
    refused: int = 0

    @property
    def line(self) -> str:
        """Return one line for people; empty when nothing was changed."""
        failed = f"; the permissions of {self.refused} others could not be changed, look at their owner"
        if not self.changed and not self.refused:
            return ""
        return (
            f"the home gave other users access: {self.changed} files and folders now have the permissions of"
            f" archive.readable_by{failed if self.refused else ''}"
        )


def use_mask(readers: Readers) -> None:
    """Let this process, and those that it starts, make files that nobody else can read."""
    before = os.umask(_MASKS[readers])
    _masks_before.append(before)


def leave_to_user(path: Path, home: Path | None = None) -> None:
    """Give a file outside a home, which a person asked for, the permissions of the person's other files."""
    if _masks_before and (home is None or not path.resolve().is_relative_to(home.resolve())):
        with suppress(OSError):
            path.chmod(0o666 & ~_masks_before[0])


def make_private(path: Path) -> None:
    """Make an empty file that only its owner can read, or take its permissions from others if it is there.

    The files that SQLite has beside a database get the same. A device stays as it is. A folder that is missing is left
    to the caller.
    """
    with suppress(OSError):
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
    for end in _BESIDE:
        with suppress(OSError):
            beside = path.with_name(path.name + end)
            found = beside.stat().st_mode
            if stat.S_ISREG(found) and found & _OTHERS:  # a device such as /dev/null is everybody's
                beside.chmod(stat.S_IMODE(found) & ~_OTHERS)


def mend(home: Path, readers: Readers) -> Mended:
    """Give the home and its files their permissions. Everything is looked at only when the home itself has others.

    The home is changed last, so that the next call goes on where this one was cut off. Symbolic links are left alone.
    """
    wanted = _HOME[readers]
    is_open = stat.S_IMODE(home.stat().st_mode) != wanted
    changed, refused = 0, 0
    for path, mode in (*(_below(home, readers) if is_open else _beneath(home, readers)), (home, wanted)):
        try:
            found = path.lstat().st_mode
            if (stat.S_ISREG(found) or stat.S_ISDIR(found) or stat.S_ISSOCK(found)) and stat.S_IMODE(found) != (
                now := _wanted(stat.S_IMODE(found), mode)
            ):
                path.chmod(now)
                changed += path != home or changed > 0  # a folder that a person made open, with nothing open in it
        except FileNotFoundError:
            continue  # another process removed the file meanwhile
        except OSError:
            refused += 1
    return Mended(changed, refused)


def _wanted(found: int, mode: int) -> int:
    """Return the permissions of the owner as they are, and those of others as `mode` has them."""
    return (found & ~_OTHERS) | (mode & _OTHERS)


def _beneath(home: Path, readers: Readers) -> Iterator[tuple[Path, int]]:
    """Yield the files and folders directly in the home, each with the permissions of others that it must have."""
    with os.scandir(home) as entries:
        for entry in entries:
            is_shared = readers == "group" and entry.name == COLLECTIONS
            yield Path(entry.path), 0o750 if is_shared else 0


def _below(home: Path, readers: Readers) -> Iterator[tuple[Path, int]]:
    """Yield all files and folders of the home, in the same way."""
    for folder, mode in _beneath(home, readers):
        yield folder, mode
        for place, folders, files in os.walk(folder) if folder.is_dir() and not folder.is_symlink() else ():
            is_of_job = _JOBS in Path(place).relative_to(folder).parts[1:2]
            for name in folders:
                yield Path(place, name), mode
            for name in files:
                yield Path(place, name), 0 if is_of_job and name.startswith("profile.json") else mode & 0o640
