"""Looking in WARC files for everything a client was told it got. warcio reads them: not our own code."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from warcio.archiveiterator import ArchiveIterator
from warcio.exceptions import ArchiveLoadFailed

from admin.bench.corpus import Corpus


@dataclass(frozen=True, slots=True)
class Kept:
    """What WARC files hold: SHA-1 of the payload by URL; URLs of revisits whose original is among them too."""

    payloads: dict[str, bytes]
    resolved: frozenset[str]
    warc_bytes: int
    damage: tuple[str, ...] = ()


def read(folder: Path) -> Kept:
    """Everything kept in a folder, files still called `.open` too."""
    payloads: dict[str, bytes] = {}
    revisits: dict[str, str] = {}
    damage: list[str] = []
    files = sorted(path for path in folder.rglob("*.warc*") if path.is_file())
    for path in files:
        try:
            _read_file(path, payloads, revisits)
        except ArchiveLoadFailed as error:
            damage.append(f"{path.name}: {error}")
    resolved = frozenset(url for url, original in revisits.items() if original in payloads)
    return Kept(payloads, resolved, sum(path.stat().st_size for path in files), tuple(damage))


def missing(kept: Kept, corpus: Corpus, name: str, acknowledged: Iterable[tuple[int, str]]) -> list[str]:
    """The URLs among `acknowledged` (index, URL) that have no record with the bytes the origin sent."""
    return [
        url
        for index, url in acknowledged
        if url not in kept.resolved and kept.payloads.get(url) != corpus.sha1(name, index)
    ]


def _read_file(path: Path, payloads: dict[str, bytes], revisits: dict[str, str]) -> None:
    with path.open("rb") as stream:
        for record in ArchiveIterator(stream):
            url = record.rec_headers.get_header("WARC-Target-URI")
            if record.rec_type == "response":
                payloads[url] = hashlib.sha1(record.content_stream().read(), usedforsecurity=False).digest()
            elif record.rec_type == "revisit":
                revisits[url] = record.rec_headers.get_header("WARC-Refers-To-Target-URI")
