"""The metadata file of a job is a WARC with a resource record for each log, report, index and part of the set-up.

The addresses of its records are NetarchiveSuite's: `metadata://<organisation>/crawl/<setup|reports|logs|index>/<name>?…`.
"""

from __future__ import annotations

import os
import socket
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal
from urllib.parse import quote, urlencode

from archive.capture import NO_BODY, Body, Context
from archive.dates import Micros
from archive.files import make_folder, rename_new, replacement, sync_folder
from archive.names.ids import new_id
from archive.names.warc_paths import WarcPaths
from archive.rotated_log import open_log
from archive.settings.load import Settings
from archive.version import SOFTWARE
from archive.warc import cdxj
from archive.warc.records.derived import resource_record
from archive.warc.records.record import RECORD_END, Record
from archive.warc.records.warcinfo import warcinfo_record
from archive.warc.writing.members import gzip_member

type Group = Literal["setup", "reports", "logs", "index"]

TEXT: Final = "text/plain"
JSON: Final = "application/json"
CDX: Final = "application/x-cdx"


@dataclass(frozen=True, slots=True)
class MetadataPart:
    """One record of the metadata file: its place in the address, and its content."""

    group: Group
    name: str
    content_type: str
    content: bytes | Path
    """A file that is not there is kept as an empty record, so that each name can be looked for."""
    query: Mapping[str, str | int] | None = None
    """Parameters of the address; None for those that most records have."""


@dataclass(frozen=True, slots=True)
class MetadataOwner:
    """The records tell of this job."""

    organisation: str
    collection: str
    harvest_id: int
    job_id: int
    run_name: str

    def address(self, part: MetadataPart) -> str:
        """Return the address of a record."""
        usual = {"heritrixVersion": SOFTWARE, "harvestid": self.harvest_id, "jobid": self.job_id}
        query = urlencode(usual if part.query is None else part.query)
        return f"metadata://{self.organisation}/crawl/{part.group}/{quote(part.name)}?{query}"


def write_metadata(
    path: Path, name: str, owner: MetadataOwner, parts: Iterable[MetadataPart], settings: Settings, date: Micros
) -> None:
    """Write the file at `path`, whole and durable or not at all; `name` is its name in the archive.

    Its records are sorted by address. Raises OSError.
    """
    addressed = sorted((owner.address(part), number, part) for number, part in enumerate(parts))
    warcinfo_id = new_id()
    with replacement(path) as file:
        first = warcinfo_record(
            Path(name).name,
            settings,
            owner.collection,
            record_id=warcinfo_id,
            date=date,
            hostname=socket.gethostname(),
            software=SOFTWARE,
        )
        file.writelines(_packed(first, settings))
        for address, _, part in addressed:
            with _body(part.content) as body:
                record = resource_record(
                    "resource",
                    address,
                    part.content_type,
                    body,
                    date=date,
                    context=Context(owner.collection, job=owner.run_name or None),
                    warcinfo_id=warcinfo_id,
                    algorithm=settings.archive.digest,
                )
                file.writelines(_packed(record, settings))


def publish_metadata(path: Path, place: WarcPaths, collection: str) -> None:
    """Bring the finished file into the archive: first its index lines, then the file by one rename. May be repeated."""
    if place.warc.exists():
        path.unlink(missing_ok=True)
        return
    make_folder(place.warc.parent)
    make_folder(place.sidecar.parent)
    captures = cdxj.captures_of(path, collection, place.name)
    cdxj.write_sorted(place.sidecar, [cdxj.line(capture) for capture in captures])
    sync_folder(place.sidecar.parent)
    rename_new(path, place.warc)
    sync_folder(place.warc.parent)


def free_name(folder: Path, job_id: int, *, compressed: bool) -> str:
    """Return the name for a job's metadata file in the collection of this folder: the first number that is free."""
    ending = ".warc.gz" if compressed else ".warc"
    number = 1
    while True:
        names = [f"{job_id}-metadata-{number}{each}" for each in (".warc", ".warc.gz")]
        places = [WarcPaths(folder, name) for name in names]
        if not any(place.warc.exists() or place.sidecar.exists() for place in places):
            return f"{job_id}-metadata-{number}{ending}"
        number += 1


def _packed(record: Record, settings: Settings) -> Iterator[bytes]:
    if settings.harvester.metadata_compressed:
        yield from gzip_member(record, settings.archive.gzip_level)
        return
    yield record.header
    yield from record.chunks()
    yield RECORD_END


@contextmanager
def _body(content: bytes | Path) -> Iterator[Body]:
    if isinstance(content, bytes):
        yield Body((content,), length=len(content))
        return
    try:
        file = open_log(content)
    except FileNotFoundError:
        yield NO_BODY
        return
    with file:
        length = file.seek(0, os.SEEK_END)
        file.seek(0)
        yield Body(file=file, length=length)
