"""Open the capture index for a page, and say what is missing when there is none, or when it is behind the files.

The indexer writes the index; everything here only reads it.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Final

from sqlalchemy import Engine, select

from admin.collections.marks import unfinished_deletions
from admin.models.errors import DatabaseRefused, IllegalState, NotFound
from archive.names.name_rules import NAME_PATTERN
from archive.names.warc_paths import SIDECAR_SUFFIX, WarcPaths, sidecars
from archive.program_name import command
from archive.settings.load import Settings
from archive.warc import cdxj
from dedupdb.captures.finder import Finder
from dedupdb.captures.read_only import IndexMissing, open_read_only
from dedupdb.captures.schema import CAPTURES, CapturesError, reading
from dedupdb.index.sidecars import SidecarMark, source

_SECONDS: Final = 1.0
_MOST_COMPARED: Final = 16_000_000
"""Bytes of the largest sidecar whose lines are looked up in the index."""


@dataclass(frozen=True, slots=True)
class OpenIndex:
    """The index is open for reading."""

    finder: Finder
    engine: Engine


@contextmanager
def index_if_any(settings: Settings) -> Iterator[OpenIndex | None]:
    """Yield the index, or None when there is none yet. Raises DatabaseRefused when the database is away."""
    try:
        with ExitStack() as stack:
            try:
                engine = stack.enter_context(open_read_only(settings.database_url))
            except IndexMissing:
                engine = None
            yield None if engine is None else OpenIndex(Finder(engine), engine)
    except CapturesError as error:
        raise DatabaseRefused(str(error)) from error


@contextmanager
def index_of(settings: Settings, name: str) -> Iterator[OpenIndex]:
    """Yield the index for one collection. Raises NotFound, IllegalState without an index, and DatabaseRefused."""
    with index_if_any(settings) as index:
        check_collection(settings, index, name)
        if index is None:
            raise IllegalState(missing_index())
        yield index


def check_collection(settings: Settings, index: OpenIndex | None, name: str) -> None:
    """Raise NotFound unless the home or the index has the collection."""
    if not re.fullmatch(NAME_PATTERN, name):
        raise NotFound("collection", name)
    if settings.collection(name).is_dir() or name in unfinished_deletions(settings):
        return
    if index is None or not index.finder.has(name):
        raise NotFound("collection", name)


def missing_index() -> str:
    """Return what to do when there is no index."""
    return (
        "there is no capture index yet, so captures can't be searched; the indexer makes it when it starts, and"
        f" `{command('reindex')}` makes it from the WARC files that are here"
    )


def unread_files(settings: Settings, index: OpenIndex, name: str) -> int:
    """Return in how many files of a collection the indexer has not read all captures; files looked at for a second.

    Captures are announced to the indexer before it reads their files, which it does once a minute.
    """
    folder = settings.collection(name)
    marks = index.finder.marks(source(name, ""))
    ends = time.monotonic() + _SECONDS
    unread = 0
    for place in sidecars(folder):
        try:
            status = place.sidecar.stat()
        except OSError:  # it was removed, or sorted under a temporary name, after it was listed
            continue
        mark = SidecarMark.read(marks.get(source(name, place.name + SIDECAR_SUFFIX), "0 0 0"))
        is_behind = (status.st_ino, status.st_size) != (mark.inode, mark.offset) and status.st_size > 0
        unread += is_behind and not _has_all(index, name, place)
        if time.monotonic() > ends:
            break
    return unread


def _has_all(index: OpenIndex, name: str, place: WarcPaths) -> bool:
    """Return whether the index has a capture at the place of each line of a sidecar. A large sidecar counts as unread.

    The number of captures would not do: a file that was written anew has its captures at other places, and with other
    lengths.
    """
    try:
        with place.sidecar.open("rb") as file:
            content = file.read(_MOST_COMPARED + 1)
    except OSError:  # it was removed meanwhile
        return True
    if len(content) > _MOST_COMPARED:
        return False
    places = {cdxj.place_in(line, place.name) for line in content.split(b"\n")[:-1]}
    rows = select(CAPTURES.c.offset, CAPTURES.c.length).where(
        CAPTURES.c.collection == name, CAPTURES.c.filename == place.name
    )
    with reading(index.engine) as connection:
        return places.issubset(map(tuple, connection.execute(rows)))
