"""Show the WARC files of a collection: a list in pages, their number and size, and one file for download."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from admin.collections.browsing.index import check_collection, index_if_any
from admin.models.errors import IllegalState, InvalidInput, NotFound, Problem
from admin.models.operation import OutputModel, Page
from admin.models.transaction import Right, Transaction
from archive.names.warc_paths import ENDINGS, OPEN_SUFFIX
from archive.settings.load import Settings
from dedupdb.captures.finder import MOST_COUNTED
from dedupdb.captures.validation import SAFE_NAME

MOST: Final = 200
MOST_FILES: Final = 1_000_000
_LONGEST_NAME: Final = 2_000


class FileLine(OutputModel):
    """The line describes one WARC file of a collection."""

    name: str
    """The name as the index has it: below the archive folder, without `.open`."""
    bytes: int
    is_open: bool
    """The file has no final name yet."""
    captures: int | None
    """Captures of the file in the index; 10,001 stands for more than 10,000, and None for no index."""


@dataclass(frozen=True, slots=True)
class FilesTotal:
    """The totals are the number and size of a collection's files."""

    files: int = 0
    open_files: int = 0
    bytes: int = 0


def list_files(transaction: Transaction, name: str, *, after: str | None = None, limit: int = 100) -> Page[FileLine]:
    """Return the WARC files of a collection by name; `after` is the last name of the page before."""
    wanted = max(1, min(limit, MOST))
    with index_if_any(transaction.settings) as index:
        check_collection(transaction.settings, index, name)
        archive = transaction.settings.archive_dir(name)
        names = sorted(_names(archive))
        later = [each for each in names if after is None or _bare(each) > after]
        lines = [
            FileLine(
                name=_bare(each),
                bytes=_size(archive / each),
                is_open=each.endswith(OPEN_SUFFIX),
                captures=None if index is None else index.finder.in_file(name, _bare(each)),
            )
            for each in later[:wanted]
        ]
    is_more = len(later) > wanted
    return Page[FileLine](items=lines, next=lines[-1].name if is_more else None, total=len(names))


def files_total(settings: Settings, name: str, ends: float) -> FilesTotal | None:
    """Return the number and size of the files; None when the time (of `time.monotonic`) is over before they are known.

    The caller has checked the name.
    """
    files = open_files = size = 0
    archive = settings.archive_dir(name)
    for each in _names(archive):
        if time.monotonic() > ends:
            return None
        files, open_files = files + 1, open_files + each.endswith(OPEN_SUFFIX)
        size += _size(archive / each)
    return FilesTotal(files, open_files, size)


def file_for_download(transaction: Transaction, name: str, file: str) -> Path:
    """Return the path of a closed WARC file. Raises NotFound, IllegalState for an open one, and Forbidden.

    WARC files have everything that was sent and received, so this asks for the right to steer jobs.
    """
    transaction.require(Right.OPERATE)
    with index_if_any(transaction.settings) as index:
        check_collection(transaction.settings, index, name)
    checked_file(file)
    if not file.endswith(ENDINGS):
        raise NotFound("WARC file", file)
    path = transaction.settings.archive_dir(name) / file
    if path.is_file():
        return path
    if path.with_name(path.name + OPEN_SUFFIX).is_file():
        raise IllegalState(f"{file} is still being written; it can be downloaded when it has its final name")
    raise NotFound("WARC file", file)


def checked_file(file: str) -> str:
    """Return the name itself. Raises InvalidInput for a name that could lead out of the archive folder."""
    if len(file) > _LONGEST_NAME or not SAFE_NAME.fullmatch(file):
        raise InvalidInput(
            Problem("file", f"{file[:100]!r} is not the name of a file in a collection; take it from the list of files")
        )
    return file


def more_than_counted(captures: int) -> bool:
    """Return whether a number of captures stands for more."""
    return captures > MOST_COUNTED


def _names(archive: Path) -> Iterator[str]:
    """Yield the WARC files below the folder, open ones too, at most a million."""
    found = 0
    for place, folders, files in os.walk(archive):
        folders[:] = [each for each in folders if not each.startswith(".")]
        below = Path(place).relative_to(archive).as_posix()
        for each in files:
            if each.endswith((*ENDINGS, OPEN_SUFFIX)) and not each.startswith(".") and found < MOST_FILES:
                found += 1
                yield each if below == "." else f"{below}/{each}"


def _bare(name: str) -> str:
    return name.removesuffix(OPEN_SUFFIX)


def _size(path: Path) -> int:
    """Return the size; that of the closed file when an open one has just got its final name, and 0 when it is gone."""
    for each in (path, path.with_name(_bare(path.name))):
        try:
            return each.stat().st_size
        except OSError:
            continue
    return 0
