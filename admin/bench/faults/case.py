"""What a round is judged by, and what it left."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from admin.bench.faults.ledger import Seen
from admin.bench.faults.records import Stored, bare
from admin.bench.faults.site import answer
from admin.bench.faults.traces import Traces

_ANSWERS: Final = ("response", "revisit")


@dataclass(frozen=True, slots=True)
class Evidence:
    """What a round is judged by. Nothing may run in the home any more."""

    home: Path
    collection: str
    seen: Sequence[Seen]
    published: Mapping[str, bytes] = field(default_factory=dict)
    """SHA-256 of the WARC files that were closed before the fault, by name."""
    logged: Sequence[Seen] = ()
    """Those of `seen` that crawl.log must have a line for."""
    log_is_whole: bool = True
    """Whether it must be without torn lines, too."""
    dedup_is_whole: bool = True
    """Whether Redis must know all that the disk does."""

    @property
    def nothing_is_lost(self) -> bool:
        """Whether nothing befell those who record."""
        return self.log_is_whole and self.dedup_is_whole


@dataclass(frozen=True, slots=True)
class Case:
    """What is left, and the records by their ids."""

    evidence: Evidence
    traces: Traces
    by_id: Mapping[str, Stored]

    @property
    def archive(self) -> Path:
        return self.evidence.home / "collections" / self.evidence.collection / "archive"

    def name_of(self, record: Stored) -> str:
        """The file of a record, as the index names it."""
        return record.path.relative_to(self.archive).as_posix()

    def answers(self) -> list[Stored]:
        """Responses and revisits."""
        return [record for record in self.traces.records if record.kind in _ANSWERS]

    def original_of(self, record: Stored) -> Stored | None:
        """The record that holds a revisit's payload; of a response itself."""
        return record if record.kind == "response" else self.by_id.get(bare(record.field("WARC-Refers-To")))


def digest(path: Path) -> bytes:
    """SHA-256 of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").digest()


def payload_of(record: Stored) -> bytes:
    """A response's body without its chunks: what the site says, once the block has been found equal to it."""
    found = answer(record.target)
    return found.payload if record.block == found.raw else record.block
