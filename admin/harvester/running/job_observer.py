"""A harvester looks at the end of crawl.log and at the pictures that ghosts made, and shows both with its reports."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from admin.harvests.dispatch.observations import (
    MOST_PICTURE_BYTES,
    MOST_PICTURES,
    MOST_TAIL_BYTES,
    LogTail,
    Observations,
    Picture,
)
from archive import crawl_log
from archive.capture import Capture
from archive.dates import Micros
from archive.names.warc_paths import SIDECAR_SUFFIX, WarcPaths
from archive.rotated_log import open_log
from archive.warc import cdxj
from archive.warc.reading.member_reader import WarcError
from archive.warc.reading.reader import read_record

_SUBJECT: Final = "urn:thumbnail:"
"""Records of ghosts with a small picture of a page have this in front of the page's URL."""
_MOST_READ: Final = 4_194_304
"""Bytes of one sidecar that are read for one report; of more, the last ones."""


@dataclass(slots=True)
class JobObserver:
    """A job observer remembers what was shown of one job, so that each report has only what is new."""

    collection: Path
    """The folder of the collection that the job's captures go to."""
    file_prefix: str
    """How the names of the job's WARC files begin."""
    _log_size: int = -1
    _newest: Micros = 0
    _read: dict[Path, tuple[int, int]] = field(default_factory=dict)
    """Inode and offset of each sidecar that was read."""

    def look(self, run_folder: Path | None) -> Observations:
        """Return what is new since the last look. What can't be read now is left for the next look."""
        log = None
        with suppress(OSError):
            log = self._log_tail(run_folder / crawl_log.FILE_NAME) if run_folder is not None else None
        pictures: list[Picture] = []
        with suppress(OSError):
            pictures = self._pictures()
        return Observations(log, pictures)

    def show_log_again(self) -> None:
        """Let the next look show the log although it has not grown: the last report did not arrive."""
        self._log_size = -1

    def _log_tail(self, path: Path) -> LogTail | None:
        try:
            with open_log(path) as file:
                size = file.seek(0, os.SEEK_END)
                if size == self._log_size:
                    return None
                begin = max(size - MOST_TAIL_BYTES, 0)
                file.seek(begin)
                data = file.read(MOST_TAIL_BYTES)
        except FileNotFoundError:
            return None
        self._log_size = size
        if begin:
            data = data.partition(b"\n")[2]
        return LogTail(size, data[: data.rfind(b"\n") + 1].decode("utf-8", "replace"))

    def _pictures(self) -> list[Picture]:
        found = sorted(self._new_captures(), key=lambda capture: capture.date)[-MOST_PICTURES:]
        pictures = []
        for capture in found:
            self._newest = max(self._newest, capture.date)
            with suppress(OSError, WarcError):
                if capture.payload_length <= MOST_PICTURE_BYTES:
                    image = self._content(capture)
                    pictures.append(Picture(capture.url.removeprefix(_SUBJECT), capture.date, image))
        return pictures

    def _new_captures(self) -> Iterator[Capture]:
        for path in self.collection.glob(f"indexes/{self.file_prefix}*{SIDECAR_SUFFIX}"):
            for raw in self._new_lines(path):
                if _SUBJECT.encode() in raw:
                    with suppress(ValueError):
                        capture = cdxj.parse(raw.decode(), self.collection.name)
                        if capture.url.startswith(_SUBJECT) and capture.date > self._newest:
                            yield capture

    def _new_lines(self, path: Path) -> Iterator[bytes]:
        """Yield the whole lines that a sidecar has got since the last look; all of one that was replaced."""
        with suppress(FileNotFoundError), path.open("rb") as file:
            stat = os.fstat(file.fileno())
            inode, offset = self._read.get(path, (stat.st_ino, 0))
            if inode != stat.st_ino or offset > stat.st_size:
                offset = 0
            file.seek(max(offset, stat.st_size - _MOST_READ))
            at = file.tell()
            for raw in file:
                if not raw.endswith(b"\n"):
                    break
                at += len(raw)
                yield raw
            self._read[path] = (stat.st_ino, at)

    def _content(self, capture: Capture) -> bytes:
        place = WarcPaths(self.collection, capture.filename)
        content = bytearray()
        with read_record(place.warc, capture.offset, capture.length) as record:
            for piece in record.payload():
                content += piece
                if len(content) > MOST_PICTURE_BYTES:
                    break
        return bytes(content)
