"""Find the processes that write to a collection: jobs, recording processes with an open file, and imports."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from archive.file_lock import is_locked
from archive.names.warc_paths import growing

IMPORT_DRAFT: Final = ".import-"
"""The prefix of the temporary file to which an import copies. The import holds a lock on the file."""
DRAFT_SUFFIX: Final = ".part"
_LOCK: Final = re.compile(r"\d+: FLOCK +\S+ +WRITE +(\d+) +([0-9a-f]+):([0-9a-f]+):(\d+) ")
_JOB_LOCK: Final = ".lock"


def writers(folder: Path) -> list[str]:
    """Return one line for each process that is writing to the collection in this folder."""
    return [*_jobs(folder), *_recorders(folder), *_imports(folder)]


def left_open(folder: Path) -> list[str]:
    """Return the names of the files that a killed process left open."""
    return [place.name for place in growing(folder) if not is_locked(place.growing)]


def _jobs(folder: Path) -> Iterator[str]:
    for lock in sorted((folder / "jobs").glob(f"*/{_JOB_LOCK}")):
        if is_locked(lock):
            yield f"job {lock.parent.name} is running{_process(lock)}"


def _recorders(folder: Path) -> Iterator[str]:
    for place in growing(folder):
        if is_locked(place.growing):
            yield f"a recording process is writing {place.name}{_process(place.growing)}"


def _imports(folder: Path) -> Iterator[str]:
    for draft in sorted((folder / "archive").glob(f"{IMPORT_DRAFT}*{DRAFT_SUFFIX}")):
        if is_locked(draft):
            yield f"an import is copying files into the collection{_process(draft)}"


def _process(path: Path) -> str:
    """Return ` (process 123)` for the process that holds the lock; empty where the system does not list locks."""
    try:
        status = path.stat()
        lines = Path("/proc/locks").read_text("ascii").splitlines()
    except OSError:
        return ""
    for line in lines:
        found = _LOCK.match(line)
        if found and int(found[4]) == status.st_ino:
            return f" (process {found[1]})"
    return ""
