"""This module looks in WARC files for each response that a client received. It reads them with warcio."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from warcio.archiveiterator import ArchiveIterator
from warcio.exceptions import ArchiveLoadFailed

from bench.traffic.corpus import Corpus


@dataclass(frozen=True, slots=True)
class ArchivedPayloads:
    """Archived payloads have a SHA-1 for each URL, and the URL of the original for each revisit."""

    payloads: dict[str, bytes]
    revisits: dict[str, str]
    warc_bytes: int
    damage: tuple[str, ...] = ()


def read(folder: Path) -> ArchivedPayloads:
    """Return the payloads of all WARC files in a folder, also of files that end with `.open`."""
    payloads: dict[str, bytes] = {}
    revisits: dict[str, str] = {}
    damage: list[str] = []
    files = sorted(path for path in folder.rglob("*.warc*") if path.is_file())
    for path in files:
        try:
            _read_file(path, payloads, revisits)
        except ArchiveLoadFailed as error:
            damage.append(f"{path.name}: {error}")
    return ArchivedPayloads(payloads, revisits, sum(path.stat().st_size for path in files), tuple(damage))


def missing(kept: ArchivedPayloads, corpus: Corpus, name: str, acknowledged: Iterable[tuple[int, str]]) -> list[str]:
    """Return the acknowledged URLs (index, URL) without a record of the bytes that the origin sent."""
    return [
        url for index, url in acknowledged if kept.payloads.get(kept.revisits.get(url, url)) != corpus.sha1(name, index)
    ]


def _read_file(path: Path, payloads: dict[str, bytes], revisits: dict[str, str]) -> None:
    with path.open("rb") as stream:
        for record in ArchiveIterator(stream):
            url = record.rec_headers.get_header("WARC-Target-URI")
            if record.rec_type == "response":
                payloads[url] = hashlib.sha1(record.content_stream().read(), usedforsecurity=False).digest()
            elif record.rec_type == "revisit":
                revisits[url] = record.rec_headers.get_header("WARC-Refers-To-Target-URI")
