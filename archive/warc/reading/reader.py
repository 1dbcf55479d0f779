"""Reading WARC files record by record: ours and anybody's, compressed or plain, closed or still being written.

Memory is bounded whatever the file holds. What can't be read raises WarcError with file and offset. A record whose end
is a few bytes off is read all the same, and says what was assumed (see `archive.warc.reading.record_end`).
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import BinaryIO, Final, Self

from archive.dates import Micros, parse_date
from archive.http.chunked import dechunk
from archive.http.http_message import Fields, Head, end_of_head, end_of_http_head, parse_head
from archive.warc.reading.member_reader import READ_SIZE, MemberReader, WarcError, open_either
from archive.warc.reading.record_end import HEAD_LOOKED_AT, LOOKED_AT, RecordEnd, beyond_declared, record_end
from archive.warc.records.header import MAX_HEADER
from archive.warc.records.record import RECORD_END

MAX_HTTP_HEAD: Final = 1 << 23
_MOST_LINES: Final = 16_384
"""Lines of a header. Each one takes far more memory than its bytes."""
_MOST_DIGITS: Final = 18
"""Digits of a Content-Length. No file is longer, and Python reads no number of more than 4,300 digits."""


class StoredRecord:
    """One record read from a file: its header at once, its block as a stream that can be read once.

    `offset` is where the record's gzip member begins (in a plain file, where the record begins). `in_member` counts
    the records before it in the same member: 0 in every well-made file.
    """

    def __init__(self, source: MemberReader, offset: int, header: bytes, in_member: int) -> None:
        """Raise WarcError for a header that is none, has too many lines, or is without a usable Content-Length."""
        if header.count(b"\n") > _MOST_LINES:
            raise WarcError(source.path, offset, f"the header has more than {_MOST_LINES} lines")
        self.path = source.path
        self.header = header
        self.offset = offset
        self.in_member = in_member
        head = parse_head(header)
        self.version = head.start_line
        self.fields: Fields = head.fields
        if not self.version.startswith("WARC/") or not end_of_head(header):
            raise WarcError(self.path, offset, f"the bytes {header[:20]!r} are not the beginning of a WARC record")
        length = self.fields.get("Content-Length") or ""
        if not (length.isascii() and length.isdigit() and len(length) <= _MOST_DIGITS):
            raise WarcError(self.path, offset, f"Content-Length {length[:80]!r} is not a length")
        self.block_length = int(length)
        """The length as declared. Behind the end of the block, its length as it was taken."""
        self._left = self.block_length
        self._source = source
        self._beginning = bytearray()
        """The first bytes of the block, from which the length of its HTTP message can be read."""
        self._ahead = b""
        """Bytes of the block that were read with the HTTP head."""
        self._has_ended = False
        self._damage: WarcError | None = None
        self.end_finding = ""
        """The assumption about the end of the record, when it is not as the standard says; known at the end."""
        self._file: BinaryIO | None = None
        self._http: tuple[bytes, Head] | None = None
        self._next: int | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        """Close the file when it was opened for this record alone."""
        if self._file is not None:
            self._file.close()

    @property
    def kind(self) -> str:
        """Return WARC-Type, "" when it is missing."""
        return (self.fields.get("WARC-Type") or "").lower()

    @property
    def record_id(self) -> str:
        """Return the bare UUID of WARC-Record-ID; the whole URI when it is another kind of identifier."""
        return bare_id(self.fields.get("WARC-Record-ID") or "")

    @property
    def concurrent_to(self) -> list[str]:
        """Bare ids of the records made by the same event."""
        return [bare_id(value) for value in self.fields.all("WARC-Concurrent-To")]

    @property
    def url(self) -> str:
        """Return WARC-Target-URI."""
        return without_brackets(self.fields.get("WARC-Target-URI") or "")

    @property
    def date(self) -> Micros:
        """Return WARC-Date. Raises WarcError when there is none that can be read."""
        try:
            return parse_date(self.fields.get("WARC-Date") or "")
        except ValueError as error:
            raise WarcError(self.path, self.offset, f"WARC-Date can't be read: {error}") from error

    @property
    def is_http(self) -> bool:
        """Return whether the block is an HTTP message."""
        return (self.fields.get("Content-Type") or "").lower().replace(" ", "").startswith("application/http")

    @property
    def http(self) -> Head:
        """Return the parts of the HTTP head; see `http_head`."""
        return self._read_head()[1]

    @property
    def http_head(self) -> bytes:
        """The HTTP head as it was sent, with its empty line; then the payload follows. All, when there is no such line.

        Raises WarcError for a head that has no end in reach. Ask before reading the payload.
        """
        return self._read_head()[0]

    def block(self) -> Iterator[bytes]:
        """Yield the bytes of the block that were not read yet. Raises WarcError when the file ends before the block."""
        if self._ahead:
            piece, self._ahead = self._ahead, b""
            yield piece
        while self._left:
            if piece := self._read():
                yield piece

    def payload(self, *, dechunked: bool = True) -> Iterator[bytes]:
        """Return what follows the HTTP head, chunked coding taken off unless asked otherwise; the block of other
        records.
        """
        is_coded = self.is_http and self.http.is_chunked
        return dechunk(self.block()) if is_coded and dechunked else self.block()

    def finish(self) -> int:
        """Read on to the record's end and say where in the file the next one begins. Raises WarcError."""
        if self._next is None:
            for _ in self.block():
                pass
            if not self._has_ended:
                self._end(b"")
            if self._damage is not None:
                raise self._damage
            self._next = self._source.next_offset
        return self._next

    def _read_head(self) -> tuple[bytes, Head]:
        if self._http is None:
            found, end = bytearray(), 0
            while self._left and not end:
                if len(found) > MAX_HTTP_HEAD:
                    raise WarcError(self.path, self.offset, f"the HTTP head has more than {MAX_HTTP_HEAD} bytes")
                found += (piece := self._read())
                end = end_of_http_head(found, len(found) - len(piece))
            cut = end or len(found)
            self._ahead = bytes(found[cut:])
            head = bytes(found[:cut])
            self._http = head, parse_head(head.lstrip(b"\r\n"))
        return self._http

    def _read(self) -> bytes:
        """Return the next bytes of the block. The last ones come together with the decision where the block ends."""
        if self._left > READ_SIZE:
            piece = self._source.read(min(self._left - len(RECORD_END), READ_SIZE), within=True)
        else:
            piece = self._source.read(self._left, within=True)
            while piece and len(piece) < self._left:
                if not (more := self._source.read(self._left - len(piece), within=True)):
                    break
                piece += more
        if not piece:
            raise WarcError(self.path, self.offset, f"the block lacks {self._left} of {self.block_length} bytes")
        self._left -= len(piece)
        if len(self._beginning) < HEAD_LOOKED_AT:
            self._beginning += piece[: HEAD_LOOKED_AT - len(self._beginning)]
        return piece if self._left else self._end(piece)

    def _end(self, piece: bytes) -> bytes:
        """Read what is behind the block, and return the block's last bytes. Damage there is raised by `finish`."""
        self._has_ended = True
        try:
            following, is_end = self._source.behind_block(LOOKED_AT)
        except WarcError as error:
            self._damage = error
            return piece
        is_whole = following == RECORD_END and is_end
        end = RecordEnd(len(RECORD_END)) if is_whole else self._judged(piece[-len(RECORD_END) :], following, is_end)
        if end is None or (end.finding and self._source.is_strict):
            reason = f"the record ends with {following[:4]!r} instead of two empty lines"
            self._damage = WarcError(self.path, self.offset, reason)
            return piece
        self._source.unread(following[end.skipped :])
        self.end_finding = end.finding
        self.block_length += end.added - end.cut
        return piece[: len(piece) - end.cut] + following[: end.added]

    def _judged(self, tail: bytes, following: bytes, is_end: bool) -> RecordEnd | None:
        tells_length = self.is_http and self.kind != "revisit"
        more = beyond_declared(bytes(self._beginning), self.block_length) if tells_length else None
        return record_end(tail, following, is_end=is_end, is_member=self._source.is_packed, more=more)

    @classmethod
    def opened(cls, file: BinaryIO, path: Path, offset: int, length: int | None) -> Self:
        """Return the record at an offset of a file that is closed with it."""
        source = MemberReader(file, path, offset, None if length is None else offset + length)
        if source.gap:  # a wrong offset must never give the record that comes next
            raise WarcError(path, offset, "no record begins here")
        record = cls(source, offset, source.head(MAX_HEADER), 0)
        record._file = file
        return record


