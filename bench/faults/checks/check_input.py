"""The checks of an episode compare the expectations of the clients with the contents of the home."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from bench.faults.checks.home_contents import HomeContents
from bench.faults.checks.records import WarcRecord, bare
from bench.faults.traffic.ledger import SeenResponse
from bench.faults.traffic.site import answer

_ANSWERS: Final = ("response", "revisit")


@dataclass(frozen=True, slots=True)
class Expectations:
    """The checks expect this of a home. No process may run in the home."""

    home: Path
    collection: str
    seen: Sequence[SeenResponse]
    published: Mapping[str, bytes] = field(default_factory=dict)
    """SHA-256 of the WARC files, by name, that were closed before the fault."""
    logged: Sequence[SeenResponse] = ()
    """Seen responses that must have a line in crawl.log."""
    log_is_whole: bool = True
    """The file crawl.log must be without damaged lines."""
    dedup_is_whole: bool = True
    """Redis must have an entry for each original on the disk."""
    removed: Sequence[str] = ()
    """Names of the loads whose files were removed. Their URLs are not checked."""

    @property
    def nothing_is_lost(self) -> bool:
        """Return whether no fault touched the recording processes."""
        return self.log_is_whole and self.dedup_is_whole


@dataclass(frozen=True, slots=True)
class CheckInput:
    """The input of a check has the expectations, the contents of the home, and the records by their ids."""

    expectations: Expectations
    contents: HomeContents
    by_id: Mapping[str, WarcRecord]

    @property
    def archive(self) -> Path:
        return self.expectations.home / "collections" / self.expectations.collection / "archive"

    def name_of(self, record: WarcRecord) -> str:
        """Return the file of a record, as the index names it."""
        return record.path.relative_to(self.archive).as_posix()

    def answers(self) -> list[WarcRecord]:
        """Return the responses and revisits."""
        return [record for record in self.contents.records if record.kind in _ANSWERS]

    def original_of(self, record: WarcRecord) -> WarcRecord | None:
        """Return the record with the payload of a revisit or response."""
        return record if record.kind == "response" else self.by_id.get(bare(record.field("WARC-Refers-To")))


def digest(path: Path) -> bytes:
    """Return the SHA-256 of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").digest()


def payload_of(record: WarcRecord) -> bytes:
    """Return the body of a response without its chunks, when the block is equal to what the site sends."""
    found = answer(record.target)
    return found.payload if record.block == found.raw else record.block
