"""The registry of segments is in Redis. It says which URLs of which files wait in no queue in memory."""

from __future__ import annotations

import logging
import secrets
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from itertools import batched
from pathlib import Path
from typing import Final

from archive.files import make_folder, replacement
from frontier.segments.segment_file import SegmentDamaged, SegmentEntry, read_segment
from frontier.store import Store

logger = logging.getLogger(__name__)

SEGMENT_FOLDER: Final = "queue"
"""The folder of the segments in the folder of a run."""
_OWNER: Final = "owner"
_CHUNK: Final = 500


@dataclass(frozen=True, slots=True)
class Segment:
    """A segment has its file's name, its host, its first place in the queue, and the number of URLs that are left."""

    name: str
    host: str
    first: int
    left: int
    read: int
    """The number of entries that were read back."""
    owner: str
    """The mark of the folder that has the file."""
    stayed: frozenset[str]
    """The ids in the file whose URLs were never removed from Redis, as they changed while the file was written."""


class SegmentRegistry:
    """The registry of one job. `folder` has the files; None where they can't be read, as on another machine."""

    def __init__(self, store: Store, folder: Path | None = None) -> None:
        self._store = store
        self.folder = folder

    def segments(self) -> list[Segment]:
        """Return all segments, those of a host in the order of the queue."""
        with self._store.guarded():
            found = self._store.client.hgetall(self._store.key("segments"))
        return sorted((_segment(name, line) for name, line in found.items()), key=lambda each: (each.host, each.first))

    def owner(self) -> str:
        """Return the mark of the folder; make both when they do not exist. Raises OSError."""
        if self.folder is None:
            return ""
        path = self.folder / _OWNER
        with suppress(FileNotFoundError):
            return path.read_text("ascii")
        make_folder(self.folder)
        with replacement(path) as file:
            file.write(secrets.token_hex(8).encode())
        return path.read_text("ascii")

    def entries(self) -> Iterator[tuple[str, list[SegmentEntry]]]:
        """Yield the URLs in segments that will be queued again, in lists, each with the host.

        A segment that can't be read here is named in the log.
        """
        segments = self.segments()
        if not segments:
            return
        owner = self._known_owner()
        for segment in segments:
            if self.folder is None or segment.owner != owner:
                logger.warning("job %s: %d URLs of %s are not here: %s", *_named(self._store.job, segment))
                continue
            try:
                found = read_segment(self.folder / segment.name)
            except (SegmentDamaged, OSError) as error:
                logger.warning("job %s: URLs of %s can't be read: %s", self._store.job, segment.host, error)
                continue
            for chunk in batched(found[segment.read :], _CHUNK):
                wanted = [each for each in chunk if each.id not in segment.stayed]
                if wanted:
                    yield segment.host, self._not_ended(wanted)

    def _known_owner(self) -> str:
        if self.folder is None:
            return ""
        try:
            return (self.folder / _OWNER).read_text("ascii")
        except FileNotFoundError:
            return ""

    def _not_ended(self, entries: list[SegmentEntry]) -> list[SegmentEntry]:
        store = self._store
        with store.guarded():
            pipeline = store.client.pipeline(transaction=False)
            pipeline.hmget(store.key("unspilled"), [each.id for each in entries])
            pipeline.hmget(store.key("u"), [each.id for each in entries])
            marks, queued = pipeline.execute()
        every = zip(entries, marks, queued, strict=True)
        return [each for each, mark, record in every if mark is None and record is None]


def _segment(name: bytes, line: bytes) -> Segment:
    host, first, left, read, owner, stayed = line.decode("utf-8", "replace").split("\n")
    return Segment(name.decode(), host, int(first), int(left), int(read), owner, frozenset(stayed.split()))


def _named(job: str, segment: Segment) -> tuple[str, int, str, str]:
    return job, segment.left, segment.host, f"{segment.name} is in the home of the command that runs the job"
