"""Write the WARC files of a date range, a job or a URL prefix to a folder outside the home.

Records are copied with their compressed bytes, so nothing about them changes. A revisit is exported together with its
original, unless the caller asks otherwise, so that every revisit can be read. The folder gets its name when all files
are written: an interrupted export leaves a folder `NAME.incomplete`, which the next export replaces.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, BinaryIO, Final

from admin.collections.transfer.selection import ExportProblem, Selection, choose, record_ranges
from admin.units import counted
from archive.dates import iso_date, now_micros
from archive.files import sync_folder
from archive.names.warc_paths import ENDINGS, SIDECAR_SUFFIX, WarcPaths
from archive.warc import cdxj
from archive.warc.reading.member_reader import WarcError

MANIFEST: Final = "export.json"
INCOMPLETE: Final = ".incomplete"
_COPY_SIZE: Final = 1 << 20


@dataclass(frozen=True, slots=True)
class ExportedFile:
    """The file is one WARC file of an export. `source` names the file of the collection that it comes from."""

    name: str
    source: str
    bytes: int
    sha256: str
    captures: int

    def as_json(self) -> dict[str, Any]:
        """Return the fields as in export.json."""
        found = asdict(self)
        return {"name": found.pop("name"), "from": found.pop("source"), **found}


@dataclass(slots=True)
class Exported:
    """The result of an export has its files, and the captures that are missing."""

    folder: str
    files: list[ExportedFile] = field(default_factory=list)
    captures: int = 0
    originals: int = 0
    """Captures that were added because a chosen revisit refers to them; `captures` includes them."""
    lacking_originals: int = 0
    """Chosen revisits whose original is not in this collection, or was left out by request."""
    missing: list[str] = field(default_factory=list)
    """One line for each problem because of which chosen captures are missing."""

    @property
    def is_whole(self) -> bool:
        """Return whether no chosen capture is missing."""
        return not self.missing

    def as_json(self) -> dict[str, Any]:
        """Return the fields for `--json`."""
        return {**asdict(self), "files": [each.as_json() for each in self.files]}


class Exporter:
    """The exporter writes captures of one collection to a new folder."""

    def __init__(self, folder: Path, target: Path, chosen: Selection, *, originals: bool, whole_files: bool) -> None:
        """`folder` is the collection's. Raises ExportProblem when `target` exists and isn't empty."""
        if target.exists() and (not target.is_dir() or any(target.iterdir())):
            raise ExportProblem(f"--to {target} exists and is not empty; name a new folder")
        if target.resolve().is_relative_to(folder.resolve()):
            raise ExportProblem(f"--to {target} is inside the collection; name a folder outside of the home")
        self._folder = folder
        self._target = target
        self._draft = target.with_name(target.name + INCOMPLETE)
        self._chosen = chosen
        self._with_originals = originals
        self._whole_files = whole_files or chosen.is_everything
        self._result = Exported(str(target))

    def run(self, watch: Callable[[str, int, int], None] = lambda name, number, of: None) -> Exported:
        """Write all files and return the result; `watch` is called for each file before the file is read.

        Raises OSError when the folder can't be written to; then the incomplete folder is removed.
        """
        found = choose(self._folder, self._chosen, originals=self._with_originals)
        self._result.captures, self._result.originals = found.captures, found.originals
        self._result.lacking_originals = found.lacking_originals
        self._result.missing += found.missing
        wanted = found.offsets
        if self._draft.exists():
            shutil.rmtree(self._draft)
        (self._draft / "archive").mkdir(parents=True)
        (self._draft / "indexes").mkdir()
        try:
            for number, (place, offsets) in enumerate(wanted.items(), 1):
                watch(place.name, number, len(wanted))
                self._write(place, offsets)
            self._finish()
        except BaseException:
            shutil.rmtree(self._draft, ignore_errors=True)
            raise
        return self._result

    def _write(self, place: WarcPaths, offsets: set[int]) -> None:
        if not place.warc.exists():
            if not place.growing.exists():
                self._result.captures -= len(offsets)
                self._result.missing.append(
                    f"{place.name} with {counted(len(offsets), 'chosen capture')} is not in the home"
                )
            else:
                self._result.captures -= len(offsets)
            return
        name = place.name if self._whole_files else _extract_name(place.name)
        target = self._draft / "archive" / name
        target.parent.mkdir(parents=True, exist_ok=True)
        try:
            ranges = None if self._whole_files else record_ranges(place.warc, offsets)
            with place.warc.open("rb") as source, target.open("xb") as file:
                sha256, size = _copied(source, file, ranges)
            sidecar = self._draft / "indexes" / (name + SIDECAR_SUFFIX)
            sidecar.parent.mkdir(parents=True, exist_ok=True)
            count = _write_lines(sidecar, target, self._folder.name, name)
        except WarcError as error:
            target.unlink(missing_ok=True)
            self._result.captures -= len(offsets)
            self._result.missing.append(
                f"{place.name} with {counted(len(offsets), 'chosen capture')} is damaged at offset {error.offset}: "
                f"{error.reason}"
            )
            return
        self._result.files.append(ExportedFile(name, place.name, size, sha256, count))

    def _finish(self) -> None:
        if self._whole_files:
            self._result.captures = sum(each.captures for each in self._result.files)
        conditions = {
            key: value for key, value in asdict(self._chosen).items() if key in ("job", "url_prefix") and value
        }
        for key in ("since", "until"):
            if (moment := getattr(self._chosen, key)) is not None:
                conditions[key] = iso_date(moment)
        facts = {
            "collection": self._folder.name,
            "exported": iso_date(now_micros()),
            "selection": conditions,
            "whole_files": self._whole_files,
            **self._result.as_json(),
        }
        del facts["folder"]
        (self._draft / MANIFEST).write_text(json.dumps(facts, indent=2, ensure_ascii=False) + "\n", "utf-8")
        for folder in (self._draft / "archive", self._draft / "indexes", self._draft):
            sync_folder(folder)
        if self._target.exists():
            self._target.rmdir()
        self._draft.rename(self._target)
        sync_folder(self._target.parent)


def _copied(source: BinaryIO, target: BinaryIO, ranges: Iterable[tuple[int, int]] | None) -> tuple[str, int]:
    """Copy these ranges, or the whole file, durably; return SHA-256 and size."""
    sha256, size = hashlib.sha256(), 0
    for start, end in ranges if ranges is not None else ((0, os.fstat(source.fileno()).st_size),):
        source.seek(start)
        left = end - start
        while left and (piece := source.read(min(left, _COPY_SIZE))):
            sha256.update(piece)
            target.write(piece)
            size += len(piece)
            left -= len(piece)
    target.flush()
    os.fsync(target.fileno())
    return sha256.hexdigest(), size


def _write_lines(sidecar: Path, warc: Path, collection: str, name: str) -> int:
    count = 0

    def lines() -> Iterator[str]:
        nonlocal count
        for capture in cdxj.captures_of(warc, collection, name):
            count += 1
            yield cdxj.line(capture)

    cdxj.write_sorted(sidecar, lines())
    return count


def _extract_name(name: str) -> str:
    ending = next((ending for ending in ENDINGS if name.endswith(ending)), "")
    return f"{name.removesuffix(ending)}-extract{ending}"