def read_record(path: Path, offset: int, length: int | None = None) -> StoredRecord:
    """Return the record at this offset, to be used as a context manager or closed.

    `path` may be the final name while the file is still `.open`, or the other way round. With `length`, the compressed
    size from the index, nothing beyond is read. Raises FileNotFoundError, and WarcError when no record is there.
    """
    file = open_either(path)
    try:
        return StoredRecord.opened(file, path, offset, length)
    except BaseException:
        file.close()
        raise


def records(path: Path) -> Iterator[StoredRecord]:
    """Yield every record of a file in order; what was not read of one is skipped. Raises WarcError at the first
    damage.
    """
    with open_either(path) as file:
        yield from records_in(file, path)


def records_in(file: BinaryIO, path: Path) -> Iterator[StoredRecord]:
    """Yield every record of a seekable file that the caller closes, as `records` does."""
    source = MemberReader(file, path)
    while True:
        in_member = 0
        while record := next_record(source, in_member):
            yield record
            record.finish()
            in_member += source.is_packed  # a plain file has no members
        if not source.next_member():
            return


def next_record(source: MemberReader, in_member: int) -> StoredRecord | None:
    """Return the record that comes next in the gzip member or plain file, None at its end. Raises WarcError."""
    offset = source.offset
    header = source.head(MAX_HEADER)
    return StoredRecord(source, offset, header, in_member) if header else None


def bare_id(uri: str) -> str:
    """Return `<urn:uuid:X>` without its wrapping."""
    return without_brackets(uri.strip()).removeprefix("urn:uuid:")


def without_brackets(uri: str) -> str:
    """Return a URI without the angle brackets that WARC/1.0 put around it. A URL may end with a bracket of its own."""
    return uri[1:-1] if uri.startswith("<") and uri.endswith(">") else uri
