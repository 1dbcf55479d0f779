"""The index of a package is a CDXJ file in compressed blocks (ZipNum), with a short list of the blocks.

A player reads the list, then the one block in which a URL must be. Its keys are those that ReplayWeb.page computes
from the URL of a page: in lower case, without `www.`, the parts of the query sorted.
"""

from __future__ import annotations

import gzip
import hashlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import batched
from typing import Final

from archive.capture import Capture
from archive.json_text import ascii_json, compact_json
from archive.loose_key import loose_key
from archive.warc.records.request_query import asked_url

BLOCK_NAME: Final = "index.cdx.gz"
LIST_NAME: Final = "index.idx"
LIST_HEAD: Final = f'!meta 0 {{"format": "cdxj-gzip-1.0", "filename": "{BLOCK_NAME}"}}\n'
_LINES: Final = 3_000
_LEVEL: Final = 6


def index_line(capture: Capture, filename: str, offset: int, length: int) -> str:
    """Return the line of a capture at its place in the package, with a line end."""
    said = f'"url":{ascii_json(capture.url)},"mime":{ascii_json(capture.cdx_mime)}'
    if capture.status is not None:
        said += f',"status":"{capture.status}"'
    if capture.digest is not None:
        digest = capture.digest if ":" in capture.digest else f"sha1:{capture.digest}"
        said += f',"digest":{ascii_json(digest)}'
    said += f',"length":"{length}","offset":"{offset}","filename":{ascii_json(filename)}'
    if capture.method != "GET":
        said += f',"method":{ascii_json(capture.method)}'
        if capture.request_body is not None:
            said += f',"requestBody":{ascii_json(capture.request_body)}'
    key = loose_key(asked_url(capture.url, capture.method, capture.request_body))
    return f"{key} {capture.timestamp} {{{said}}}\n"


@dataclass(frozen=True, slots=True)
class IndexBlock:
    """The block has up to 3,000 lines as one gzip member, and a line of the list that says where the block begins."""

    data: bytes
    entry: str


def blocks(lines: Iterable[str]) -> Iterator[IndexBlock]:
    """Yield the blocks of sorted index lines."""
    offset = 0
    for batch in batched(lines, _LINES):
        data = gzip.compress("".join(batch).encode(), _LEVEL, mtime=0)
        place = {
            "offset": offset,
            "length": len(data),
            "digest": f"sha256:{hashlib.sha256(data).hexdigest()}",
            "filename": BLOCK_NAME,
        }
        first = " ".join(batch[0].split(" ", 2)[:2])
        yield IndexBlock(data, f"{first} {compact_json(place)}\n")
        offset += len(data)
