"""Write the records of a WARC file anew, one gzip member each, without changing a byte of any record.

Some programs compress a whole file as one gzip stream, or several records as one member (WARC/1.1 annex D.2 asks for
one member per record). Such a file can't be read from the middle, so it can't be indexed.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from archive.warc.compression.gzip_member import packed_stream
from archive.warc.reading.reader import StoredRecord, records
from archive.warc.records.record import RECORD_END


def rewrap(source: Path, target: BinaryIO, level: int) -> int:
    """Write every record of `source` to `target` as a gzip member of its own and return how many there are.

    Memory is bounded whatever the records hold. Raises WarcError at the first damage.
    """
    count = 0
    for record in records(source):
        for piece in packed_stream(_pieces(record), level):
            target.write(piece)
        count += 1
    return count


def _pieces(record: StoredRecord) -> Iterator[bytes]:
    yield record.header
    yield from record.block()
    yield RECORD_END
