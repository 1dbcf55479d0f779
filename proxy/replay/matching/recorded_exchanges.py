"""Replay reads recorded requests and heads of responses where the index does not tell captures of one URL apart."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from hashlib import sha256
from typing import Final

from archive.capture import Capture
from archive.http.http_message import Fields
from archive.storage.record_store import RecordStore
from archive.warc.reading.member_reader import WarcError
from archive.warc.reading.reader import StoredRecord
from archive.warc.records.request_query import MAX_BODY

_REQUESTS_READ: Final = 24
"""Recorded requests that are read for one answer to a long body."""
_BEHIND: Final = 3
"""Records behind a response among which its request is looked for."""
_LARGE: Final = 1 << 20
"""A record with a larger block is not passed over."""


class RecordedExchanges:
    """This reader reads the records of exchanges. Threads may share it; every call blocks."""

    def __init__(self, holdings: RecordStore) -> None:
        self._holdings = holdings

    def response_fields(self, capture: Capture) -> Fields:
        """Return the header fields of a recorded response. Raises OSError or WarcError."""
        with self._holdings.record(capture.collection, capture.filename, capture.offset, capture.length) as record:
            return record.http.fields

    def request_fields(self, capture: Capture) -> Fields | None:
        """Return the header fields of the recorded request, which lies behind its response; None when it does not.

        Raises OSError or WarcError.
        """
        return self._of_request(capture, lambda record: record.http.fields)

    def with_body(self, captures: Sequence[Capture], body_sha256: str | None) -> Sequence[Capture]:
        """Return the captures of requests with the whole body that is asked for; all when there are none.

        The index has the beginning of a long body. Queries of GraphQL differ at their end, behind a long text.
        """
        if body_sha256 is None or len(captures) < 2:
            return captures
        return [each for each in captures[:_REQUESTS_READ] if self._body_sha256(each) == body_sha256] or captures

    def _body_sha256(self, capture: Capture) -> str | None:
        try:
            return self._of_request(capture, _payload_sha256)
        except (OSError, WarcError):
            return None

    def _of_request[T](self, capture: Capture, read: Callable[[StoredRecord], T]) -> T | None:
        """Return what is read of the recorded request, which lies behind its response; None when it does not."""
        offset = capture.offset + capture.length
        for _ in range(_BEHIND):
            with self._holdings.record(capture.collection, capture.filename, offset, None) as record:
                if record.kind == "request" and capture.record_id in record.concurrent_to:
                    return read(record)
                if record.block_length > _LARGE:
                    return None
                offset = record.finish()
        return None


def _payload_sha256(record: StoredRecord) -> str:
    """Return the SHA-256 of as much of the payload as is kept of a body that is asked for."""
    digest, left = sha256(), MAX_BODY
    for piece in record.payload():
        digest.update(piece[:left])
        left -= len(piece[:left])
        if not left:
            break
    return digest.hexdigest()
