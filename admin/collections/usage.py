"""Find the writers of a collection: jobs, recording processes with an open file, imports, and capture sessions."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from sqlalchemy import create_engine, inspect, select
from sqlalchemy.exc import SQLAlchemyError

from admin.models.capture_tables import CaptureSession, CaptureState
from admin.models.database import FILE_NAME, database_url
from archive.file_lock import is_locked
from archive.names.warc_paths import growing
from archive.program_name import command
from archive.settings.load import Settings
from dedupdb.captures.schema import CapturesError

_LOCK: Final = re.compile(r"\d+: FLOCK +\S+ +WRITE +(\d+) +([0-9a-f]+):([0-9a-f]+):(\d+) ")
_JOB_LOCK: Final = ".lock"
IMPORT_DRAFT: Final = ".import-"
"""The prefix of the temporary file to which an import copies. The import holds a lock on the file."""
DRAFT_SUFFIX: Final = ".part"


def writers(folder: Path) -> list[str]:
    """Return one line for each process that is writing to the collection in this folder."""
    return [*_jobs(folder), *_recorders(folder), *_imports(folder)]


def users(settings: Settings, name: str, folder: Path | None = None) -> list[str]:
    """Return one line for each open capture session, which may write to the collection at any moment, and each writer.

    `folder` is where the collection is now, if that is not its usual place. Raises CapturesError.
    """
    return [*_sessions(settings, name), *writers(folder or settings.collection(name))]


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


def _sessions(settings: Settings, name: str) -> list[str]:
    if not settings.database.url and not (settings.home / FILE_NAME).exists():
        return []
    query = select(CaptureSession.id, CaptureSession.owner).where(
        CaptureSession.collection == name, CaptureSession.state.in_((CaptureState.OPEN, CaptureState.PAUSED))
    )
    engine = create_engine(database_url(settings))
    try:
        with engine.connect() as connection:
            if not inspect(connection).has_table(CaptureSession.__tablename__):
                return []
            found = connection.execute(query.order_by(CaptureSession.id)).all()
    except SQLAlchemyError as error:
        said = str(getattr(error, "orig", None) or type(error).__name__).partition("\n")[0]
        raise CapturesError(f"the database can't tell whether a capture session is open: {said[:300]}") from error
    finally:
        engine.dispose()
    return [
        f"capture session {id} of {owner} is open (`{command(f'session end {id}')}` ends it)" for id, owner in found
    ]


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
