"""A segment is a compressed file with the end of a host's queue, a URL on each line, in the order of the queue."""

from __future__ import annotations

import gzip
import json
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from archive.files import replacement
from archive.json_text import compact_json

_LEVEL: Final = 1
"""A higher level of compression costs more time than the space is worth, since segments live for hours."""
MOST_BYTES: Final = 1 << 30
"""A segment with more bytes is taken for damaged. The largest URLs have 64 KB, and a segment has ten thousand."""


class SegmentDamaged(Exception):
    """The file of a segment can't be read, or its content is not that of a segment."""


@dataclass(frozen=True, slots=True)
class SegmentEntry:
    """A queued URL has its fingerprint, its place in the queue, its tries, the lost workers and its record."""

    id: str
    score: int
    tries: int
    lost: int
    record: bytes

    def state(self) -> str:
        """Return the part of the entry that changes when the URL is visited."""
        return f"{self.score} {self.tries} {self.lost}"


def write_segment(path: Path, entries: Sequence[SegmentEntry]) -> None:
    """Write a segment. When the call returns, the file is on the disk. Raises OSError."""
    lines = (
        compact_json([each.id, each.score, each.tries, each.lost, each.record.decode("utf-8", "surrogateescape")])
        for each in entries
    )
    packed = gzip.compress("".join(f"{line}\n" for line in lines).encode("utf-8", "surrogateescape"), _LEVEL, mtime=0)
    with replacement(path, mode=0o600) as file:
        file.write(packed)


def read_segment(path: Path) -> list[SegmentEntry]:
    """Return the entries of a segment. Raises SegmentDamaged, also when the file is missing, and OSError."""
    try:
        with gzip.open(path) as file:
            content = file.read(MOST_BYTES)
            if file.read(1):
                raise SegmentDamaged(f"{path.name} has more than {MOST_BYTES:,} bytes")
        lines = content.split(b"\n")[:-1]
        return [_entry(json.loads(line.decode("utf-8", "surrogateescape"))) for line in lines]
    except FileNotFoundError as error:
        raise SegmentDamaged(f"{path.name} is missing") from error
    except (gzip.BadGzipFile, zlib.error, EOFError, ValueError, TypeError) as error:
        raise SegmentDamaged(f"{path.name} is damaged: {error}") from error


def _entry(values: Any) -> SegmentEntry:
    id, score, tries, lost, record = values
    return SegmentEntry(str(id), int(score), int(tries), int(lost), record.encode("utf-8", "surrogateescape"))
